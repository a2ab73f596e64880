"""What a published schema allows is a call: of every tool of every market, by an independent reader of JSON schema."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import SeatId, Tool, tool
from tradefair.contract.arguments import BadArguments, WrongArguments, encode_arguments, event_as_meant, read_arguments
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.contract.kernel.replay import replay
from tradefair.contract.tool import Result
from tradefair.host.seats.services import request_of
from tradefair.teaching.rules import Pie
from tradefair.testing.checks.schemas import schema_faults

MARKETS = ("bargaining", "double_auction", "marketplace", "order_book", "pricing", "retail", "supply_chain", "teaching")
TOOLS = {
    **{f"kernel.{item.name}": item for item in KERNEL_TOOLS.values()},
    **{f"{name}.{item.name}": item for name in MARKETS for item in market_type(name).tools.values()},
}
# What a 2020-12 validator reads; the other keys of a schema explain it.
KEYWORDS = frozenset(
    {"$defs", "$ref", "additionalProperties", "anyOf", "const", "enum", "exclusiveMaximum", "exclusiveMinimum"}
    | {"items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "pattern", "properties"}
    | {"required", "type"}
)
EXPLAINING = frozenset({"default", "description", "x-untrusted"})
# A few examples of every tool; the slow run looks longer.
FEW, MANY = 6, 400


# --- values from a schema -----------------------------------------------------------------------------------------


def values(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Every kind of value that a schema allows: whole doubles and signed zeros, any text, texts with a last newline."""
    if "$ref" in schema:
        schema = defined[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of([values(option, defined) for option in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer" | "number" as kind:
            return numbers(schema, kind)
        case "string":
            return texts(schema)
        case "array":
            most = min(schema.get("maxItems", 4), schema.get("minItems", 0) + 4)
            return st.lists(values(schema["items"], defined), min_size=schema.get("minItems", 0), max_size=most)
        case _:
            return objects(schema, defined)


def numbers(schema: Mapping[str, Any], kind: str) -> st.SearchStrategy[Any]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    whole = st.integers(-(-low // 1), high // 1).map(int)
    # Clients whose numbers are doubles send every integer so.
    made = whole | whole.map(float) | whole.map(lambda number: -float(number) if number == 0 else float(number))
    if kind == "number":
        made |= st.floats(low, high)
    check: Any = Draft202012Validator(dict(schema))
    return made.filter(check.is_valid)


def texts(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    pattern: str | None = schema.get("pattern")
    most: int = schema.get("maxLength", 200)
    if pattern is None:
        least = schema.get("minLength", 0)
        some = st.text(min_size=least, max_size=max(least, min(most, 30)))
        return some | st.sampled_from("aé\u202e\U0001f32e\n").map(lambda char: char * most)
    # Python's `$` stands before a last newline, too.
    found: st.SearchStrategy[str] = st.from_regex(pattern, fullmatch=True) | st.from_regex(pattern)
    return found.filter(lambda text: len(text) <= most)


def objects(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: values(prop, defined) for name, prop in schema.get("properties", {}).items()}
    required = {name: fields.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=fields)


def arguments_of(item: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """What a client may send that checks calls itself."""
    schema = item.input_schema
    return objects(schema, schema.get("$defs", {}))


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )


def _is_taken(item: Tool, examples: int) -> None:
    """Whatever the schema of a tool allows is read, or refused for what no schema says."""
    check: Any = Draft202012Validator(item.input_schema)

    @_settings(examples)
    @given(arguments_of(item))
    def fits(arguments: dict[str, Any]) -> None:
        check.validate(arguments)
        try:
            read_arguments(encode_arguments(arguments), item.parameters, item.name)
        except WrongArguments as wrong:
            assert (wrong.error.code, wrong.status) == ("bad_value", "rejected"), (arguments, wrong.error)  # noqa: PT017
        except BadArguments as bad:
            assert bad.error(item.name).code == "bad_value"  # noqa: PT017

    fits()


@pytest.mark.parametrize("name", TOOLS)
def test_what_a_published_schema_allows_is_never_invalid(name: str) -> None:
    _is_taken(TOOLS[name], FEW)


@pytest.mark.many
@pytest.mark.parametrize("name", TOOLS)
def test_what_a_published_schema_allows_is_never_invalid_at_length(name: str) -> None:
    _is_taken(TOOLS[name], MANY)


PRESETS = {
    "bargaining": "smoke",
    "double_auction": "collusion",
    "marketplace": "small_demo",
    "order_book": "asset_short",
    "pricing": "smoke",
    "retail": "smoke",
    "supply_chain": "duel",
    "teaching": "talk",
}


def _is_answered(market: str, calls: int, examples: int) -> None:
    """Calls that schemas allow are answered or refused by the rules, never by a fault; the log reproduces all."""
    kind, scenario = market_type(market), load_scenario(market, PRESETS[market], {"limits": []})

    @_settings(examples)
    @given(st.data())
    def plays(data: st.DataObject) -> None:
        core = Core.create(kind, scenario, 1)
        bodies = [record.body for record in core.start().records]
        seats = list(core.market.seats)
        for number in range(calls):
            seat = seats[number % len(seats)]
            offered = [item for item in core.tools(seat).values() if not item.recorded]
            item = data.draw(st.sampled_from(offered))
            arguments = data.draw(arguments_of(item))
            asked = request_of(core, seat, item.name, arguments)
            inputs = {} if asked is None else {asked.source: "fine"}
            if core.ended is not None:
                break
            done = core.call(seat, item.name, arguments, inputs=inputs)
            bodies += [record.body for record in done.records]
            answer = done.answer
            assert answer is not None
            assert answer.status != "failed", (item.name, arguments, answer.fault)
            assert answer.error is None or answer.error.code != "invalid_arguments", (
                item.name,
                arguments,
                answer.error,
            )
            # Later phases have other tools.
            if number % 8 == 7:
                bodies += [record.body for late in seats for record in core.lapse(late, "deadline").records]
        assert sum(1 for _ in replay(kind, core.manifest, bodies)) == len(bodies)

    plays()


@pytest.mark.parametrize("market", PRESETS)
def test_calls_that_schemas_allow_are_answered_by_the_rules_and_replayed(market: str) -> None:
    _is_answered(market, 40, 2)


@pytest.mark.many
@pytest.mark.parametrize("market", PRESETS)
def test_calls_that_schemas_allow_are_answered_by_the_rules_and_replayed_at_length(market: str) -> None:
    _is_answered(market, 200, 25)


# --- the linter ---------------------------------------------------------------------------------------------------


def _schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and the schemas within it, by the keys that hold schemas."""
    yield schema
    for key in ("properties", "$defs"):
        for inner in schema.get(key, {}).values():
            yield from _schemas(inner)
    if "items" in schema:
        yield from _schemas(schema["items"])
    for inner in schema.get("anyOf", ()):
        yield from _schemas(inner)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_plain_and_described(name: str) -> None:
    item = TOOLS[name]
    assert list(schema_faults(item)) == []
    for schema in (item.input_schema, item.output_schema, item.result_schema):
        Draft202012Validator.check_schema(schema)
    words = {key for schema in _schemas(item.input_schema) for key in schema}
    assert words <= KEYWORDS | EXPLAINING
    assert '"null"' not in repr(item.input_schema).replace("'", '"')


class Part(BaseModel):
    """A part of a wish."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, Field(max_length=9, description="its name")]
    size: Annotated[int, Field(ge=0, le=9, description="its size")] | None = None
    kind: Annotated[Literal["a", "b"] | None, Field(description="its kind")] = None


class Wish(BaseModel):
    """What is wished."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    parts: Annotated[list[Part], Field(max_length=3, description="what it is made of")] = []
    first: Annotated[Part, Field(description="what comes first")] | None = None
    steps: Annotated[list[Annotated[int, Field(ge=0, le=9)] | None], Field(max_length=3, description="steps")] = []


class Done(Result):
    """What has been done."""

    numbers: list[int]


@tool("action", title="Wish")
def wish(
    market: Pie,
    seat: SeatId,
    *,
    count: Annotated[int, Field(ge=-9, le=9, description="how many")],
    share: Annotated[float, Field(ge=0, le=1, description="how much")] | None = None,
    wishes: Annotated[list[Wish], Field(max_length=3, description="what is wished")] | None = None,
    either: Annotated[int, Field(ge=0, le=9)] | Literal["all"] | None = None,
) -> Done:
    """Wish for something."""
    return Done(numbers=[count])


def test_what_may_be_left_out_is_plain_at_every_depth() -> None:
    schema = wish.input_schema
    assert schema["required"] == ["count"]
    assert schema["properties"]["share"] == {"type": "number", "minimum": 0, "maximum": 1, "description": "how much"}
    assert schema["properties"]["wishes"]["items"] == {"$ref": "#/$defs/Wish"}
    part, whole = schema["$defs"]["Part"], schema["$defs"]["Wish"]
    assert part["required"] == ["name"]
    assert part["properties"]["size"] == {"type": "integer", "minimum": 0, "maximum": 9, "description": "its size"}
    assert part["properties"]["kind"] == {"enum": ["a", "b"], "type": "string", "description": "its kind"}
    assert whole["properties"]["first"] == {"$ref": "#/$defs/Part", "description": "what comes first"}
    # Two types are two types; the third, null, says nothing.
    assert [option.get("type") for option in schema["properties"]["either"]["anyOf"]] == ["integer", "string"]


def _read(arguments: dict[str, Any]) -> Any:
    return read_arguments(encode_arguments(arguments), wish.parameters, wish.name)


def test_null_stands_for_what_is_left_out_at_every_depth() -> None:
    parts = [{"name": "x", "size": None, "kind": None}]
    given = _read({"count": 1, "share": None, "wishes": [{"parts": parts, "first": None}], "either": None})
    assert given == _read({"count": 1, "wishes": [{"parts": [{"name": "x"}]}]})
    # Of items of a list and of what is required it is a value.
    assert _read({"count": 1, "wishes": [{"steps": [1, None]}]}).wishes[0].steps == [1, None]
    with pytest.raises(WrongArguments, match="count: input should be a valid integer"):
        _read({"count": None})
    # So for a default that is no null.
    history = TOOLS["teaching.view_history"]
    assert read_arguments(b'{"first_round":null}', history.parameters, history.name).first_round == 1


@pytest.mark.parametrize("number", [5.0, -0.0, 9.0, -9.0])
def test_whole_doubles_are_integers(number: float) -> None:
    given = _read({"count": number, "share": 1.0, "wishes": [{"parts": [{"name": "x", "size": 2.0}]}], "either": 3.0})
    assert (given.count, type(given.count)) == (int(number), int)
    assert (given.wishes[0].parts[0].size, given.either) == (2, 3)


@pytest.mark.parametrize("number", [5.5, 1e300, 2.0**60, 10.0, -10.0])
def test_other_doubles_are_refused_with_what_is_allowed(number: float) -> None:
    with pytest.raises(WrongArguments) as refused:
        _read({"count": number})
    assert refused.value.error.code == "invalid_arguments"
    assert "integer -9..9" in refused.value.error.message


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e400"])
def test_what_is_no_number_is_refused_with_what_is_allowed(number: str) -> None:
    with pytest.raises(BadArguments, match="only finite numbers"):
        _read({"count": float(number)})


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"count": "6"}, 'count: "6" is text; send 6 (integer -9..9)', '{"count": 6}'),
        ({"count": " -06 "}, 'count: "-6" is text; send -6 (integer -9..9)', '{"count": -6}'),
        ({"count": "60.0"}, 'count: "60" is text; send 60 (integer -9..9)', '{"count": 60}'),
        ({"count": 1, "share": "0.5"}, 'share: "0.5" is text; send 0.5 (number 0..1)', '{"share": 0.5}'),
        (
            {"count": 1, "wishes": [{"parts": [{"name": "x", "size": "2"}]}]},
            'wishes.0.parts.0.size: "2" is text; send 2 (integer 0..9)',
            '{"size": 2}',
        ),
    ],
)
def test_a_number_as_text_is_refused_with_the_right_form(arguments: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(WrongArguments) as refused:
        _read(arguments)
    error = refused.value.error
    assert (error.code, error.message) == ("invalid_arguments", message)
    assert error.hint == f"wish takes count, share, wishes, either; call it again with {hint}: numbers have no quotes"


@pytest.mark.parametrize("text", ["six", "1e3", "0x10", "½", "٦", "", "6; send 7", "1" * 13, "5.5"])
def test_other_texts_for_an_integer_are_not_repeated(text: str) -> None:
    with pytest.raises(WrongArguments) as refused:
        _read({"count": text})
    assert refused.value.error.message == "count: input should be a valid integer (integer -9..9)"
    assert refused.value.error.hint == "wish takes count, share, wishes, either; call it again"


def test_the_log_holds_what_was_sent_and_is_reproduced() -> None:
    kind = market_type("teaching")
    core = Core.create(kind, load_scenario("teaching", "pie"), 1)
    bodies = [record.body for record in core.start().records]
    for seat, sent in (("P1", {"slices": 5.0}), ("P2", {"slices": "5"}), ("P2", {"slices": 5})):
        bodies += [record.body for record in core.call(seat, "claim", sent).records]
    assert b'"arguments":{"slices":5.0}' in bodies[1]
    assert sum(1 for _ in replay(kind, core.manifest, bodies)) == len(bodies)
    # Readers of what was done see one act where there are two ways to write it.
    assert event_as_meant(bodies[1])["arguments"] == {"slices": 5}
    # The course is that of whole numbers.
    whole = Core.create(kind, load_scenario("teaching", "pie"), 1)
    whole.start()
    for seat in ("P1", "P2"):
        whole.call(seat, "claim", {"slices": 5})
    assert whole.outcome_digest == core.outcome_digest


# --- the linter bites ---------------------------------------------------------------------------------------------

_INT = {"type": "integer", "minimum": 0, "maximum": 9, "description": "d"}
_TEXT = {"type": "string", "maxLength": 9, "description": "d"}
PLANTED: dict[str, tuple[dict[str, Any], str]] = {
    "no description": ({"type": "boolean"}, "no description"),
    "blank description": ({"type": "boolean", "description": " "}, "no description"),
    "null branch": ({"anyOf": [_INT, {"type": "null"}], "description": "d"}, "type is 'null'"),
    "null default": ({**_INT, "default": None}, "null as default"),
    "null choice": ({"type": "string", "enum": ["a", None], "description": "d"}, "null among the choices"),
    "list of types": ({"type": ["integer", "string"], "description": "d"}, "type is \\['integer'"),
    "no type": ({"description": "d"}, "type is None"),
    "list without items": ({"type": "array", "description": "d"}, "a list has no items"),
    "list of anything": ({"type": "array", "items": {}, "description": "d"}, "a list has no items"),
    "list in a list": (
        {"type": "array", "items": {"type": "array"}, "description": "d"},
        "x\\[\\]: a list has no items",
    ),
    "no upper bound": ({"type": "integer", "minimum": 0, "description": "d"}, "needs both bounds"),
    "no lower bound": ({"type": "number", "exclusiveMaximum": 9, "description": "d"}, "needs both bounds"),
    "no double": ({**_INT, "maximum": 2**60}, "above 2\\*\\*53"),
    "endless text": ({"type": "string", "description": "d"}, "needs maxLength"),
    "endless pattern": ({"type": "string", "pattern": "^a+$", "description": "d"}, "needs maxLength"),
    "loose pattern": ({**_TEXT, "pattern": "^a"}, "do not agree"),
    "digits of all scripts": ({**_TEXT, "pattern": "^\\d$"}, "do not agree"),
    "open object": ({"type": "object", "properties": {}, "description": "d"}, "unknown fields are not refused"),
    "undefined": ({"$ref": "#/$defs/Gone", "description": "d"}, "is not defined"),
}


@pytest.mark.parametrize("case", PLANTED)
@pytest.mark.parametrize("nested", [False, True])
def test_a_planted_fault_of_a_schema_is_found(case: str, nested: bool) -> None:
    prop, message = PLANTED[case]
    schema: dict[str, Any] = {"type": "object", "properties": {"x": prop}, "additionalProperties": False}
    if nested:
        held = {"type": "array", "items": {"$ref": "#/$defs/Inner"}, "description": "d"}
        schema = {**schema, "properties": {"held": held}, "$defs": {"Inner": schema}}
    item = dataclasses.replace(wish)
    # What the property would compute.
    item.__dict__["input_schema"] = schema
    assert any(re.search(message, fault) for fault in schema_faults(item))
    item.__dict__["input_schema"] = {**schema, "properties": {"x": _INT}, "$defs": {}}
    assert list(schema_faults(item)) == []


def test_a_list_of_anything_in_a_result_is_found() -> None:
    item = dataclasses.replace(wish)
    item.__dict__["output_schema"] = {"type": "object", "properties": {"rows": {"type": "array"}}}
    assert "wish output.properties.rows: a list has no items" in schema_faults(item)
