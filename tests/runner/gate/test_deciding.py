"""What the gate decides, on made-up losses."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.runner.gate.deciding import Deciding, Rule, own_deviation, sight
from tradefair.runner.gate.judging import ScenarioResult

RULE = Rule(margin=0.05, first=16, most=32)


def decided(losses: list[float], rule: Rule = RULE, *, block: int = 1) -> Deciding:
    """Fed with losses in blocks until it has decided."""
    deciding = Deciding(rule)
    for start in range(0, len(losses), block):
        if deciding.look(losses[start : start + block]):
            break
    return deciding


# The losses of 32 seeds: what is decided, and after how many games.
CASES = {
    "the same games": ([0.0] * 32, "not_worse", 16),
    "a third less": ([0.3, 0.4] * 16, "worse", 6),
    "a little less, surely": ([0.01, 0.02] * 16, "not_worse", 16),
    "a little more": ([-0.01, 0.0] * 16, "not_worse", 16),
    "now more, now less, by much": ([0.5, -0.5] * 16, "unknown", 32),
    "one in four games lost whole": ([0.0, 0.0, 0.0, 1.0] * 8, "worse", None),
    # Eight games excluded the margin before the ninth was lost. Of 21 games the mean is below it, but not surely.
    "one game lost whole": ([0.0] * 8 + [1.0] + [0.0] * 23, "unknown", 32),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_decide(name: str) -> None:
    losses, status, games = CASES[name]
    found = decided(losses)
    assert found.status == status
    if games is not None:
        assert len(found.losses) == games


def test_nothing_is_green_before_the_first_look_that_may_be_and_nothing_red_before_six_games() -> None:
    assert Deciding(RULE).look([0.0] * 15) is None
    assert Deciding(RULE).look([9.0] * 5) is None


def test_what_is_decided_stays_so() -> None:
    found = decided([0.3] * 16)
    assert found.look([-9.0] * 16) == "worse"


def test_a_small_loss_that_is_sure_is_not_red() -> None:
    found = decided([0.01] * 32)
    assert (found.status, found.sure) == ("not_worse", True)


@pytest.mark.parametrize("losses", [losses for losses, _, _ in CASES.values()])
def test_the_interval_holds_the_mean_and_agrees_with_what_was_decided(losses: list[float]) -> None:
    found = decided(losses)
    low, high = found.between
    assert low is not None
    # Before a gate may be green, nothing is said of how large a loss can be.
    assert (high is None) is (len(found.losses) < RULE.first)
    assert low - 1e-6 <= found.mean <= (found.mean if high is None else high) + 1e-6
    assert (low >= 0) is found.sure
    assert (found.status == "not_worse") <= (high is not None and high <= RULE.margin)


def test_blocks_take_the_looks_where_they_end() -> None:
    assert len(decided([0.3, 0.4] * 16, block=4).losses) == 8


def test_a_scenario_that_is_not_worse_in_the_games_there_are_is_unknown_where_one_is_missing() -> None:
    unused: Any = None
    scenario = ScenarioResult(unused, unused, decided([0.0] * 16), range(32), True)
    assert scenario.status == "not_worse"
    scenario.missing.append("seed 3: provider: 429")
    assert scenario.status == "unknown"


def test_what_games_show_of_an_agent_that_differs_from_itself() -> None:
    seen = sight(0.18, RULE)
    assert (seen.games, round(seen.margin, 2), round(seen.power, 1)) == (143, 0.11, 0.4)
    assert sight(0.0, RULE).power == 1.0
    # Two plays a seed, one apart: a variance of .5, of which the mean has half, and one more play all.
    assert own_deviation([[0.0, 1.0]] * 8, again=True) == pytest.approx(0.75**0.5)
    assert own_deviation([[1.0]] * 8, again=True) == 0.0
