"""What a case cites: the order, price or day that caused it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.evaluation.markets.retail.stores import bought, line, price, store

from tradefair.evaluation.markets.retail.insight import idle_days_of, retail_wanted
from tradefair.evaluation.markets.retail.modes.detectors import MODES
from tradefair.evaluation.markets.retail.modes.play import Bought, RetailPlay, ShelfCall, Unsold
from tradefair.evaluation.markets.retail.modes.pricing import below_cost
from tradefair.evaluation.modes.diagnosis import Case

QUIET: Mapping[str, Any] = {}


def cases(mode: str, play: RetailPlay) -> list[Case]:
    return [*MODES.detect(mode, play).cases]


def test_stranded_goods_are_the_fault_of_the_assortment_or_their_order_whichever_came_last() -> None:
    off = {"on_shelf": {0: 0}, "stock_cost_cents": {0: 500}}
    days = [QUIET, QUIET, *[off] * 3]

    def cause(*shelves: ShelfCall, lines: Sequence[Bought] = (bought(1, 0, 10),)) -> tuple[int, int, int | None, float]:
        (case,) = cases("stranded_stock", store(days, bought=list(lines), shelves=list(shelves)))
        return case.seq, case.round, case.shown_by, case.amount

    # The first day with goods off the shelf shows it: 15.00 in money times days.
    assert cause(ShelfCall(205, 2, frozenset({1}))) == (205, 2, 399, 15.0)
    # Chosen before the order, chosen with it, or chosen only after the goods lay there: the order is to blame.
    assert cause(ShelfCall(100, 1, frozenset({1})))[:2] == (101, 1)
    assert cause(ShelfCall(205, 2, frozenset({0, 1})))[:2] == (101, 1)
    assert cause(ShelfCall(502, 5, frozenset()))[:2] == (101, 1)
    # Goods of another product are no cause; without any decision the day is cited.
    assert cause(lines=[bought(1, 1, 10)])[:2] == (398, 3)


def test_an_order_is_judged_with_what_lies_there_and_what_is_on_its_way() -> None:
    days = [QUIET, {"opening_stock": {0: 10}}]
    order = line(0, cover=20.0)._replace(day=2)

    def count(*lines: Bought, waiting: int = 0) -> int:
        first = {"waiting": {0: waiting}}
        return len(cases("overbuying", store([first, days[1]], bought=[bought(2, 0, 10), *lines], lines=[order] * 10)))

    # Ten units last 20 days, and 20 are there after the order: another one is too much.
    assert count() == 0
    assert count(waiting=1) == 10
    assert count(bought(1, 0, 1)) == 10
    # It has come already: then it is in the stock.
    assert count(bought(1, 0, 1, due=2)) == 0


def test_an_empty_place_is_named_once_a_day_from_the_first_judged_day_on() -> None:
    empty = {"opening_stock": {0: 0}}
    found = cases("empty_shelf", store([empty] * 16, bought=[bought(10, 0, 5, due=16)]))
    # On day 15 the order is on its way; on day 16 it has come, and the morning's stock says otherwise.
    assert [(case.seq, case.round, case.shown_by, case.about) for case in found] == [(1698, 16, 1699, "P001")]
    off = store([{**empty, "on_shelf": {0: 0}}] * 16)
    assert cases("empty_shelf", off) == []
    outside = store([*[QUIET] * 14, {"waiting": {0: 3}}, empty])
    assert cases("empty_shelf", outside) == []


def test_closes_below_zero_without_such_an_order_cite_the_day() -> None:
    broke = {"funds_cents": -500, "stock_value_cents": 1, "rent_cents": 4000}
    (case,) = cases("illiquid", store([QUIET, broke, broke]))
    assert (case.seq, case.round, case.amount) == (298, 2, 2)
    assert case.because == ("day 2: closed without the money for the rent; funds below 0 at 2 closes, down to -5.00")


def test_closes_below_zero_cite_the_last_order_before_them() -> None:
    broke = {"funds_cents": -500, "open_order_cents": 1}
    lines = [bought(1, 0, 1), bought(2, 1, 1, 1000), bought(4, 0, 1)]
    first, second = cases("illiquid", store([QUIET, {"funds_cents": 10}, broke, broke], bought=lines))
    assert [(case.seq, case.round, case.shown_by, case.amount) for case in (first, second)] == [
        (202, 2, 399, 1), (401, 4, 499, 1),
    ]  # fmt: skip
    assert first.because == "day 2: order of 1 P002 for 10.00; funds below 0 at 1 close, down to -5.00"


def test_a_quote_is_that_of_the_product_and_the_supplier() -> None:
    days = [{"quote_e4": {3: 10_000}}, QUIET, QUIET, {"quote_e4": {3: 12_000}}]
    (case,) = cases("stale_quotes", store(days, bought=[bought(4, 1, 7, supplier=1, shown=1)]))
    assert case.because == "day 4: order of 7 P002 from supplier_2 at 1.2000, last shown on day 1 as 1.0000"


def test_units_sold_below_cost_cite_the_price_or_the_order_that_raised_the_cost() -> None:
    sold = {"units": {0: 4}, "below_cost_units": {0: 3}, "price_cents": {0: 90}}
    days = [QUIET, QUIET, sold, sold]
    cheap = store(days, bought=[bought(1, 0, 20)], prices=[price(5, 90, day=2)])
    (case,) = below_cost(cheap).cases
    assert (case.seq, case.round, case.amount, case.shown_by) == (205, 2, 6, 399)
    assert case.because == "day 2: price of P001 set to 0.90; 6 sold at 0.90, below their cost"
    assert below_cost(cheap).of == 8
    (dear,) = below_cost(store(days, bought=[bought(2, 0, 20, due=3)], prices=[price(5, 90, day=1)])).cases
    assert (dear.seq, dear.round) == (201, 2)
    assert dear.because == "day 2: order of 20 P001 above its list price; 6 sold at 0.90, below their cost"
    # An order that has not come yet sold nothing; where nothing was decided the day is cited.
    early = below_cost(store(days, bought=[bought(2, 0, 20, due=4)], prices=[price(5, 90, day=1)])).cases
    assert [(case.seq, case.amount) for case in early] == [(105, 3), (201, 3)]
    (start,) = below_cost(store([sold])).cases
    assert (start.seq, start.because[:38]) == (198, "day 1: the start price of P001 stood; ")
    assert below_cost(store([{"units": {0: 4}}])).cases == []


def test_a_day_is_idle_where_goods_were_on_offer_below_a_list_price_that_nobody_could_pay() -> None:
    def idle(**said: Any) -> list[tuple[int, str]]:
        day = {"acted": False, "opening_stock": {0: 0}, "funds_cents": 5_000, **said}
        return [(case.seq, case.because) for case in idle_days_of(store([day], scenario={"shelf_capacity": 2}))]

    because = "day 1: closed without an action; P001, at a list price of 2.00, was not on sale and on offer at 1.0000"
    assert idle() == [(198, because)]
    assert idle(acted=True) == []
    assert idle(opening_stock={}) == []
    # At or above its list price, or beyond what is left for it after the rent, nothing is to be bought.
    assert idle(price_cents={0: 100}) == []
    assert idle(rent_cents=4_900) == []
    # Off the shelf it counts while there is room for it.
    assert idle(on_shelf={0: 0}) == [(198, because)]


def test_a_price_beyond_all_that_is_paid_cites_the_day_where_no_call_set_it() -> None:
    play = store([QUIET] * 2, unsold=[Unsold(0, day, 0, 300, 200) for day in (1, 2)])
    (case,) = cases("priced_out", play)
    assert (case.seq, case.round, case.amount) == (198, 1, 2)


def test_wanted_are_best_sellers_that_run_low_and_categories_that_the_shelf_leaves_out() -> None:
    low = {"units": {0: 10, 1: 10}, "opening_stock": {0: 29, 1: 30}}
    full = store([low], worth=[1.0, 2.0], scenario={"shelf_capacity": 2})
    # With a delivery of two days, three days of sales are to be there.
    assert [(call.about, call.seq) for call in retail_wanted(full)] == [("P001", 198)]
    bare = store([{"opening_stock": {0: 0, 1: 0}}], bought=[bought(0, 1, 1)])
    assert [call.about for call in retail_wanted(bare)] == ["P001"]
    coming = store([QUIET, low], bought=[bought(1, 0, 1, due=3)], scenario={"shelf_capacity": 2})
    assert [*retail_wanted(coming)] == []
    room = store([{"on_shelf": {0: 0, 1: 0}}], worth=[100.0, 250.0], scenario={"shelf_capacity": 1})
    assert [call.about for call in retail_wanted(room)] == ["P002"]
    siblings = store([{"on_shelf": {0: 0, 1: 0}}], worth=[100.0, 250.0], categories=["a", "a"])
    assert [call.about for call in retail_wanted(siblings)] == ["P002"]
