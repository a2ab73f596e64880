"""Wrong names: one short line with what may have been meant, and the place of all names.

Also here:
- What an MCP answer says of a call, and what a tool's name and annotations say of its effect.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.catalog import market_names
from tradefair.cli import run
from tradefair.contract.answers import kind_by_name, kind_of, listed_tool, settled
from tradefair.contract.errors import MAX_UNKNOWN, unknown
from tradefair.contract.text import clean_line

_SEATS = [f"customer_{number:04d}" for number in range(3_000)]


def test_similar_names_come_first_then_the_place_of_all() -> None:
    said = unknown("market", "doubl_auction", ["bargaining", "double_auction", "retail"])
    assert said == "there is no market 'doubl_auction'; did you mean double_auction? all: `tradefair show markets`"
    policy = unknown("policy", "zpi", ["gd", "zip", "zic"], of="double_auction")
    assert policy == "there is no policy 'zpi'; did you mean zip or zic? all: `tradefair show policies double_auction`"
    assert unknown("seat", "b1", ["B1", "S1"]) == "there is no seat 'b1'; did you mean B1 or S1? all: B1, S1"


def test_a_name_like_none_is_answered_with_the_first_of_all() -> None:
    assert unknown("importer", "qqq", ["game", "log"]) == "there is no importer 'qqq'; there are game, log"
    assert unknown("agent", "x", []) == "there is no agent 'x'; there are none"
    said = unknown("seat", "Q", _SEATS)
    assert said.startswith("there is no seat 'Q'; there are customer_0000, customer_0001")
    assert said.endswith("3000 in all")


def test_presets_are_compared_without_their_market() -> None:
    ids = ["double_auction/duel", "double_auction/bazaar", "double_auction/smoke"]
    assert "did you mean double_auction/duel? all" in unknown("scenario", "double_auction/dul", ids)
    assert "did you mean double_auction/duel" in unknown("scenario", "doubleauction/duel", ids)


@given(
    st.text(max_size=300), st.lists(st.text(max_size=120), max_size=30), st.sampled_from(["market", "seat", "query"])
)
def test_the_message_is_one_short_clean_line_whatever_the_names_hold(name: str, known: list[str], what: str) -> None:
    said = unknown(what, name, known)
    assert len(said) <= MAX_UNKNOWN
    assert said == clean_line(said)


WRONG: list[tuple[list[Any], str]] = [
    (["show", "tools", "bargainin"], "market 'bargainin'; did you mean bargaining"),
    (["show", "scenarios", "teaching/pye"], "scenario 'teaching/pye'; did you mean teaching/pie"),
    (["play", "teaching", "--others", "hlf"], "policy 'hlf'; did you mean half"),
    (["play", "teaching", "--agent", "reakt"], "framework 'reakt'; did you mean react"),
    (["play", "teaching", "--seat", "P9"], "seat 'P9'; did you mean P1 or P2"),
    (["import", "pactlog", ".", "--out", "out"], "importer 'pactlog'; did you mean pact-log"),
    (["sweep", "double_auction/feild"], "plan 'double_auction/feild'; did you mean double_auction/field"),
    (["evaluat"], "command 'evaluat'; did you mean evaluate"),
    (["config", "teaching", "--seat", "P1", "--client", "claud"], "client 'claud'; did you mean claude"),
]


@pytest.mark.parametrize(("arguments", "meant"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_every_command_answers_a_wrong_name_in_one_line(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert market_names()
    assert run(arguments) == 2
    said = capsys.readouterr().err.strip()
    assert meant in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("get_order", "read"),
        ("mcp__shop__list-items", "read"),
        ("searchPages", "read"),
        ("calculate", "analysis"),
        ("think", "note"),
        ("cancel_order", "action"),
        ("user_details", "action"),
        ("__", "action"),
    ],
)
def test_a_tool_does_what_the_verb_in_its_name_says(tool: str, kind: str) -> None:
    assert kind_by_name(tool) == kind


def test_an_annotation_overrules_the_name() -> None:
    assert kind_of("order", {"readOnlyHint": True}) == "read"
    assert kind_of("get_order", {"readOnlyHint": False}) == "action"
    assert kind_of("calculate", {"readOnlyHint": True}) == "analysis"
    assert kind_of("get_order", {"readOnlyHint": "yes"}) == "read"


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], **more}}


def _refused(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": "", "retryable": False}


@pytest.mark.parametrize(
    ("answer", "status", "result", "error"),
    [
        (_text("done"), "ok", {"text": "done"}, None),
        (_text('{"a":1}'), "ok", {"a": 1}, None),
        (_text("x", structuredContent={"b": 2}), "ok", {"b": 2}, None),
        ({"result": None}, "ok", None, None),
        ({"result": {"content": []}}, "ok", {"content": []}, None),
        (_text("no such order", isError=True), "rejected", None, _refused("tool_error", "no such order")),
        (_text('{"code":"gone","message":"m"}', isError=True), "rejected", None, _refused("gone", "m")),
        (
            _text('{"code":"invalid_arguments","message":"m"}', isError=True),
            "invalid",
            None,
            _refused("invalid_arguments", "m"),
        ),
        ({"error": {"code": -32602, "message": "bad"}}, "invalid", None, _refused("rpc_-32602", "bad")),
        ({"error": {"code": -32603, "message": "oops"}}, "failed", None, _refused("rpc_-32603", "oops")),
        ({"error": "text"}, "failed", None, _refused("rpc_error", "text")),
        ({"error": 7}, "failed", None, _refused("rpc_error", "7")),
    ],
)
def test_an_answer_settles_a_call(answer: dict[str, Any], status: str, result: Any, error: Any) -> None:
    assert settled(answer) == (status, result, error)


def test_a_listed_tool_keeps_its_hints_and_the_digest_of_its_schema() -> None:
    first = listed_tool({"name": "a", "inputSchema": {"x": 1, "y": 2}, "annotations": {"readOnlyHint": True, "t": 1}})
    assert first == {"name": "a", "schema": first["schema"], "readOnlyHint": True}
    assert first["schema"] == listed_tool({"name": "a", "input_schema": {"y": 2, "x": 1}})["schema"]
    assert first["schema"] != listed_tool({"name": "a", "inputSchema": {"x": 1}})["schema"]
