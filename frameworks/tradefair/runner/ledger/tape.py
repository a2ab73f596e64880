"""Tapes: the accepted actions of a seat, played again in the same rules, on the same luck, in memory.

A tape is a policy in its seat. Beside it any number of policies can watch as *shadows*: their looks are carried out
without a trace, their actions answered where the tape holds the same action and refused as `skipped` where it does not.
So a shadow knows at every turn what it would know had it been there, and can play a turn in the tape's place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple, cast

from tradefair.contract import (
    ErrorInfo,
    HarnessFailure,
    IllegalAction,
    Policy,
    SeatId,
    ToolAnswer,
    ToolCall,
    Turns,
    TurnView,
)
from tradefair.contract.arguments import accepted_arguments
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.following import MAX_CALLS_PER_TURN
from tradefair.evaluation.read.objects import mapping
from tradefair.host.seats.scripted import Scripted
from tradefair.tracestore import Trace
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.source import SideRow, Source, StoredEvent

_SKIPPED = ErrorInfo("skipped", "this turn is played from a tape", "", False)
_NOT_HERE = ErrorInfo("tool_unavailable", "there is no such tool here", "", False)

Place = tuple[int, str, int]
"""A turn of a seat: round, phase, and the how manieth of its turns in that phase, or the market's own step."""


class Tape(NamedTuple):
    """A seat's actions by turn, and the turn to which each of its events belongs.

    `stepped`: the market counts steps within a phase, and who is asked in which may change in a replay.
    """

    turns: Mapping[Place, Sequence[ToolCall]]
    places: Mapping[int, Place]
    stepped: bool = False


def read_tapes(events: Sequence[Mapping[str, Any]]) -> dict[SeatId, Tape]:
    """The tapes of all seats. A refused call is on none."""
    steps = _steps(events)
    turns: dict[SeatId, dict[Place, list[ToolCall]]] = defaultdict(lambda: defaultdict(list))
    places: dict[SeatId, dict[int, Place]] = defaultdict(dict)
    revisions: dict[tuple[SeatId, int, str], list[int]] = defaultdict(list)
    for event in events:
        seat, called = event["seat"], event["event"] == "tool_called"
        # What a program calls are looks, and the looks of the original are not made again.
        if seat is None or not (called or event["event"] == "seat_lapsed") or event.get("parent") is not None:
            continue
        known = revisions[seat, event["round"], event["phase"]]
        # A phase may await a seat several times; each of its closures raises the revision.
        if event["revision"] not in known:
            known.append(event["revision"])
        place = (event["round"], event["phase"], steps.get(event["revision"], known.index(event["revision"])))
        places[seat][event["seq"]] = place
        if called and event["kind"] == "action" and event["status"] == "ok":
            turns[seat][place].append(ToolCall(event["tool"], event["arguments"]))
    return {seat: Tape(turns[seat], places[seat], bool(steps)) for seat in places}


def _steps(events: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """The step of each revision, where the market's closures tell one (`step`, also within `last_step`)."""
    found: dict[int, int] = {}
    for event in events:
        if event["event"] in ("phase_closed", "round_closed"):
            public = mapping(event.get("public"))
            step = mapping(public.get("last_step", public)).get("step")
            # The clock moves with the closure: its event has the revision of what it closed.
            if isinstance(step, int):
                found[event["revision"]] = step
    return found


class Shadow:
    """A policy that watches a tape. `broken` is what it failed with, if it did: it may not expect such answers."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.name = name
        self.policy = policy
        self.broken: Exception | None = None
        self.same = False
        """Whether it wanted exactly the calls of the tape in the turn that was closed last."""
        self._turns: Turns | None = None
        self._wanted: ToolCall | None = None
        # The actions of this turn that it wanted, and the calls of the tape among them.
        self._wants: list[ToolCall] = []
        self._taken: set[int] = set()

    def begin(self, now: TurnView) -> None:
        """Open a turn."""
        self._wants, self._taken, self._wanted = [], set(), None
        if self.broken is None:
            try:
                self._turns = self.policy.turn(now)
            except Exception as fault:  # a policy may be a stranger's code
                self.broken = fault
            self._resume(None)

    def advance(self, played: Sequence[ToolAnswer], calls: Sequence[ToolCall], look: Look) -> None:
        """Go on until it waits for a call that the tape has still to play, or has no more to do.

        `played` are the answers of the first `calls`.
        """
        for _ in range(MAX_CALLS_PER_TURN):
            if self._wanted is None:
                return
            answer = look(self._wanted)
            if answer is None:
                same = [index for index, call in enumerate(calls) if call == self._wanted and index not in self._taken]
                if same and same[0] >= len(played):
                    return
                self._wants.append(self._wanted)
                self._taken.update(same[:1])
                answer = played[same[0]] if same else ToolAnswer(None, _SKIPPED, False)
            self._resume(answer)

    def end(self, calls: Sequence[ToolCall]) -> None:
        """Close the turn. The call that ended it, if there was one, was not answered any more."""
        if self._wanted is not None:
            self._wants.append(self._wanted)
        self.same = self.broken is None and self._wants == list(calls)
        if self._turns is not None:
            self._turns.close()
        self._turns = self._wanted = None

    def _resume(self, answer: ToolAnswer | None) -> None:
        turns, self._wanted = self._turns, None
        if turns is None:
            return
        try:
            self._wanted = next(turns) if answer is None else turns.send(answer)
            self._wanted = ToolCall(self._wanted.tool, dict(self._wanted.arguments))
        except StopIteration:
            pass
        except Exception as fault:  # a policy may be a stranger's code
            self.broken = fault


Look = Callable[[ToolCall], ToolAnswer | None]
"""Answers a read or analysis without an event; None for a call that would act."""


class TapePlayer:
    """Plays a tape in its seat, watched by shadows (protocol `Policy`)."""

    def __init__(self, tape: Tape, shadows: Sequence[Shadow] = ()) -> None:
        self._tape = tape
        self.shadows = shadows
        self._steps: Counter[tuple[int, str]] = Counter()
        self.look: Look = lambda call: None
        """Given by the replay, which has the rules."""

    def __deepcopy__(self, memo: dict[int, Any]) -> TapePlayer:
        twin = memo[id(self)] = TapePlayer(self._tape, deepcopy(self.shadows, memo))
        twin._steps = self._steps.copy()
        return twin

    def place(self, now: TurnView) -> Place:
        """Where in the tape the turn that comes next is."""
        step = now.market.get("step") if self._tape.stepped else None
        return (now.round, now.phase, step if isinstance(step, int) else self._steps[now.round, now.phase])

    def turn(self, now: TurnView) -> Turns:
        """One turn: the tape's calls, in order."""
        calls = self._tape.turns.get(self.place(now), ())
        self._steps[now.round, now.phase] += 1
        return self._played(now, calls)

    def _played(self, now: TurnView, calls: Sequence[ToolCall]) -> Turns:
        played: list[ToolAnswer] = []
        for shadow in self.shadows:
            shadow.begin(now)
        try:
            for call in calls:
                self._advance(played, calls)
                played.append((yield call))
            self._advance(played, calls)
        # The driver closes a turn at the call that ends it: nothing behind the `yield` runs then.
        finally:
            for shadow in self.shadows:
                shadow.end(calls)

    def _advance(self, played: Sequence[ToolAnswer], calls: Sequence[ToolCall]) -> None:
        for shadow in self.shadows:
            shadow.advance(played, calls, self.look)


def replay(core: Core, scripted: Scripted, records: list[Record]) -> None:
    """Play an episode on to its end without writing anything; its events are added to `records`.

    Raises ScriptedFailure where a policy fails, HarnessFailure where a seat is played by no policy.
    """
    while core.ended is None and (more := scripted.run(core)):
        records += more
    if core.ended is None:
        raise HarnessFailure("no seat plays on, and the episode has not ended")


def held_trace(manifest: Manifest, records: Sequence[Record]) -> Trace:
    """Events in memory as a trace that can be evaluated; it holds no chain of hashes."""
    return Trace(Path("replay"), cast(Source, _Held(manifest, records)))


def looking(core: Core, scripted: Scripted, seat: SeatId) -> Look:
    """The look of a seat. It counts against no limit and moves no read mark: the tape's own calls need theirs."""

    def look(call: ToolCall) -> ToolAnswer | None:
        tool = core.tools(seat).get(call.tool)
        if tool is None or tool.recorded:
            return ToolAnswer(None, _NOT_HERE, False)
        if not tool.read_only:
            return None
        extra = {"inputs": scripted.inputs(core, seat, call)} if tool.needs else {}
        given = accepted_arguments(dict(call.arguments), tool)
        if given is None:
            return ToolAnswer(None, _NOT_HERE._replace(code="invalid_arguments"), False)
        try:
            result = tool.function(core.market if tool.subject == "market" else core, seat, **given.__dict__, **extra)
        except IllegalAction as refusal:
            return ToolAnswer(None, refusal.info, False)
        return ToolAnswer(result.__pydantic_serializer__.to_json(result), None, False)

    return look


class _Held:
    """A trace in memory: of the protocol `Source` what an evaluation asks for."""

    def __init__(self, manifest: Manifest, records: Sequence[Record]) -> None:
        self._manifest = manifest
        self._records = records

    def freeze(self) -> None:
        pass

    def manifest(self) -> Manifest:
        return self._manifest

    def events(self, after: int, *, side: bool = False, tag: bytes = b"") -> Iterator[StoredEvent]:
        return (StoredEvent(record.seq, record.body, b"") for record in self._records[after:])

    def blob(self, digest: str) -> bytes | None:
        return dict(self.blobs()).get(digest)

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        return (record.blob for record in self._records if record.blob is not None)

    def closed_head(self) -> tuple[int, str] | None:
        return None

    def side(self, by: str | None = None) -> Iterator[SideRow]:
        return iter(())

    def notes(self) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def close(self) -> None:
        pass
