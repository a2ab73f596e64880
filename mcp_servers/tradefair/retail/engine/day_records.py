"""Day records as columns: one flat array per quantity, so that a read costs as much as the rows that it returns.

The store's own past, as the manager may see it. Generator and rules append a day at its close; views and analysis read.
Arrays of machine integers keep a thousand days of a hundred products in a few megabytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]


class Column:
    """One quantity over days and `width` products (or product·suppliers pairs): days one after another.

    `typecode` is that of `array`: "b" for flags, "i" for units, "q" for money.
    """

    def __init__(self, typecode: Literal["b", "i", "q"], width: int) -> None:
        self._typecode: Literal["b", "i", "q"] = typecode
        self._values: array[int] = array(typecode)
        self._width = width

    def add(self, row: Sequence[int]) -> array[int]:
        """Append one day, and return it as an array. Raises ValueError for a row of another width."""
        # A row of another width would shift every later day without an error.
        if len(row) != self._width:
            raise ValueError(f"a row of {self._width} values, not {len(row)}")
        added = array(self._typecode, row)
        self._values.extend(added)
        return added

    def at(self, day: int, place: int) -> int:
        """One value: that of a day index and a product or pair."""
        return self._values[day * self._width + place]

    def row(self, day: int) -> list[int]:
        """All values of a day index, in store order."""
        return self._values[day * self._width : (day + 1) * self._width].tolist()

    def series(self, place: int, first: int, last: int) -> list[int]:
        """The values of one product or pair on the days first..last (both included), oldest first."""
        width = self._width
        # A slice with a step: days of one product stand `width` values apart.
        return self._values[first * width + place : (last + 1) * width : width].tolist()

    def table(self, places: Sequence[int], first: int, last: int) -> Integers:
        """`series` of several products or pairs at once, `[place][day]`."""
        return np.asarray(self._values).reshape(-1, self._width)[first : last + 1, places].T

    def copy(self) -> Column:
        """An independent copy."""
        twin = Column(self._typecode, self._width)
        twin._values = self._values[:]
        return twin


class ReviewedLot(NamedTuple):
    """What the reviews of one lot on one day share: `day` is a day index, `lot` the ordinal of the lot that day.

    `low_quality` and `dear` say what they may complain about (6.6).
    """

    day: int
    supplier: int
    lot: int
    low_quality: bool
    dear: bool


class ReviewRow(NamedTuple):
    """One review: what keys its text (day, supplier, lot and its number in that lot), and what the text is about."""

    day: int
    supplier: int
    lot: int
    number: int
    stars: int
    low_quality: bool
    dear: bool


class ReviewLog:
    """All reviews by product, oldest first; packed, because a thousand days hold a hundred thousand of them."""

    def __init__(self, products: int) -> None:
        self._days = [array("i") for _ in range(products)]
        self._codes = [array("q") for _ in range(products)]

    def add(self, product: int, lot: ReviewedLot, stars: Sequence[int]) -> None:
        """Append the reviews of a lot, numbered from 1; days never decrease."""
        self._days[product].extend([lot.day] * len(stars))
        # From the top: supplier, 20 bits of lot, 26 of number, 3 of stars, 2 flags. A signed 64-bit value has room for
        # 4,096 suppliers; a scenario has at most 9.
        packed = (lot.supplier << 20 | lot.lot) << 31 | lot.low_quality << 1 | lot.dear
        self._codes[product].extend([packed | number << 5 | count << 2 for number, count in enumerate(stars, 1)])

    def newest_first(self, product: int, first: int, last: int) -> Iterator[ReviewRow]:
        """The reviews of the days first..last, newest first; within a day the last one written first.

        A generator: only what is shown gets unpacked.
        """
        days, codes = self._days[product], self._codes[product]
        for place in range(bisect_right(days, last) - 1, bisect_left(days, first) - 1, -1):
            yield _unpack(days[place], codes[place])

    def count(self, product: int, first: int, last: int) -> int:
        """How many reviews the days first..last have."""
        days = self._days[product]
        return max(0, bisect_right(days, last) - bisect_left(days, first))

    def copy(self) -> ReviewLog:
        """An independent copy."""
        twin = ReviewLog(0)
        twin._days = [days[:] for days in self._days]
        twin._codes = [codes[:] for codes in self._codes]
        return twin


def _unpack(day: int, code: int) -> ReviewRow:
    # 51 = 20 + 26 + 5 bits below the supplier.
    supplier, lot, number = code >> 51, code >> 31 & 0xFFFFF, code >> 5 & 0x3FFFFFF
    return ReviewRow(day, supplier, lot, number, code >> 2 & 7, bool(code & 2), bool(code & 1))


class DayColumns(NamedTuple):
    """What a closing day adds.

    By product: money in cents, units, flags (0 or 1), sums of stars and numbers of reviews. By pair (product·suppliers
    + supplier): quote in 1e-4 currency units, units sold, returned and ordered, cost of goods in cents.
    """

    price: Sequence[int]
    in_stock: Sequence[int]
    units: Sequence[int]
    revenue: Sequence[int]
    refunds: Sequence[int]
    cost_of_goods: Sequence[int]
    returned: Sequence[int]
    expired: Sequence[int]
    sold_out: Sequence[int]
    stars: Sequence[int]
    reviews: Sequence[int]
    pair_quote: Sequence[int]
    pair_units: Sequence[int]
    pair_returned: Sequence[int]
    pair_ordered: Sequence[int]
    pair_cost: Sequence[int]


_STORED = tuple(name for name in DayColumns._fields if name not in ("stars", "reviews"))
"""The columns that are kept day by day; of stars and reviews only running totals are."""


class Records:
    """Everything visible of the closed days, history included. Day indices start at 0 = first history day.

    `days` counts the closed days. Product columns are by product, pair columns by product·suppliers + supplier. Sums
    over a range of days (stars, reviews, units of a pair) are differences of running totals.
    """

    def __init__(self, products: int, suppliers: int) -> None:
        self.days = 0
        self.products = products
        self.suppliers = suppliers
        pairs = products * suppliers
        self.price = Column("q", products)
        self.in_stock = Column("b", products)
        self.units = Column("i", products)
        self.revenue = Column("q", products)
        self.refunds = Column("q", products)
        self.cost_of_goods = Column("q", products)
        self.returned = Column("i", products)
        self.expired = Column("i", products)
        self.sold_out = Column("b", products)
        self.pair_quote = Column("q", pairs)
        self.pair_units = Column("i", pairs)
        self.pair_returned = Column("i", pairs)
        self.pair_ordered = Column("q", pairs)
        self.pair_cost = Column("q", pairs)
        self.reviews = ReviewLog(products)
        self._stars = _Totals(products)
        self._ratings = _Totals(products)
        self._sold = _Totals(pairs)
        self._sent_back = _Totals(pairs)
        self._ordered = _Totals(pairs)

    def close_day(self, day: DayColumns) -> bytes:
        """Append a closed day (its reviews are added one by one); return its bytes, for the running hash."""
        rows: dict[str, array[int]] = {name: getattr(self, name).add(getattr(day, name)) for name in _STORED}
        # Stars and reviews have no column of their own, but the digest must cover them.
        rows |= {"stars": array("q", day.stars), "reviews": array("q", day.reviews)}
        self._stars.add(rows["stars"])
        self._ratings.add(rows["reviews"])
        self._sold.add(rows["pair_units"])
        self._sent_back.add(rows["pair_returned"])
        self._ordered.add(rows["pair_ordered"])
        self.days += 1
        return b"".join(rows.values())

    def rating(self, product: int, first: int, last: int) -> tuple[int, int]:
        """(sum of stars, number of reviews) dated on the days first..last.

        Days before the first history day count nothing.
        """
        return self._stars.over(product, first, last), self._ratings.over(product, first, last)

    def ratings(self, first: int, last: int) -> tuple[Integers, Integers]:
        """`rating` of every product, as two arrays in store order."""
        return self._stars.row_over(first, last), self._ratings.row_over(first, last)

    def sold(self, pair: int, first: int, last: int) -> int:
        """Units of a pair sold on the days first..last."""
        return self._sold.over(pair, first, last)

    def sent_back(self, pair: int, first: int, last: int) -> int:
        """Units of a pair returned on the days first..last."""
        return self._sent_back.over(pair, first, last)

    def ordered(self, pair: int, first: int, last: int) -> int:
        """Units of a pair ordered on the days first..last; in the history, orders equal sales."""
        return self._ordered.over(pair, first, last)

    def copy(self) -> Records:
        """An independent copy."""
        twin = Records(0, 0)
        for name, value in vars(self).items():
            # Only the three counters are integers; everything else has a copy of its own.
            setattr(twin, name, value if isinstance(value, int) else value.copy())
        return twin


class _Totals:
    """Running totals per product or pair: the total of any range of days is one subtraction."""

    def __init__(self, width: int) -> None:
        self._width = width
        # A row of zeros first: the total before day 0, so that a range from day 0 needs no special case.
        self._totals = array("q", [0] * width)

    def add(self, row: array[int]) -> None:
        """Append a day: the last totals plus its values."""
        last = np.asarray(self._totals[len(self._totals) - self._width :])
        self._totals.frombytes((last + np.asarray(row)).tobytes())

    def over(self, place: int, first: int, last: int) -> int:
        """The sum of one product or pair on the days first..last; 0 for an empty range."""
        # A window of 60 days on day 20 of the history reaches before the records.
        first = max(0, first)
        if last < first:
            return 0
        width, totals = self._width, self._totals
        return totals[(last + 1) * width + place] - totals[first * width + place]

    def row_over(self, first: int, last: int) -> Integers:
        """`over` of all products or pairs."""
        first, width = max(0, first), self._width
        if last < first:
            return np.zeros(width, np.int64)
        after, before = (self._totals[day * width : (day + 1) * width] for day in (last + 1, first))
        return np.asarray(after) - np.asarray(before)

    def copy(self) -> _Totals:
        twin = _Totals(0)
        twin._width, twin._totals = self._width, self._totals[:]
        return twin
