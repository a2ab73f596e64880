from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.retail import analysis
from tradefair.retail.analysis import PriceDays, RestockPlan
from tradefair.retail.rules import Retail


def _days(*runs: tuple[int, Sequence[int]], sold_out: int = 0) -> PriceDays:
    """Days in stock, in runs of (price, units of each day); the last `sold_out` of them sold out."""
    prices = [price for price, units in runs for _ in units]
    days = len(prices)
    flags = [place >= days - sold_out for place in range(days)]
    return PriceDays(prices, [count for _, units in runs for count in units], flags, [True] * days)


def test_the_optimum_is_the_price_with_the_highest_mean_daily_profit() -> None:
    days = _days((120, [30, 31, 29, 30, 30]), (105, [44, 40, 42]), (95, [0, 0]))
    groups = analysis.price_groups(days)
    assert [(group.price, group.days, group.mean_units) for group in groups] == [(105, 3, 42), (120, 5, 30)]
    assert analysis.price_optimum(groups, 5_600) == (105, 42)
    assert [round(group.daily_profit(5_600), 2) for group in groups] == [20.58, 19.20]
    assert analysis.unsold_days(days) == 2


def test_ties_go_to_the_lower_price_and_no_sales_to_the_default_demand() -> None:
    assert analysis.price_optimum(analysis.price_groups(_days((300, [10]), (200, [20]))), 10_000) == (200, 20)
    assert analysis.price_optimum(analysis.price_groups(_days((300, [0, 0]))), 10_000) == (None, 10.0)


def test_sold_out_days_are_included_and_counted() -> None:
    (group,) = analysis.price_groups(_days((120, [30, 10]), sold_out=1))
    assert (group.mean_units, group.sold_out_days) == (20, 1)


@given(st.lists(st.tuples(st.sampled_from([110, 120]), st.integers(0, 2), st.booleans()), max_size=6))
def test_groups_are_the_days_with_sales_by_price(rows: list[tuple[int, int, bool]]) -> None:
    prices, units_of_days, flags = ([row[column] for row in rows] for column in range(3))
    days = PriceDays(prices, units_of_days, flags, [True] * len(rows))
    sold = {price: [row[1:] for row in rows if row[0] == price and row[1]] for price in (110, 120)}
    assert analysis.price_groups(days) == [
        (price, len(found), sum(units for units, _ in found), sum(sold_out for _, sold_out in found))
        for price, found in sold.items()
        if found
    ]


def test_the_published_price_key_splits_equal_prices() -> None:
    days = _days((110, [3, 7, 10, 11, 23]))
    assert len(analysis.price_groups(days)) == 1
    groups = analysis.price_groups(days, "unit_sum")
    assert len(groups) > 1
    assert analysis.price_optimum(groups, 5_000).price == 110
    assert analysis.price_optimum(groups, 5_000).demand > analysis.price_optimum(analysis.price_groups(days), 5_000)[1]


def test_the_slope_of_log_units_needs_three_prices() -> None:
    assert analysis.semi_log_slope(_days((100, [100]), (200, [50]))) is None
    assert analysis.semi_log_slope(_days((100, [100]), (200, [50]), (300, [25]))) == pytest.approx(-0.693147, abs=1e-6)


def test_shrunk_returns_are_those_of_the_fixture() -> None:
    rows = analysis.gather_suppliers([200, 40, 0], [6, 9, 0], [5_000, 4_000, 6_000])
    assert analysis.pool_rate([200, 40], [6, 9]) == Fraction(1, 16)
    assert [round(float(row.shrunk), 4) for row in rows] == [0.0365, 0.1347, 0.0625]
    assert [row.word for row in rows] == ["good", "fair", "none"]
    assert analysis.pool_rate([100, 99], [50, 50]) == Fraction(8, 100)


def test_suppliers_without_evidence_rank_last_with_the_dearest_first() -> None:
    rows = analysis.gather_suppliers([200, 40, 29, 0, 30], [6, 9, 0, 0, 1], [50, 40, 60, 70, 55])
    assert analysis.returns_order(rows) == [0, 4, 1, 3, 2]
    assert analysis.best_visible_supplier(rows) == 0
    thin = analysis.gather_suppliers([29, 0], [0, 0], [60, 50])
    assert analysis.best_visible_supplier(thin) == 1


def test_margin_ranks_by_expected_gain_per_unit() -> None:
    rows = analysis.gather_suppliers([1000, 1000], [200, 20], [5_000, 6_000])
    assert analysis.margin_order(rows, 150) == [1, 0]
    assert analysis.margin_order(rows, 10) == [0, 1]


def test_the_oracle_takes_the_highest_quality_then_the_cheaper_then_the_first() -> None:
    assert analysis.true_best_supplier([4000, 4900, 4900, 4900], [1, 30, 20, 20]) == 2
    assert analysis.cheapest([3, 2, 2]) == 1


def test_products_are_selected_round_robin_over_categories() -> None:
    scores = [5, 9, 7, 1, 8, 8, 3]
    categories = ["a", "a", "a", "b", "c", "c", "c"]
    assert analysis.select_products(scores, categories, 40) == [1, 3, 4, 2, 5]
    assert analysis.select_products(scores, categories, 4) == [1, 3, 4, 2]


def test_the_multiplier_is_clipped() -> None:
    assert analysis.demand_multiplier(0.2, -0.1) == pytest.approx(1.08)
    assert analysis.demand_multiplier(0.5, 0.5) == 2.0
    assert analysis.demand_multiplier(-0.5, -0.5) == 0.5


def _plan(**changes: int) -> RestockPlan:
    return RestockPlan(on_hand=0, waiting=0, incoming=0, free=10_000, funds=10**9, quote_e4=5_000)._replace(**changes)


def test_restocking_covers_the_days_minus_what_is_on_order() -> None:
    assert analysis.plan_restock(_plan(), 10.5, 6) == 63
    assert analysis.plan_restock(_plan(incoming=20), 10.5, 6) == 43
    assert analysis.plan_restock(_plan(incoming=70), 10.5, 6) == 0
    assert analysis.plan_restock(_plan(on_hand=60, waiting=4), 10.5, 6) == 0
    assert analysis.plan_restock(_plan(on_hand=60, waiting=3), 10.5, 6) == 63
    assert analysis.plan_restock(_plan(), 0.01, 6) == 1


def test_restocking_keeps_a_hundred_places_free_and_pays_what_it_orders() -> None:
    assert analysis.plan_restock(_plan(free=140), 10, 6) == 40
    assert analysis.plan_restock(_plan(free=100), 10, 6) == 0
    assert analysis.plan_restock(_plan(funds=3_000), 10, 6) == 60
    assert analysis.plan_restock(_plan(funds=2_999), 10, 6) == 0


def test_scores_and_evidence_are_those_of_the_records(open_store: Callable[..., Retail]) -> None:
    market = open_store("smoke")
    records, count = market.records, market.suppliers
    place = 4
    naive = 0
    sold, back = [0] * count, [0] * count
    for day in range(records.days):
        pairs = range(place * count, (place + 1) * count)
        quotes = [records.pair_quote.at(day, pair) for pair in pairs]
        naive += (100 * records.price.at(day, place) - min(quotes)) * records.units.at(day, place)
        for number, pair in enumerate(pairs):
            sold[number] += records.pair_units.at(day, pair)
            back[number] += records.pair_returned.at(day, pair)
    assert analysis.history_scores(records)[place] == naive
    evidence = analysis.supplier_evidence(records, place, market.world.quotes, 180)
    assert [row.sold for row in evidence] == sold
    assert [row.returned for row in evidence] == back
    assert len(analysis.price_days(records, place, 30).price) == 28


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(0, 60)), max_size=30), st.integers(100, 60_000))
def test_no_group_earns_more_than_the_optimum(rows: list[tuple[int, int]], cost: int) -> None:
    groups = analysis.price_groups(_days(*((price, [units]) for price, units in rows)))
    price, demand = analysis.price_optimum(groups, cost)
    if price is None:
        assert not groups
        return
    (chosen,) = [group for group in groups if group.price == price]
    assert demand == chosen.mean_units
    assert all(group.daily_profit(cost) <= chosen.daily_profit(cost) + 1e-9 for group in groups)
