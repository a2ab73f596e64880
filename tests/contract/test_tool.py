"""The tool table: one typed function becomes strict schemas, a shallow output schema, a digest."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from tradefair.contract.scenario import SeatId
from tradefair.contract.tool import Result, ToolTable, Untrusted, tool
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie


class Part(Result):
    words: Annotated[str, Untrusted()]
    size: int


class Report(Result):
    number: int
    maybe: int | None
    both: int | str
    part: Part
    parts: list[Part]
    by_name: dict[str, Part]
    side: Literal["left", "right"]
    title: Annotated[str, Untrusted()]
    plain: str


class Order(BaseModel):
    sku: str
    count: Annotated[int, Field(ge=1)]


@tool("analysis", title="Everything", evidence=("a", "b"), roles=("eater",), destructive=False)
def everything(
    market: Pie,
    seat: SeatId,
    *,
    count: Annotated[int, Field(ge=0, le=9)],
    ratio: float = 0.5,
    name: Annotated[str, Field(max_length=5)] = "x",
    flag: bool = False,
    orders: list[Order] | None = None,
    inputs: dict[str, Any] | None = None,
) -> Report:
    """Take one of each."""
    raise NotImplementedError


def _valid(**arguments: Any) -> bool:
    import orjson

    try:
        everything.parameters.model_validate_json(orjson.dumps(arguments), strict=True)
    except ValueError:
        return False
    return True


def test_the_declaration_comes_from_the_function() -> None:
    assert (everything.name, everything.kind, everything.title) == ("everything", "analysis", "Everything")
    assert everything.description == "Take one of each."
    assert everything.evidence == ("a", "b")
    assert list(everything.parameters.model_fields) == ["count", "ratio", "name", "flag", "orders"]
    assert everything.result is Report
    assert everything.read_only


def test_the_input_schema_is_closed_and_carries_the_bounds() -> None:
    schema = everything.input_schema
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["count"]
    assert schema["properties"]["count"] == {"type": "integer", "minimum": 0, "maximum": 9}
    assert schema["properties"]["ratio"] == {"type": "number", "default": 0.5}


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": True},
        {"count": "1"},
        {"count": 1.0},
        {"count": None},
        {"count": 10},
        {"count": -1},
        {"count": [1]},
        {},
        {"count": 1, "extra": 1},
        {"count": 1, "inputs": {}},
        {"count": 1, "seat": "P2"},
        {"count": 1, "name": 1},
        {"count": 1, "name": "xxxxxx"},
        {"count": 1, "flag": 1},
        {"count": 1, "flag": "true"},
        {"count": 1, "ratio": "0.5"},
        {"count": 1, "ratio": True},
        {"count": 1, "orders": [{"sku": "a", "count": 0}]},
        {"count": 1, "orders": [{"sku": "a", "count": "1"}]},
        {"count": 1, "orders": {"sku": "a"}},
    ],
)
def test_arguments_are_strict(arguments: dict[str, Any]) -> None:
    assert not _valid(**arguments)


def test_right_arguments_pass() -> None:
    assert _valid(count=0)
    assert _valid(count=9, ratio=1, name="", flag=True, orders=[{"sku": "a", "count": 1}])
    assert _valid(count=9, orders=None)


def _report(**other: Any) -> dict[str, Any]:
    part = {"words": "w", "size": 1}
    whole = {"number": 1, "maybe": None, "both": "b", "part": part, "parts": [part], "by_name": {"a": part}}
    return {**whole, "side": "left", "title": "t", "plain": "p", **other}


def test_on_the_wire_the_output_schema_names_top_level_types_only() -> None:
    schema = everything.output_schema
    assert set(schema["properties"]) == set(Report.model_fields)
    assert "$defs" in everything.result_schema
    spelled = repr(schema)
    assert "$defs" not in spelled
    assert "$ref" not in spelled
    assert all("properties" not in prop for prop in schema["properties"].values())
    assert schema["properties"]["parts"] == {"type": "array", "items": {"type": "object"}}
    assert schema["properties"]["title"]["x-untrusted"] is True


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        (_report(), True),
        (_report(maybe=3, both=4, parts=[], by_name={}), True),
        (_report(number="1"), False),
        (_report(part=[]), False),
        (_report(parts={}), False),
        (_report(maybe="x"), False),
        ({name: value for name, value in _report().items() if name != "number"}, False),
    ],
)
def test_clients_can_check_results_against_it(answer: dict[str, Any], fits: bool) -> None:
    check: Any = Draft202012Validator(everything.output_schema)
    assert check.is_valid(answer) == fits
    if fits:
        Report.model_validate(answer)


def test_text_by_others_is_found_wherever_it_lies() -> None:
    assert set(everything.untrusted_paths) == {
        ("part", "words"),
        ("parts", "*", "words"),
        ("by_name", "*", "words"),
        ("title",),
    }
    assert MARKET.tools["read_messages"].untrusted_paths == (("messages", "*", "text"),)
    assert MARKET.tools["view_my_value"].untrusted_paths == ()


def test_roles_and_scenario_decide_who_sees_a_tool() -> None:
    silent, talking = (MARKET.scenario_model(id="teaching/x", talk=talk) for talk in (False, True))
    assert MARKET.tools["say"].visible(talking, "eater")
    assert not MARKET.tools["say"].visible(silent, "eater")
    assert not everything.visible(silent, "cook")


def test_the_digest_changes_with_anything_an_agent_can_see() -> None:
    digest = MARKET.tools.schema_digest
    assert digest == ToolTable(*MARKET.tools.values()).schema_digest
    assert digest != ToolTable(*reversed(list(MARKET.tools.values()))).schema_digest
    assert digest != ToolTable(*MARKET.tools.values(), everything).schema_digest
    one, two = (ToolTable(_described(text)).schema_digest for text in ("One thing.", "Another thing."))
    assert one != two


def _described(text: str) -> Any:
    def view(market: Pie, seat: SeatId) -> Part:
        raise NotImplementedError

    view.__doc__ = text
    view.__annotations__["return"] = "Part"
    return tool("read", title="T")(view)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        ToolTable(everything, everything)


def test_results_are_frozen_and_closed() -> None:
    with pytest.raises(ValueError):
        Part.model_validate({"words": "w", "size": 1, "more": 2})
    with pytest.raises(ValueError):
        Part(words="w", size=1).size = 2  # type: ignore[misc]
