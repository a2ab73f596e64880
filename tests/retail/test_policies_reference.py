"""Orderings of the policies in the reference store (retail page, 13), over eight seeds of the calibration."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import NamedTuple

import pytest

from tradefair.retail import MARKET
from tradefair.retail.model import RetailScenario
from tradefair.retail.rules import Retail
from tradefair.testing import play_scripted

pytestmark = pytest.mark.many

SEEDS = range(1, 9)
ORDER = ("oracle", "careful_reader", "reorder_point", "price_first", "passive")


class Run(NamedTuple):
    """How one episode ended; amounts in currency units."""

    days: int
    reason: str
    net_worth: float
    units: int
    returned: int


def _run(scenario: RetailScenario, seed: int, policy: str) -> Run:
    core = play_scripted(MARKET, scenario, seed, policy).core
    market = core.market
    assert isinstance(market, Retail)
    market.check()
    columns = market.records.units, market.records.returned
    days = range(scenario.history_days, market.records.days)
    units, returned = (sum(sum(column.row(day)) for day in days) for column in columns)
    assert units == market.books.sold_units
    return Run(market.day - 1, str(core.ended), market.net_worth_cents / 100, units, returned)


@pytest.fixture(scope="module")
def runs(scenario_of: Callable[..., RetailScenario]) -> dict[str, list[Run]]:
    paper = scenario_of("paper")
    return {policy: [_run(paper, seed, policy) for seed in SEEDS] for policy in (*ORDER, "narrow_attention")}


def test_policies_that_see_more_end_with_more(runs: dict[str, list[Run]]) -> None:
    worth = [mean(run.net_worth for run in runs[policy]) for policy in ORDER]
    assert worth == sorted(worth, reverse=True)
    assert len(set(worth)) == len(ORDER)


def test_the_oracle_and_the_careful_reader_survive(runs: dict[str, list[Run]]) -> None:
    for policy in ("oracle", "careful_reader"):
        assert {(run.days, run.reason) for run in runs[policy]} == {(180, "terminated:horizon")}


def test_the_careful_reader_makes_most_of_the_oracles_gain_but_not_all(runs: dict[str, list[Run]]) -> None:
    oracle, careful = (mean(run.net_worth for run in runs[policy]) - 30_000 for policy in ORDER[:2])
    assert 0.55 * oracle <= careful < 0.98 * oracle


def test_the_cheapest_goods_come_back_four_times_as_often(runs: dict[str, list[Run]]) -> None:
    oracle, cheap = (
        sum(run.returned for run in runs[policy]) / sum(run.units for run in runs[policy])
        for policy in ("oracle", "price_first")
    )
    assert cheap >= 4 * oracle > 0


def test_narrow_attention_is_insolvent_before_day_150(runs: dict[str, list[Run]]) -> None:
    assert all(run.reason == "terminated:insolvent" and run.days < 150 for run in runs["narrow_attention"])


def test_passive_is_insolvent_at_day_55_on_every_seed(runs: dict[str, list[Run]]) -> None:
    assert set(runs["passive"]) == {Run(55, "terminated:insolvent", -3000.0, 0, 0)}


@pytest.mark.parametrize("seed", [1, 2])
def test_oracle_and_careful_reader_gain_in_the_easy_store(
    scenario_of: Callable[..., RetailScenario], seed: int
) -> None:
    easy = scenario_of("easy")
    for policy in ("oracle", "careful_reader"):
        run = _run(easy, seed, policy)
        assert run.days == 180
        assert run.net_worth > 5_000
