"""The reflection graph: recall -> agent <-> tools -> reflect.

When a round is over, a reflector without tools writes one bounded lesson from the mechanical record of the round; the
last three lessons open the next one. With `GraphOptions.trials` the outer loop of the Reflexion paper (Shinn et al.
2023) is on as well: what is written when an episode ends is carried into the next episode of the same seat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import END

from tradefair.agents.asking import Asked, ChatRunnable, ask
from tradefair.agents.graphs.acting import ActContext, ActLoop, ActState, act_state, add_act_loop, spent
from tradefair.agents.graphs.lessons import Lesson, Lessons, TrialReflection, read_lesson, read_reflection, show_trials
from tradefair.agents.graphs.player import GraphPlayer
from tradefair.agents.graphs.round_graph import RoundGraph
from tradefair.agents.memory import Memory, round_record
from tradefair.agents.requests import show_request
from tradefair.agents.rounds import opening, show_view
from tradefair.contract import TurnView


class ReflectionState(ActState):
    """One round; `opened` is its first turn."""

    opened: TurnView


@dataclass(frozen=True)
class ReflectionContext(ActContext):
    """What the nodes share apart from the act loop's: the memory, the lessons, the reflector and what it is told."""

    memory: Memory
    lessons: Lessons
    trials: str
    reflector: ChatRunnable
    reflector_system: SystemMessage


async def _recall(state: ReflectionState, context: ReflectionContext) -> dict[str, Any]:
    # The round's first turn: `view` moves on with the phases.
    view = state["opened"]
    carried = await context.memory.open_round(view.round)
    # Trials first, then lessons, then the record: from the oldest to the newest.
    parts = (context.trials, context.lessons.show(), carried)
    text = opening(view, "\n\n".join(filter(None, parts)))
    return {"messages": [HumanMessage(text, id=f"r{view.round}.open")]}


async def _reflect(state: ReflectionState, context: ReflectionContext) -> dict[str, Any]:
    view = state["view"]
    # After the last round no request would show a lesson; without tokens none can be written.
    if view.over or state["stop"] == "token_limit":
        return {}
    number = state["opened"].round
    # The mechanical record, not the messages: it holds no words of others (docs/explanation/why/agents.md).
    record = round_record(context.bridge, number, state["acts"], state["stop"])
    parts = (str(record), context.lessons.show(), f"What the market shows you now:\n{show_view(view)}")
    request: list[AnyMessage] = [context.reflector_system, HumanMessage("\n\n".join(filter(None, parts)))]
    name = f"r{number}.{state['replies']}"
    # Under the round that it is about, although the next one may be open already.
    asked = await ask(context.reflector, request, "reflector", state["opened"], name, context.note)
    lesson = read_lesson(asked.text)
    context.lessons.add(number, lesson.text)
    if context.note is not None:
        await context.note({"kind": "lesson", "round": number, **lesson.noted()})
    # A lesson is never the reason to give a round up.
    return {**spent(state, context.limits, asked), "stop": state["stop"]}


def build_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; state `ReflectionState`, context `ReflectionContext`; approval as in the react graph."""
    graph = RoundGraph(ReflectionState, ReflectionContext, start="recall")
    graph.add("recall", _recall, "agent")
    graph.add("reflect", _reflect, END)
    add_act_loop(graph, ActLoop(end="reflect"), approve=checkpointer is not None)
    return graph.compile(checkpointer)


class Reflection(GraphPlayer):
    """The reflection graph in one seat."""

    prompts: ClassVar[tuple[str, ...]] = ("reflection", "reflector", "trial_reflector")
    build_graph = staticmethod(build_graph)

    def extend(self, context: ActContext) -> ReflectionContext:
        """The reflector is the same model without tools."""
        return ReflectionContext(
            **vars(context),
            # The graph's own objects, so that recall and reflect see the same lessons.
            memory=self.memory,
            lessons=Lessons(),
            trials=show_trials(self.options.trials or ()),
            # The same model: what differs is what it is asked, not who answers.
            reflector=self.model,
            reflector_system=self._system_of("reflector", show_request("lesson", Lesson)),
        )

    async def start(self, view: TurnView) -> ReflectionState:
        """The prompt alone: recalling is the graph's first node."""
        return ReflectionState(**act_state([self.system], view), opened=view)

    async def finish(self, view: TurnView) -> list[Asked]:
        """With trials on, write what the next episode of this seat should begin with."""
        return [] if self.options.trials is None else [await self.closing_reflection(view)]

    async def closing_reflection(self, view: TurnView) -> Asked:
        """Ask for a reflection on the whole episode; `view` is its last view, and the text is in a note."""
        context = cast("ReflectionContext", self.context)
        # Trials are counted from 1; the list holds those before this one.
        trial = len(self.options.trials or ()) + 1
        end = f"What the market shows at the end:\n{show_view(view)}"
        # All lessons that are kept, not the last three only: this is about the whole episode.
        parts = (context.trials, context.lessons.show(all_kept=True), self.memory.digest(), end)
        system = self._system_of("trial_reflector", show_request("reflection", TrialReflection))
        request: list[AnyMessage] = [system, HumanMessage("\n\n".join(filter(None, parts)))]
        asked = await ask(context.reflector, request, "reflector", view, f"trial{trial}", context.note)
        if context.note is not None:
            await context.note({"kind": "trial_reflection", "trial": trial, **read_reflection(asked.text).noted()})
        return asked

    def _system_of(self, prompt: str, schema: str) -> SystemMessage:
        return SystemMessage(self.prompt[prompt].system(self.brief, schema=schema), id=f"system.{prompt}")
