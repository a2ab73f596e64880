"""What a local model may write: from the schemas of tools, only what the grammar library is known to keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tradefair.catalog import market_names, market_type
from tradefair.frameworks.models.local.grammar import (
    MAX_TEXT,
    ToolDefinition,
    answer_grammar,
    arguments_schema,
    call_grammar,
    offered_tools,
)
from tradefair.frameworks.models.wire import RequestError

KNOWN = {
    "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "const", "anyOf",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "maxLength",
}  # fmt: skip
"""Keywords that were tried with the library: one that it does not know makes it drop the whole grammar in silence."""


def _tool(properties: dict[str, Any], *required: str, **more: Any) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "required": list(required), **more}
    return ToolDefinition("act", "Act.", schema)


def _arguments(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return arguments_schema(_tool(properties, *required, **more))["properties"]


def _keywords(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema
    inner: list[dict[str, Any]] = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for part in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from _keywords(part)


@pytest.mark.parametrize("market", market_names())
def test_of_every_tool_of_every_market_only_known_keywords_are_left(market: str) -> None:
    for tool in market_type(market).tools.declarations():
        made = arguments_schema(ToolDefinition(tool["name"], "", tool["input_schema"]))
        assert set(_keywords(made)) <= KNOWN, tool["name"]
        assert made["required"] == [*tool["input_schema"].get("required", [])]


def test_a_call_is_one_branch_per_tool_without_white_space() -> None:
    grammar = call_grammar([_tool({"price": {"type": "integer", "minimum": 0, "maximum": 100}}, "price")])
    head, _, body = grammar.partition("start: %json ")
    made = json.loads(body)
    assert head == "%llguidance {}\n"
    assert made["x-guidance"] == {"whitespace_flexible": False}
    (branch,) = made["anyOf"]
    assert list(branch["properties"]) == ["name", "arguments"]
    assert branch["properties"]["name"] == {"const": "act"}
    assert branch["properties"]["arguments"]["properties"] == {
        "price": {"type": "integer", "minimum": 0, "maximum": 100}
    }


def test_what_cannot_be_guided_is_any_object() -> None:
    grammar = call_grammar([_tool({"price": {"type": "integer"}}, "price")], loose=True)
    assert json.loads(grammar.partition("%json ")[2])["anyOf"][0]["properties"]["arguments"] == {"type": "object"}


def test_texts_and_lists_and_numbers_end() -> None:
    made = _arguments(
        {
            "text": {"type": "string", "maxLength": 8_000},
            "ids": {"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 1, "maxItems": 2_000},
            "pair": {"type": "array", "items": {"type": "boolean"}, "minItems": 5},
            "day": {"type": "string", "pattern": "^[0-9]{4}$", "maxLength": 2},
            "units": {"type": "integer"},
            "price": {"type": "number", "exclusiveMinimum": 0},
        },
        "text", "ids", "pair", "day", "units", "price",
    )  # fmt: skip
    assert made["text"] == {"type": "string", "maxLength": MAX_TEXT}
    assert made["ids"] == {"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 1, "maxItems": 3}
    assert (made["pair"]["minItems"], made["pair"]["maxItems"]) == (5, 5)
    assert made["day"] == {"type": "string", "pattern": "^[0-9]{4}$"}
    assert made["units"] == {"type": "integer", "minimum": -1_000_000_000, "maximum": 1_000_000_000}
    assert made["price"] == {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0}


def test_optional_parameters_are_left_out_except_words() -> None:
    made = _arguments(
        {
            "text": {"type": "string", "maxLength": 8_000},
            "round": {"type": "integer"},
            "cursor": {"type": "string", "pattern": "^x$"},
            "trader": {"type": "string", "maxLength": 64},
        }
    )
    assert list(made) == ["text"]


def test_references_are_followed_and_end() -> None:
    line = {"type": "object", "properties": {"units": {"$ref": "#/$defs/Units"}}, "required": ["units"]}
    definitions = {
        "Line": line,
        "Units": {"type": "integer", "minimum": 1},
        "Loop": {"$ref": "#/$defs/Loop"},
        "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }
    named = {name.lower(): {"$ref": f"#/$defs/{name}"} for name in ("Line", "Loop", "Tree", "Missing")}
    made = _arguments(named, *named, **{"$defs": definitions})
    assert made["line"]["properties"] == {"units": {"type": "integer", "minimum": 1}}
    assert made["loop"] == made["missing"] == {"type": "object"}
    assert json.dumps(made["tree"]).count("array") <= 8


def test_what_is_not_known_is_left_to_the_markets_own_check() -> None:
    made = _arguments(
        {"a": {"not": {}}, "b": True, "c": {"type": ["string", "null"]}, "d": {"enum": [1, None]}}, *"abcd"
    )
    assert made == {"a": {"type": "object"}, "b": {"type": "object"}, "c": {"type": "object"}, "d": {"enum": [1, None]}}


def test_an_answer_has_the_schema_that_was_asked_for() -> None:
    made = json.loads(answer_grammar(_tool({"lesson": {"type": "string"}}, "lesson").parameters).partition("%json ")[2])
    assert made["properties"] == {"lesson": {"type": "string", "maxLength": MAX_TEXT}}


def _request(*names: str, **more: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": name}} for name in names], **more}


def test_the_tools_of_a_request_are_those_that_it_lets_the_model_choose() -> None:
    assert [tool.name for tool in offered_tools(_request("look", "act"))] == ["look", "act"]
    chosen = {"type": "function", "function": {"name": "act"}}
    assert [tool.name for tool in offered_tools(_request("look", "act", tool_choice=chosen))] == ["act"]
    assert offered_tools(_request("look", tool_choice="none")) == []
    assert offered_tools({}) == []


@pytest.mark.parametrize(
    "tool", [7, {}, {"function": {}}, {"function": {"name": 3}}, {"function": {"name": "x", "parameters": 3}}]
)
def test_what_is_no_tool_is_refused(tool: Any) -> None:
    with pytest.raises(RequestError, match="each is a function"):
        offered_tools({"tools": [tool]})


@pytest.mark.parametrize(
    "schema",
    [{"properties": 3}, {"required": 7}, {"properties": {"x": {"type": "array", "minItems": "a"}}, "required": "x"}],
)
def test_a_schema_that_is_none_takes_any_object(schema: dict[str, Any]) -> None:
    assert arguments_schema(ToolDefinition("x", "", schema)) == {"type": "object"}
