"""Many episodes of one seat in this process, stepped together: for policies and learners that are plain Python.

There is no server, log or task: only rules, scripted seats and events, and these are those of a hosted episode.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import JsonValue

from tradefair.catalog import market_type
from tradefair.contract import EpisodeOver, HarnessFailure, Scenario, ScenarioError, SeatId, ToolAnswer, ToolCall
from tradefair.contract.arguments import accepted_arguments
from tradefair.contract.chain import canonical
from tradefair.contract.errors import NO_CODE
from tradefair.contract.kernel.core import Core, Done, Record
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN, EXECUTE_CODE
from tradefair.contract.policy import TurnView
from tradefair.evaluation.judge.evaluate import diagnose, evaluate
from tradefair.evaluation.judge.reward import Reward, reward_of
from tradefair.evaluation.ledger import Ledger
from tradefair.host.episode import setup
from tradefair.host.seats import plans
from tradefair.host.seats.scripted import Scripted
from tradefair.host.seats.services import ServiceUnavailable
from tradefair.runner.ledger.ledger import ledger_of
from tradefair.runner.ledger.tape import held_trace
from tradefair.runner.play.setup import chosen_scenario
from tradefair.runner.play.whole import end_of
from tradefair.tracestore import Manifest, Written, write_trace


class Batch:
    """One seat in as many episodes as there are seeds; all lists are in the order of the seeds."""

    def __init__(self, seat: SeatId, episodes: Sequence[_Episode]) -> None:
        self.seat = seat
        self._episodes = episodes

    def views(self) -> list[TurnView | None]:
        """The seat's turn in each episode, as `await_turn` answers it; None where the episode is over."""
        return [None if game.core.ended else game.core.turn_view(self.seat) for game in self._episodes]

    def call(self, calls: Sequence[ToolCall | None]) -> list[ToolAnswer | None]:
        """One call in each episode, and all that follows from it; None where none is made.

        A refusal is an answer with an `error`, and so is every call after the end. Raises ValueError where there are
        more or fewer calls than episodes, HarnessFailure where the rules or a scripted seat fail.
        """
        pairs = zip(self._episodes, calls, strict=True)
        return [None if call is None else game.call(self.seat, call) for game, call in pairs]

    def rewards(self) -> list[Reward]:
        """What the seat has got by the events so far; of an episode that goes on, by its closed rounds."""
        return [reward_of(evaluate(held_trace(game.manifest, game.records)), self.seat) for game in self._episodes]

    def ledger(self, index: int, *, against: Sequence[str] = (), most: int | None = None) -> Ledger:
        """What each turn of the seat lost in an episode that is over: see `Trace.ledger`. `-lost` is its advantage.

        The episode is played on from each turn, which takes as long as many episodes. Raises TraceError where it is not
        over, NotReplayed, ScenarioError.
        """
        trace = held_trace(self._episodes[index].manifest, self._episodes[index].records)
        return ledger_of(trace, self.seat, against=against, most=most, diagnosis=diagnose(trace))

    def trace(self, index: int, path: str | Path) -> None:
        """Write the trace of an episode. Raises HarnessFailure where that is not over, StorageUnavailable."""
        core, records = self._episodes[index].core, self._episodes[index].records
        if core.ended is None:
            raise HarnessFailure(f"episode {index} is not over: play it to its end first")
        about = {"episode": setup.new_episode_id(), "software": setup.SOFTWARE, **end_of(core)}
        at_ms = int(time.time() * 1000)
        write_trace(
            Path(path), core.manifest, about, (Written(record, None, at_ms) for record in records), compact=True
        )


class _Episode:
    """The rules, the other seats, and every event so far."""

    def __init__(self, core: Core, scripted: Scripted, begun: Done) -> None:
        self.core, self.records = core, list[Record]()
        self.manifest = Manifest(canonical(core.manifest.model_dump(mode="json")), {})
        self._scripted = scripted
        self._happened(begun.records, moved=True)

    def call(self, seat: SeatId, call: ToolCall) -> ToolAnswer:
        """As `Episode.call` of a host that runs no programs."""
        name, arguments = call.tool, dict(call.arguments)
        tool = self.core.tools(seat).get(name)
        # A wait is no event; one with wrong arguments is, as every refusal.
        if tool is not None and name == AWAIT_TURN and accepted_arguments(arguments, tool) is not None:
            view = self.core.turn_view(seat)
            return ToolAnswer(view.__pydantic_serializer__.to_json(view), None, not view.awaited)
        try:
            done = self._done(seat, name, arguments)
        except EpisodeOver as over:
            return ToolAnswer(None, over.info, True)
        answer = done.answer
        assert answer is not None
        if answer.fault is not None:
            raise HarnessFailure(f"{name} of {seat} failed: {answer.fault!r}") from answer.fault
        # A look is no reason for others to move, unless a limit has closed the phase with it.
        acted = answer.status == "ok" and tool is not None and not tool.read_only
        self._happened(done.records, moved=acted or len(done.records) > 1)
        return ToolAnswer(answer.body, answer.error, answer.turn.turn_over)

    def _done(self, seat: SeatId, name: str, arguments: dict[str, JsonValue]) -> Done:
        if name == EXECUTE_CODE and name in self.core.tools(seat):
            return self.core.refuse(seat, name, arguments, NO_CODE)
        try:
            inputs = self._scripted.inputs(self.core, seat, ToolCall(name, arguments))
        except ServiceUnavailable as missing:
            return self.core.refuse(seat, name, arguments, missing.info)
        return self.core.call(seat, name, arguments, inputs=inputs)

    def _happened(self, records: Sequence[Record], *, moved: bool) -> None:
        self.records += records
        while moved and self.core.ended is None and (moves := self._scripted.run(self.core)):
            self.records += moves


def batch(
    market: str,
    scenario: str | Scenario | None,
    seat: SeatId,
    seeds: Sequence[int],
    *,
    others: str = plans.STAND_IN,
    settings: Mapping[str, JsonValue] | None = None,
) -> Batch:
    """A seat of a scenario (None: the market's first) on each seed, begun up to its first turn.

    `others` plays the other seats: a policy, or `stand_in`. `settings` replaces values by dotted key. Raises
    ScenarioError for what does not exist, no seeds, and a scenario that runs by the clock of the wall.
    """
    kind = market_type(market)
    chosen = chosen_scenario(kind, scenario, settings)
    plan = plans.plan_seats(kind, chosen, agents=[seat], others=others)
    if chosen.clock == "free" or not seeds:
        raise ScenarioError(f"{chosen.id} waits for nobody: host it, or take another" if seeds else "name some seeds")
    # In a thread, because a loop may run in this one.
    with ThreadPoolExecutor(1) as aside:
        known, services = aside.submit(asyncio.run, setup.resolved(kind, chosen)).result()
    seating = setup.seating_of(kind, known, plan, compared=plan.agents)

    def begun(seed: int) -> _Episode:
        plans.check_seed(seed)
        core, scripted = Core.create(kind, known, seed), setup.scripted_seats(kind, known, seating, seed)
        scripted.answer = services.at_once if services else None
        return _Episode(core, scripted, core.start(seating))

    return Batch(seat, [begun(seed) for seed in seeds])
