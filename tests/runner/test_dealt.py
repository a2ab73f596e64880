"""The seating `dealt`: the agents in turn over the seats, further on with every seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradefair.contract import ScenarioError
from tradefair.runner.plans.episodes import workload_of
from tradefair.runner.plans.plan import load_plan

PLAN = """
[plan]
name = "deal"
scenarios = ["{scenario}"]
seeds = [5, 3, 9]

[seating]
kind = "{kind}"
shift = {shift}

[[agent]]
label = "x"
model = "policy:{policy}"

[[agent]]
label = "y"
model = "policy:cost_plus"
"""


def _plan(folder: Path, *, scenario: str = "supply_chain/duel", kind: str = "dealt", policy: str = "adaptive") -> str:
    path = folder / "deal.toml"
    path.write_text(PLAN.format(scenario=scenario, kind=kind, shift=3, policy=policy), encoding="utf-8")
    return str(path)


def test_each_seed_deals_further_on(tmp_path: Path) -> None:
    work = workload_of(load_plan(_plan(tmp_path)))
    dealt = {one.seed: "".join(one.players.values()) for one in work.episodes()}
    assert dealt == {5: "xyx", 3: "yxy", 9: "xyx"}
    assert work.count == 3


def test_the_bundled_self_test_gives_every_slogan_every_seat() -> None:
    work = workload_of(load_plan("supply_chain/language_value"))
    assert work.count == 80
    at_first_seat = {one.players["retailer_01"] for one in work.episodes()}
    assert at_first_seat == set(work.agents)
    assert {len(one.players) for one in work.episodes()} == {20}


def test_the_reference_population_fills_every_seat() -> None:
    work = workload_of(load_plan("supply_chain/reference"))
    assert {label for one in work.episodes() for label in one.players.values()} == {"policy:skill"}


@pytest.mark.parametrize(("kind", "complaint"), [("field", "seating.shift belongs to"), ("hands", "seating.kind")])
def test_a_shift_belongs_to_a_deal(tmp_path: Path, kind: str, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        workload_of(load_plan(_plan(tmp_path, kind=kind)))


def test_who_is_dealt_must_play_every_role(tmp_path: Path) -> None:
    plan = _plan(tmp_path, scenario="bargaining/smoke", policy="anchor_freeze")
    with pytest.raises(ScenarioError, match=r"\[\[agent\]\]"):
        workload_of(load_plan(plan))
