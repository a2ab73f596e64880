"""The `langgraph` framework: one of our graphs in a seat, one graph invocation per market round."""

from __future__ import annotations

from collections.abc import Mapping

from fairground.agents.rounds import RoundLimits, RoundPlayer
from fairground.contract.errors import HarnessFailure
from fairground.contract.market import Brief
from fairground.frameworks import find
from fairground.frameworks.base import Limits, SeatConnection, SeatReport
from fairground.frameworks.driver import play_rounds
from fairground.frameworks.models import open_chat_model
from fairground.frameworks.models.endpoint import ModelEndpoint
from fairground.frameworks.seat_clock import SeatClock, open_bridge

__all__ = ["GRAPHS", "LangGraphAgent", "react"]

GRAPHS: Mapping[str, str] = {"react": "fairground.agents.react:React"}
"""Name -> "module:attribute" of a `RoundPlayer`'s constructor (bridge, model, brief, limits, next_turn, note)."""


class LangGraphAgent:
    """Drives a graph of `GRAPHS` round by round."""

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
            return await play_rounds(player, clock, bridge, seat, report)


def react() -> LangGraphAgent:
    """The agent with the react graph."""
    return LangGraphAgent("react")
