"""What a model is offered per reply: all tools, or those that can still do something in the turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from mcp.types import Tool, ToolAnnotations
from tests.calling import blank_view

from tradefair.agents.bridge import Act, ToolOutcome
from tradefair.agents.offers import ALL, Offer, Offers, parse_offer, useful
from tradefair.contract import ScenarioError, TurnView

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
