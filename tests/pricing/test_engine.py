"""Demand and equilibria: exact numbers, by two methods, and the published anchors."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.engine.equilibrium import best_reply, grid_best_reply, monopoly, nash, shares, surplus

DATA = os.environ.get("TRADEFAIR_DATA")
Market = tuple[tuple[int, ...], tuple[int, ...], int, int]
"""Quality, cost, mu, outside."""

TEXTBOOK: Market = ((2000, 2000), (1000, 1000), 250, 0)

# Of the page: prices of nash and of joint profit, quality 2000 and cost 1000 unless said.
PAGE: dict[str, tuple[Market, tuple[float, ...], tuple[float, ...]]] = {
    "two": (TEXTBOOK, (1472.92666,) * 2, (1924.98092,) * 2),
    "three": (((2000,) * 3, (1000,) * 3, 250, 0), (1370.16273,) * 3, (2000.0,) * 3),
    "four": (((2000,) * 4, (1000,) * 4, 250, 0), (1331.46069,) * 4, (2054.41118,) * 4),
    "five": (((2000,) * 5, (1000,) * 5, 250, 0), (1311.52062,) * 5, (2097.23128,) * 5),
    "alone": (((2000,), (1000,), 250, 0), (1801.98501,), (1801.98501,)),
    "alike": (((2000, 2000), (1000, 1000), 100, 0), (1199.96648,) * 2, (1865.74661,) * 2),
    "captive": (((2000, 2000), (1000, 1000), 250, -1000), (1499.38336,) * 2, (2728.89022,) * 2),
    "unequal": (((2000, 2000), (1000, 800), 250, 0), (1424.52843, 1352.79019), (2013.62213, 1813.62213)),
}


def _sets() -> list[dict[str, Any]]:
    if DATA is None:
        return []
    return json.loads((Path(DATA) / "pricing" / "anchors.json").read_text())["sets"]


@pytest.mark.parametrize("name", PAGE)
def test_the_pages_prices_are_met(name: str) -> None:
    content, competitive, joint = PAGE[name]
    for name, prices in (("nash", competitive), ("monopoly", joint)):
        for solved in METHODS[name]:
            assert solved(*content) == pytest.approx(prices, abs=1e-5)


def test_the_pages_profits_are_met() -> None:
    quality, cost, mu, outside = TEXTBOOK
    for prices, earned in ((nash(*TEXTBOOK), 222.92666), (monopoly(*TEXTBOOK), 337.49046)):
        for share, price, c in zip(shares(prices, quality, mu, outside), prices, cost, strict=True):
            assert share * (price - c) == pytest.approx(earned, abs=1e-5)


@pytest.mark.skipif(DATA is None, reason="TRADEFAIR_DATA names no sample data")
def test_every_anchor_of_the_sample_data_is_met() -> None:
    found = _sets()
    assert len(found) == 20
    for row in found:
        quality, cost, mu, outside = row["quality"], row["cost"], row["mu"], row["outside"]
        for name, solved in ((name, method) for name, methods in METHODS.items() for method in methods):
            prices = solved(quality, cost, mu, outside)
            parts = shares(prices, quality, mu, outside)
            profits = [share * (price - c) for share, price, c in zip(parts, prices, cost, strict=True)]
            assert prices == pytest.approx(row[name]["prices"], abs=1e-5)
            assert profits == pytest.approx(row[name]["profits"], abs=1e-5)
            assert surplus(prices, quality, mu, outside) == pytest.approx(row[name]["surplus"], abs=1e-5)
        for asked in row["demand"]:
            assert [*units_sold(asked["prices"], quality, mu, outside, 1_000_000)] == asked["units"]
        reply = row["best_reply"]
        place = int(reply["seat"][1:]) - 1
        others = [*reply["others"][:place], 0, *reply["others"][place:]]
        assert best_reply(place, others, quality, cost, mu, outside) == pytest.approx(reply["price"], abs=1e-5)


def _random_sets(count: int, seed: int = 5) -> list[Market]:
    """Markets of 1 to 10 firms, unequal ones, up to the bounds of what a scenario takes."""
    draw = random.Random(seed)
    made: list[Market] = []
    for _ in range(count):
        firms, mu = draw.randint(1, 10), draw.choice((1, 7, 60, 250, 500, 3_000, 100_000))
        quality = tuple(draw.randint(-5 * mu, min(60 * mu, 1_000_000)) for _ in range(firms))
        cost = tuple(draw.randint(0, min(1_000_000, 60 * mu)) for _ in range(firms))
        made.append((quality, cost, mu, draw.randint(-40 * mu, 40 * mu)))
    return made


# --- second methods, from the conditions that define the prices -------------------------------------------------------


def _log_shares(prices: list[float], quality: tuple[int, ...], mu: int, outside: int) -> list[float]:
    """Logarithms of the shares of all firms, and of the outside option at the end."""
    exponents = [*((a - p) / mu for a, p in zip(quality, prices, strict=True)), outside / mu]
    most = max(exponents)
    total = most + math.log(math.fsum(math.exp(x - most) for x in exponents))
    return [x - total for x in exponents]


def newton_nash(quality: tuple[int, ...], cost: tuple[int, ...], mu: int, outside: int) -> tuple[float, ...]:
    """Newton on (p_i − c_i)(1 − s_i) − mu = 0, written m_i = mu/(1 − s_i), with steps halved while they do not help."""
    markups = [2.0 * mu] * len(cost)

    def off(values: list[float]) -> tuple[list[float], list[float]]:
        prices = [c + m for c, m in zip(cost, values, strict=True)]
        logs = _log_shares(prices, quality, mu, outside)
        parts = [math.exp(x) for x in logs]
        # 1 − s_i as the sum of all others: near a share of 1 the difference would lose its digits.
        rest = [math.fsum(parts[:i] + parts[i + 1 :]) for i in range(len(cost))]
        return [m / mu * r - 1 for m, r in zip(values, rest, strict=True)], parts

    for _ in range(500):
        errors, parts = off(markups)
        if max(map(abs, errors)) < 1e-13:
            break
        size = len(cost)
        jacobian = [
            [
                (math.fsum(parts[:i] + parts[i + 1 :]) * (1 + markups[i] / mu * parts[i]) / mu)
                if i == j
                else -markups[i] / mu * parts[i] * parts[j] / mu
                for j in range(size)
            ]
            for i in range(size)
        ]
        step = np.linalg.solve(np.array(jacobian), np.array(errors))
        share = 1.0
        while share > 1e-6:
            tried = [m - share * float(s) for m, s in zip(markups, step, strict=True)]
            if min(tried) > 0 and max(map(abs, off(tried)[0])) < max(map(abs, errors)):
                break
            share /= 2
        markups = [max(m - share * float(s), m / 10) for m, s in zip(markups, step, strict=True)]
    return tuple(c + m for c, m in zip(cost, markups, strict=True))


def bisected_monopoly(quality: tuple[int, ...], cost: tuple[int, ...], mu: int, outside: int) -> tuple[float, ...]:
    """Bisection on m·s_0(m) = mu, in logarithms: a captive market's s_0 is far below any float beside 1."""
    low, high = float(mu), 300.0 * mu + max(a - c - outside for a, c in zip(quality, cost, strict=True))
    for _ in range(200):
        middle = (low + high) / 2
        logs = _log_shares([c + middle for c in cost], quality, mu, outside)
        low, high = (middle, high) if math.log(middle / mu) + logs[-1] < 0 else (low, middle)
    return tuple(c + low for c in cost)


METHODS: dict[str, tuple[Callable[..., tuple[float, ...]], ...]] = {
    "nash": (nash, newton_nash),
    "monopoly": (monopoly, bisected_monopoly),
}


@pytest.mark.parametrize("name", METHODS)
def test_two_independent_methods_agree_on_any_market(name: str) -> None:
    one, other = METHODS[name]
    for content in _random_sets(300):
        # Of one unit of 1000 at a mu of 250, 0.01 minor units are allowed: here a millionth of that, at any scale.
        mu = content[2]
        largest = max(map(abs, [*content[0], *content[1], content[3]]))
        assert one(*content) == pytest.approx(other(*content), abs=1e-9 * mu + 1e-12 * largest), content


def test_a_cost_far_below_zero_by_a_shock_has_its_prices_too() -> None:
    # e^(x/mu) would overflow a float: shocks of 100,000 at a mu of 1.
    quality, cost, mu, outside = (60, 60), (-100_000, 0), 1, 0
    prices = nash(quality, cost, mu, outside)
    logs = _log_shares([*prices], quality, mu, outside)
    for place, (price, c) in enumerate(zip(prices, cost, strict=True)):
        others = math.fsum(math.exp(x) for at, x in enumerate(logs) if at != place)
        assert (price - c) * others == pytest.approx(mu, rel=1e-6)
    assert monopoly(quality, cost, mu, outside) == pytest.approx(
        bisected_monopoly(quality, cost, mu, outside), abs=1e-6
    )


def test_prices_scale_with_money_and_follow_their_firms() -> None:
    for quality, cost, mu, outside in _random_sets(60, seed=8):
        for solved in (nash, monopoly):
            prices = solved(quality, cost, mu, outside)
            scaled = solved([320 * a for a in quality], [320 * c for c in cost], 320 * mu, 320 * outside)
            assert scaled == pytest.approx([320 * price for price in prices], rel=1e-10, abs=1e-8 * mu)
            turned = solved(quality[::-1], cost[::-1], mu, outside)
            assert turned == pytest.approx(prices[::-1], rel=1e-10, abs=1e-9 * mu)
            for price, c in zip(prices, cost, strict=True):
                assert price >= c + mu


def test_the_example_of_the_page_to_the_digit() -> None:
    quality, _, mu, outside = TEXTBOOK
    assert units_sold((1473, 1473), quality, mu, outside, 1_000_000) == (471_369, 471_369)
    assert 471_369 * 473 == 222_957_537
    assert units_sold((1925, 1925), quality, mu, outside, 1_000_000) == (364_855, 364_855)
    assert 364_855 * 925 == 337_490_875


def test_demand_scales_is_symmetric_and_falls_in_the_own_price() -> None:
    draw = random.Random(6)
    for quality, _, mu, outside in _random_sets(150):
        prices = [draw.randint(max(0, a - 12 * mu), max(1, a + 5 * mu)) for a in quality]
        consumers = draw.choice((100, 12_345, 1_000_000, 10**9))
        units = units_sold(prices, quality, mu, outside, consumers)
        k = draw.randint(2, 400)
        scaled = units_sold([k * p for p in prices], [k * a for a in quality], k * mu, k * outside, consumers)
        assert scaled == units
        order = draw.sample(range(len(quality)), len(quality))
        mixed = units_sold([prices[at] for at in order], [quality[at] for at in order], mu, outside, consumers)
        assert mixed == tuple(units[at] for at in order)
        for step in (1, mu):
            dearer = units_sold([prices[0] + step, *prices[1:]], quality, mu, outside, consumers)
            assert dearer[0] <= units[0]
            assert all(more >= less for more, less in zip(dearer[1:], units[1:], strict=True))
        assert sum(units) <= consumers + len(units)


def test_units_are_the_share_of_the_formula_rounded_half_up() -> None:
    draw = random.Random(9)
    for _ in range(2_000):
        prices = [draw.randint(800, 3_000) for _ in range(2)]
        parts = shares([float(price) for price in prices], (2000, 2000), 250, 0)
        units = units_sold(prices, (2000, 2000), 250, 0, 1_000_000)
        assert units == tuple(math.floor(1_000_000 * part + 0.5) for part in parts)


def test_a_closed_firm_sells_nothing_and_leaves_its_customers_to_others() -> None:
    quality, _, mu, outside = TEXTBOOK
    alone = units_sold((1500, None), quality, mu, outside, 1_000_000)
    assert alone[1] == 0
    assert alone[0] == units_sold((1500,), quality[:1], mu, outside, 1_000_000)[0]


@pytest.mark.many
def test_the_best_reply_on_the_grid_is_the_best_of_all_prices() -> None:
    draw = random.Random(4)
    for consumers in (100, 1_000, 10_000, 1_000_000, 10**9):
        for _ in range(8):
            mu = draw.choice((3, 40, 250, 3_000, 90_000))
            quality = [draw.randint(-5 * mu, 10 * mu) for _ in range(3)]
            cost = [draw.randint(0, 8 * mu) for _ in range(3)]
            most = max(1, min(3_000, draw.randint(1, 20 * mu), 50 * mu + min(quality)))
            prices = [draw.choice((None, draw.randint(0, most))) for _ in range(3)]
            outside = draw.randint(-5 * mu, 5 * mu)
            found = grid_best_reply(1, prices, quality, cost, mu, outside, consumers, most)
            earned: list[int] = []
            for price in range(most + 1):
                prices[1] = price
                earned.append(units_sold(prices, quality, mu, outside, consumers)[1] * (price - cost[1]))
            assert earned[found] == max(earned)
            if max(earned) > 0:
                assert found == earned.index(max(earned))
