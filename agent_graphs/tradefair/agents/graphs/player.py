"""A graph in one seat: one invocation per market round, with a fresh message list, so that its cost stays flat."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from tradefair.agents.approval import Approvals
from tradefair.agents.asking import Asked
from tradefair.agents.bridge import Bridge
from tradefair.agents.graphs.acting import ActContext, ActState, act_state
from tradefair.agents.memory import Memory
from tradefair.agents.offers import Offers
from tradefair.agents.options import GraphOptions
from tradefair.agents.prompt import PromptSet
from tradefair.agents.rounds import NextTurn, Note, RoundBudget, RoundEnd, RoundLimits, opening
from tradefair.agents.toolbox import BEYOND_SMALL, WITHHELD, as_tools
from tradefair.contract import Brief, TurnView

SMALL = "small"
"""The actor's prompt for models of few parameters, in every graph."""


class GraphPlayer:
    """Plays a seat with one graph. A subclass brings the graph, its prompts, and what its context and state add."""

    prompts: ClassVar[tuple[str, ...]]
    """Names of the prompt files; the first is the actor's."""

    def __init__(
        self,
        bridge: Bridge,
        model: BaseChatModel,
        brief: Brief,
        limits: RoundLimits,
        next_turn: NextTurn,
        note: Note | None = None,
        options: GraphOptions | None = None,
    ) -> None:
        self.options = options or GraphOptions()
        small = self.options.small
        self._actor_prompt = SMALL if small else self.prompts[0]
        self.prompt = PromptSet(self._actor_prompt, *self.prompts[1:])
        self.model = model
        self.brief = brief
        self.memory = Memory(bridge)
        # Waiting is the driver's, so the actor is not offered it.
        withheld = WITHHELD | BEYOND_SMALL if small else WITHHELD
        offers = Offers(model, as_tools(bridge, without=withheld), bridge.tools, self.options.offer)
        window = self.options.window
        # A subclass adds what its nodes need, such as a planner; the loop's own part is the same for all.
        self.context = self.extend(ActContext(bridge, offers, next_turn, limits, window, note))
        # The stable beginning of every request of the episode.
        self.system = SystemMessage(self.prompt[self._actor_prompt].system(brief), id="system")
        approve = self.options.approve
        self._approvals = None if approve is None else Approvals(approve, note)
        # A graph waits for a person only with a checkpointer; without one langgraph keeps nothing.
        asked = self._approvals
        self._graph = _for_all_seats(type(self)) if asked is None else self.build_graph(asked.checkpointer)
        self._budget = RoundBudget(limits)
        # langgraph counts steps; the limit is derived, so that the round's own limits always come first.
        self._recursion_limit = limits.recursion_limit

    @staticmethod
    def build_graph(checkpointer: Any = None) -> Any:
        """The compiled graph; with a checkpointer it asks a person before actions are made."""
        raise NotImplementedError

    def extend(self, context: ActContext) -> ActContext:
        """The context of this graph's nodes."""
        return context

    async def start(self, view: TurnView) -> Any:
        """The state in which the round of `view` begins."""
        carried = await self.memory.open_round(view.round)
        return act_state([self.system, self.opening(view, carried)], view)

    def opening(self, view: TurnView, carried: str) -> AnyMessage:
        """The message that opens a round."""
        return HumanMessage(opening(view, carried), id=f"r{view.round}.open")

    async def play_round(self, view: TurnView) -> RoundEnd:
        """Play the round that `view` opens, or the rest of one. Raises HarnessFailure."""
        # What earlier phases of the same round used is taken off.
        context = replace(self.context, limits=self._budget.open(view))
        end: Any = await self._run(await self.start(view), context)
        self.memory.close_round(view.round, end["acts"], end["stop"])
        done = RoundEnd(**{part.name: end[part.name] for part in fields(RoundEnd)})
        self._budget.spend(done)
        return done

    async def finish(self, view: TurnView) -> list[Asked]:
        """Called once, with the view that says how the episode ended: the replies that the graph still asked for.

        An empty list by default; most graphs have nothing to say after the end.
        """
        return []

    async def _run(self, start: Any, context: ActContext) -> ActState:
        config = {"recursion_limit": self._recursion_limit}
        if self._approvals is None:
            return cast("ActState", await self._graph.ainvoke(start, config, context=context))
        return cast("ActState", await self._approvals.run(self._graph, start, config, context))


@cache
def _for_all_seats(player: type[GraphPlayer]) -> Any:
    """The graph of a class of players, compiled once: what differs between seats is in state and context."""
    return player.build_graph()
