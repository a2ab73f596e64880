"""The plan-and-act graph: planner -> executor <-> tools.

The planner writes typed steps for the round; the executor sees its window and, last, the plan as it stands. Steps
advance by themselves. The plan is made again, at most twelve times a round,

    error       after a refused call
    surprise    after an action outside the plan
    phase       when the round goes on with another phase
    finished    when every step is behind us and the round is still open
    calls       after `GraphOptions.replan_every` calls

A plan that cannot be read is shown to the planner as an error, once; then the executor acts without a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import END

from tradefair.agents.asking import Asked, ChatRunnable, ask
from tradefair.agents.bridge import Bridge
from tradefair.agents.graphs.acting import (
    ActContext,
    ActLoop,
    ActState,
    act,
    act_state,
    add_act_loop,
    open_phase,
    reply_id,
    spent,
    use_tools,
)
from tradefair.agents.graphs.plan import Plan, Progress
from tradefair.agents.graphs.player import GraphPlayer
from tradefair.agents.graphs.round_graph import RoundGraph
from tradefair.agents.memory import act_line
from tradefair.agents.requests import AnswerProblem, read_answer, show_request
from tradefair.agents.rounds import opening
from tradefair.agents.tool_node import Executed
from tradefair.agents.toolbox import WITHHELD
from tradefair.contract import TurnView

# A bound on the planner's cost in a round that goes wrong.
MAX_PLANS = 12
# One reply and one correction: a model that fails twice is not asked a third time.
_ATTEMPTS = 2
# The newest calls; the plan itself says what was done before.
_SHOWN_CALLS = 20
_WHY = {
    "round": "the round begins",
    "error": "a call was refused",
    "surprise": "an action was carried out that the plan did not foresee",
    "phase": "the round goes on with another phase",
    "finished": "every step is done and the round is still open",
    "calls": "a number of calls have been made since the last plan",
}


class PlanState(ActState):
    """One round. `progress` is None while there is no plan, `replan` says why the planner is to be asked.

    `carried` is what was carried over from earlier rounds, `plans` how often the planner was asked, `unplanned` the
    calls made without a plan since then.
    """

    carried: str
    progress: Progress | None
    replan: str | None
    plans: int
    unplanned: int


@dataclass(frozen=True)
class PlanContext(ActContext):
    """What the nodes share apart from the act loop's: the planner, what it is told, and how long a plan may last."""

    planner: ChatRunnable
    planner_system: SystemMessage
    replan_every: int


async def _planner(state: PlanState, context: PlanContext) -> dict[str, Any]:
    # The first time in a round there is no reason yet.
    reason = state["replan"] or "round"
    asked, answer = await _ask_for_plan(state, context, reason)
    version = state["plans"] + 1
    # None when the planner's answer could not be read; the executor then acts without a plan.
    progress = Progress(answer, version, reason) if isinstance(answer, Plan) else None
    if context.note is not None:
        noted: dict[str, Any] = {"plan": version, "reason": reason, "steps": [], "problem": str(answer)}
        await context.note(_noted("plan", state["view"], noted if progress is None else progress.noted()))
    update = {"progress": progress, "plans": version, "replan": None, "unplanned": 0}
    # The planner's tokens are the round's too; they may reach its limit.
    return {**spent(state, context.limits, *asked), **update}


async def _ask_for_plan(
    state: PlanState, context: PlanContext, reason: str
) -> tuple[list[Asked], Plan | AnswerProblem]:
    """The planner's replies, and the plan or what was wrong with the last of them."""
    request: list[AnyMessage] = [context.planner_system, HumanMessage(_situation(state, reason))]
    asked: list[Asked] = []
    while True:
        # Ids go on within the round, so that no two replies share one.
        name = reply_id(state, len(asked))
        asked.append(await ask(context.planner, request, "planner", state["view"], name, context.note))
        try:
            return asked, read_answer(asked[-1].text, Plan)
        except AnswerProblem as problem:
            # A correction must not go beyond the limit that the first reply reached.
            if len(asked) == _ATTEMPTS or spent(state, context.limits, *asked)["stop"]:
                return asked, problem
            # The model's answer stays in the request, so that it can correct what it wrote.
            request += [asked[-1].message, HumanMessage(f"That cannot be read as a plan: {problem}. Write it again.")]


def _situation(state: PlanState, reason: str) -> str:
    """What the planner is shown; answers that hold words of others are not in it."""
    lines = [act_line(act) for act in state["acts"][-_SHOWN_CALLS:]]
    done = "\n".join(("What was done in this round so far:", *lines)) if lines else ""
    plan = "" if state["progress"] is None else str(state["progress"])
    parts = (opening(state["view"], state["carried"]), done, plan, f"Why you are asked: {_WHY[reason]}.")
    return "\n\n".join(filter(None, parts))


async def _executor(state: PlanState, context: PlanContext) -> dict[str, Any]:
    # Without a plan the executor sees the messages alone.
    if state["progress"] is None:
        return await act(state, context)
    # Last and not kept: the plan as it stands belongs behind everything that was done.
    return await act(state, context, HumanMessage(str(state["progress"]), id=f"r{state['view'].round}.plan"))


async def _tools(state: PlanState, context: PlanContext) -> dict[str, Any]:
    progress = state["progress"]
    done, update = await use_tools(state, context)
    may_plan = state["plans"] < MAX_PLANS
    if progress is None:
        unplanned = state["unplanned"] + len(done.calls)
        # Without a plan nothing but the number of calls can ask for one.
        anew = may_plan and unplanned >= context.replan_every
        return {**update, "unplanned": unplanned, "replan": "calls" if anew else None}
    followed = _follow(progress, done, context.bridge)
    if context.note is not None:
        noted = {"reply": state["messages"][-1].id, "plan": progress.version, "calls": followed.calls}
        await context.note(_noted("plan_calls", state["view"], noted))
    reason = followed.why_anew(context.replan_every)
    return {**update, "progress": followed.progress, "replan": reason if may_plan else None}


class _Followed(NamedTuple):
    """How the calls of one message stand to the plan: per call what its note says."""

    progress: Progress
    calls: list[dict[str, Any]]

    def why_anew(self, replan_every: int) -> str | None:
        """Why the planner is to be asked again, the most pressing reason first; None when the plan still holds."""
        if any(call["refused"] for call in self.calls):
            return "error"
        if any(call["outside"] for call in self.calls):
            return "surprise"
        if self.progress.finished:
            return "finished"
        return "calls" if self.progress.calls >= replan_every else None


def _follow(progress: Progress, done: Executed, bridge: Bridge) -> _Followed:
    calls: list[dict[str, Any]] = []
    for call, outcome in zip(done.calls, done.outcomes, strict=True):
        step: int | None = None
        # The tool's own word: an unknown tool counts as an action.
        reads = bridge.read_only(call.tool)
        if outcome.made:
            progress, step = progress.take(call.tool, read_only=reads, accepted=not outcome.is_error)
        # A call that was never made says nothing about the plan.
        outside = outcome.made and step is None and not reads
        noted = {"tool": call.tool, "step": step, "made": outcome.made, "refused": outcome.is_error}
        calls.append({**noted, "outside": outside})
    return _Followed(progress, calls)


async def _next_phase(state: PlanState, context: PlanContext) -> dict[str, Any]:
    update = await open_phase(state, context)
    # "messages" only where the same round goes on: another round begins with a plan of its own.
    goes_on = "messages" in update and state["plans"] < MAX_PLANS
    return {**update, "replan": "phase" if goes_on else None}


def _noted(kind: str, view: TurnView, fields: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "round": view.round, "phase": view.phase, **fields}


def _after_planner(state: PlanState) -> str:
    return END if state["stop"] else "executor"


def _go_on(state: PlanState) -> str:
    return "planner" if state["replan"] else "executor"


_LOOP = ActLoop(_executor, _tools, _next_phase, actor="executor", go_on=_go_on, targets=("executor", "planner"))


def build_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; state `PlanState`, context `PlanContext`; approval as in the react graph."""
    graph = RoundGraph(PlanState, PlanContext, start="planner")
    graph.add("planner", _planner, _after_planner, ["executor", END])
    add_act_loop(graph, _LOOP, approve=checkpointer is not None)
    return graph.compile(checkpointer)


class PlanAndAct(GraphPlayer):
    """The plan-and-act graph in one seat."""

    prompts: ClassVar[tuple[str, ...]] = ("plan_and_act", "planner")
    build_graph = staticmethod(build_graph)

    def extend(self, context: ActContext) -> PlanContext:
        """The planner is the same model without tools; it is told their names.

        The answer's schema closes its system message, where no market's text can stand.
        """
        schema = show_request("plan", Plan)
        text = self.prompt["planner"].system(self.brief, schema=schema, tools=_tool_list(context.bridge))
        system = SystemMessage(text, id="system.planner")
        # `vars`: the fields of the loop's context, which this one extends.
        return PlanContext(
            **vars(context), planner=self.model, planner_system=system, replan_every=self.options.replan_every
        )

    async def start(self, view: TurnView) -> PlanState:
        """A round without a plan."""
        carried = await self.memory.open_round(view.round)
        begun = act_state([self.system, self.opening(view, carried)], view)
        return PlanState(**begun, carried=carried, progress=None, replan="round", plans=0, unplanned=0)


def _tool_list(bridge: Bridge) -> str:
    """One line per tool: its name, whether it only reads, and the first line of its description."""
    lines: list[str] = []
    for name, tool in bridge.tools.items():
        # What is withheld from the executor must not be planned with.
        if name not in WITHHELD:
            about = (tool.description or tool.title or "").partition("\n")[0]
            lines.append(f"- {name} ({'reads' if bridge.read_only(name) else 'acts'}): {about}")
    return "\n".join(lines)
