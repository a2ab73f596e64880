"""What an MCP answer says of a call, and what a tool's name and annotations say of its effect."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.contract.answers import kind_by_name, kind_of, listed_tool, settled


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
