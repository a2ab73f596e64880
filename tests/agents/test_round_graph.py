"""Nodes run on within one step of langgraph where nothing is kept between them, and stop after each where it is.

Also here:
- The graphs know tools, not rules: no market and no tool of a market is named in their code or prompts.
- Ordered execution of one message's calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END
from mcp import Client

from tradefair.agents.bridge import Bridge
from tradefair.agents.graphs.round_graph import RoundGraph
from tradefair.agents.rounds import RoundLimits
from tradefair.agents.tool_node import Executed, run_calls
from tradefair.catalog import market_names, market_type
from tradefair.contract import HarnessFailure, TurnView
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS


class State(TypedDict):
    messages: list[str]
    turns: int


def compiled(turns: int, checkpointer: Any = None) -> Any:
    """A graph of two nodes that alternate so many times."""

    async def ask(state: State, context: Any) -> dict[str, Any]:
        return {"messages": [f"ask {state['turns']}"]}

    async def answer(state: State, context: Any) -> dict[str, Any]:
        return {"messages": [f"answer {state['turns']}"], "turns": state["turns"] + 1}

    graph = RoundGraph(State, SimpleNamespace, start="ask")
    graph.add("ask", ask, "answer")
    graph.add("answer", answer, lambda state: END if state["turns"] == turns else "ask", ["ask", END])
    return graph.compile(checkpointer)


async def steps(graph: Any, calls: int = 9) -> list[dict[str, Any]]:
    """Per step of langgraph its node and the whole state after it."""
    begun, config = State(messages=["begin"], turns=0), {"configurable": {"thread_id": "round"}}
    context = SimpleNamespace(limits=RoundLimits(calls))
    return [step async for step in graph.astream(begun, config, context=context, stream_mode="updates")]


LATER = ["begin", "ask 0", "answer 0", "ask 1", "answer 1"]


async def test_without_a_checkpointer_a_round_is_one_step() -> None:
    assert await steps(compiled(2)) == [{"ask": {"messages": LATER, "turns": 2}}]


async def test_with_a_checkpointer_every_node_is_a_step() -> None:
    done = await steps(compiled(2, InMemorySaver()))
    assert [list(step) for step in done] == [["ask"], ["answer"], ["ask"], ["answer"]]
    assert done[0] == {"ask": {"messages": LATER[:2]}}
    assert done[-1] == {"answer": {"messages": LATER, "turns": 2}}


async def test_a_round_that_never_ends_is_a_failure_of_the_harness() -> None:
    with pytest.raises(HarnessFailure, match="did not end its round"):
        await steps(compiled(-1), calls=2)


FOLDER = Path(__file__).parents[2] / "agent_graphs" / "tradefair" / "agents"
FILES = sorted([*FOLDER.rglob("*.py"), *FOLDER.rglob("*.md")])


def market_words(text: str) -> set[str]:
    """Names of markets and of their tools in a text."""
    tools = {tool for name in market_names() for tool in market_type(name).tools}
    # Tools of one word (`say`) are words of prose as well.
    named = {tool for tool in tools if "_" in tool} - set(KERNEL_TOOLS) | set(market_names())
    return named & set(re.findall(r"\w+", text))


def test_no_agent_names_a_market_or_a_tool_of_one() -> None:
    planted = "say(call('submit_quote')), retail, await_turn, auction"
    assert market_words(planted) == {"submit_quote", "retail"}
    assert len(FILES) > 20
    found = {path.name: market_words(path.read_text(encoding="utf-8")) for path in FILES}
    assert {name: words for name, words in found.items() if words} == {}


Connect = Callable[[], Client]


def _message(*names: str, broken: Sequence[str] = ()) -> AIMessage:
    return AIMessage(
        content="",
        id="r1.0",
        tool_calls=[ToolCall(name=name, args={}, id=f"c{index}", type="tool_call") for index, name in enumerate(names)],
        invalid_tool_calls=[
            InvalidToolCall(name=name, args="{", id=f"b{index}", error="", type="invalid_tool_call")
            for index, name in enumerate(broken)
        ],
    )


async def _run(connect: Connect, message: AIMessage, view: TurnView, budget: int = 60) -> Executed:
    async with connect() as client:
        return await run_calls(await Bridge.open(client), message, view, budget)


def _codes(done: Executed) -> list[Any]:
    return [outcome.structured.get("code") if outcome.structured else None for outcome in done.outcomes]


async def test_messages_answer_calls_in_order_under_ids_that_repeat(
    connect: Connect, stall: Any, view: TurnView
) -> None:
    done = await _run(connect, _message("view_price", "refuse_me", "view_stock"), view)
    assert stall.names == ["view_price", "refuse_me", "view_stock"]
    assert [(message.id, message.tool_call_id, message.status) for message in done.messages] == [
        ("r1.0.0", "c0", "success"),
        ("r1.0.1", "c1", "error"),
        ("r1.0.2", "c2", "success"),
    ]
    assert not done.turn_over


async def test_reads_alone_run_at_once(connect: Connect, stall: Any, view: TurnView) -> None:
    done = await _run(connect, _message("meet", "meet"), view)
    assert _codes(done) == [None, None]
    assert stall.most_at_once == 2


async def test_one_action_among_them_makes_all_run_in_order(connect: Connect, stall: Any, view: TurnView) -> None:
    await _run(connect, _message("view_price", "view_stock", "refuse_me"), view)
    assert stall.most_at_once == 1


async def test_calls_after_the_turns_end_are_answered_and_not_made(
    connect: Connect, stall: Any, view: TurnView
) -> None:
    done = await _run(connect, _message("view_price", "bid", "bid", "view_price"), view)
    assert stall.names == ["view_price", "bid"]
    assert _codes(done) == [None, None, "turn_over", "turn_over"]
    assert [message.tool_call_id for message in done.messages] == ["c0", "c1", "c2", "c3"]
    assert done.turn_over


async def test_a_phase_that_closed_without_the_seat_ends_its_turn(connect: Connect, view: TurnView) -> None:
    done = await _run(connect, _message("view_price"), view.model_copy(update={"phase": "earlier"}))
    assert done.turn_over


async def test_calls_beyond_the_budget_are_answered_and_not_made(connect: Connect, stall: Any, view: TurnView) -> None:
    done = await _run(connect, _message("view_price", "view_stock", "view_price"), view, budget=2)
    assert stall.names == ["view_price", "view_stock"]
    assert _codes(done) == [None, None, "call_limit"]


async def test_malformed_arguments_are_the_models_to_mend(connect: Connect, stall: Any, view: TurnView) -> None:
    done = await _run(connect, _message("view_price", broken=["bid"]), view)
    assert stall.names == ["view_price"]
    assert _codes(done) == [None, "invalid_arguments"]
    assert done.messages[1].tool_call_id == "b0"


async def test_a_declined_call_is_answered_and_not_made_and_the_others_are(
    connect: Connect, stall: Any, view: TurnView
) -> None:
    async with connect() as client:
        message = _message("view_price", "refuse_me", "bid")
        done = await run_calls(await Bridge.open(client), message, view, 60, [None, "too dear", None])
    assert stall.names == ["view_price", "bid"]
    assert _codes(done) == [None, "declined", None]
    assert "too dear" in str(done.messages[1].content)
    assert [outcome.made for outcome in done.outcomes] == [True, False, True]


async def test_a_harness_failure_among_parallel_reads_passes_through(connect: Connect, view: TurnView) -> None:
    async with connect() as client:
        bridge = await Bridge.open(client)
        with pytest.raises(HarnessFailure, match="crash"):
            await run_calls(bridge, _message("view_price", "crash", "view_stock"), view, 60)
