"""What becomes of a reply that its endpoint cut off, in each of our graphs."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolMessage
from tests.frameworks.test_graphs_asked import claiming, each_graph, played, speaking, thoughtful

from tradefair.agents.rounds import CUT, NUDGE


def cut(text: str = "Let me think about", **said: Any) -> AIMessage:
    return AIMessage(text, response_metadata={"finish_reason": "length"}, **said)


@each_graph
async def test_a_thought_that_was_cut_off_is_told_so_at_once(teaching: Any, graph: str) -> None:
    begun: list[str] = []

    def says(asked: str, messages: Any) -> AIMessage | None:
        if asked == "act" and not begun:
            begun.append(asked)
            return cut()
        return None

    model = thoughtful(says)
    async with teaching.table(rounds=1) as table:
        report = await played(table, graph, model)
    # A whole thought may be followed by another, unasked; one that was cut off would be cut off again.
    assert f"{CUT} {NUDGE}" in model.texts("act")[1]
    assert (report.nudges, report.given_up) == (1, {})


async def test_three_replies_that_were_cut_off_give_the_round_up(teaching: Any) -> None:
    model = speaking(lambda asked, messages: cut())
    async with teaching.table(rounds=1) as table:
        report = await played(table, "react", model)
    assert (report.replies, report.given_up) == (3, {"no_call": 1})
    assert teaching.written(table).notes[0]["finish_reason"] == "length"


async def test_arguments_that_were_cut_off_are_refused_as_such(teaching: Any) -> None:
    bad = InvalidToolCall(name="claim", args='{"slices": ', id="c0", error="", type="invalid_tool_call")

    def says(asked: str, messages: Any) -> AIMessage:
        answered = any(isinstance(message, ToolMessage) for message in messages)
        return claiming(asked, messages) if answered else cut("", invalid_tool_calls=[bad])

    model = speaking(says)
    async with teaching.table(rounds=1) as table:
        report = await played(table, "react", model)
    assert "the reply was cut off before the arguments were complete" in model.texts("act")[1]
    assert "call claim again with fewer words" in model.texts("act")[1]
    assert (report.tool_calls, report.given_up) == (2, {})


async def test_another_providers_word_for_it_is_known(teaching: Any) -> None:
    def says(asked: str, messages: Any) -> AIMessage:
        if CUT in str(messages[-1].content):
            return claiming(asked, messages)
        return AIMessage("Let me", response_metadata={"stop_reason": "max_tokens"})

    async with teaching.table(rounds=1) as table:
        await played(table, "react", speaking(says))
    assert [note["finish_reason"] for note in teaching.written(table).notes] == ["max_tokens", None]
