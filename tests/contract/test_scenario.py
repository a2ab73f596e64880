"""Scenarios: what is wrong in one is named with key, value and what is allowed.

Also here:
- Bounds of the scenario: what is listed is narrower than what is declared, and nowhere narrower than the rules.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.contract import SHORT, Bounds, MarketType, Scenario, ToolTable
from tradefair.contract.errors import ScenarioError
from tradefair.contract.kernel.core import Core, full_table
from tradefair.contract.market import ReadsData
from tradefair.contract.narrowing import narrowed
from tradefair.contract.scenario import build_scenario, parse_override, with_overrides
from tradefair.files.user_files import parse_toml
from tradefair.host.episode.unbegun import Begun, Unbegun
from tradefair.host.server.binding import build_server
from tradefair.teaching import MARKET
from tradefair.testing.bench import Bench
from tradefair.testing.checks.argument_bounds import bounds_refuse_nothing
from tradefair.testing.playthrough import evenly

_PIE: dict[str, Any] = {"id": "teaching/pie"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({}, "id: required"),
        ({"id": "pie"}, "id = pie: .*match pattern"),
        ({"id": "teaching/Pie"}, "id = teaching/Pie"),
        ({**_PIE, "slcies": 3}, "slcies: unknown key"),
        ({**_PIE, "slices": "10"}, "slices = '10': .*a whole number"),
        ({**_PIE, "slices": 10.0}, "slices = 10.0: .*a whole number"),
        ({**_PIE, "slices": True}, "slices = True: .*a whole number"),
        ({**_PIE, "slices": 1}, "slices = 1: .*at least 2"),
        ({**_PIE, "rounds": 1_001}, "rounds = 1001: .*at most 1000"),
        ({**_PIE, "talk": "yes"}, "talk = 'yes': .*true or false"),
        ({**_PIE, "clock": "wall"}, "clock = wall: .*'turns' or 'free'"),
        ({**_PIE, "record": "none"}, "record = none: .*'full' or 'digests'"),
        ({**_PIE, "limits": [{"counts": ["sold"], "max": 1}]}, "limits.0.counts.0 = sold"),
        ({**_PIE, "limits": [{"counts": ["read"], "max": 0}]}, "limits.0.max = 0"),
        ({**_PIE, "timing": {"decision_deadline_s": 0}}, "timing.decision_deadline_s = 0: .*more than 0"),
        ({**_PIE, "timing": {"deadline": 1}}, "timing.deadline: unknown key"),
        ({**_PIE, "seats": {"P1": 1}}, "seats.P1 = 1: .*text"),
        ({**_PIE, "version": 0}, "version = 0"),
        ({**_PIE, "description": object()}, "not plain data"),
    ],
)
def test_every_mistake_names_key_value_and_what_is_allowed(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError, match=f"^my.toml: .*{complaint}|^the scenario holds a value that is {complaint}"):
        build_scenario(MARKET.scenario_model, content, source="my.toml")


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ScenarioError, match=r"slices = 0.*; rounds = 0.*|rounds = 0.*; slices = 0.*"):
        build_scenario(MARKET.scenario_model, {**_PIE, "slices": 0, "rounds": 0}, source="x")


def test_broken_toml_is_named_with_its_line() -> None:
    with pytest.raises(ScenarioError, match=r"my.toml: not valid TOML: .*line 2"):
        parse_toml('id = "x"\nrounds = \nslices = 2', source="my.toml")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("rounds=10", "rounds", 10),
        (" talk = true ", "talk", True),
        ("limits=[1, 2]", "limits", [1, 2]),
        ("name=plain text", "name", "plain text"),
        ('name="quoted"', "name", "quoted"),
        ("a.b=c=d", "a.b", "c=d"),
        ("empty=", "empty", ""),
    ],
)
def test_an_override_is_a_toml_value_or_bare_text(text: str, key: str, value: Any) -> None:
    assert parse_override(text) == (key, value)


@pytest.mark.parametrize("text", ["rounds", "=3", ""])
def test_what_is_no_override_says_how_one_is_written(text: str) -> None:
    with pytest.raises(ScenarioError, match="write key=value"):
        parse_override(text)


def test_overrides_reach_into_tables_and_leave_the_original_alone() -> None:
    content = {"timing": {"a": 1}, "rounds": 3}
    merged = with_overrides(content, {"timing.b": 2, "rounds": 4, "seats.P1": "half"})
    assert merged == {"timing": {"a": 1, "b": 2}, "rounds": 4, "seats": {"P1": "half"}}
    assert content == {"timing": {"a": 1}, "rounds": 3}
    with pytest.raises(ScenarioError, match="rounds is a value, not a table"):
        with_overrides(content, {"rounds.x": 1})


def test_scenarios_are_found_by_id_by_preset_and_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('id = "teaching/mine"\nslices = 6\n')
    assert load_scenario("teaching", "talk") == load_scenario("teaching", "teaching/talk")
    assert load_scenario("teaching", str(path), {"rounds": 2}).model_dump()["slices"] == 6
    for missing, complaint in (("banquet", "there is no scenario 'teaching/banquet'"), ("no.toml", "cannot be read")):
        with pytest.raises(ScenarioError, match=complaint):
            load_scenario("teaching", missing)


def test_markets_are_found_by_name() -> None:
    assert {"teaching", "double_auction"} <= set(market_names())
    assert market_type("teaching") is MARKET
    with pytest.raises(ScenarioError, match=r"no market 'bazaar'; there are bargaining, .*show markets"):
        market_type("bazaar")


@pytest.mark.parametrize("name", ["teaching", "double_auction"])
def test_every_bundled_scenario_loads_under_the_id_of_its_file(name: str) -> None:
    assert scenario_ids(name)
    for scenario_id in scenario_ids(name):
        assert load_scenario(name, scenario_id).id == scenario_id


def test_a_scenario_is_a_regular_file_and_its_toml_no_trap(tmp_path: Path) -> None:
    """A stranger's file: no FIFO is waited for, no key takes time with its square."""
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "long.toml").write_text(".".join(["a"] * 100_000) + " = 1")
    (tmp_path / "deep.toml").write_text("x = " + "[" * 50_000)
    for name, told in {"fifo": "a FIFO, not a file", "long": "a key of 40 parts", "deep": "not valid TOML"}.items():
        with pytest.raises(ScenarioError, match=told):
            load_scenario("teaching", str(tmp_path / f"{name}.toml"))


MARKETS = ("bargaining", "double_auction", "marketplace", "order_book", "pricing", "retail", "supply_chain", "teaching")


def presets(kind: MarketType) -> Iterator[Scenario]:
    # A few of many: the marketplace has thirty that differ in nothing that is bounded.
    for name in evenly(scenario_ids(kind.name), 8):
        scenario = load_scenario(kind.name, name)
        if not (isinstance(kind, ReadsData) and kind.lacks_data(scenario)):
            yield scenario


def with_bounds(kind: MarketType, tool: str, bounds: Mapping[str, Bounds]) -> MarketType:
    """The market, with other bounds of one tool."""

    def narrow(scenario: Scenario) -> Mapping[str, Bounds]:
        return bounds

    other: Any = copy.copy(kind)
    changed = dataclasses.replace(kind.tools[tool], bounds=narrow)
    other.tools = ToolTable(*(changed if item.name == tool else item for item in kind.tools.values()))
    return other


# --- the mechanics ------------------------------------------------------------------------------------------------


def test_a_bound_narrows_a_value_a_list_and_what_stands_in_its_entries() -> None:
    line = {"type": "object", "properties": {"item": {"type": "string", "maxLength": 40, "minLength": 1}}}
    schema = {
        "$defs": {"Line": line},
        "properties": {
            "price": {"type": "integer", "minimum": 0, "maximum": 10_000},
            "lines": {"type": "array", "maxItems": 90, "items": {"$ref": "#/$defs/Line"}},
        },
    }
    before = json.dumps(schema)
    made = narrowed(
        schema,
        {"price": Bounds(minimum=5, maximum=100), "lines": Bounds(max_items=2), "lines.*.item": Bounds(enum=("a",))},
    )
    assert made["properties"]["price"] == {"type": "integer", "minimum": 5, "maximum": 100}
    assert made["properties"]["lines"]["maxItems"] == 2
    assert made["$defs"]["Line"]["properties"]["item"] == {"type": "string", "enum": ["a"]}
    assert json.dumps(schema) == before


def test_a_bound_never_widens_and_a_long_list_of_names_is_not_shown() -> None:
    schema = {"properties": {"n": {"minimum": 1, "maximum": 3}, "id": {"type": "string", "maxLength": 40}}}
    many = tuple(f"P{number}" for number in range(SHORT + 1))
    assert narrowed(schema, {"n": Bounds(minimum=0, maximum=9), "id": Bounds(enum=many)}) == schema


def test_a_path_that_leads_nowhere_is_an_authors_mistake() -> None:
    with pytest.raises(KeyError):
        narrowed({"properties": {}}, {"price": Bounds(maximum=1)})


# --- the markets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("market", MARKETS)
def test_every_preset_lists_narrower_schemas_of_the_same_parameters_and_declares_what_it_did(market: str) -> None:
    kind, narrower = market_type(market), 0
    for scenario in presets(kind):
        for tool in full_table(kind).values():
            declared, listed = tool.input_schema, tool.listed_schema(scenario)
            if listed != declared:
                Draft202012Validator.check_schema(listed)
            assert declared["properties"].keys() == listed["properties"].keys()
            assert tool.declaration()["input_schema"] == declared
            narrower += listed != declared
    assert narrower


@pytest.mark.parametrize(
    "name",
    [
        *("bargaining/smoke", "double_auction/collusion", "double_auction/smoke", "marketplace/small_demo"),
        *("retail/smoke", "supply_chain/duel", "teaching/pie", "teaching/talk"),
        *("pricing/smoke", "order_book/smoke", "order_book/asset_short"),
    ],
)
def test_whatever_the_rules_accept_the_listed_schema_accepts(name: str) -> None:
    kind = market_type(name.partition("/")[0])
    bench = Bench(kind, scenarios=[load_scenario(kind.name, name)], seeds=(1,))
    assert bounds_refuse_nothing(bench) == []
    assert bench.unplayable == []


@pytest.mark.parametrize(
    ("name", "tool", "path", "wrong"),
    [
        ("teaching/pie", "claim", "slices", Bounds(maximum=9)),
        ("bargaining/smoke", "send_message", "text", Bounds(max_length=1_999)),
        ("bargaining/smoke", "submit_quote", "round", Bounds(maximum=2)),
        ("double_auction/smoke", "submit_quote", "price", Bounds(maximum=99)),
        ("double_auction/smoke", "expected_surplus", "prices.*", Bounds(maximum=99)),
        ("marketplace/small_demo", "send_message", "text", Bounds(max_length=3_999)),
        ("retail/smoke", "view_product_prices", "product_ids", Bounds(max_items=11)),
        ("retail/smoke", "modify_product_price", "new_price", Bounds(maximum=998.99)),
        ("retail/smoke", "place_order", "supplier_id", Bounds(enum=("supplier_1", "supplier_2"))),
        ("supply_chain/duel", "submit_offer", "prices.*.price", Bounds(minimum=2)),
        ("supply_chain/duel", "submit_bids", "bids", Bounds(max_items=1)),
        ("pricing/smoke", "set_price", "price", Bounds(maximum=3_999)),
        ("pricing/smoke", "profit_if", "rivals", Bounds(max_items=0)),
        ("order_book/smoke", "submit_order", "price", Bounds(maximum=199)),
        ("order_book/asset_short", "submit_order", "quantity", Bounds(maximum=0)),
    ],
)
def test_a_bound_that_is_too_narrow_is_found(name: str, tool: str, path: str, wrong: Bounds) -> None:
    kind = market_type(name.partition("/")[0])
    scenario = load_scenario(kind.name, name)
    own = kind.tools[tool].bounds
    assert own is not None
    # One step narrower than the market's own, so that a looser one of its own would fail here, too.
    assert own(scenario)[path] != wrong
    failures = bounds_refuse_nothing(
        Bench(with_bounds(kind, tool, {**own(scenario), path: wrong}), scenarios=[scenario], seeds=(1,))
    )
    assert any(tool in failure.message and path in failure.message for failure in failures)


# --- nothing leaks ------------------------------------------------------------------------------------------------


def plain_values(value: Any) -> Iterator[Any]:
    """Every number and text in some JSON, and how long its lists are."""
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield key
            yield from plain_values(inner)
    elif isinstance(value, list):
        yield len(value)  # pyright: ignore[reportUnknownArgumentType]
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from plain_values(inner)
    else:
        yield value


def read_at_the_start(core: Core, seat: str) -> set[Any]:
    """What a seat can read before anybody has acted, asking without arguments."""
    seen: set[Any] = set()
    for tool in core.tools(seat).values():
        if tool.read_only and not tool.recorded and tool.needs is None and not tool.input_schema.get("required"):
            answer = core.call(seat, tool.name, {}).answer
            if answer is not None and answer.body is not None:
                told: dict[str, Any] = json.loads(answer.body)
                seen |= set(plain_values(told))
                # A list of all seats says how many others there are.
                firms: list[str] = told.get("rules", {}).get("firms", [])
                seen |= {len(firms) - 1} if seat in firms else set()
    return seen


@pytest.mark.parametrize("market", MARKETS)
def test_every_bound_is_something_that_the_seat_can_read_before_it_plays(market: str) -> None:
    kind = market_type(market)
    for scenario in presets(kind):
        core = Core.create(kind, scenario, 1)
        core.start()
        for seat in {spec.role: seat for seat, spec in core.market.seats.items()}.values():
            seen = read_at_the_start(core, seat)
            for tool in core.tools(seat).values():
                bounds: Mapping[str, Bounds] = tool.bounds(scenario) if tool.bounds else {}
                for path, bound in bounds.items():
                    names = () if bound.enum is None or len(bound.enum) > SHORT else bound.enum
                    numbers = (bound.minimum, bound.maximum, bound.max_length, bound.max_items)
                    stated = {*names, *(number for number in numbers if number is not None)}
                    assert stated <= seen, f"{scenario.id} {seat} {tool.name}.{path}: {stated - seen} is shown nowhere"


async def listed_bytes(core: Core) -> dict[str, bytes]:
    """What the server of each seat lists, byte by byte."""

    async def begin(first: object) -> Begun:
        raise AssertionError("listing begins nothing")

    found: dict[str, bytes] = {}
    for seat in core.market.seats:
        async with Client(build_server(Unbegun(core, begin), seat)) as client:
            found[seat] = (await client.list_tools()).model_dump_json().encode()
    return found


@pytest.mark.parametrize("name", ["bargaining/smoke", "double_auction/smoke", "retail/smoke", "supply_chain/duel"])
async def test_two_seeds_list_the_same_bytes(name: str) -> None:
    kind = market_type(name.partition("/")[0])
    scenario = load_scenario(kind.name, name)
    one, other = [Core.create(kind, scenario, seed) for seed in (1, 2)]
    assert one.market.digest() != other.market.digest()
    assert await listed_bytes(one) == await listed_bytes(other)


async def test_what_is_listed_is_narrow_and_what_is_refused_is_told_as_ever() -> None:
    kind = market_type("teaching")
    core = Core.create(kind, load_scenario("teaching", "teaching/pie"), 1)
    core.start()
    listed = json.loads((await listed_bytes(core))["P1"])
    claim = next(tool for tool in listed["tools"] if tool["name"] == "claim")
    assert claim["input_schema"]["properties"]["slices"]["maximum"] == 10
    # Within the declaration and beyond the pie: the rules refuse it with their own words.
    beyond, absurd = (core.call("P1", "claim", {"slices": slices}).answer for slices in (11, 1_001))
    assert beyond is not None
    assert beyond.error is not None
    assert (beyond.status, beyond.error.code) == ("rejected", "too_many_slices")
    assert absurd is not None
    assert absurd.status == "invalid"
