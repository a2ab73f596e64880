"""The `langgraph` framework: one of our graphs in a seat, one graph invocation per market round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tradefair.agents.options import Approve, GraphOptions
from tradefair.agents.rounds import RoundLimits
from tradefair.agents.window import FULL_ROUND, Window, parse_window
from tradefair.contract import Brief, HarnessFailure, ScenarioError
from tradefair.frameworks import find
from tradefair.frameworks.base import Limits, SeatConnection, SeatReport
from tradefair.frameworks.driver import play_rounds
from tradefair.frameworks.models import open_chat_model
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.seat_clock import SeatClock, open_bridge

if TYPE_CHECKING:
    from tradefair.agents.asking import Asked
    from tradefair.agents.player import GraphPlayer

GRAPHS: Mapping[str, str] = {
    "react": "tradefair.agents.react:React",
    "reflection": "tradefair.agents.reflection:Reflection",
    "plan_and_act": "tradefair.agents.plan_and_act:PlanAndAct",
}
"""Name -> "module:attribute" of a `GraphPlayer`."""


class LangGraphAgent:
    """Drives a graph of `GRAPHS` round by round."""

    name = "langgraph"

    def __init__(
        self,
        graph: str = "react",
        *,
        window: str | Window = FULL_ROUND,
        approve: Approve | None = None,
        replan_every: int = 12,
        trials: Sequence[str] | None = None,
    ) -> None:
        """Options as in `agents.options.GraphOptions`; a window may be a text, as on the command line.

        Raises ScenarioError for a text that is no window, and for trials of a graph that has none.
        """
        self._make_player = find(GRAPHS, graph, "graph")
        if trials is not None and graph != "reflection":
            raise ScenarioError(f"trials are carried over by the reflection graph, not by {graph}")
        shown = parse_window(window) if isinstance(window, str) else window
        self._options = GraphOptions(shown, approve, replan_every, trials)

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        if model is None:
            raise HarnessFailure("the langgraph framework needs a model")
        bridge = await open_bridge(seat)
        clock = SeatClock(seat, bridge)
        bounds = RoundLimits(limits.calls_per_round, limits.tokens_per_round)
        async with open_chat_model(model) as chat:
            made = (bridge, chat, brief, bounds, clock.next_turn, seat.note, self._options)
            player: GraphPlayer = self._make_player(*made)
            report = SeatReport(self.name, model.label, player.prompt.label)
            await play_rounds(player, clock, bridge, seat, report)
            if clock.view is not None and clock.view.over:
                _count(report, await player.finish(clock.view))
            return report


def _count(report: SeatReport, asked: Sequence[Asked]) -> None:
    report.replies += len(asked)
    report.input_tokens += sum(reply.input_tokens for reply in asked)
    report.output_tokens += sum(reply.output_tokens for reply in asked)


react = partial(LangGraphAgent, "react")
"""Makes the agent with the react graph; options are LangGraphAgent's."""
reflection = partial(LangGraphAgent, "reflection")
"""Makes the agent with the reflection graph."""
plan_and_act = partial(LangGraphAgent, "plan_and_act")
"""Makes the agent with the plan-and-act graph."""
