from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tradefair.catalog import plan_ids
from tradefair.evaluation.prove.verify import verify_file
from tradefair.marketplace.engine.manipulation import PROFILE_SURFACES, TEXTS, TOLD_SURFACES
from tradefair.marketplace.model import MarketplaceScenario
from tradefair.runner.plans.episodes import Workload, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.sweep.sweep import SweepSpec, sweep
from tradefair.tracestore import find_traces

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
