"""The `langgraph` framework: one of our graphs in a seat, one graph invocation per market round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tradefair.agents.offers import ALL, Offer, parse_offer
from tradefair.agents.options import Approve, GraphOptions
from tradefair.agents.rounds import RoundLimits
from tradefair.agents.window import FULL_ROUND, Window, parse_window
from tradefair.contract import Brief, HarnessFailure, ScenarioError
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks import find
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.driver import play_rounds
from tradefair.frameworks.models import open_chat_model
from tradefair.frameworks.models.endpoint import MAX_REPLY, ModelEndpoint
from tradefair.frameworks.seat_clock import SeatClock, open_bridge

# For type checkers only: importing these loads langgraph and langchain.
if TYPE_CHECKING:
    from tradefair.agents.asking import Asked
    from tradefair.agents.graphs.player import GraphPlayer

GRAPHS: Mapping[str, str] = {
    "react": "tradefair.agents.graphs.react:React",
    "reflection": "tradefair.agents.graphs.reflection:Reflection",
    "plan_and_act": "tradefair.agents.graphs.plan_and_act:PlanAndAct",
}
"""Name -> "module:attribute" of a `GraphPlayer`.

Text for the same reason as `FRAMEWORKS`: listing the graphs imports none.
"""


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
        offer: str | Offer = ALL,
        small: bool = False,
        max_reply: int = MAX_REPLY,
    ) -> None:
        """Options as in `agents.options.GraphOptions`; window and offer may be texts, as on the command line.

        `max_reply` bounds the tokens of each reply, 0 does not. Raises ScenarioError for a text that is no window or
        offer, and for trials of a graph that has none.
        """
        # Made now and not in `play`: an unknown graph must be refused before the trace exists
        # (docs/explanation/why/frameworks.md).
        self._make_player = find(GRAPHS, graph, "graph")
        # Lessons of earlier episodes would be dropped without a word by the other graphs.
        if trials is not None and graph != "reflection":
            raise ScenarioError(f"trials are carried over by the reflection graph, not by {graph}")
        shown = parse_window(window) if isinstance(window, str) else window
        offered = parse_offer(offer) if isinstance(offer, str) else offer
        self._options = GraphOptions(shown, approve, replan_every, trials, offered, small)
        self._max_reply = max_reply or None

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        if model is None:
            raise HarnessFailure("the langgraph framework needs a model")
        bridge = await open_bridge(seat)
        clock = SeatClock(seat, bridge)
        bounds = RoundLimits(limits.calls_per_round, limits.tokens_per_round)
        async with open_chat_model(replace(model, max_reply=self._max_reply)) as chat:
            # The order of GraphPlayer's parameters; a tuple because the class is known by name only.
            made = (bridge, chat, brief, bounds, clock.next_turn, seat.note, self._options)
            player: GraphPlayer = self._make_player(*made)
            report = SeatReport(self.name, model.label, player.prompt.label)
            await play_rounds(player, clock, bridge, seat, report)
            # A seat that gave up has no view of the end, so there is nothing that a graph could reflect on.
            if clock.view is not None and clock.view.over:
                _count(report, await player.finish(clock.view))
            return report


def _count(report: SeatReport, asked: Sequence[Asked]) -> None:
    """Adds the requests made after the end to the report; they belong to no round."""
    report.replies += len(asked)
    report.input_tokens += sum(reply.input_tokens for reply in asked)
    report.output_tokens += sum(reply.output_tokens for reply in asked)


# Partials and not subclasses: the framework's name in reports stays `langgraph`'s, the graph is an option.
react = partial(LangGraphAgent, "react")
"""Makes the agent with the react graph; options are LangGraphAgent's."""
reflection = partial(LangGraphAgent, "reflection")
"""Makes the agent with the reflection graph."""
plan_and_act = partial(LangGraphAgent, "plan_and_act")
"""Makes the agent with the plan-and-act graph."""
