"""Windows: views over a round's messages that never part a call from its answer.

Also here:
- What a model is offered per reply: all tools, or those that can still do something in the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from mcp.types import Tool, ToolAnnotations
from tests.calling import blank_view

from tradefair.agents.bridge import ToolOutcome
from tradefair.agents.memory import Act
from tradefair.agents.offers import ALL, Offer, Offers, parse_offer, useful
from tradefair.agents.window import FULL_ROUND, Window, cleared_results, last_results, parse_window
from tradefair.contract import ScenarioError, TurnView

SPELLINGS = ["full_round", *(f"{name}(k={k})" for name in ("last_results", "cleared_results") for k in (1, 2, 3, 6))]


def exchange(number: int, good: int, bad: int = 0) -> list[AnyMessage]:
    """A reply with `good` calls and `bad` malformed ones, and what answers them."""
    names = [f"c{number}.{index}" for index in range(good + bad)]
    calls = [ToolCall(name="look", args={}, id=name, type="tool_call") for name in names[:good]]
    broken = [
        InvalidToolCall(name="look", args="{", id=name, error="", type="invalid_tool_call") for name in names[good:]
    ]
    reply = AIMessage("", id=f"r{number}", tool_calls=calls, invalid_tool_calls=broken)
    return [reply, *(ToolMessage(f"answer {name}", tool_call_id=name, name="look") for name in names)]


@st.composite
def rounds(draw: st.DrawFn) -> list[AnyMessage]:
    """A round as it grows: prompt, opening, then exchanges, thoughts, nudges and later phases in any order."""
    messages: list[AnyMessage] = [SystemMessage("prompt"), HumanMessage("view 0")]
    kinds = draw(st.lists(st.sampled_from(["calls", "thought", "nudge", "phase"]), max_size=14))
    for number, kind in enumerate(kinds):
        if kind == "calls":
            messages += exchange(number, draw(st.integers(0, 4)), draw(st.integers(0, 2)) or 1)
        elif kind == "thought":
            messages.append(AIMessage(f"thought {number}"))
        else:
            messages.append(HumanMessage(f"{'view' if kind == 'phase' else 'nudge'} {number}"))
    return messages


def asked(messages: list[AnyMessage]) -> list[str | None]:
    return [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in [*message.tool_calls, *message.invalid_tool_calls]
    ]


def answered(messages: list[AnyMessage]) -> list[str | None]:
    return [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]


@given(rounds(), st.sampled_from(SPELLINGS))
def test_every_visible_call_has_its_answer_and_every_answer_its_call(round_: list[AnyMessage], spelling: str) -> None:
    seen = list(parse_window(spelling)(round_))
    assert answered(seen) == asked(seen)


@given(rounds(), st.sampled_from(SPELLINGS))
def test_answers_stand_right_behind_the_reply_that_asked(round_: list[AnyMessage], spelling: str) -> None:
    due: list[str | None] = []
    for message in parse_window(spelling)(round_):
        if isinstance(message, ToolMessage):
            assert message.tool_call_id == due.pop(0)
        else:
            assert due == []
            due = asked([message])
    assert due == []


@given(rounds(), st.sampled_from(SPELLINGS))
def test_prompt_and_every_turn_that_was_shown_stay_and_the_order_does(round_: list[AnyMessage], spelling: str) -> None:
    before = list(round_)
    seen = list(parse_window(spelling)(round_))
    spoken = [message for message in round_ if isinstance(message, SystemMessage | HumanMessage)]
    assert [message for message in seen if isinstance(message, SystemMessage | HumanMessage)] == spoken
    places = [
        next(place for place, one in enumerate(round_) if one is message or _same(one, message)) for message in seen
    ]
    assert places == sorted(places)
    assert round_ == before


def _same(one: AnyMessage, message: AnyMessage) -> bool:
    # A cleared answer is another message for the same call.
    return (
        isinstance(one, ToolMessage) and isinstance(message, ToolMessage) and one.tool_call_id == message.tool_call_id
    )


@given(rounds(), st.integers(1, 6))
def test_at_most_k_answers_are_seen_and_always_all_of_the_newest_reply(round_: list[AnyMessage], k: int) -> None:
    exchanges = [message for message in round_ if asked([message])]
    newest = len(asked(exchanges[-1:]))
    kept = answered(list(last_results(k)(round_)))
    assert len(kept) <= max(k, newest)
    assert kept == answered(round_)[len(answered(round_)) - len(kept) :]
    assert len(kept) >= newest
    cleared = [message for message in cleared_results(k)(round_) if isinstance(message, ToolMessage)]
    assert [message.tool_call_id for message in cleared] == answered(round_)
    whole = [str(message.content).startswith("answer") for message in cleared]
    assert whole == [index >= len(cleared) - k for index in range(len(cleared))]


def test_a_window_leaves_out_whole_exchanges_and_says_what_it_cleared() -> None:
    messages = [SystemMessage("prompt"), HumanMessage("view"), *exchange(1, 2), *exchange(2, 2), *exchange(3, 1)]
    assert asked(list(last_results(3)(messages))) == ["c2.0", "c2.1", "c3.0"]
    assert asked(list(last_results(2)(messages))) == ["c3.0"]
    texts = [message.content for message in cleared_results(1)(messages) if isinstance(message, ToolMessage)]
    assert texts[0] == "(cleared: 11 characters; call look again if you need them)"
    assert texts[-1] == "answer c3.0"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_window_is_spelt_as_its_label(spelling: str) -> None:
    window = parse_window(f" {spelling.replace('=', ' = ')} ")
    assert isinstance(window, Window)
    assert window.label == spelling


def test_the_full_round_is_not_even_copied() -> None:
    messages: list[AnyMessage] = [HumanMessage("view")]
    assert FULL_ROUND(messages) is messages


@pytest.mark.parametrize(
    "text",
    ["", "all", "full_round(k=1)", "last_results", "last_results()", "last_results(k=0)", "last_results(k=true)",
     "last_results(k=1.5)", "last_results(k=2, j=3)", "last_results(n=2)", "last_results(2)", "cleared_results(k=x)"],
)  # fmt: skip
def test_other_spellings_are_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"not a window: write full_round, last_results\(k=6\) or cleared_results"):
        parse_window(text)


NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def listed(name: str, kind: str | None, schema: dict[str, Any] = NUMBER, *, read: bool = False) -> Tool:
    return Tool(
        name=name,
        input_schema=schema,
        annotations=ToolAnnotations(read_only_hint=read),
        _meta={} if kind is None else {"tradefair/kind": kind},
    )


TOOLS = {
    tool.name: tool
    for tool in (
        listed("view_value", "read", NOTHING, read=True),
        listed("view_history", "read", read=True),
        listed("add_note", "note"),
        listed("say", "action"),
        listed("claim", "action"),
        listed("pass_turn", "action", NOTHING),
    )
}
LOOKS = ["view_value", "view_history", "add_note"]


def turn(*actions: str) -> TurnView:
    return blank_view(seat="P1", role="eater", phase="claim", revision=1, actions=list(actions))


def did(tool: str, *, refused: bool = False) -> Act:
    return Act(tool, {}, ToolOutcome(tool, "{}", is_error=refused))


@pytest.mark.parametrize(
    ("opened", "acts", "reads", "offered"),
    [
        # The open actions, and every look.
        (("claim", "pass_turn"), [], 3, [*LOOKS, "claim", "pass_turn"]),
        # A look without arguments is not offered again, one that can be asked something else is.
        (("claim",), [did("view_value"), did("view_history")], 3, ["view_history", "add_note", "claim"]),
        # After so many looks actions only; one that was refused is a look, too.
        (("claim",), [did("view_value"), did("view_history", refused=True)], 2, ["claim"]),
        (("claim",), [], 0, ["claim"]),
        # What was refused is left out, looks as well.
        (("claim", "pass_turn"), [did("claim", refused=True)], 1, [*LOOKS, "pass_turn"]),
        (("claim",), [did("view_history", refused=True)], 2, ["view_value", "add_note", "claim"]),
        # Unless nothing else is open.
        (("claim",), [did("claim", refused=True), did("claim", refused=True)], 0, ["claim"]),
        # An action that was carried out may be taken again, and counts as no look.
        (("claim",), [did("claim"), did("say")], 1, [*LOOKS, "claim"]),
        # A turn that names no action, or one of another server, leaves the choice to the rules.
        ((), [], 0, ["say", "claim", "pass_turn"]),
        (("sell",), [], 0, ["say", "claim", "pass_turn"]),
        # What the model made up is neither an action nor a look.
        (("claim",), [did("dance", refused=True)], 1, [*LOOKS, "claim"]),
    ],
)
def test_what_can_still_do_something(opened: Sequence[str], acts: list[Act], reads: int, offered: list[str]) -> None:
    assert useful(TOOLS, turn(*opened), acts, reads) == offered


def test_a_strangers_server_says_by_its_hints_what_acts() -> None:
    tools = {tool.name: tool for tool in (listed("look", None, read=True), listed("act", None))}
    assert useful(tools, turn(), [], 0) == ["act"]


def test_offers_have_one_spelling() -> None:
    assert parse_offer(" all ") is ALL
    assert parse_offer("useful( reads = 03 )") == Offer("useful(reads=3)", 3)
    assert parse_offer("useful(reads=0)").reads == 0


@pytest.mark.parametrize(
    "text",
    ["", "useful", "useful()", "useful(reads=-1)", "useful(reads=true)", "useful(reads=10000)", "most", "x" * 999],
)
def test_what_is_no_offer_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"write all or useful\(reads=3\)") as refused:
        parse_offer(text)
    assert len(str(refused.value)) < 250


class Binding:
    """A model that counts how often tools were bound to it."""

    def __init__(self) -> None:
        self.bound: list[list[str]] = []

    def bind_tools(self, tools: Sequence[Tool]) -> list[str]:
        self.bound.append([tool.name for tool in tools])
        return self.bound[-1]


@pytest.mark.parametrize(("offer", "times"), [(ALL, 1), (Offer("useful(reads=1)", 1), 2)])
def test_tools_are_bound_once_per_set(offer: Offer, times: int) -> None:
    model = Binding()
    offers = Offers(model, [*TOOLS.values()], {**TOOLS, "await_turn": TOOLS["claim"]}, offer)  # pyright: ignore[reportArgumentType]
    for _ in range(3):
        offers.actor(turn("claim"), [])
        offers.actor(turn("claim"), [did("view_value")])
    assert len(model.bound) == times
    assert "await_turn" not in model.bound[0]
