"""The act loop that all graphs share: the actor and its tools, until the seat's turn in a round is over.

    actor -> tools -> go on             a reply with calls
    actor -> approve -> tools           the same, where a person is asked first
    actor -> actor                      a thought
    actor -> nudge -> actor             the second thought in a row, or one that was cut off
    actor -> end                        the third, or the tokens are used up: the round is given up
    tools -> next_phase -> go on        the turn is over, the round is not
             next_phase -> end          another round, or the end

A graph says what `go on` and `end` are and may put nodes of its own in place of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END

from tradefair.agents.approval import ask_person
from tradefair.agents.asking import Asked, ask
from tradefair.agents.bridge import Act, Bridge
from tradefair.agents.graphs.round_graph import Node, RoundGraph
from tradefair.agents.offers import Offers
from tradefair.agents.rounds import CUT, NUDGE, NextTurn, Note, RoundLimits, goes_on
from tradefair.agents.tool_node import Executed, run_calls, was_cut
from tradefair.agents.window import Window
from tradefair.contract import TurnView

# As in `frameworks/seat_round.py`: agents are compared under the same patience.
_MAX_THOUGHTS = 3


class ActState(TypedDict):
    """One round: its messages and counters. `view` is the open phase's turn, at the end the next round's.

    What a node returns as `messages` and `acts` is added to them, everything else takes the old value's place.
    `declined` holds, per call of the last message, the reason why a person declined it; empty when no person was asked.
    `turn_began` is how many acts the round had when its open phase began. `cut`: the last reply was cut off.
    """

    messages: list[AnyMessage]
    acts: list[Act]
    view: TurnView
    replies: int
    calls: int
    thoughts: int
    nudges: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    turn_over: bool
    stop: str | None
    declined: list[str | None]
    turn_began: int
    cut: bool


@dataclass(frozen=True)
class ActContext:
    """What the nodes share and no state holds: tools, the model and what it is offered of them, clock, limits, window.

    `offers` gives the model with its tools bound; `next_turn` waits outside the model, by the market's clock.
    """

    bridge: Bridge
    offers: Offers
    next_turn: NextTurn
    limits: RoundLimits
    window: Window
    note: Note | None


def act_state(messages: list[AnyMessage], view: TurnView) -> ActState:
    """The state in which a round begins.

    All counters are 0: limits are the round's, and `RoundBudget` has taken off what a phase before it used.
    """
    return ActState(
        messages=messages,
        acts=[],
        view=view,
        replies=0,
        calls=0,
        thoughts=0,
        nudges=0,
        input_tokens=0,
        output_tokens=0,
        estimated=False,
        turn_over=False,
        stop=None,
        declined=[],
        turn_began=0,
        cut=False,
    )


async def act(state: ActState, context: ActContext, *last: AnyMessage) -> dict[str, Any]:
    """The actor's next reply; it sees its window and, behind that, the messages `last`, which are not kept."""
    # Only shown, never stored: a plan changes with every call, and old ones in the history would contradict it.
    seen = context.window(state["messages"])
    if last:
        seen = [*seen, *last]
    actor = context.offers.actor(state["view"], state["acts"][state["turn_began"] :])
    asked = await ask(actor, seen, "actor", state["view"], reply_id(state), context.note)
    # Malformed calls count as calls: the model tried to act, and is told what was wrong.
    reply = asked.message
    thoughts = 0 if reply.tool_calls or reply.invalid_tool_calls else state["thoughts"] + 1
    used = spent(state, context.limits, asked)
    # A token limit that was reached by the same reply is the reason that stays.
    if used["stop"] is None and thoughts >= _MAX_THOUGHTS:
        used["stop"] = "no_call"
    return {**used, "messages": [reply], "thoughts": thoughts, "cut": was_cut(reply)}


def reply_id(state: ActState, later: int = 0) -> str:
    """The id of the next reply of a round, whatever its role: `r<round>.<n>`; `later` replies are counted already."""
    return f"r{state['view'].round}.{state['replies'] + later}"


def spent(state: ActState, limits: RoundLimits, *asked: Asked) -> dict[str, Any]:
    """The counters of a round after some replies; `stop` when its tokens are used up."""
    read = state["input_tokens"] + sum(reply.input_tokens for reply in asked)
    written = state["output_tokens"] + sum(reply.output_tokens for reply in asked)
    # More than the limit: tokens are known after the reply only, so equality is still within it.
    over = limits.tokens is not None and read + written > limits.tokens
    return {
        "replies": state["replies"] + len(asked),
        "input_tokens": read,
        "output_tokens": written,
        "estimated": state["estimated"] or any(reply.estimated for reply in asked),
        "stop": "token_limit" if over else state["stop"],
    }


async def use_tools(state: ActState, context: ActContext) -> tuple[Executed, dict[str, Any]]:
    """Make the calls of the last message: what came of them, and the update of the state."""
    message = cast("AIMessage", state["messages"][-1])
    budget = context.limits.calls - state["calls"]
    # What a person has declined is refused there in its place, so that every call keeps its answer.
    done = await run_calls(context.bridge, message, state["view"], budget, state["declined"])
    calls = state["calls"] + len(done.calls)
    # A turn that ended with the last call kept to the limit.
    used_up = not done.turn_over and calls >= context.limits.calls
    return done, {
        "messages": done.messages,
        "acts": _acts(done),
        "calls": calls,
        "turn_over": done.turn_over,
        "stop": "call_limit" if used_up else None,
        # The answers were for this message; a person is asked again about the next one.
        "declined": [],
    }


def _acts(done: Executed) -> list[Act]:
    pairs = zip(done.calls, done.outcomes, strict=True)
    return [Act(call.tool, call.arguments or {}, outcome) for call, outcome in pairs]


async def open_phase(state: ActState, context: ActContext) -> dict[str, Any]:
    """Wait until the seat is asked again; if that is in the same round, show it the phase."""
    view = await context.next_turn()
    # Another round begins with a fresh message list, outside this invocation.
    if view.over or view.round != state["view"].round:
        return {"view": view}
    # No message for a phase in which no call could be made.
    if state["calls"] >= context.limits.calls:
        return {"view": view, "turn_over": False, "stop": "call_limit"}
    message = HumanMessage(goes_on(view), id=f"r{view.round}.{view.phase}.{view.revision}")
    return {"view": view, "turn_over": False, "messages": [message], "turn_began": len(state["acts"])}


async def _tools(state: ActState, context: ActContext) -> dict[str, Any]:
    return (await use_tools(state, context))[1]


async def _nudge(state: ActState, context: ActContext) -> dict[str, Any]:
    """Ask the model to call a tool; it is told that another reply without a call ends its round."""
    words = f"{CUT} {NUDGE}" if state["cut"] else NUDGE
    message = HumanMessage(words, id=f"r{state['view'].round}.nudge{state['nudges']}")
    return {"messages": [message], "nudges": state["nudges"] + 1}


async def _approve(state: ActState, context: ActContext) -> dict[str, Any]:
    # A node of its own: after an interrupt langgraph runs the node again from its beginning, and this one only asks.
    message = cast("AIMessage", state["messages"][-1])
    budget = context.limits.calls - state["calls"]
    return {"declined": ask_person(context.bridge, message, budget)}


def _to_agent(state: ActState) -> str:
    """The node after calls in the plain loop. A function, because other graphs decide by their state."""
    return "agent"


@dataclass(frozen=True)
class ActLoop:
    """The loop's place in a graph: its nodes, where it goes on after calls, where it ends.

    `go_on` names the node that follows while the turn lasts, one of `targets`.
    """

    act: Node = act
    tools: Node = _tools
    next_phase: Node = open_phase
    actor: str = "agent"
    go_on: Callable[[Any], str] = _to_agent
    targets: tuple[str, ...] = ("agent",)
    end: str = END


def add_act_loop(graph: RoundGraph, loop: ActLoop, *, approve: bool) -> None:
    """Add the loop's nodes to a graph.

    With `approve` a node stands between actor and tools; the graph then needs a checkpointer, to wait in it.
    """
    before = "approve" if approve else "tools"

    # Any: they see the state of every graph.
    def after_actor(state: Any) -> str:
        if state["stop"]:
            return loop.end
        # 0 thoughts: the reply has calls. 1: the model may think once more, unasked, unless it was cut off in the
        # middle: it would be again. 2: it is nudged; 3 has set `stop`.
        return {0: before, 1: "nudge" if state["cut"] else loop.actor}.get(state["thoughts"], "nudge")

    def after_tools(state: Any) -> str:
        # First: a turn that is over may have used up the limit as well, and the round is then not given up.
        if state["turn_over"]:
            return "next_phase"
        return loop.end if state["stop"] else loop.go_on(state)

    def after_phase(state: Any) -> str:
        # `turn_over` still set means that no further phase of this round was opened.
        return loop.end if state["turn_over"] or state["stop"] else loop.go_on(state)

    graph.add(loop.actor, loop.act, after_actor, [loop.actor, before, "nudge", loop.end])
    graph.add("tools", loop.tools, after_tools, [*loop.targets, "next_phase", loop.end])
    graph.add("nudge", _nudge, loop.actor)
    graph.add("next_phase", loop.next_phase, after_phase, [*loop.targets, loop.end])
    if approve:
        graph.add("approve", _approve, "tools")
