from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.retail.engine.day_records import Column, DayColumns, Records, ReviewedLot, ReviewLog, ReviewRow

_ROWS = st.lists(st.lists(st.integers(0, 1000), min_size=4, max_size=4), min_size=1, max_size=12)


def _day(pairs: list[int]) -> DayColumns:
    """Two products, two suppliers; every quantity is made from `pairs`."""
    products = [pairs[0] + pairs[1], pairs[2] + pairs[3]]
    flags = [value % 2 for value in products]
    return DayColumns(
        price=products,
        in_stock=flags,
        units=products,
        revenue=products,
        refunds=products,
        cost_of_goods=products,
        returned=products,
        expired=products,
        sold_out=flags,
        stars=products,
        reviews=flags,
        pair_quote=pairs,
        pair_units=pairs,
        pair_returned=pairs,
        pair_ordered=pairs,
        pair_cost=pairs,
    )


@given(_ROWS, st.integers(-3, 12), st.integers(-3, 12))
def test_totals_over_any_range_are_the_sums_of_the_rows(rows: list[list[int]], first: int, last: int) -> None:
    records = Records(2, 2)
    for row in rows:
        records.close_day(_day(row))
    last = min(last, len(rows) - 1)
    days = range(max(0, first), last + 1)
    for pair in range(4):
        naive = sum(rows[day][pair] for day in days)
        assert records.sold(pair, first, last) == naive
        assert records.sent_back(pair, first, last) == naive
        assert records.ordered(pair, first, last) == naive
        if days:
            assert records.pair_quote.series(pair, days[0], last) == [rows[day][pair] for day in days]
    stars, reviews = records.rating(1, first, last)
    assert stars == sum(rows[day][2] + rows[day][3] for day in days)
    assert reviews == sum((rows[day][2] + rows[day][3]) % 2 for day in days)


def test_a_copy_of_the_records_is_independent() -> None:
    records = Records(2, 2)
    records.close_day(_day([1, 2, 3, 4]))
    twin = records.copy()
    twin.close_day(_day([5, 6, 7, 8]))
    twin.reviews.add(0, ReviewedLot(1, 0, 1, False, False), [5])
    assert (records.days, twin.days) == (1, 2)
    assert records.sold(0, 0, 0) == twin.sold(0, 0, 0) == 1
    assert twin.sold(0, 0, 1) == 6
    assert records.reviews.count(0, 0, 9) == 0


def test_a_row_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(ValueError, match="3 values"):
        Column("i", 3).add([1, 2])


_LOTS = st.builds(
    ReviewedLot,
    day=st.integers(0, 4000),
    supplier=st.integers(0, 8),
    lot=st.integers(1, 2**20 - 1),
    low_quality=st.booleans(),
    dear=st.booleans(),
)
_STARS = st.lists(st.integers(1, 5), max_size=9)


@given(st.lists(st.tuples(_LOTS, _STARS), max_size=9), st.integers(0, 4000), st.integers(0, 4000))
def test_reviews_come_back_as_they_were_newest_first(
    reviewed: list[tuple[ReviewedLot, list[int]]], first: int, last: int
) -> None:
    log = ReviewLog(1)
    reviewed.sort(key=lambda lot_and_stars: lot_and_stars[0].day)
    rows: list[ReviewRow] = []
    for lot, stars in reviewed:
        log.add(0, lot, stars)
        rows += [ReviewRow(*lot[:3], number, count, *lot[3:]) for number, count in enumerate(stars, 1)]
    wanted = [row for row in reversed(rows) if first <= row.day <= last]
    assert list(log.newest_first(0, first, last)) == wanted
    assert log.count(0, first, last) == len(wanted)
