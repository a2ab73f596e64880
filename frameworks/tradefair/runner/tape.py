"""Tapes: the accepted actions of a seat, played again in the same rules, on the same luck, in memory.

A tape is a policy in its seat. Beside it any number of policies can watch as *shadows*: their looks are carried out
without a trace, their actions answered where the tape holds the same action and refused as `skipped` where it does not.
So a shadow knows at every turn what it would know had it been there, and can play a turn in the tape's place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import JsonValue

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
from tradefair.contract.core import Core, Record
from tradefair.contract.following import MAX_CALLS_PER_TURN
from tradefair.contract.players import Seating
from tradefair.contract.policy import PrivilegedPolicy
from tradefair.evaluation.modes.calls import mapped
from tradefair.host.scripted import Scripted
from tradefair.tracestore import Trace
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.source import SideRow, Source, StoredEvent

_SKIPPED = ErrorInfo("skipped", "this turn is played from a tape", "", False)
_NOT_HERE = ErrorInfo("tool_unavailable", "there is no such tool here", "", False)

Place = tuple[int, str, int]
"""A turn of a seat: round, phase, and the how manieth of its turns in that phase, or the market's own step."""
Unit = int | tuple[int, int]
"""What is compared as a whole: a round, or of a market with steps (round, step)."""
Amended = Mapping[int, Mapping[str, JsonValue] | None]
"""Other arguments by the number of a call's event; None leaves the call out."""


class Tape(NamedTuple):
    """A seat's actions by turn, and the turn to which each of its events belongs.

    `stepped`: the market counts steps within a phase, and who is asked in which may change in a replay.
    """

    turns: Mapping[Place, Sequence[ToolCall]]
    places: Mapping[int, Place]
    stepped: bool = False

    def unit(self, place: Place) -> Unit:
        """The round of a turn, or its step."""
        return (place[0], place[2]) if self.stepped else place[0]


def read_tapes(events: Sequence[Mapping[str, Any]], amended: Amended) -> dict[SeatId, Tape]:
    """The tapes of all seats. A refused call is on none, unless `amended` gives it other arguments."""
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
        acted = called and event["kind"] == "action" and event["status"] == "ok"
        arguments = amended.get(event["seq"], event["arguments"] if acted else None) if called else None
        if arguments is not None:
            turns[seat][place].append(ToolCall(event["tool"], arguments))
    return {seat: Tape(turns[seat], places[seat], bool(steps)) for seat in places}


def _steps(events: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """The step of each revision, where the market's closures tell one (`step`, also within `last_step`)."""
    found: dict[int, int] = {}
    for event in events:
        if event["event"] in ("phase_closed", "round_closed"):
            public = mapped(event.get("public"))
            step = mapped(public.get("last_step", public)).get("step")
            # The clock moves with the closure: its event has the revision of what it closed.
            if isinstance(step, int):
                found[event["revision"]] = step
    return found


class Shadow:
    """A policy that watches a tape. `agreed` and `differed` count its actions by round or step, each a `Counter`.

    `broken` is what it failed with, if it did: a policy may not expect to be answered so. A policy that is `told` knows
    hidden truth in this scenario, as it would in its own seat.
    """

    def __init__(self, name: str, policy: Policy, *, told: bool = False) -> None:
        self.name = name
        self.policy = policy
        self.told = told
        self.agreed, self.differed = Counter[Unit](), Counter[Unit]()
        self.broken: Exception | None = None
        self._turns: Turns | None = None
        self._wanted: ToolCall | None = None
        self._unit: Unit = 0
        # Calls of this turn's tape that it wanted too.
        self._taken: set[int] = set()

    def agreement(self, without: Collection[Unit]) -> float:
        """The share of equal actions among its own and the tape's, outside these units; 0 where there are none."""
        agreed, differed = (
            sum(count for unit, count in counts.items() if unit not in without)
            for counts in (self.agreed, self.differed)
        )
        return agreed / (agreed + differed) if agreed else 0.0

    def begin(self, now: TurnView, unit: Unit) -> None:
        """Open a turn."""
        self._unit, self._taken, self._wanted = unit, set(), None
        if self.broken is None:
            self._turns = self.policy.turn(now)
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
                answer = self._recorded(same, played)
            self._resume(answer)

    def _recorded(self, same: Sequence[int], played: Sequence[ToolAnswer]) -> ToolAnswer:
        if not same:
            self.differed[self._unit] += 1
            return ToolAnswer(None, _SKIPPED, False)
        self._taken.add(same[0])
        self.agreed[self._unit] += 1
        return played[same[0]]

    def end(self, calls: Sequence[ToolCall], played: int) -> None:
        """Close the turn. The call that ended it, if there was one, was not answered any more."""
        if self._wanted is not None and played < len(calls) and self._wanted == calls[played]:
            self._taken.add(played)
            self.agreed[self._unit] += 1
        # What the tape did and this policy did not want.
        self.differed[self._unit] += len(calls) - len(self._taken)
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
    """Plays a tape in its seat, or in repaired turns the first of its shadows (protocol `Policy`)."""

    def __init__(self, tape: Tape, shadows: Sequence[Shadow] = (), repaired: Callable[[Place], bool] | None = None):
        self._tape = tape
        self._shadows = shadows
        self._repaired = repaired
        self._steps: Counter[tuple[int, str]] = Counter()
        self.look: Look = lambda call: None
        """Given by the replay, which has the rules."""

    @property
    def told(self) -> bool:
        """Whether one of its shadows knows hidden truth."""
        return any(shadow.told for shadow in self._shadows)

    def see(self, truth: object) -> None:
        """Hand hidden truth on to the shadows that know it."""
        for shadow in self._shadows:
            if shadow.told:
                cast(PrivilegedPolicy, shadow.policy).see(truth)

    def turn(self, now: TurnView) -> Turns:
        """One turn: the tape's calls, in order."""
        step = now.market.get("step") if self._tape.stepped else None
        place = (now.round, now.phase, step if isinstance(step, int) else self._steps[now.round, now.phase])
        self._steps[now.round, now.phase] += 1
        if self._repaired is not None and self._repaired(place):
            return self._shadows[0].policy.turn(now)
        return self._from_tape(now, self._tape.unit(place), self._tape.turns.get(place, ()))

    def _from_tape(self, now: TurnView, unit: Unit, calls: Sequence[ToolCall]) -> Turns:
        played: list[ToolAnswer] = []
        for shadow in self._shadows:
            shadow.begin(now, unit)
        try:
            for call in calls:
                self._advance(played, calls)
                played.append((yield call))
            self._advance(played, calls)
        # The driver closes a turn at the call that ends it: nothing behind the `yield` runs then.
        finally:
            for shadow in self._shadows:
                shadow.end(calls, len(played))

    def _advance(self, played: Sequence[ToolAnswer], calls: Sequence[ToolCall]) -> None:
        for shadow in self._shadows:
            shadow.advance(played, calls, self.look)


def replay(
    core: Core, scripted: Scripted, players: Mapping[SeatId, TapePlayer], manifest: Manifest, seating: Seating
) -> Trace:
    """Play an episode to its end without writing anything; its trace, which holds no chain of hashes.

    Raises ScriptedFailure where a policy fails, HarnessFailure where a seat is played by no policy.
    """
    for seat, player in players.items():
        player.look = _looking(core, scripted, seat)
    records = core.start(seating).records
    while core.ended is None and (more := scripted.run(core)):
        records += more
    if core.ended is None:
        raise HarnessFailure("no seat plays on, and the episode has not ended")
    return held_trace(manifest, records)


def held_trace(manifest: Manifest, records: Sequence[Record]) -> Trace:
    """Events in memory as a trace that can be evaluated; it holds no chain of hashes."""
    return Trace(Path("replay"), cast(Source, _Held(manifest, records)))


def _looking(core: Core, scripted: Scripted, seat: SeatId) -> Look:
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

    def events(self, after: int, *, side: bool = False) -> Iterator[StoredEvent]:
        return (StoredEvent(record.seq, record.body, b"") for record in self._records[after:])

    def blob(self, digest: str) -> bytes | None:
        return dict(self.blobs()).get(digest)

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        return (record.blob for record in self._records if record.blob is not None)

    def closed_head(self) -> tuple[int, str] | None:
        return None

    def side(self) -> Iterator[SideRow]:
        return iter(())

    def notes(self) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def close(self) -> None:
        pass
