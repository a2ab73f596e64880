"""Every market but `teaching`, which has a page of its own, keeps the contract.

Also here:
- Presets to learn from: a tier is true of every preset that names it, and in a first one playing pays.
- Scenarios come with strangers' traces: whatever is counted in one has a bound, in every market.
- The tools of each market are those of its snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from benchmarks.references import place
from benchmarks.seated import play_seated
from pydantic import JsonValue

from tests.checks import AGAIN, CHECKED, HERE, each_part
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids, scenario_tier
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.players import stand_ins
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.judge.reward import Reward, reward_of
from tradefair.evaluation.modes.base_rates import References
from tradefair.testing import CHECKS, Bench, bundled_scenarios, check_market, schema_snapshot

LONG_ENOUGH: dict[str, JsonValue] = {"rounds_max": 1_000}
SWITCHES = {"escrow": True, "reputation": True, "arrival_stagger": 1, "search_disclosure": "menu"}
# Fewer days and rounds: the kit replays every episode many times. Traders of `collusion` talk, too.
QUICK: dict[str, dict[str, dict[str, Any]]] = {
    "bargaining": {"smoke": {}},
    "double_auction": {"collusion": {"rounds": 2}},
    "marketplace": {"small_demo": {**LONG_ENOUGH, **SWITCHES, "profile_disclosure": "full", "data.customers": 1}},
    # No preset has seats of all roles.
    "order_book": {"smoke": {}, "asset_short": {"periods": 2, "sweeps": 2, "traders": 3}},
    "pricing": {"hidden_cost": {"rounds": 3}},
    "retail": {"smoke": {"horizon_days": 14}},
    "supply_chain": {"duel": {}},
}
NEEDS_DATA = ("3_9", "10_30", "33_99", "100_300")
MARKETPLACES = [name for name in scenario_ids("marketplace") if not name.endswith(NEEDS_DATA)]
FORFEIT = {"overspend": "forfeit", "reveal": "book", "supply_mode": "shock", "rounds": 2}


@cache
def bench(market: str) -> Bench:
    scenarios = [load_scenario(market, *cut) for cut in QUICK[market].items()]
    return Bench(market_type(market), scenarios=scenarios, seeds=(2 if market == "marketplace" else 1,))


@pytest.mark.parametrize("check", CHECKED)
@pytest.mark.parametrize("market", QUICK)
def test_a_market_keeps_the_contract(market: str, check: str) -> None:
    assert CHECKS[check](bench(market)) == []


def test_no_market_is_left_out() -> None:
    assert {*QUICK, "teaching"} == {*market_names()}
    market = market_type("double_auction")
    quick, all_of_them = ({scenario.id for scenario in bundled_scenarios(market, slow=slow)} for slow in (False, True))
    assert all_of_them - quick == {"double_auction/large"}


@each_part
@pytest.mark.parametrize("market", ["bargaining", "double_auction", "order_book", "pricing", "supply_chain"])
def test_every_preset_keeps_the_contract(market: str, only: list[str]) -> None:
    assert check_market(market_type(market), only=only, seeds=(1,)) == []


@each_part
@pytest.mark.parametrize(
    ("market", "preset", "settings", "seeds"),
    [
        ("double_auction", "large", {}, (1,)),
        ("retail", "smoke", {"horizon_days": 14}, (2, 3)),
        *(("retail", preset, {"horizon_days": 25}, (1,)) for preset in ("paper", "easy", "middle")),
        ("supply_chain", "duel", FORFEIT, (1,)),  # rules that no preset has
    ],
)
def test_other_seeds_and_large_scenarios_keep_it_too(
    market: str, preset: str, settings: dict[str, Any], seeds: tuple[int, ...], only: list[str]
) -> None:
    played = [load_scenario(market, preset, settings)]
    assert check_market(market_type(market), only=only, scenarios=played, seeds=seeds) == []


# Each by itself; in other processes all together, because it is starting them that takes long.
ALONE = [pytest.param([name], *HERE.values, id=name, marks=HERE.marks) for name in MARKETPLACES]


@pytest.mark.parametrize(("names", "only"), [*ALONE, pytest.param(MARKETPLACES, *AGAIN.values, marks=AGAIN.marks)])
def test_every_marketplace_keeps_the_contract(names: list[str], only: list[str]) -> None:
    """With few customers, for as long as random seats take to leave; who is full, they could not know."""
    market, scenarios = market_type("marketplace"), list[Any]()
    for name in names:
        scenario: Any = load_scenario("marketplace", name, {**LONG_ENOUGH, "data.customers": 2, "capacity": 0})
        # Fewer customers have fewer businesses: players that a preset names for the others have no seat to sit in.
        seats = market.create(scenario, 1).seats
        named = {seat: who for seat, who in scenario.seats.items() if seat in seats or not seat[-1].isdigit()}
        scenarios.append(scenario.model_copy(update={"seats": named}))
    assert check_market(market, only=only, scenarios=scenarios, seeds=(1,)) == []


SEEDS = (1, 2, 3)
MOST_CALLS = {"first": 30, "short": 300}
"""Calls of a seat that plays competently and looks no more often than it needs."""
PRESETS = [
    (tier, scenario)
    for market in market_names()
    for scenario in scenario_ids(market)
    if (tier := scenario_tier(market, scenario)) in MOST_CALLS
]
# The stand-in of retail reads the reviews of all products every day.
BRIEF = {"retail": "reorder_point"}


def rewards(scenario: str, folder: Path, policy: str | None = None) -> list[Reward]:
    """Rewards of the preset's agent seats, on three seeds."""
    market, _, name = scenario.partition("/")
    named = policy or BRIEF.get(market) or stand_ins(market_type(market), load_scenario(market, name))[0]
    found: list[Reward] = []
    for seed in SEEDS:
        path, seats = play_seated(market, name, named, seed, folder, by_turns=False)
        outcome = evaluate_file(path).outcome
        assert outcome is not None
        found += [reward_of(outcome, seat) for seat in seats]
    return found


def value(reward: Reward) -> float:
    assert reward.value is not None
    return reward.value


@pytest.mark.parametrize(("tier", "scenario"), PRESETS)
def test_a_tier_says_how_many_calls_an_episode_takes(tier: str, scenario: str, tmp_path: Path) -> None:
    for reward in rewards(scenario, tmp_path):
        calls = reward.components["calls"]
        assert calls is not None
        assert 0 < calls <= MOST_CALLS[tier]


@pytest.mark.parametrize("scenario", [scenario for tier, scenario in PRESETS if tier == "first"])
def test_in_a_first_preset_playing_pays(scenario: str, tmp_path: Path) -> None:
    market = scenario.partition("/")[0]
    played = fmean(map(value, rewards(scenario, tmp_path)))
    file = place(scenario, evaluator_of(market))
    if not file.exists():
        assert market == "teaching"  # it has no passive policy and no references
        assert played > 0
        return
    rows = References.model_validate_json(file.read_bytes()).rows
    best = max(row.mean for row in rows.values())
    idle = fmean(map(value, rewards(scenario, tmp_path, "passive")))
    assert (played - idle) / (best - rows["passive"].mean) >= 0.2


def test_a_tier_is_no_part_of_what_is_played(tmp_path: Path) -> None:
    text = 'id = "teaching/mine"\ntier = "short"\n'
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with_tier = load_scenario("teaching", str(file))
    assert scenario_tier("teaching", str(file)) == "short"
    file.write_text(text.replace('tier = "short"\n', ""), encoding="utf-8")
    assert load_scenario("teaching", str(file)) == with_tier
    assert scenario_tier("teaching", str(file)) == "full"
    file.write_text(text.replace("short", "tiny"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"tier = tiny: it is one of first, short, full"):
        load_scenario("teaching", str(file))


# What JSON Schema may say of a value's size, by its type; one of each row must be there.
BOUNDS = {
    "integer": (("maximum", "exclusiveMaximum"), ("minimum", "exclusiveMinimum")),
    "array": (("maxItems",),),
    "object": (("maxProperties", "properties"),),
}
MOST = 1_000_000_000_000


def _parts(schema: Any, defs: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every value that a schema describes, by its path. Models do not contain themselves."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    yield path, schema
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for option in schema.get(key, ()):
            yield from _parts(option, defs, path)
    for name, inner in schema.get("properties", {}).items():
        yield from _parts(inner, defs, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _parts(schema[key], defs, f"{path}[]")


@pytest.mark.parametrize("market", market_names())
def test_every_number_of_a_scenario_has_a_maximum_and_every_list_a_length(market: str) -> None:
    schema = market_type(market).scenario_model.model_json_schema()
    parts = list(_parts(schema, schema.get("$defs", {}), market))
    assert len(parts) > 20
    unbounded = [
        f"{path}: no {' or '.join(names)}"
        for path, part in parts
        if "const" not in part and "enum" not in part
        for names in BOUNDS.get(part.get("type", ""), ())
        if not any(name in part for name in names)
    ]
    assert unbounded == []
    sizes = [part[name] for _, part in parts for name in ("maximum", "maxItems", "maxProperties") if name in part]
    assert max(sizes) <= MOST


SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("name", market_names())
def test_the_tools_are_those_of_the_snapshot(name: str) -> None:
    assert schema_snapshot(market_type(name), SNAPSHOTS / f"{name}.json") == []
