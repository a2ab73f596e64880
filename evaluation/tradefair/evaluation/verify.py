"""Is a trace what its writer sealed, and do today's rules give the same bytes again?

The chain proves internal consistency: no stored byte, order or predecessor has changed since the head hash was taken.
Who can rewrite the whole file can also rewrite the head: anchor the head hash elsewhere against that. Re-execution
proves that the rules really gave what the trace says they gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from tradefair.catalog import market_type
from tradefair.contract import TraceError, TradefairError
from tradefair.contract.chain import digest, next_hash
from tradefair.contract.core import Core
from tradefair.contract.errors import Divergence
from tradefair.contract.event import READABLE_SCHEMAS, TRACE_SCHEMA, ManifestCore, parts_named
from tradefair.contract.replay import Replayed
from tradefair.evaluation.importers import IMPORTED_MARKET
from tradefair.evaluation.sealing import check_sealing
from tradefair.tracestore import CutShort, NotATrace, StoredEvent, StorePlace, Trace, is_store, open_trace

Conclusion: TypeAlias = Literal["identical", "intact", "diverged", "damaged", "truncated", "foreign", "not_a_trace"]
# The texts are printed below the table of `tradefair verify`, once per verdict.
OUTCOMES_OF_VERIFY: Mapping[Conclusion, str] = {
    "identical": "the chain holds and re-execution gives the same bytes",
    "intact": "the chain holds; re-execution was not asked for",
    "diverged": "the chain holds, but the rules give other bytes",
    "damaged": "a stored byte, order or predecessor has changed",
    "truncated": "events are missing at the end",
    "foreign": "the chain holds, but the rules that wrote the trace are not installed",
    "not_a_trace": "the file is no trace, or only one seat's view of one: there is nothing to verify",
}
# `foreign` is not sound: nothing contradicts the trace, and nothing confirms what its rules gave.
SOUND: frozenset[Conclusion] = frozenset({"identical", "intact"})

# Characters of a differing field: a whole order book would bury the verdict.
_MAX_SHOWN = 2_000
_CLOSURES = frozenset({"phase_closed", "round_closed", "episode_ended"})
# Core writes seq and event first; an event that is written otherwise is caught by re-execution.
_CLOSURE = re.compile(rb'\{"seq":\d+,"event":"(?:phase_closed|round_closed|episode_ended)"')
# Searched in bytes: without re-execution only events with a result that is stored apart need decoding.
_REF_MARK = b'"result_ref":"'


class TraceFinding(NamedTuple):
    """Something that should not be there and is no damage. `seq` is null when it belongs to no event."""

    seq: int | None
    message: str


def _no_findings() -> list[TraceFinding]:
    return []


@dataclass(frozen=True)
class Check:
    """What verify found. `seq` is the first event that is wrong (or missing); `events` is how many were found good.

    `recorded` and `reproduced` are the JSON of the first differing field, cut at 2,000 characters, when re-execution
    diverged. `head_hash` is the chain's hash after the last good event; `sealed` says whether the trace claims an end.
    `seal` covers head, times, costs and model records; `signed_by` is the fingerprint of the key that signed it.
    """

    path: str
    verdict: Conclusion
    message: str
    events: int = 0
    seq: int | None = None
    recorded: str | None = None
    reproduced: str | None = None
    head_hash: str | None = None
    sealed: bool = False
    seal: str | None = None
    signed_by: str | None = None
    findings: list[TraceFinding] = field(default_factory=_no_findings)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict in SOUND

    def to_json(self) -> dict[str, Any]:
        """The fields by name as plain data, for `--json`. `findings` is a list of objects with `seq` and `message`."""
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**shown, "findings": [finding._asdict() for finding in self.findings]}


class _Flaw(Exception):
    """The first thing that is wrong; ends the inspection."""

    def __init__(
        self, verdict: Conclusion, message: str, seq: int | None = None, recorded: str = "", reproduced: str = ""
    ) -> None:
        super().__init__(message)
        self.verdict: Conclusion = verdict
        self.message = message
        self.seq = seq
        self.recorded = recorded or None
        self.reproduced = reproduced or None


def verify_file(path: str | Path, *, chain_only: bool = False) -> Check:
    """Open and verify one file, or a stored trace by its address. Never raises for what the file holds.

    What cannot be opened as a trace is the verdict `not_a_trace` or `damaged`, with the reason in `message`.
    """
    # A store's address may carry a password; its parsed form prints without.
    shown = str(StorePlace.of(str(path))) if is_store(str(path)) else str(path)
    try:
        with open_trace(path) as trace:
            return replace(verify(trace, chain_only=chain_only), path=shown)
    # Before TraceError, of which it is a subclass.
    except NotATrace as error:
        return Check(shown, "not_a_trace", _message(error, shown))
    except CutShort as error:
        return Check(shown, "truncated", _message(error, shown))
    except TraceError as error:
        return Check(shown, "damaged", _message(error, shown))


def _message(error: TraceError, path: str | Path) -> str:
    """What the error says of the trace, without its path: the verdict has that."""
    return str(error).removeprefix(f"{path}: ")


def verify(trace: Trace, *, chain_only: bool = False) -> Check:
    """Check chain, blobs, seal and, unless `chain_only`, every byte by re-execution. Never raises for what is stored.

    The verdict names the first thing that is wrong; `OUTCOMES_OF_VERIFY` explains each verdict. An
    unfinished episode can be identical too; `sealed` is false then.
    """
    inspection = _Inspection(trace)
    flaw: _Flaw | None = None
    try:
        inspection.run(chain_only)
    except _Flaw as found:
        flaw = found
    except TraceError as error:
        # The reader itself refuses what it cannot decode: the event after the last good one is the
        # first wrong one.
        flaw = _Flaw("damaged", _message(error, trace.path), inspection.events + 1)
    conclusion: Conclusion = "intact" if chain_only else "identical"
    return Check(
        path=str(trace.path),
        verdict=flaw.verdict if flaw else conclusion,
        message=flaw.message if flaw else OUTCOMES_OF_VERIFY[conclusion],
        events=inspection.events,
        seq=flaw.seq if flaw else None,
        recorded=flaw.recorded if flaw else None,
        reproduced=flaw.reproduced if flaw else None,
        head_hash=inspection.head.hex() or None,
        sealed=inspection.sealed,
        seal=inspection.seal,
        signed_by=inspection.signed_by,
        findings=inspection.findings,
    )


class _Inspection:
    """One pass over the events; chain and re-execution side by side, so that the bytes are read once.

    `events` and `head` always say how far everything was good, also after a flaw.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.events = 0
        self.head = b""
        self.sealed = False
        self.seal: str | None = None
        self.signed_by: str | None = None
        self.findings: list[TraceFinding] = []
        self._blobs: dict[str, _Blob] = {}
        self._used: set[str] = set()
        self._last_closure: tuple[int, bytes] | None = None

    def run(self, chain_only: bool) -> None:
        """Everything, in the order of what depends on what; raises _Flaw or TraceError.

        First the blobs, then event by event chain and re-execution, then what only the whole trace can show.
        """
        # A live trace grows while it is read; blobs, events and head must be of one moment.
        self.trace.freeze()
        core = self._manifest()
        # Before the rows are read: scans and look-ups of a damaged file could contradict each other.
        self.trace.check_structure()
        # Blobs first: every event that names a result is checked against them as it passes.
        for name, body in self.trace.blobs():
            known = self._blobs.get(name)
            # Who finds two results under one name may be shown either.
            self._blobs[name] = _Blob(len(body), digest(body) == name and (known is None or known.holds))
        # Without rules there is nothing to follow: the chain is checked all the same.
        follower, foreign = (None, None) if chain_only else _follower(core, self.trace.blob)
        for stored in self._chained():
            # With re-execution the decoded event says itself whether it closes: its bytes may be
            # formatted in another way.
            event = self._step(follower, stored) if follower else None
            if event["event"] in _CLOSURES if event else _CLOSURE.match(stored.body):
                self._last_closure = (stored.seq, stored.hash)
            if stored.seq == 1 or _REF_MARK in stored.body:
                self._check_blob(stored, event or _plain(stored))
        self._check_stray_blobs()
        self._check_end()
        self._check_sealing()
        # Only here: a chain that is broken is damage, whether the rules are installed or not.
        if foreign is not None:
            raise foreign
        if follower is not None:
            self._check_outcome(follower)

    def _manifest(self) -> ManifestCore:
        """The manifest's core, whose hash begins the chain. Raises _Flaw where the seal does not fit."""
        manifest = self.trace.manifest
        self.sealed = manifest.sealed
        core = manifest.core
        self.head = manifest.first_hash
        # `about` is outside the chain; only the seal protects it.
        if self.sealed and not manifest.seal_holds:
            raise _Flaw("damaged", "the manifest's seal does not fit what its `about` says")
        self.seal = manifest.about.get("seal")
        return core

    def _chained(self) -> Iterator[StoredEvent]:
        """Events that have the right number and hash, one after another; `events` and `head` follow."""
        # A hash covers its predecessor, so that the first event that does not follow is where something was changed.
        for stored in self.trace.events():
            due = self.events + 1
            if stored.seq != due:
                raise _Flaw("damaged", f"event {due} is missing: event {stored.seq} stands in its place", due)
            follows = next_hash(self.head, stored.body)
            if follows != stored.hash:
                raise _Flaw("damaged", f"event {due}: its bytes, its order or its predecessor have changed", due)
            # Counted only after the consumer is done with the event: `events` is how many were found good.
            yield stored
            self.events, self.head = due, follows

    def _step(self, follower: Replayed, stored: StoredEvent) -> Mapping[str, Any]:
        """Re-execute one event and return what the rules gave. Raises _Flaw where they give other bytes."""
        try:
            event = follower.step(stored.body).event
        except Divergence as error:
            recorded, reproduced = _differing(error)
            raise _Flaw("diverged", str(error), error.seq, recorded, reproduced) from None
        except Exception as fault:
            # The rules meet arguments here that no door has checked: whatever they raise is a property of the trace.
            raise _Flaw("diverged", f"event {stored.seq}: re-execution fails: {fault!r}"[:500], stored.seq) from None
        return event

    def _check_blob(self, stored: StoredEvent, event: Mapping[str, Any]) -> None:
        """A result outside the event exists, hashes to its name and has the size that the event states.

        So do the parts of the catalogue, whose digests the first event holds.
        """
        for part in parts_named(event):
            self._used.add(part)
            known = self._blobs.get(part)
            # An unfinished log may end before the event that carries the last part.
            if not (known.holds if known is not None else not self.sealed):
                raise _Flaw("damaged", f"event {stored.seq}: the catalogue's part {part[:16]}… is not what was written")
        name = event.get("result_ref")
        if not isinstance(name, str):
            return
        self._used.add(name)
        blob = self._blobs.get(name)
        complaint = None
        if blob is None:
            complaint = f"its result {name[:16]}… is not stored"
        elif not blob.holds:
            complaint = f"the stored result {name[:16]}… has changed"
        elif event.get("result_digest") != name or event.get("result_size") != blob.size:
            complaint = "digest or size of its result do not fit the stored result"
        if complaint:
            raise _Flaw("damaged", f"event {stored.seq}: {complaint}", stored.seq)

    def _check_stray_blobs(self) -> None:
        """Results that no event names: findings, or damage where one does not fit its own hash."""
        for name, blob in self._blobs.items():
            if name not in self._used and not blob.holds:
                # A stray result that fits its hash is only a finding: nothing that the events say
                # depends on it.
                raise _Flaw("damaged", f"the stored result {name[:16]} has changed, and no event names it")
            if name not in self._used:
                self.findings.append(TraceFinding(None, f"the stored result {name[:16]} is named by no event"))

    def _check_end(self) -> None:
        """The head against the seal, and the last closure against the head that is kept next to the events.

        An open trace has only the second; a closed one that was cut contradicts both.
        """
        about = self.trace.manifest.about
        if self.trace.incomplete:
            raise _Flaw("truncated", self.trace.incomplete, self.events + 1)
        if self.sealed:
            self._compare_head("seal", about.get("head_seq"), about.get("head_hash"), self.events, self.head)
        closed = self.trace.closed_head()
        at, head = self._last_closure or (0, b"")
        # An open trace has no seal. The head of the last closure is what reveals that its tail was cut off.
        if closed is not None:
            self._compare_head("head of the last closure", *closed, at, head)
        elif at:
            raise _Flaw("damaged", f"event {at} closes a phase or round, but the head of the last closure is missing")

    def _compare_head(self, what: str, seq: object, head: object, at: int, found: bytes) -> None:
        """Compare a head that was stored (`seq`, `head`) with event `at`, which has the hash `found`.

        A head that names a later event means that events are missing; one that names an earlier event is damage.
        """
        if not isinstance(seq, int) or not isinstance(head, str):
            raise _Flaw("damaged", f"the {what} names no event")
        if seq > at:
            raise _Flaw("truncated", f"the {what} names event {seq}; the stored events end before it", self.events + 1)
        if seq < at:
            raise _Flaw("damaged", f"the {what} names event {seq}, but there are later ones", seq + 1)
        if head != found.hex():
            raise _Flaw("damaged", f"the {what} has another hash at event {seq}: the chain was rewritten", seq)

    def _check_outcome(self, follower: Replayed) -> None:
        """The end by the rules against the stored events, and what they reached against the seal."""
        about = self.trace.manifest.about
        try:
            # The rules expect more events than are stored: the tail is missing, even if all hashes fit.
            follower.finish()
        except Divergence as error:
            raise _Flaw("truncated", str(error), error.seq) from None
        if not self.sealed:
            if follower.core.ended is not None:
                self._find("the episode has ended, but nothing seals what `about` says")
            return
        # What the seal says of the outcome must be what the rules reached, or a forged seal could name a winner.
        claims = {"outcome_digest": follower.core.outcome_digest, "end_reason": follower.core.ended}
        for name, here in claims.items():
            if about.get(name) != here:
                raise _Flaw("diverged", f"the seal's {name} is another", None, _shown(about.get(name)), _shown(here))

    def _check_sealing(self) -> None:
        """Times, costs and model records against the seal, and its signature."""
        sealing = check_sealing(self.trace)
        self.findings += [TraceFinding(None, finding) for finding in sealing.findings]
        self.signed_by = sealing.signed_by
        if sealing.damage:
            raise _Flaw("damaged", sealing.damage)

    def _find(self, message: str) -> None:
        self.findings.append(TraceFinding(None, message))


class _Blob(NamedTuple):
    """Size of a stored result in bytes, and whether its content has the digest that is its name."""

    size: int
    holds: bool


def _follower(core: ManifestCore, blob: Callable[[str], bytes | None]) -> tuple[Replayed | None, _Flaw | None]:
    """A fresh episode to follow the log with; a flaw instead when its rules are not here."""
    # Before the market is looked up: under an unknown schema no field can be trusted to mean the same.
    if core.trace_schema not in READABLE_SCHEMAS:
        known = TRACE_SCHEMA.rpartition("/")[2]
        met = core.trace_schema.removeprefix("tradefair.trace/")[:80]
        return None, _Flaw("foreign", f"schema {met} is not known here (known: {known})")
    if core.market == IMPORTED_MARKET:
        return None, _Flaw("foreign", "imported, no rules to re-execute; the chain holds")
    try:
        return Replayed(Core.restore(market_type(core.market), core), blob), None
    except Divergence as error:
        return None, _Flaw("diverged", str(error), 0, _cut(error.in_log), _cut(error.re_executed))
    except TradefairError as error:
        return None, _Flaw("foreign", str(error))
    except Exception as fault:
        # A stranger's market may fail in any way when it is loaded or given content that it never wrote.
        return None, _Flaw("foreign", f"the rules of {core.market[:80]} cannot be opened: {fault!r}"[:500])


def _plain(stored: StoredEvent) -> Mapping[str, Any]:
    """A decoded event; empty where it is JSON but no object. Raises _Flaw where it is no JSON."""
    try:
        event: Any = orjson.loads(stored.body)
    except orjson.JSONDecodeError:
        raise _Flaw("damaged", f"event {stored.seq} is not JSON", stored.seq) from None
    return event if isinstance(event, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _differing(error: Divergence) -> tuple[str, str]:
    """Both values of the first field that differs."""
    try:
        recorded, reproduced = orjson.loads(error.in_log), orjson.loads(error.re_executed)
        # The rules' fields first, in the order in which they are written; then what only the record has.
        for key in [*reproduced, *recorded]:
            if recorded.get(key) != reproduced.get(key):
                return _shown(recorded.get(key)), _shown(reproduced.get(key))
    # One side is no JSON object: then both are shown as they are.
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        pass
    return _cut(error.in_log), _cut(error.re_executed)


def _shown(value: object) -> str:
    """A value as JSON, cut to the length that `Check` promises."""
    return _cut(orjson.dumps(value))


def _cut(raw: bytes) -> str:
    return raw[:_MAX_SHOWN].decode(errors="replace")
