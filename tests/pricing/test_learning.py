"""Learners: the experiment in numpy is what firms do online, and shipped strategies gain what they say."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.pricing_fast import FastPlayer, play, play_fast
from benchmarks.pricing_learning import CONSUMERS, TEXTBOOK, Sessions, cycle_gain, payoff_table
from tests.pricing.scenarios import scenario

from tradefair.contract import Draw
from tradefair.pricing.data.bundled import limit_strategies
from tradefair.pricing.rules import Pricing
from tradefair.pricing.seats import desk
from tradefair.pricing.seats.learning import BETA, PRICES, QLearning, epsilon, grids_of, nearest

DATA = os.environ.get("TRADEFAIR_DATA")
THE_PAGES_GRID = (1428, 1466, 1505, 1544, 1583, 1621, 1660, 1699, 1738, 1776, 1815, 1854, 1893, 1931, 1970)


def test_shipped_strategies_gain_what_they_say() -> None:
    limits = limit_strategies()
    assert len(limits["sessions"]) == 64
    assert _worst(limits) < 1e-4


@pytest.mark.skipif("TRADEFAIR_DATA" not in os.environ, reason="TRADEFAIR_DATA names no sample data")
def test_the_sample_strategies_gain_what_they_say() -> None:
    found = json.loads((Path(os.environ["TRADEFAIR_DATA"]) / "pricing" / "q_limit.json").read_text())
    assert len(found["sessions"]) == 64
    assert found["grid"] == limit_strategies()["grid"]
    assert _worst(found) < 1e-4


def _worst(limits: dict[str, Any]) -> float:
    grid = tuple(limits["grid"])
    return max(
        abs(
            cycle_gain(grid, [[int(place, 15) for place in row] for row in each["greedy"]], each["state"])
            - each["gain"]
        )
        for each in limits["sessions"]
    )


def test_online_learners_and_learners_in_step_are_the_same() -> None:
    """2,000 periods of the rules and of the table of payoffs, fed with the same uniforms."""
    periods = 2_000
    market = Pricing(scenario(rounds=periods), 1)
    draws = [Draw.of(7, seat) for seat in market.seats]
    firms = [QLearning() for _ in draws]
    seated = zip(market.seats, firms, draws, strict=True)
    play(market, [FastPlayer(market, seat, firm, draw, told=False) for seat, firm, draw in seated])
    beta = math.log(50) / (0.8 * periods)
    explore = [[draw.uniform("explore", t) < epsilon(beta, t) for draw in draws] for t in range(periods)]
    tried = [[int(PRICES * draw.uniform("action", t)) for draw in draws] for t in range(periods)]
    made = Sessions(1)
    made.state = np.array([int(PRICES**2 * draw.uniform("state")) for draw in draws])
    learned: Any = None
    profits = [0, 0]
    for at, row in enumerate(market.state.rows):
        # Online a firm learns from a period when it is asked for the next price: from the last one never.
        learned = made.q.reshape(2, PRICES**2, PRICES).copy()
        made.play(np.array(explore[at : at + 1]), np.array(tried[at : at + 1]))
        places = divmod(int(made.state[0]), PRICES)
        assert tuple(made.grid[place] for place in places) == row.prices
        profits = [total + int(made.payoff[firm, made.state[0]]) for firm, total in enumerate(profits)]
    assert profits == [*market.state.profit.values()]
    for firm, (online, in_step) in enumerate(zip(firms, learned, strict=True)):
        assert len(online.q) > 100
        begun = [float(value) for value in Sessions(1).q.reshape(2, PRICES**2, PRICES)[firm, 0]]
        for state in range(PRICES**2):
            assert [*in_step[state]] == online.q.get(state, begun)


def test_the_grid_and_the_payoffs_are_those_of_the_page() -> None:
    assert grids_of(TEXTBOOK) == (THE_PAGES_GRID, THE_PAGES_GRID)
    table = payoff_table(TEXTBOOK, (THE_PAGES_GRID, THE_PAGES_GRID), CONSUMERS)
    market = Pricing(scenario(rounds=225), 1)
    for first in range(PRICES):
        for second in range(PRICES):
            market.post("F1", THE_PAGES_GRID[first])
            market.post("F2", THE_PAGES_GRID[second])
            record = market.close_round()
            assert market.state.profits_of(record) == [table[0][first][second], table[1][first][second]]


def test_a_price_off_the_grid_counts_as_the_nearest() -> None:
    grid = (100, 110, 120)
    asked = (0, 104, 105, 106, 115, 119, 500, None)
    assert [nearest(grid, price) for price in asked] == [0, 0, 0, 1, 1, 2, 2, 2]


def test_unequal_firms_learn_on_grids_of_their_own() -> None:
    market = play_fast(scenario("asymmetric", rounds=400), 3, {"F1": "q_learning", "F2": "q_learning"})
    known = desk.Known((2250, 1900), (1100, 900), 250, 0)
    for place, grid in enumerate(grids_of(known)):
        assert {row.prices[place] for row in market.state.rows} <= set(grid)


def test_exploration_ends_where_the_page_says() -> None:
    assert epsilon(BETA, 0) == 1
    assert epsilon(BETA, 2_000_000) == pytest.approx(math.exp(-8))


@pytest.mark.many
def test_learners_learn_high_prices() -> None:
    # 16 sessions: the mean of 400 was .831 (sd .113) after so many periods. The whole experiment, with its band, is
    # `python -m benchmarks pricing_learning`.
    made = Sessions(16)
    made.run(1_500_000)
    gains = made.gains()
    assert 0.72 < sum(gains) / len(gains) < 0.94
