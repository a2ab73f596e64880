""""""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.options_files import options_file

from tradefair.catalog import load_scenario, market_type, plan_ids, scenario_ids
from tradefair.cli import run as tradefair
from tradefair.contract import ScenarioError
from tradefair.evaluation.prove.verify import verify_file
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.data.data_source import catalogue_of
from tradefair.marketplace.engine.manipulation import PROFILE_SURFACES, TEXTS, TOLD_SURFACES
from tradefair.marketplace.model import MarketplaceScenario
from tradefair.runner.plans.episodes import Workload, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.sweep.sweep import SweepSpec, sweep
from tradefair.tracestore import find_traces, open_trace

PUBLISHED = {
    "mexican_3_9": (3, 9),
    "mexican_10_30": (10, 30),
    "contractors_10_30": (10, 30),
    "mexican_33_99": (33, 99),
    "contractors_33_99": (33, 99),
    "mexican_100_300": (100, 300),
    "contractors_100_300": (100, 300),
}
SIZES = {
    "small_demo": (3, 9),
    "restaurants_10": (10, 30),
    "contractors_10": (10, 30),
    "pet_care_10": (10, 30),
    "restaurants_33": (33, 99),
    "contractors_33": (33, 99),
    "restaurants_100": (100, 300),
    "contractors_100": (100, 300),
    "load_1000": (1_000, 3_000),
    "perfect_search": (10, 30),
    "open_menus": (10, 30),
    "sealed_offers": (10, 30),
    "escrow_reputation": (10, 30),
    "contested": (10, 15),
    "bargaining_10": (10, 30),
    "position_bias": (4, 3),
    "proposal_bias": (4, 3),
    "proposal_bias_graded": (4, 3),
    "manipulation_high": (1, 3),
    "manipulation_competitive": (3, 3),
    "near_fits": (6, 21),
}


def preset(name: str, **overrides: Any) -> MarketplaceScenario:
    return cast(MarketplaceScenario, load_scenario("marketplace", name, overrides))


def played(name: str, folder: Path, policy: str = "item_searcher", *options: str) -> Path:
    """The trace of a preset with one policy in all agents' seats."""
    command = ["play", "marketplace", "--scenario", name, "--agent", "policy", "--model", f"policy:{policy}"]
    assert tradefair([*command, "--seed", "3", "--no-references", "--out", str(folder), *options]) == 0
    (trace,) = find_traces(folder)
    return trace


def test_the_presets_are_those_of_the_specification() -> None:
    assert set(scenario_ids("marketplace")) == {f"marketplace/{name}" for name in SIZES | PUBLISHED} | {
        "marketplace/first"
    }


@pytest.mark.parametrize("name", [name for name in SIZES if name != "load_1000"])
def test_a_preset_has_the_seats_that_it_names(name: str) -> None:
    market = market_type("marketplace").create(preset(name), 1)
    roles = [spec.role for spec in market.seats.values()]
    assert (roles.count("customer"), roles.count("business")) == SIZES[name]


@pytest.mark.parametrize("name", SIZES)
def test_one_selector_of_a_preset_can_be_changed_alone(name: str) -> None:
    seats = preset(name, **{"seats.customer": "passive"}).seats
    assert {"customer", "business"} <= seats.keys()
    assert seats["customer"] == "passive"


def test_the_third_of_every_three_restaurants_lies_about_an_amenity_in_escrow_reputation() -> None:
    scenario = preset("escrow_reputation")
    catalogue = catalogue_of(scenario, 5)
    liars = {seat for seat, who in scenario.seats.items() if who == "liar"}
    for found in match_sets(catalogue, 20_000):
        lacking = {catalogue.businesses[match.business].id for match in found.matches if not match.fits}
        assert len(lacking) == 1
        assert lacking <= liars
    assert len(liars) == 10


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_set_without_its_folder_says_what_to_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRADEFAIR_DATA", raising=False)
    with pytest.raises(ScenarioError, match=rf"marketplace/{name}: .*--data DIR"):
        market_type("marketplace").create(preset(name), 1)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_set_is_in_the_scenario_or_it_says_what_to_set(
    name: str, published: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = published(name)
    catalogue = preset(name).catalogue
    assert catalogue is not None
    assert (len(catalogue.customers), len(catalogue.businesses)) == PUBLISHED[name]
    monkeypatch.setenv("TRADEFAIR_DATA", str(folder.parent))
    assert preset(name).catalogue == catalogue
    monkeypatch.delenv("TRADEFAIR_DATA")
    with pytest.raises(ScenarioError, match=rf"marketplace/{name}: .*--data DIR"):
        market_type("marketplace").create(preset(name), 1)


@pytest.mark.many
def test_a_trace_of_a_folder_verifies_where_the_folder_is_not(
    published: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = published("mexican_3_9").parent
    monkeypatch.setenv("TRADEFAIR_DATA", "/nowhere")
    trace = played("mexican_3_9", tmp_path, "item_searcher", "--data", str(data))
    monkeypatch.setenv("TRADEFAIR_DATA", "/nowhere")
    assert verify_file(trace).verdict == "reproduced"
    with open_trace(trace) as opened:
        assert len(opened.manifest.core.scenario["catalogue"]["customers"]) == 3


@pytest.mark.many
def test_the_first_look_is_played_and_verified_and_a_seed_is_all_its_luck(tmp_path: Path) -> None:
    heads: list[object] = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        trace = played("small_demo", folder)
        assert verify_file(trace).verdict == "reproduced"
        with open_trace(trace) as opened:
            heads.append(opened.manifest.about["head_hash"])
    assert heads[0] == heads[1]


def test_a_table_of_a_scenario_tells_how_much_data_is_in_it(
    published: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    published("mexican_3_9")
    assert tradefair(["show", "scenarios", "marketplace/mexican_3_9"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"catalogue +[\d,]{6} characters: --json shows them", shown)
    assert len(shown) < 10_000


def test_play_says_what_to_set_where_the_data_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRADEFAIR_DATA", raising=False)
    assert tradefair(["play", "marketplace", "--scenario", "mexican_3_9"]) == 2
    assert "--data DIR" in capsys.readouterr().err
    assert tradefair(["play", "marketplace", "--scenario", "mexican_3_9", "--data", "/nowhere"]) == 2
    assert "--data /nowhere: No such file or directory" in capsys.readouterr().err


def test_a_desktop_client_is_told_the_folder_that_its_scenario_needs(
    published: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = published("mexican_3_9").parents[1]
    monkeypatch.chdir(data)
    monkeypatch.setenv("TRADEFAIR_DATA", "/nowhere")
    told = options_file(data, data="marketplace")
    assert tradefair(["config", "marketplace", "--scenario", "mexican_3_9", *told]) == 0
    arguments = json.loads(capsys.readouterr().out)["mcpServers"]["tradefair-marketplace"]["args"]
    named = Path(arguments[arguments.index("--data") + 1])
    assert named.is_absolute()
    assert named.samefile(data / "marketplace")
    assert arguments[arguments.index("--seat") + 1] == "customer_0001"


# What takes long is played on one clock: restaurants on the one, contractors on the other.
_ONE_CLOCK = {
    "restaurants_33": "free",
    "contractors_33": "turns",
    "restaurants_100": "turns",
    "contractors_100": "free",
}


@pytest.mark.many
@pytest.mark.parametrize(
    ("name", "clock"),
    [
        (name, clock)
        for name in SIZES
        if name != "load_1000"
        for clock in ("turns", "free")
        if _ONE_CLOCK.get(name, clock) == clock
    ],
)
def test_every_preset_is_played_by_scripted_seats_and_verified(name: str, clock: str, tmp_path: Path) -> None:
    trace = played(name, tmp_path, "item_searcher", "--set", f"clock={clock}")
    assert verify_file(trace).verdict == "reproduced"


@pytest.mark.many
def test_a_thousand_customers_are_served_and_verified(tmp_path: Path) -> None:
    assert verify_file(played("load_1000", tmp_path)).verdict == "reproduced"


EPISODES = {
    "consideration_set": 300,
    "welfare_by_search": 60,
    "position_bias": 120,
    "proposal_bias_simultaneous": 120,
    "proposal_bias_staggered": 120,
    "proposal_bias_graded": 120,
    "manipulation_high": 2_592,
    "manipulation_competitive": 720,
    "reference": 105,
    "headline": 160,
}
LARGE = {"consideration_set", "welfare_by_search", "manipulation_high", "manipulation_competitive"}
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "markets" / "marketplace.md"

each_plan = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.many) if name in LARGE else name for name in EPISODES]
)


def meant(name: str, seeds: int | None = None) -> Workload:
    return workload_of(load_plan(f"marketplace/{name}", seeds=seeds))


def scenarios(work: Workload) -> list[MarketplaceScenario]:
    return [cast(MarketplaceScenario, variant.scenario) for variant in work.flat]


def test_the_plans_are_those_of_the_specification_and_of_the_page() -> None:
    assert set(plan_ids("marketplace")) == {f"marketplace/{name}" for name in EPISODES}
    told: dict[str, int] = {}
    for names, count in re.findall(r"^\| (`[^|]+`) \| ([\d,]+)(?: each)? \|", PAGE.read_text(encoding="utf-8"), re.M):
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), int(count.replace(",", "")))
    assert told == EPISODES


@each_plan
def test_every_cell_of_a_plan_is_played_on_the_same_seeds_by_the_same_agents(name: str) -> None:
    work = meant(name)
    assert work.count == EPISODES[name]
    cells: dict[int, Counter[tuple[int, str]]] = {}
    for episode in work.episodes():
        who = next(iter(episode.players.values()))
        cells.setdefault(episode.variant, Counter())[episode.seed, who] += 1
    assert len(cells) == len(work.flat)
    assert len({frozenset(cell.items()) for cell in cells.values()}) == 1
    assert all(set(cell.values()) == {1} for cell in cells.values())


def test_all_six_orders_of_page_and_arrival_are_arms() -> None:
    assert [each.listing_permutation for each in scenarios(meant("position_bias"))] == list(range(6))
    for name, stagger in (("simultaneous", 0), ("staggered", 1), ("graded", 1)):
        arms = scenarios(meant(f"proposal_bias_{name}"))
        assert [each.arrival_permutation for each in arms] == list(range(6))
        assert {each.arrival_stagger for each in arms} == {stagger}


@pytest.mark.many
def test_every_text_stands_on_every_surface_beside_its_control() -> None:
    surfaces = PROFILE_SURFACES | TOLD_SURFACES
    for name, orders in (("manipulation_high", 6), ("manipulation_competitive", 1)):
        cells = Counter((each.manipulation.condition, each.manipulation.surface) for each in scenarios(meant(name)))
        assert cells == Counter({(condition, surface): orders for condition in TEXTS for surface in surfaces})


@pytest.mark.many
def test_pages_of_five_sizes_are_a_consideration_set() -> None:
    meant_ones = scenarios(meant("consideration_set"))
    assert {each.search_limit for each in meant_ones} == {1, 3, 10, 30, 100}
    assert {each.data.customers for each in meant_ones} == {100}


@pytest.mark.many
@pytest.mark.parametrize("name", EPISODES)
def test_one_seed_of_a_plan_is_swept_and_its_traces_verify(name: str, tmp_path: Path) -> None:
    work = meant(name, 1)
    result = sweep(SweepSpec(work, tmp_path, 1))
    traces = find_traces(tmp_path)
    assert len(traces) == work.count
    assert result.exit_code == 0
    assert {verify_file(trace).verdict for trace in traces[:: max(1, len(traces) // 6)]} == {"reproduced"}


OWN = """
[plan]
name = "published"
scenarios = ["marketplace/mexican_3_9"]
seeds = 2

[grid]
search_limit = [3, 10]

[[agent]]
model = "policy:item_searcher"
"""


@pytest.mark.process
def test_workers_of_a_sweep_need_no_folder_of_data(
    published: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published("mexican_3_9")
    (tmp_path / "own.toml").write_text(OWN)
    work = workload_of(load_plan(str(tmp_path / "own.toml")))
    monkeypatch.delenv("TRADEFAIR_DATA")
    result = sweep(SweepSpec(work, tmp_path / "out", 2))
    assert result.exit_code == 0
    traces = find_traces(tmp_path / "out")
    assert len(traces) == 4
    assert {verify_file(trace).verdict for trace in traces} == {"reproduced"}
