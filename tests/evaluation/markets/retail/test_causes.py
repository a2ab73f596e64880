"""What a case of damage cites: the order, price or day that caused it, and what became of every order line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.evaluation.markets.retail.stores import bought, ending, price, store

from tradefair.evaluation.markets.retail.insight import REPAIRS, retail_wanted
from tradefair.evaluation.markets.retail.modes.detectors import MODES
from tradefair.evaluation.markets.retail.modes.goods import Lot, follow, lost_units
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, ShelfCall, Unsold
from tradefair.evaluation.markets.retail.modes.pricing import below_cost
from tradefair.evaluation.modes.diagnosis import Case, CaseRecord

QUIET: Mapping[str, Any] = {}
SELLS_10: Mapping[str, Any] = {"opening_stock": {0: 40}, "units": {0: 10}}
DRY = {"opening_stock": {0: 10}, "units": {0: 10}, "demand": {0: 60}}


def cases(mode: str, play: RetailPlay) -> list[Case]:
    return [*MODES.detect(mode, play).cases]


def runs_dry(**fields: Any) -> RetailPlay:
    """Ten days; on days 8 to 10 ten units are sold, on day 10 fifty more are wanted; 40 lie there on day 8."""
    return store([*[SELLS_10] * 9, DRY], **fields)


def test_the_last_day_on_which_an_order_would_have_come_in_time_is_the_cause() -> None:
    (case,) = cases("lost_sales", runs_dry())
    assert (case.seq, case.round, case.shown_by, case.about) == (898, 8, 1099, "P001")
    (slow,) = cases("lost_sales", runs_dry(quickest=[4, 4]))
    assert (slow.seq, slow.round) == (698, 6)


def test_an_order_of_that_day_was_too_small() -> None:
    (case,) = cases("lost_sales", runs_dry(bought=[bought(8, 0, 5)]))
    assert (case.seq, case.round) == (801, 8)
    said = "day 8: order of 5 P001, due day 10; 45 in stock or on order, 80 wanted by day 10, 50 not served"
    assert case.because == f"{said}, worth 0.00"


def test_an_earlier_order_is_the_cause_only_if_it_did_not_last_until_it_came() -> None:
    (late,) = cases("lost_sales", runs_dry(bought=[bought(3, 0, 1, due=9)]))
    # 40 + 1 on day 3, 70 wanted until it came on day 9.
    assert (late.seq, late.round) == (301, 3)
    (lasting,) = cases("lost_sales", runs_dry(bought=[bought(3, 0, 30, due=5)]))
    assert (lasting.seq, lasting.round) == (898, 8)


def test_nothing_is_blamed_where_enough_was_on_its_way() -> None:
    assert cases("lost_sales", runs_dry(bought=[bought(7, 0, 50, due=11)])) == []
    assert len(cases("lost_sales", runs_dry(bought=[bought(7, 0, 49, due=11)]))) == 1


def test_days_before_the_first_judged_one_are_not_counted() -> None:
    play = store(
        [*[SELLS_10] * 6, DRY, {**DRY, "opening_stock": {0: 0}, "units": {}, "demand": {}, "attraction": {0: 1.0}}]
    )
    (case,) = cases("lost_sales", play)
    # The gap begins on day 7, its 50 units are left out; on day 8 half of 100 customers come in vain.
    assert (case.amount, case.round, case.shown_by) == (50.0, 5, 899)
    assert case.because.endswith("130 wanted by day 8, 50 not served, worth 0.00")


def test_units_lost_by_product_are_those_of_the_day() -> None:
    day = (
        store(
            [
                {
                    "opening_stock": {1: 0, 2: 0},
                    "attraction": {0: 1.0, 1: 1.0, 2: 2.0},
                    "units": {0: 5},
                    "demand": {0: 9},
                }
            ],
            width=3,
        )
        .days[0]
        .facts
    )
    found = lost_units(day, [[0, 1, 2]], 1.0)
    # 100 customers: 4/5 buy with all three, 1/2 with the first alone; the rest by attraction.
    assert found == pytest.approx({0: 4, 1: 10, 2: 20})
    assert lost_units(day, [[0], [1], [2]], 1.0) == pytest.approx({0: 4, 1: 50, 2: 200 / 3})


def test_an_order_of_another_product_is_no_cause() -> None:
    (case,) = cases("lost_sales", runs_dry(bought=[bought(8, 1, 5)]))
    assert (case.seq, case.because[:28]) == (898, "day 8: no order of P001; 40 ")


def test_waiting_goods_count_as_there() -> None:
    days = [*[SELLS_10] * 6, {**SELLS_10, "waiting": {0: 40}}, SELLS_10, SELLS_10, DRY]
    assert cases("lost_sales", store(days)) == []


def test_days_without_a_gap_between_make_two_of_it() -> None:
    twice = store([*[SELLS_10] * 7, DRY, SELLS_10, DRY])
    assert [(case.round, case.amount, case.shown_by) for case in cases("lost_sales", twice)] == [
        (6, 50, 899), (8, 50, 1099),
    ]  # fmt: skip
    once = store([*[SELLS_10] * 7, DRY, DRY])
    assert [(case.round, case.amount, case.shown_by) for case in cases("lost_sales", once)] == [(6, 100, 899)]


def test_a_lost_unit_is_worth_what_a_sold_one_left_after_refunds() -> None:
    paid = {"revenue_cents": {0: 2000}, "refunds_cents": {0: 300}, "cost_of_goods_cents": {0: 700}}
    # 1,000 cents were left by the 100 units of ten days.
    (case,) = cases("lost_sales", store([{**SELLS_10, **paid}, *[SELLS_10] * 8, DRY]))
    assert case.cost == 5.0
    loss = {"cost_of_goods_cents": {0: 2000}}
    (case,) = cases("lost_sales", store([{**SELLS_10, **loss}, *[SELLS_10] * 8, DRY]))
    assert case.cost == 0.0


def test_a_unit_that_was_never_sold_is_worth_its_price_less_the_middle_quote() -> None:
    never = {"opening_stock": {1: 0}, "attraction": {1: 1.0}}
    quotes = {"quote_e4": {0: 1, 1: 1, 2: 5_000, 3: 15_000}}
    (case,) = cases("lost_sales", store([*[{"on_shelf": {1: 0}, "opening_stock": {1: 0}}] * 7, {**never, **quotes}]))
    # Of two quotes the dearer: 0.50 a unit, for half of 100 customers.
    assert (case.about, case.amount, case.cost) == ("P002", 50, 25.0)


# --- what became of order lines -------------------------------------------------------------------------------------


def fates(days: Sequence[Mapping[str, Any]], lines: Sequence[Any], old: int = 0, end: Any = None) -> list[Lot]:
    return follow(lines, [day.facts for day in store(days).days], end, old)[0]


def test_the_oldest_goods_are_sold_and_expire_first() -> None:
    days = [QUIET, QUIET, {"units": {0: 6}}, {"units": {0: 6}, "expired": {0: 3}}]
    lots, sales = follow([bought(2, 0, 10, due=4), bought(1, 0, 10)], [day.facts for day in store(days).days], None)
    assert [(sale.day, sale.line.day, sale.units, sale.price) for sale in sales] == [
        (3, 1, 6, 200), (4, 1, 4, 200), (4, 2, 2, 200),
    ]  # fmt: skip
    assert [(lot.line.day, lot.left, lot.expired, lot.lost) for lot in lots] == [(2, 5, 3, 300.0), (1, 0, 0, 0.0)]


def test_goods_outside_are_the_newest_and_have_two_days_to_find_room() -> None:
    lines = [bought(1, 0, 10), bought(2, 0, 10)]
    outside = {"waiting": {0: 12}}
    early, late = fates([QUIET, QUIET, outside, outside], lines)
    # On day 4 the older lot is one day old, the newer one came today.
    assert (early.waited, late.waited) == (0, 0)
    early, late = fates([QUIET, QUIET, *[outside] * 4], lines)
    assert (early.waited, late.waited) == (2, 10)


def test_what_lies_too_long_is_counted_on_its_day() -> None:
    (lot,) = fates([QUIET, QUIET, {"units": {0: 4}}, QUIET, {"units": {0: 1}}], [bought(1, 0, 10)], old=2)
    assert lot.lay == 5
    (young,) = fates([QUIET, QUIET, {"units": {0: 4}}, QUIET], [bought(1, 0, 10)], old=2)
    assert young.lay == 0


def test_more_than_sells_in_time_is_excess_at_the_end_the_newest_first() -> None:
    days = [{"units": {0: 1}}] * 14
    lots = fates(days, [bought(1, 0, 20), bought(2, 0, 10)], old=15)
    # 12 of 30 units were sold since day 3: 18 are left, and a unit a day sells.
    assert [lot.excess for lot in lots] == [0, 3]
    assert [lot.excess for lot in fates([{"units": {0: 1}}] * 6, [bought(1, 0, 50)], old=5)] == [0]


def test_age_at_the_end_is_lost_by_cost_and_days() -> None:
    lines = [bought(1, 0, 10), bought(3, 0, 10)]
    lots = fates([QUIET] * 5, lines, end=ending(cost={0: 2000}, value={0: 1200}))
    # Three days and one day old at equal cost.
    assert [lot.lost for lot in lots] == [600.0, 200.0]
    assert [lot.lost_off_shelf for lot in lots] == [0.0, 0.0]
    off = fates([{"on_shelf": {0: 0}}] * 5, lines, end=ending(cost={0: 2000}, value={0: 1200}))
    assert [lot.lost_off_shelf for lot in off] == [600.0, 200.0]


def test_goods_off_the_shelf_for_most_of_their_time_are_stranded_not_too_many() -> None:
    days = [QUIET, QUIET, {"on_shelf": {0: 0}}, {"on_shelf": {0: 0}, "expired": {0: 10}}]
    assert cases("overbuying", store(days, bought=[bought(1, 0, 10)])) == []
    assert len(cases("overbuying", store([QUIET, *days[:1], QUIET, days[3]], bought=[bought(1, 0, 10)]))) == 1


def test_half_of_the_time_off_the_shelf_is_still_too_many() -> None:
    days = [QUIET, QUIET, {"on_shelf": {0: 0}}, QUIET, {"expired": {0: 10}}]
    assert len(cases("overbuying", store(days, bought=[bought(1, 0, 10)]))) == 1


def test_seven_days_on_sale_show_how_fast_a_product_sells() -> None:
    line = bought(1, 0, 50)
    (lot,) = fates([*[{"opening_stock": {0: 0}}] * 2, *[{"units": {0: 1}}] * 7], [line], old=3)
    # 43 are left, and three days of sales are three units.
    assert lot.excess == 40
    off = [{"on_shelf": {0: 0}}] * 8
    (lot,) = fates([*off, *[{"units": {0: 1}}] * 6], [line], old=3)
    assert lot.excess == 0


# --- the other causes -----------------------------------------------------------------------------------------------


def test_stranded_goods_are_the_fault_of_an_assortment_with_room_that_leaves_them_out() -> None:
    days = [QUIET, QUIET, *[{"on_shelf": {0: 0}}] * 3]
    chosen = ShelfCall(102, 1, frozenset({1}))

    def cause(*shelves: ShelfCall, places: int = 6) -> tuple[int, int]:
        play = store(days, bought=[bought(1, 0, 10)], shelves=list(shelves), scenario={"shelf_capacity": places})
        (case,) = cases("stranded_stock", play)
        return case.seq, case.round

    assert cause(chosen) == (102, 1)
    # No room for it, or chosen only after the goods were there: the order is to blame.
    assert cause(chosen, places=1) == (101, 1)
    assert cause(ShelfCall(502, 5, frozenset())) == (101, 1)
    assert cause(ShelfCall(102, 1, frozenset({0, 1}))) == (101, 1)


def test_closes_below_zero_without_such_an_order_cite_the_day() -> None:
    broke = {"funds_cents": -500, "stock_value_cents": 1, "rent_cents": 4000}
    (case,) = cases("illiquid", store([QUIET, broke, broke]))
    assert (case.seq, case.round, case.amount) == (298, 2, 2)
    assert case.because == ("day 2: closed without the money for the rent; funds below 0 at 2 closes, down to -5.00")


def test_the_order_that_took_funds_below_the_rent_is_the_cause_not_those_around_it() -> None:
    rent = {"rent_cents": 4000}
    broke = {**rent, "funds_cents": -500, "open_order_cents": 1}
    lines = [bought(1, 0, 1, 296_000), bought(2, 0, 1, 1), bought(2, 1, 1, 1000), bought(4, 0, 1, 1)]
    days = [{**rent, "funds_cents": 4001}, {**rent, "funds_cents": 10}, broke, broke, {**broke, "funds_cents": 0}]
    (case,) = cases("illiquid", store(days, bought=lines))
    # After day 1 the rent is there to the cent, and after the first order of day 2; the second one takes it.
    assert (case.seq, case.round, case.shown_by, case.amount) == (202, 2, 399, 2)
    assert case.because.startswith(
        "day 2: order for 10.00 left 30.00 before a rent of 40.00; funds below 0 at 2 closes"
    )


def test_a_price_off_the_optimum_costs_what_was_not_earned_while_it_was_in_force() -> None:
    earned = {"revenue_cents": {0: 400}, "refunds_cents": {0: 50}, "cost_of_goods_cents": {0: 100}}
    days = [QUIET, earned, {"on_shelf": {0: 0}}, {"opening_stock": {0: 0}}, QUIET, QUIET]
    prices = [price(1, 150, day=2), price(2, 100, day=6)]
    (case,) = cases("price_off_optimum", store(days, prices=prices))
    # On sale on days 2 and 5 of its four: 10.00 at the best price, 2.50 at this one.
    assert (case.seq, case.cost) == (201, 7.5)
    assert case.because.endswith("1.00 had earned 5.00 a day, this earned 2.50 on 2 days")


def test_a_quote_is_that_of_the_product_and_the_supplier() -> None:
    days = [{"quote_e4": {3: 10_000}}, QUIET, QUIET, {"quote_e4": {3: 12_000}}]
    (case,) = cases("stale_quotes", store(days, bought=[bought(4, 1, 7, supplier=1, shown=1)]))
    assert case.because == "day 4: order of 7 P002 from supplier_2 at 1.2000, last shown on day 1 as 1.0000"


def test_units_sold_below_cost_cite_the_price_or_the_order_that_raised_the_cost() -> None:
    sold = {"units": {0: 4}, "price_cents": {0: 90}}
    days = [QUIET, QUIET, sold, sold]
    cheap = store(days, bought=[bought(1, 0, 20)], prices=[price(5, 90, day=2)])
    (case,) = below_cost(cheap).cases
    assert (case.seq, case.round, case.amount, case.cost, case.shown_by) == (205, 2, 8, 0.8, 399)
    assert case.because == "day 2: price of P001 set to 0.90; 8 sold at 0.90 that had cost 1.0000"
    assert below_cost(cheap).of == 8
    (dear,) = below_cost(store(days, bought=[bought(1, 0, 20, 3000)], prices=[])).cases
    assert (dear.seq, dear.round, dear.cost) == (101, 1, 4.8)
    assert dear.because == "day 1: order of 20 P001 above its list price; 8 sold at 0.90 that had cost 1.5000"
    even = store([QUIET, QUIET, {"units": {0: 4}, "price_cents": {0: 100}}], bought=[bought(1, 0, 20)])
    assert below_cost(even).cases == []


def test_a_price_beyond_all_that_is_paid_cites_the_day_where_no_call_set_it() -> None:
    play = store([QUIET] * 2, unsold=[Unsold(0, day, 0, 300, 200, 100.0) for day in (1, 2)])
    (case,) = cases("priced_out", play)
    assert (case.seq, case.round, case.amount, case.cost) == (198, 1, 2, 2.0)


def test_wanted_are_best_sellers_that_run_low_and_categories_that_the_shelf_leaves_out() -> None:
    low = {"units": {0: 10, 1: 10}, "opening_stock": {0: 29, 1: 30}}
    full = store([low], worth=[1.0, 2.0], scenario={"shelf_capacity": 2})
    # With a delivery of two days, three days of sales are to be there.
    assert [(call.about, call.seq, call.cost) for call in retail_wanted(full)] == [("P001", 198, None)]
    bare = store([{"opening_stock": {0: 0, 1: 0}}], bought=[bought(0, 1, 1)])
    assert [call.about for call in retail_wanted(bare)] == ["P001"]
    coming = store([QUIET, low], bought=[bought(1, 0, 1, due=3)], scenario={"shelf_capacity": 2})
    assert [*retail_wanted(coming)] == []
    room = store([{"on_shelf": {0: 0, 1: 0}}], worth=[100.0, 250.0], scenario={"shelf_capacity": 1})
    assert [(call.about, call.cost) for call in retail_wanted(room)] == [("P002", 2.5)]
    siblings = store([{"on_shelf": {0: 0, 1: 0}}], worth=[100.0, 250.0], categories=["a", "a"])
    assert [call.about for call in retail_wanted(siblings)] == ["P002"]


def test_a_price_in_the_wrong_unit_is_replayed_with_the_one_in_sight() -> None:
    amend = REPAIRS["unit_mistake"]
    case = CaseRecord(seq=1, round=2, because="round 2: modify_product_price said 119 for P001 where 1.19 was in sight")
    assert amend(case, {"product_id": "P001", "new_price": 119.0}, None) == {"product_id": "P001", "new_price": 1.19}
    refused = case.model_copy(update={"because": "round 2: place_order was refused with 100 and accepted with 10"})
    assert amend(refused, {"lines": []}, None) is None
