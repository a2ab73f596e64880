"""Nodes run on within one step of langgraph where nothing is kept between them, and stop after each where it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END

from tradefair.agents.graphs.round_graph import RoundGraph
from tradefair.agents.rounds import RoundLimits
from tradefair.contract import HarnessFailure


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
