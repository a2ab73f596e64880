"""Is a trace what its writer sealed, and do today's rules give the same bytes again?

The chain proves internal consistency: no stored byte, order or predecessor has changed since the head hash was taken.
Who can rewrite the whole file can also rewrite the head: anchor the head hash elsewhere against that. Re-execution
proves that the rules really gave what the trace says they gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from tradefair.catalog import market_type
from tradefair.contract import SeatId, TraceError, TradefairError
from tradefair.contract.chain import canonical, digest, next_hash
from tradefair.contract.errors import Divergence
from tradefair.contract.foreign import FOREIGN
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.event import OLD_SCHEMAS, TRACE_SCHEMA, ManifestCore, parts_named
from tradefair.contract.kernel.following import Strayed
from tradefair.contract.kernel.replay import Replayed, Step
from tradefair.evaluation.prove.proof import Odd, Proof, Rules
from tradefair.evaluation.prove.sealing import Sealing, check_sealing, counted_calls, odd_values
from tradefair.evaluation.prove.seat_checks import SeatCheck, SeatChecks, call_of, seats_text
from tradefair.tracestore import CutShort, NotATrace, RowDigest, StoredEvent, StorePlace, Trace, is_store, open_trace

Conclusion: TypeAlias = Literal[
    "reproduced", "reproduced in part", "intact", "diverged", "damaged", "truncated", "foreign", "not_a_trace"
]
# The texts are printed below the table of `tradefair verify`, once per verdict.
OUTCOMES_OF_VERIFY: Mapping[Conclusion, str] = {
    "reproduced": "the chain holds and re-execution gives the same bytes",
    "reproduced in part": "the rules give the same bytes; a seat that names a policy is not shown to be played by it",
    "intact": "the chain holds; re-execution was not asked for",
    "diverged": "the chain holds, but the rules give other bytes",
    "damaged": "a stored byte, order or predecessor has changed",
    "truncated": "events are missing at the end",
    "foreign": "the chain holds, but this version cannot run the rules or the schema that wrote the trace",
    "not_a_trace": "the file is no trace, or only one seat's view of one: there is nothing to verify",
}
# Nothing contradicts a trace that is `foreign` or reproduced in part, and something in it nothing confirms.
SOUND: frozenset[Conclusion] = frozenset({"reproduced", "intact"})

COPIED = ("programs", "refusals", "faults", "inputs")
"""What can come from outside the rules, as `Check.copied` counts it."""

OLD_TRACE = "trace schema 1 does not say in its chain who played; the chain holds; nothing was re-executed"

# Characters of a differing field: a whole order book would bury the verdict.
_MAX_SHOWN = 2_000
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
    """What verify found. `sentence` is its one wording; `seq` is the first event that is wrong or missing.

    `events` is how many were found good, `copied` how many of them came from outside the rules: programs, refusals,
    faults, inputs. `seats` says of each seat whether its policy plays it so again; empty where seats were not checked.
    `changes` are the seats that changed hands, `odd` values beside the chain that cannot be true. `proof` is what
    tables ask, `sealing` what lies beside the chain that is not as it was sealed.
    `in_log` and `re_executed` are the JSON of the first differing field, or of both calls, cut at 2,000 characters;
    `seq` is 0 where the manifest's core differs. `head_hash` is the chain's hash after the last good event; `sealed`
    says whether the trace claims an end. `seal` covers head, times, costs and model records; `signed_by` is the
    fingerprint of the key that signed it.
    """

    path: str
    verdict: Conclusion
    sentence: str
    events: int = 0
    copied: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(COPIED, 0))
    seats: Mapping[SeatId, SeatCheck] = field(default_factory=dict[SeatId, SeatCheck])
    head_hash: str | None = None
    seal: str | None = None
    sealed: bool = False
    signed_by: str | None = None
    seq: int | None = None
    in_log: str | None = None
    re_executed: str | None = None
    findings: list[TraceFinding] = field(default_factory=_no_findings)
    proof: Proof = field(default_factory=Proof)
    sealing: Sealing = field(default_factory=lambda: Sealing(None))

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict in SOUND

    def to_json(self) -> dict[str, Any]:
        """The fields by name as plain data, for `--json`. `findings` is a list of objects with `seq` and `message`."""
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("proof", "sealing")}
        shown["changes"] = [change._asdict() for change in self.proof.changes]
        shown["odd"] = [odd._asdict() for odd in self.proof.odd]
        seats = {seat: check._asdict() for seat, check in self.seats.items()}
        findings = [finding._asdict() for finding in self.findings]
        return {**shown, "copied": dict(self.copied), "seats": seats, "findings": findings}


class _Flaw(Exception):
    """The first thing that is wrong; ends the check."""

    def __init__(
        self, verdict: Conclusion, message: str, seq: int | None = None, in_log: str = "", re_executed: str = ""
    ) -> None:
        super().__init__(message)
        self.verdict: Conclusion = verdict
        self.message = message
        self.seq = seq
        self.in_log = in_log or None
        self.re_executed = re_executed or None


def verify_file(path: str | Path, *, chain_only: bool = False, seats: bool = True) -> Check:
    """Open and verify one file, or a stored trace by its address. Never raises for what the file holds.

    What cannot be opened as a trace is the verdict `not_a_trace` or `damaged`, with the reason in `sentence`.
    """
    # A store's address may carry a password; its parsed form prints without.
    shown = str(StorePlace.of(str(path))) if is_store(str(path)) else str(path)
    try:
        with open_trace(path) as trace:
            return replace(verify(trace, chain_only=chain_only, seats=seats), path=shown)
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


def verify(trace: Trace, *, chain_only: bool = False, seats: bool = True) -> Check:
    """Check chain, blobs and seal; unless `chain_only` every byte by re-execution, and with `seats` who played.

    Never raises for what is stored. The verdict names the first thing that is wrong; `OUTCOMES_OF_VERIFY` explains each
    verdict. An unfinished episode can be reproduced too; `sealed` is false then.
    """
    return Checker(trace, rules=not chain_only, seats=seats).advance()


class Checker:
    """One pass over the events; chain, re-execution and policies side by side, so that the bytes are read once.

    Of a live trace `advance` checks what has come since the last sound event; `rules`: whether to re-execute, `seats`:
    whether to play scripted seats again while doing so.
    """

    def __init__(self, trace: Trace, *, rules: bool = True, seats: bool = True) -> None:
        self.trace = trace
        self._rules = rules
        self._seats = rules and seats
        self._begin()

    def _begin(self) -> None:
        # `events` and `head` always say how far everything was good, also after a flaw.
        self.events: int = 0
        self.head = b""
        self.sealed = False
        self.seal: str | None = None
        self.sealing = Sealing(None)
        self.findings: list[TraceFinding] = []
        self.odd: list[Odd] = []
        self._core_bytes: bytes | None = None
        self._follower: Replayed | None = None
        self._foreign: _Flaw | None = None
        self._players: SeatChecks | None = None
        # Once an event was wrong, nothing behind it can be right.
        self._flaw: _Flaw | None = None
        self._blobs: dict[str, _Blob] = {}
        self._used: set[str] = set()
        self._last_closure: tuple[int, bytes] | None = None
        # Of a trace that was sealed when its first event was read: its side rows are counted with the events.
        self._calls: RowDigest | None = None

    def advance(self, trace: Trace | None = None) -> Check:
        """Check from the last sound event on. `trace` is the same trace opened again, where it has grown since.

        Never raises for what is stored.
        """
        self.trace, self.findings = trace or self.trace, []
        flaw: _Flaw | None = None
        try:
            self._run()
        except _Flaw as found:
            flaw = found
        except TraceError as error:
            # The reader itself refuses what it cannot decode: the event after the last good one is the first wrong one.
            flaw = _Flaw("damaged", _message(error, self.trace.path), self.events + 1)
        copied = {name: self._follower.copied[name] if self._follower else 0 for name in COPIED}
        seats = dict(self._players.states) if self._players else {}
        part = any(seat.state == "unproven" for seat in seats.values())
        conclusion: Conclusion = "reproduced in part" if part else "reproduced" if self._rules else "intact"
        verdict = flaw.verdict if flaw else conclusion
        proof = _proof(verdict, copied, self._players)
        sentence = flaw.message if flaw else _sentence(self.events, verdict, proof, seats, seats_asked=self._seats)
        return Check(
            path=str(self.trace.path),
            verdict=verdict,
            sentence=sentence,
            proof=proof._replace(
                sentence=sentence, odd=self.odd, seq=(flaw and flaw.seq) or 0, seat=self._seat_at(flaw and flaw.seq)
            ),
            events=self.events,
            copied=copied,
            seats=seats,
            head_hash=self.head.hex() or None,
            seal=self.seal,
            sealed=self.sealed,
            signed_by=self.sealing.signed_by,
            sealing=self.sealing,
            seq=flaw.seq if flaw else None,
            in_log=flaw.in_log if flaw else None,
            re_executed=flaw.re_executed if flaw else None,
            findings=self.findings,
        )

    def _seat_at(self, seq: int | None) -> str:
        """Whose event it is; "" where that cannot be read."""
        try:
            stored = next(self.trace.events(seq - 1)) if seq else None
            seat = _plain(stored).get("seat") if stored else None
        except (_Flaw, TraceError, StopIteration):
            return ""
        return seat[:80] if isinstance(seat, str) else ""

    def _run(self) -> None:
        """Everything, in the order of what depends on what; raises _Flaw or TraceError.

        First the blobs, then event by event chain and re-execution, then what only the whole trace can show.
        """
        # A live trace grows while it is read; blobs, events and head must be of one moment.
        self.trace.freeze()
        core = self._manifest()
        # Who sat down since may draw otherwise from the event on that seats them, and decided there already.
        if self._players is not None and self.trace.seated(self.events):
            self._begin()
            core = self._manifest()
        if self._flaw is not None:
            raise self._flaw
        if self.events == 0:
            # Before the rows are read: scans and look-ups of a damaged file could contradict each other.
            self.trace.check_structure()
            self._calls = counted_calls(self.trace)
        # Blobs first: every event that names a result is checked against them as it passes.
        self._read_blobs()
        # Without rules there is nothing to follow: the chain is checked all the same.
        if self.events == 0 and self._rules:
            self._players = self._players_of(core) if self._seats else None
            self._follower, self._foreign = self._follow(core)
        try:
            self._check_events()
        except (_Flaw, TraceError) as error:
            self._flaw = error if isinstance(error, _Flaw) else _Flaw("damaged", _message(error, self.trace.path))
            self._flaw.seq = self.events + 1 if self._flaw.seq is None else self._flaw.seq
            raise self._flaw from None
        self._check_stray_blobs()
        self._check_end()
        self._check_sealing()
        # Only here: a chain that is broken is damage, whether the rules are installed or not.
        if self._foreign is not None:
            raise self._foreign
        if self._follower is not None:
            self._check_outcome(self._follower)
        if self._follower is not None and self.sealed:
            seating = self._players.seating if self._players else None
            self.odd = odd_values(self.trace, seating or self.trace.seating())

    def _read_blobs(self) -> None:
        # Those of the events that are checked next: earlier ones were read with theirs.
        for name, body in self.trace.blobs(self.events):
            known = self._blobs.get(name)
            # Who finds two results under one name may be shown either.
            self._blobs[name] = _Blob(len(body), digest(body) == name and (known is None or known.holds))
            if name in self._used and not self._blobs[name].holds:
                raise _Flaw("damaged", f"the stored result {name[:16]}… has changed since it was checked")

    def _players_of(self, core: ManifestCore) -> SeatChecks | None:
        """The policies that are played again; None where the trace does not say in order who played."""
        try:
            return SeatChecks(self.trace.seatings()) if core.trace_schema == TRACE_SCHEMA else None
        # Re-execution then names the event that does not say it.
        except (TraceError, ValueError):
            return None

    def _follow(self, core: ManifestCore) -> tuple[Replayed | None, _Flaw | None]:
        # By the trace of the moment: a live one is opened again.
        return _opened(core, self.trace.manifest.core_bytes, lambda name: self.trace.blob(name), self._players)

    def _manifest(self) -> ManifestCore:
        """The manifest's core, whose hash begins the chain. Raises _Flaw where the seal does not fit."""
        manifest = self.trace.manifest
        self.sealed = manifest.sealed
        core = manifest.core
        # Another episode under the same name.
        if manifest.core_bytes != self._core_bytes:
            self._begin()
            self.sealed = manifest.sealed
            self.head, self._core_bytes = manifest.first_hash, manifest.core_bytes
        # `about` is outside the chain; only the seal protects it.
        if self.sealed and not manifest.seal_holds:
            raise _Flaw("damaged", "the manifest's seal does not fit what its `about` says")
        self.seal = manifest.about.get("seal")
        return core

    def _check_events(self) -> None:
        """Number and hash of one event after another, re-execution, the results that it names.

        `events` and `head` say how far all of it was good.
        """
        follower, calls = self._follower, self._calls
        for stored in self.trace.events(self.events, side=calls is not None):
            seq, body, head, side = stored
            due = self.events + 1
            if seq != due:
                raise _Flaw("damaged", f"event {due} is missing: event {seq} stands in its place", due)
            # A hash covers its predecessor: the first event that does not follow is where something was changed.
            if next_hash(self.head, body) != head:
                raise _Flaw("damaged", f"event {due}: its bytes, its order or its predecessor have changed", due)
            if calls is not None and side is not None:
                calls.add(side)
            # With re-execution the rules say what it is: its bytes may be formatted in another way. A result that an
            # earlier event was first to hold has been checked there.
            step = self._step(follower, stored) if follower else None
            if step.closes if step else _CLOSURE.match(body):
                self._last_closure = (seq, head)
            if seq == 1 or (_REF_MARK in body and (step is None or step.holds)):
                self._check_blob(stored)
            self.events, self.head = seq, head

    def _step(self, follower: Replayed, stored: StoredEvent) -> Step:
        """Re-execute one event. Raises _Flaw where the rules give other bytes."""
        try:
            return follower.step(stored.body)
        except Divergence as error:
            raise _Flaw("diverged", str(error), error.seq, *_differing(error)) from None
        except Strayed as error:
            recorded = {name: error.event[name] for name in ("tool", "arguments") if name in error.event} or None
            both = _shown(recorded), _shown(call_of(error.wanted))
            raise _Flaw("diverged", _strayed(error), stored.seq, *both) from None
        except Exception as fault:
            # The rules meet arguments here that no door has checked: whatever they raise is a property of the trace.
            raise _Flaw("diverged", f"event {stored.seq}: re-execution fails: {fault!r}"[:500], stored.seq) from None

    def _check_blob(self, stored: StoredEvent) -> None:
        """A result outside the event exists, hashes to its name and has the size that the event states.

        So do the parts of the catalogue, whose digests the first event holds.
        """
        event = _plain(stored)
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
        for program in follower.core.programs.values():
            self._find(f"the program {program.calls[0]} was running at the end: no event says what it gave")
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
        self.sealing = sealing = check_sealing(self.trace, self._calls)
        self.findings += [TraceFinding(None, finding) for finding in sealing.findings]
        if sealing.damage:
            raise _Flaw("damaged", sealing.damage)

    def _find(self, message: str) -> None:
        self.findings.append(TraceFinding(None, message))


class _Blob(NamedTuple):
    """Size of a stored result in bytes, and whether its content has the digest that is its name."""

    size: int
    holds: bool


def _opened(
    core: ManifestCore, core_bytes: bytes, blob: Callable[[str], bytes | None], players: SeatChecks | None
) -> tuple[Replayed | None, _Flaw | None]:
    """A fresh episode to follow the log with; a flaw instead when its rules are not here."""
    # Before the market is looked up: under an unknown schema no field can be trusted to mean the same.
    if core.trace_schema in OLD_SCHEMAS:
        return None, _Flaw("foreign", OLD_TRACE)
    if core.trace_schema != TRACE_SCHEMA:
        known = TRACE_SCHEMA.rpartition("/")[2]
        met = core.trace_schema.removeprefix("tradefair.trace/")[:80]
        return None, _Flaw("foreign", f"schema {met} is not known here (known: {known})")
    if core.rules_version in FOREIGN:
        return None, _Flaw("foreign", f"{core.rules_version}: chain holds; not re-executable: no rules")
    try:
        # The bytes too: a reader that takes the first of two equal keys would see another core.
        if core_bytes != canonical(core.model_dump(mode="json")):
            return None, _Flaw("diverged", "the core: its bytes are not those that are written for what it says", 0)
        return Replayed(Core.restore(market_type(core.market), core), blob, players), None
    except Divergence as error:
        return None, _Flaw("diverged", str(error), 0, _cut(error.in_log), _cut(error.re_executed))
    except TradefairError as error:
        return None, _Flaw("foreign", str(error))
    except Exception as fault:
        # A stranger's market may fail in any way when it is loaded or given content that it never wrote.
        return None, _Flaw("foreign", f"the rules of {core.market[:80]} cannot be opened: {fault!r}"[:500])


_RULES: Mapping[Conclusion, Rules] = {
    "reproduced": "reproduced", "reproduced in part": "reproduced", "intact": "unchecked", "diverged": "diverged",
    "foreign": "foreign",
}  # fmt: skip


def _proof(verdict: Conclusion, copied: Mapping[str, int], players: SeatChecks | None) -> Proof:
    proof = Proof(rules=_RULES.get(verdict, "damaged"), copied=copied)
    if players is None:
        return proof
    return proof._replace(
        seats={seat: check.state for seat, check in players.states.items()},
        changes=tuple(players.changes),
        why={seat: check.why for seat, check in players.states.items() if check.why},
        at=dict(players.at),
        faults=dict(players.faults),
        late=frozenset(players.late),
        origins=frozenset(players.origins),
    )


def _sentence(
    events: int, verdict: Conclusion, proof: Proof, states: Mapping[SeatId, SeatCheck], *, seats_asked: bool
) -> str:
    """What is said of a sound trace."""
    if verdict == "intact":
        return f"{events} events; the chain holds, nothing was re-executed."
    copied = proof.copied
    named = [f"{count} {name if count > 1 else name[:-1]}" for name, count in copied.items() if count]
    parts = [f"{events} events, {verdict}"]
    if named:
        parts[0] += f"; {sum(copied.values())} of them copied: {', '.join(named)}"
    parts += [seats_text(states, proof.changes)] if states else []
    parts += [] if seats_asked else ["Scripted seats were not played again"]
    return "".join(f" {part}." for part in parts)[1:]


def _strayed(error: Strayed) -> str:
    event, wanted = error.event, error.wanted
    wants = "no call" if wanted is None else _call_text(wanted.tool, wanted.arguments)
    return f"{error}: it wants {wants}, not {_call_text(event.get('tool', event['event']), event.get('arguments', {}))}"


def _call_text(tool: object, arguments: object) -> str:
    return f"{str(tool)[:100]} {_shown(arguments)[:200]}"


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
    return _cut(orjson.dumps(value, default=str))


def _cut(raw: bytes) -> str:
    return raw[:_MAX_SHOWN].decode(errors="replace")
