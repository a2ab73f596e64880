"""The `langgraph` framework: one of our graphs in a seat, one graph invocation per market round."""

from __future__ import annotations

from collections.abc import Mapping

from fairground.agents.rounds import RoundEnd, RoundLimits, RoundPlayer
from fairground.contract.errors import HarnessFailure
from fairground.contract.market import Brief
from fairground.contract.policy import TurnView
from fairground.frameworks import find
from fairground.frameworks.base import Limits, SeatConnection, SeatReport
from fairground.frameworks.models import open_chat_model
from fairground.frameworks.models.endpoint import ModelEndpoint
from fairground.frameworks.seat_clock import SeatClock, open_bridge

__all__ = ["GRAPHS", "LangGraphAgent", "react"]

GRAPHS: Mapping[str, str] = {"react": "fairground.agents.react:React"}
"""Name -> "module:attribute" of a `RoundPlayer`'s constructor (bridge, model, brief, limits, next_turn, note)."""


class LangGraphAgent:
    """Drives a graph of `GRAPHS` round by round; the market's clock, not the graph, decides when a round begins."""

    name = "langgraph"

    def __init__(self, graph: str = "react") -> None:
        self._make_player = find(GRAPHS, graph, "graph")

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        if model is None:
            raise HarnessFailure("the langgraph framework needs a model")
        bridge = await open_bridge(seat)
        clock = SeatClock(seat, bridge)
        bounds = RoundLimits(limits.calls_per_round, limits.tokens_per_round)
        async with open_chat_model(model) as chat:
            player: RoundPlayer = self._make_player(bridge, chat, brief, bounds, clock.next_turn, seat.note)
            report = SeatReport(self.name, model.label, player.prompt.label)
            try:
                await _play(player, clock, seat, report)
            finally:
                await clock.close()
        report.turns = clock.turns
        report.tool_errors, report.timeouts = bridge.counts.errors, bridge.counts.timeouts
        report.retries = bridge.counts.retries
        return report


def react() -> LangGraphAgent:
    """The agent with the react graph."""
    return LangGraphAgent("react")


async def _play(player: RoundPlayer, clock: SeatClock, seat: SeatConnection, report: SeatReport) -> None:
    view = await clock.next_turn()
    while not view.over:
        end = await player.play_round(view)
        _count(report, end)
        if end.stop is not None:
            await _note_given_up(seat, end.view, end.stop)
            following = await clock.give_up(end.view)
            if following is None:
                report.stop = "gave_up"
                return
            view = following
        else:
            view = end.view
    report.end_reason = view.end_reason


async def _note_given_up(seat: SeatConnection, view: TurnView, stop: str) -> None:
    if seat.note is not None:
        await seat.note({"kind": "round_given_up", "round": view.round, "phase": view.phase, "reason": stop})


def _count(report: SeatReport, end: RoundEnd) -> None:
    report.rounds += 1
    report.replies += end.replies
    report.nudges += end.nudges
    report.tool_calls += end.calls
    report.input_tokens += end.input_tokens
    report.output_tokens += end.output_tokens
    report.usage_estimated = report.usage_estimated or end.estimated
    if end.stop is not None:
        report.given_up[end.stop] = report.given_up.get(end.stop, 0) + 1
