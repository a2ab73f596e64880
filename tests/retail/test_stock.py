from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.retail.engine.stock import Lot, Order, OrderLine, Stock


def _order(number: int, placed: int, due: int, *lines: tuple[int, int, int]) -> Order:
    made = tuple(OrderLine(product, units, 100, cost, 4000) for product, units, cost in lines)
    return Order(number, 0, made, sum(line.cost for line in made), placed, due)


def test_a_split_lot_keeps_every_cent() -> None:
    lot = Lot(0, 0, 1, 31, 25, 1500, 1800, 1)
    part = lot.split(11)
    assert (part.quantity, part.cost, lot.quantity, lot.cost) == (11, 660, 14, 840)
    assert lot.split(13).cost + lot.cost == 840


def test_goods_arrive_whole_on_their_day_and_leave_oldest_first() -> None:
    stock = Stock([30], 100)
    stock.place(_order(1, 1, 3, (0, 20, 1000)))
    stock.place(_order(2, 2, 3, (0, 10, 400)))
    assert stock.deliver(2) == {}
    assert stock.incoming == [30]
    assert stock.next_due(0) == 3
    assert stock.deliver(3) == {0: 30}
    assert stock.next_due(0) is None
    stock.admit()
    taken = stock.take(0, 25)
    assert [(sale.units, sale.cost, sale.lot_quantity, sale.lot_cost) for sale in taken] == [
        (20, 1000, 20, 1000),
        (5, 200, 10, 400),
    ]
    stock.check(3)


def test_what_finds_no_room_waits_in_one_queue_and_a_lot_may_split() -> None:
    stock = Stock([30, 30], 50)
    stock.place(_order(1, 1, 2, (0, 30, 300), (1, 30, 600)))
    stock.place(_order(2, 1, 2, (0, 30, 330)))
    stock.deliver(2)
    stock.admit()
    assert (stock.on_hand, stock.waiting_units, stock.free) == ([30, 20], [30, 10], 0)
    stock.take(0, 15)
    stock.admit()
    assert (stock.on_hand, stock.waiting_units) == ([20, 30], [25, 0])
    assert [lot.order for lot in stock.lots(0)] == [1, 2]
    stock.check(2)


def test_goods_are_sold_through_their_last_day_and_are_gone_after_it() -> None:
    stock = Stock([2], 10)
    stock.place(_order(1, 1, 4, (0, 15, 300)))
    stock.deliver(4)
    stock.admit()
    assert stock.expire(5).units == [0]
    assert stock.value(4) == 300
    assert stock.value(5) == 150
    gone = stock.expire(6)
    assert (gone.units, gone.cost) == ([15], [300])
    assert stock.value(6) == stock.total_on_hand == stock.total_waiting == 0
    stock.check(7)


def test_values_are_those_of_the_worked_example() -> None:
    day = 100
    stock = Stock([30, 24], 1000)
    for number, (product, arrival, units, cost) in enumerate([(0, 90, 20, 1120), (1, 96, 18, 630), (0, 98, 25, 1500)]):
        stock.place(_order(number + 1, arrival - 1, arrival, (product, units, cost)))
        stock.deliver(arrival)
    stock.admit()
    assert (stock.product_value(0, day), stock.product_value(1, day)) == (2147, 525)
    assert [sale.cost for sale in stock.take(0, 31)] == [1120, 660]
    assert [sale.cost for sale in stock.take(1, 18)] == [630]
    assert stock.value(day + 1) == 756


_STEP = st.one_of(
    st.tuples(st.just("order"), st.integers(0, 2), st.integers(1, 60), st.integers(1, 900), st.integers(1, 6)),
    st.tuples(st.just("sell"), st.integers(0, 2), st.integers(0, 100)),
    st.tuples(st.just("sleep")),
)


@given(st.lists(_STEP, max_size=60), st.integers(5, 90))
def test_sums_capacity_and_order_hold_whatever_happens(steps: list[tuple[object, ...]], capacity: int) -> None:
    stock = Stock([3, 5, 9], capacity)
    day, number, moved = 1, 0, 0
    for step in steps:
        match step:
            case ("order", int(product), int(units), int(cost), int(transit)):
                number += 1
                stock.place(_order(number, day, day + transit, (product, units, cost)))
                moved += units
            case ("sell", int(product), int(units)):
                sold = min(units, stock.on_hand[product])
                taken = stock.take(product, sold)
                assert sum(sale.units for sale in taken) == sold
                moved -= sold
                stock.admit()
            case _:
                moved -= sum(stock.expire(day).units)
                day += 1
                stock.deliver(day)
                stock.admit()
        stock.check(day)
        held = stock.total_on_hand + stock.total_waiting + sum(stock.incoming)
        assert held == moved
        lots = [lot for product in range(3) for lot in stock.lots(product)] + list(stock._waiting)  # pyright: ignore[reportPrivateUsage]
        lives = [3, 5, 9]
        for product in range(3):
            exact = sum(
                (Fraction(lot.cost * (lot.expiry - day), lives[product]) for lot in lots if lot.product == product),
                Fraction(),
            )
            assert stock.product_value(product, day) == round(exact)


def test_a_copy_is_independent() -> None:
    stock = Stock([30], 100)
    stock.place(_order(1, 1, 2, (0, 20, 1000)))
    stock.deliver(2)
    stock.admit()
    twin = stock.copy()
    assert twin.plain() == stock.plain()
    twin.take(0, 5)
    twin.place(_order(2, 2, 4, (0, 20, 1000)))
    stock.check(2)
    twin.check(2)
    assert stock.on_hand == [20]
    assert twin.plain() != stock.plain()


def test_nothing_is_sold_that_is_not_there() -> None:
    with pytest.raises(IndexError):
        Stock([30], 100).take(0, 1)
