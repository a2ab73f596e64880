"""Presets to learn from: a tier is true of every preset that names it, and in a first one playing pays."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from benchmarks.references import place
from benchmarks.seated import play_seated

from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids, scenario_tier
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.players import stand_ins
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.judge.reward import Reward, reward_of
from tradefair.evaluation.modes.base_rates import References

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
