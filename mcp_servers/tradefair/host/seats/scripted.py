"""Scripted seats: policies that are played synchronously through Core, before an outside caller gets its answer.

When an episode is resumed or forked, its policies follow the log first (`contract/kernel/following.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from pydantic import JsonValue

from tradefair.contract import HarnessFailure, InputRequest, Policy, SeatId, ToolAnswer, ToolCall, Turns
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.following import MAX_CALLS_PER_TURN, Follower, ForkedPast
from tradefair.contract.market import Ranks, Wakes
from tradefair.host.seats.services import request_of


class ScriptedFailure(HarnessFailure):
    """A scripted seat cannot go on. `records` are the events up to its failure: they have happened and must be kept.

    The episode keeps these records and then ends as `truncated:harness_failure`.
    """

    def __init__(self, seat: SeatId, fault: Exception, records: list[Record]) -> None:
        super().__init__(f"the policy of {seat} failed: {fault!r}")
        self.records = records


class Scripted(Follower):
    """The policies of an episode's scripted seats.

    `makers` give each scripted seat a fresh policy. They are asked in the market's order of seats, those of the
    runner's agent (`late`) after the others and `privileged` ones last. The order makes head hashes equal between runs.
    Under a free clock a market may rank its seats (`Ranks`), because there the order of asking is that of arrival.

    `shadows` and `past` are those of `Follower`.
    """

    def __init__(
        self,
        makers: Mapping[SeatId, Callable[[], Policy]],
        *,
        privileged: frozenset[SeatId] = frozenset(),
        late: frozenset[SeatId] = frozenset(),
        shadows: Mapping[SeatId, Callable[[], Policy]] | None = None,
        past: ForkedPast | None = None,
    ) -> None:
        self._order = sorted(makers, key=lambda seat: (seat in privileged, seat in late))
        self._late = late
        self._places: dict[SeatId, int] = {}  # under the free clock: the order of asking, and each seat's index in it
        self.answer: Callable[[InputRequest], JsonValue] | None = None
        """Gives a call what its market asks of outside services; set by an episode that has services."""
        self.before_turn: Callable[[Core, Scripted, SeatId, Sequence[Record]], None] | None = None
        """Called before each turn, when no policy's turn is open, with the events of this commit so far."""
        # By revision: in its next turn the policy is asked again.
        self._played: dict[SeatId, int] = {}  # the revision in which a seat last acted (free clock: once per tick)
        self._passed = 0  # free clock: where in the order the pass that is under way goes on
        super().__init__(makers, privileged=privileged, shadows=shadows, past=past)

    def reset(self) -> None:
        """Fresh policies, as before the first round; no pass is under way."""
        super().reset()
        self._played, self._passed = {}, 0

    def __contains__(self, seat: SeatId) -> bool:
        return seat in self._makers

    def __deepcopy__(self, memo: dict[int, Any]) -> Scripted:
        """These policies for a second course of the episode, within `before_turn`, of which the copy has none."""
        shared = (self._makers, self._shadows, self._order, self._places, self.answer)
        memo.update((id(part), part) for part in shared)
        twin = memo[id(self)] = object.__new__(Scripted)
        twin.__dict__ = deepcopy({**self.__dict__, "before_turn": None}, memo)
        return twin

    def policy(self, seat: SeatId) -> Policy:
        """Who plays a seat now."""
        return self._policies[seat]

    def replace(self, seat: SeatId, policy: Policy) -> None:
        """Another policy plays a seat from its next turn on."""
        self._policies[seat] = policy

    def run(self, core: Core, *, slice_s: float | None = None) -> list[Record]:
        """Play the awaited scripted seats up to the next closure, one commit's worth; empty when none is awaited.

        With `slice_s` (seconds) also no longer than that, but to the end of a seat's turn and to one event at least: a
        clock decides how much is played at a time, never what. Under a free clock the seats with a reason to act play,
        each at most once per tick. Without outside seats there is nothing to wait for, and the tick follows at once.
        Raises ScriptedFailure; then the Core may be half changed.
        """
        records: list[Record] = []
        until = None if slice_s is None else time.perf_counter() + slice_s
        if core.scenario.clock == "free":
            self._run_free(core, records, until)
            return records
        while core.ended is None and (seat := self._next(core.market.awaited())) is not None:
            revision = core.market.clock.revision
            if self.before_turn is not None:
                self.before_turn(core, self, seat, records)
            self._one_turn(core, seat, records)
            if core.market.clock.revision != revision or _is_over(until):
                break
        return records

    def _run_free(self, core: Core, records: list[Record], until: float | None) -> None:
        market, again = core.market, True
        if not isinstance(market, Wakes):
            return
        # What one seat does may be a reason for another to act within the same tick: again, until none has a reason
        # left. A slice begins where the last one stopped, or the seats would play in another order.
        order = list(self._asked(core))
        while again and core.ended is None:
            again = self._passed > 0
            for index in range(self._passed, len(order)):
                seat, revision = order[index], market.clock.revision
                due = self._played.get(seat) != revision and market.wants_turn(seat)
                if not due and seat not in self._open:
                    # A turn in the middle of which the log ended is played on even where nothing new is due.
                    continue
                if self.before_turn is not None:
                    self._passed = index
                    self.before_turn(core, self, seat, records)
                self._played[seat], self._passed = revision, index + 1
                again = True
                self._one_turn(core, seat, records)
                if records and _is_over(until):
                    return
            self._passed = 0
        if core.ended is None and self.plays_alone(core):
            records += core.feed("clock_tick", None).records

    def _asked(self, core: Core) -> Mapping[SeatId, int]:
        if not self._places:
            order, market = self._order, core.market
            if isinstance(market, Ranks):
                order = sorted(
                    order, key=lambda seat: (seat in self.privileged, seat in self._late, market.turn_rank(seat))
                )
            self._places = {seat: index for index, seat in enumerate(order)}
        return self._places

    def _one_turn(self, core: Core, seat: SeatId, records: list[Record]) -> None:
        try:
            self._turn(core, seat, records)
        # The records up to the fault have happened, so the exception carries them.
        except Exception as fault:  # a policy may be a stranger's code
            raise ScriptedFailure(seat, fault, records) from fault

    def plays_alone(self, core: Core) -> bool:
        """Whether no seat of the market is played from outside.

        Such an episode needs no waiting: the next tick or phase follows at once.
        """
        return self._makers.keys() >= core.market.seats.keys()

    def follow(self, core: Core, event: Mapping[str, Any]) -> None:
        """As `Follower.follow`."""
        if str(event.get("seat")) not in self._makers:
            self._passed = 0  # what comes from outside finds all seats played, and begins another pass
        super().follow(core, event)

    def _turn_begins(self, core: Core, seat: SeatId) -> None:
        self._played[seat] = core.market.clock.revision
        self._passed = self._asked(core).get(seat, 0)  # the seat itself again: its turn may be open when the log ends

    def _next(self, awaited: frozenset[SeatId]) -> SeatId | None:
        # Privileged seats see the truth of the phase, so they wait until all others have acted.
        for seat in self._order:
            if seat in awaited and (seat not in self.privileged or awaited <= self.privileged):
                return seat
        return None

    def _turn(self, core: Core, seat: SeatId, records: list[Record]) -> None:
        """Play one phase of one seat; a seat that does not end its turn lapses.

        Calls go on until the turn is over, the policy is done, or MAX_CALLS_PER_TURN; events are added to `records`.
        """
        turns, call = self._resumed(seat) or self._begun(core, seat)
        for _ in range(MAX_CALLS_PER_TURN):
            if call is None:
                break
            done = core.call(seat, call.tool, dict(call.arguments), inputs=self.inputs(core, seat, call))
            records += done.records
            answer = done.answer
            if answer is None or answer.status == "failed":
                # A failed action may have left the market half changed; the episode rebuilds it.
                fault = answer.fault if answer else None
                raise HarnessFailure(f"{call.tool} of {seat} failed: {fault!r}") from fault
            if answer.turn.turn_over:
                turns.close()
                return
            try:
                call = turns.send(ToolAnswer(answer.body, answer.error, False))
            except StopIteration:
                call = None
        turns.close()
        # The policy is done or goes round in circles; either way the market goes on.
        records += core.lapse(seat, "agent_limit").records

    def inputs(self, core: Core, seat: SeatId, call: ToolCall) -> dict[str, JsonValue]:
        """Answers to what the market asks of outside services before this call."""
        request = self.answer and request_of(core, seat, call.tool, dict(call.arguments))
        return {} if self.answer is None or request is None else {request.source: self.answer(request)}

    def _begun(self, core: Core, seat: SeatId) -> tuple[Turns, ToolCall | None]:
        turns = self._begin(core, seat)
        return turns, next(turns, None)

    def _resumed(self, seat: SeatId) -> tuple[Turns, ToolCall | None] | None:
        """The turn in the middle of which the log ends, as a fork's may: the policy goes on where it was."""
        opened = self._open.pop(seat, None)
        if opened is not None and opened.fault is not None:
            raise opened.fault
        # Without a fault there are turns.
        return None if opened is None or opened.turns is None else (opened.turns, opened.wanted)


def _is_over(until: float | None) -> bool:
    return until is not None and time.perf_counter() >= until
