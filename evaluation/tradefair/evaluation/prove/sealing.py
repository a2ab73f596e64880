"""Whether what lies beside the chain (times, costs, model records) is what the seal covers, and who signed the seal."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import orjson

from tradefair.contract.kernel.event import OLD_SCHEMAS
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.prove.proof import Odd
from tradefair.tracestore import PROMPTS, SIDE_TABLES, BadSignature, RowDigest, SideRow, Trace, row_digest, signer_of

# Of a count that a file claims: what SQLite could number, and far below what would stop `islice`.
_MOST_ROWS = 2**53


# A wall clock is set right by less; more is no correction.
_CLOCK_MS = 1_000
_MOST_ODD = 20
_COMMITMENT = re.compile("[0-9a-f]{64}")
_AMOUNTS = ("input_tokens", "output_tokens", "latency_s", "cost_usd_micro", "invalid_calls")


class Sealing(NamedTuple):
    """What a seal is worth. `damage` is what contradicts it, or None; `missing` and `later` count rows by table.

    These are rows that were left out, or are younger than the seal. `signed_by` is the fingerprint of the key whose
    signature of the seal holds; None without a signature.
    """

    damage: str | None
    missing: Mapping[str, int] = {}
    later: Mapping[str, int] = {}
    signed_by: str | None = None

    @property
    def findings(self) -> list[str]:
        """Both in words."""
        said = (("are not in this file", self.missing), ("were added after the seal", self.later))
        told = ((what, ", ".join(f"{name} ({count})" for name, count in rows.items())) for what, rows in said)
        return [f"rows beside the chain that {what}: {listed}" for what, listed in told if listed]


def counted_calls(trace: Trace) -> RowDigest | None:
    """What counts the rows of `calls` while events are read, each with its `side`; None where no seal covers them."""
    claims = _claims(trace.manifest.about.get("beside")) if trace.manifest.sealed and trace.schema > 1 else None
    return RowDigest(claims["calls"][0]) if claims else None


def check_sealing(trace: Trace, calls: RowDigest | None = None) -> Sealing:
    """Compare seal, side tables and signature with what `about` says. TraceError where they cannot be read.

    `calls`: `counted_calls` of this trace, where somebody has read every event with it.
    """
    manifest = trace.manifest
    if manifest.sealed and not manifest.seal_holds:
        return Sealing("the manifest's seal does not fit what its `about` says")
    try:
        signed_by = signer_of(trace)
    except BadSignature as error:
        return Sealing(str(error))
    return _beside(trace, calls)._replace(signed_by=signed_by) if manifest.sealed else Sealing(None)


def _beside(trace: Trace, calls: RowDigest | None) -> Sealing:
    manifest = trace.manifest
    # Old traces say nothing of these tables, and their verdict says that little of them is proven.
    if manifest.core.trace_schema in OLD_SCHEMAS:
        return Sealing(None)
    # Else its notes would be read, and pass as left out here.
    if trace.schema == 1:
        return Sealing("its tables are those of an earlier schema than its events")
    claims = _claims(manifest.about.get("beside"))
    if claims is None:
        return Sealing("the seal does not say what lies beside the chain")
    tables = {name: trace.side_rows(name) for name in claims}
    # A side row stands next to its event: whoever has read the events need not read them again.
    known = {} if calls is None or not calls.count else {"calls": (calls.count, calls.hexdigest())}
    counted = {name: known.get(name) or row_digest(rows or (), claims[name][0]) for name, rows in tables.items()}
    absent = {name for name, rows in tables.items() if rows is None}
    # Both or neither: calls name their parts by number, and no export leaves one table.
    if not any(counted[name][0] for name in PROMPTS):
        absent |= PROMPTS
    return _compared(claims, counted, absent)


def _compared(
    claims: Mapping[str, tuple[int, str]], counted: Mapping[str, tuple[int, str]], absent: Collection[str]
) -> Sealing:
    """What the rows of the tables, (count, digest), say next to what the seal claims."""
    changed: list[str] = []
    missing: dict[str, int] = {}
    later: dict[str, int] = {}
    for name, (count, found) in counted.items():
        sealed, head = claims[name]
        if name in absent and sealed:
            missing[name] = sealed
        elif found != head or count < sealed:
            changed.append(name)
        elif count > sealed:
            later[name] = count - sealed
    damage = f"what lies beside the chain has changed since the seal: {', '.join(changed)}" if changed else None
    return Sealing(damage, missing, later)


def odd_values(trace: Trace, seating: Seating) -> list[Odd]:
    """Values beside the chain that cannot be true, at most 20. Raises TraceError where they cannot be read."""
    about = trace.manifest.about
    found = [*_odd_times(trace.side()), *_odd_records(trace.notes(), seating)]
    begun, ended = about.get("created"), about.get("finished")
    # ISO times of one zone, as hosts write them, are in the order of their texts.
    if isinstance(begun, str) and isinstance(ended, str) and begun[-6:] == ended[-6:] and ended < begun:
        found.append(Odd(None, f"it ended at {ended[:40]}, before it began at {begun[:40]}"))
    if seating.commitment is not None and not _COMMITMENT.fullmatch(seating.commitment):
        found.append(Odd(None, f"its commitment to seeds is no digest: {seating.commitment[:40]!r}"))
    return found[:_MOST_ODD]


def _odd_times(rows: Iterable[SideRow]) -> Iterator[Odd]:
    latest = 0
    for row in rows:
        if row.at_ms is not None and row.at_ms < max(0, latest - _CLOCK_MS):
            yield Odd(row.seq, f"event {row.seq} was written {latest - row.at_ms:,} ms before the one before it")
        latest = row.at_ms or latest
        if row.latency_us is not None and row.latency_us < 0:
            yield Odd(row.seq, f"event {row.seq} took {row.latency_us:,} microseconds")


def _odd_records(notes: Iterable[tuple[str, bytes]], seating: Seating) -> Iterator[Odd]:
    for number, (seat, body) in enumerate(notes, 1):
        try:
            note: Any = orjson.loads(body)
        except orjson.JSONDecodeError:
            note = None
        if not isinstance(note, dict):
            yield Odd(None, f"record {number} beside the chain is no object")
            continue
        known, player = cast("dict[str, Any]", note), seating.players.get(seat)
        if known.get("kind") == "model_call" and (player is None or player.policy is not None):
            yield Odd(None, f"record {number} is a model call of {seat[:40]}, which no model plays")
        for name in _AMOUNTS:
            value = known.get(name)
            if value is not None and not (isinstance(value, int | float) and 0 <= value < _MOST_ROWS):
                yield Odd(None, f"record {number} of {seat[:40]} has {name} {str(value)[:40]}")


def _claims(beside: Any) -> dict[str, tuple[int, str]] | None:
    """Count and digest by table, as a seal says; None where it does not say so of each table."""
    claims: dict[str, tuple[int, str]] = {}
    said = cast("dict[str, Any]", beside) if isinstance(beside, dict) else {}
    for name in SIDE_TABLES:
        match said.get(name):
            case [int(count), str(head)] if 0 <= count < _MOST_ROWS:
                claims[name] = (count, head)
            case _:
                return None
    return claims
