"""The original Dominick's files: reading, dropping and mending (retail page, 11.5; traps are numbered as there).

Everything is read here and nowhere else: `wXXX.csv` (weekly movement), `upcXXX.csv` (descriptions) and the daily
customer counts. Columns are found by name, numbers are exact doubles, and every dropped row is counted by its reason.
"""

from __future__ import annotations

import csv
import math
import re
import struct
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from tradefair.contract import ScenarioError

FIRST_WEEK = date(1989, 9, 14)
"""The Thursday on which week 1 starts (trap 8)."""

_CHRISTMAS = (12, 25)
# Whole weeks, so that each weekday counts alike.
_YEAR_DAYS = 364
_EXCISE_CATEGORY = "Cigarettes"
# Margins of cigarettes near 64 % were booked before the excise tax; 15 % is taken instead (trap 12).
_EXCISE_MARGIN, _EXCISE_NEAR, _EXCISE_TRUE = 64.0, 10.0, 15.0
# The decimal is truncated, so both agree to less than a unit; further apart, one of them is damaged.
_HEX_NEAR = 1.0
# Above these bounds a number is damage: no store sells or charges so much in a week.
_UNITS_LIMIT = 1_000_000
_QUANTITY_LIMIT = 1_000
_PRICE_LIMIT = 10_000.0
_MARGIN_LIMIT = 1_000.0


def week_of(day: date) -> int:
    """The Dominick's week of a day (trap 8); also w_t of 6.2."""
    return (day - FIRST_WEEK).days // 7 + 1


# --- files ----------------------------------------------------------------------------------------------------------


def find_file(folder: Path, name: str) -> Path:
    """A file of the folder, or of a folder below it, by its name in any case. ScenarioError when it is not there."""
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: no such folder; it must hold the Dominick's file {name}")
    # Copies of the data have these names in capitals or in small letters.
    found = sorted(path for path in folder.rglob("*") if path.name.lower() == name and path.is_file())
    if len(found) != 1:
        there = f"{len(found)} files are called {name}: leave one" if found else f"no file {name}"
        raise ScenarioError(f"{folder}: {there}; the original Dominick's files are expected, of all --categories")
    return found[0]


class _Table(NamedTuple):
    """A file's columns by upper-case name (trap 1), the cells that a row needs, and its rows, blank lines left out."""

    columns: dict[str, int]
    cells: int
    rows: Iterator[list[str]]


@contextmanager
def _table(path: Path, required: Sequence[str]) -> Generator[_Table, None, None]:
    """One opened table. ScenarioError for a file that cannot be read or lacks a column."""
    try:
        # A byte-order mark would stand before the name of the first column, and unreadable bytes spoil a label at most.
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            rows = csv.reader(file)
            columns = {name.strip().upper(): place for place, name in enumerate(next(rows, ()))}
            missing = [name for name in required if name not in columns]
            if missing:
                raise ScenarioError(
                    f"{path}: no column {', '.join(missing)}; found {', '.join(columns) or 'an empty file'}"
                )
            # A row may end before a column that is not needed.
            yield _Table(columns, max(columns[name] for name in required) + 1, filter(None, rows))
    except (OSError, csv.Error) as error:
        raise ScenarioError(f"{path}: cannot be read: {error}") from None


def _number(text: str) -> float | None:
    """A finite number; None for anything else, such as the "." of a missing value."""
    try:
        value = float(text)
    except ValueError:
        return None
    # Python reads "1_000" as a number; in these files it is damage.
    return value if math.isfinite(value) and "_" not in text else None


def _integer(text: str) -> int | None:
    """A whole number, also written "101.0" (trap 2)."""
    value = _number(text)
    return int(value) if value is not None and value.is_integer() else None


def _from_hex(text: str) -> float | None:
    """The double of 16 hex digits, most significant first (trap 4)."""
    try:
        (value,) = struct.unpack(">d", bytes.fromhex(text.strip()))
    except (ValueError, struct.error):
        return None
    return value if math.isfinite(value) else None


# --- customers ------------------------------------------------------------------------------------------------------


class CustomerReport(BaseModel):
    """The daily counts of the store. `filled_days` had no count; `per_day` is the mean of the year before the start."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    dropped: dict[str, int]
    filled_days: int
    closed_days: int
    weeks: int
    weeks_without_counts: int
    weeks_without_customers: int
    common_divisor: int
    per_day: float


class Customers(NamedTuple):
    """Customers by week; weeks that may not be used are absent."""

    by_week: dict[int, float]
    report: CustomerReport


def read_customers(path: Path, store_number: int, start_date: date) -> Customers:
    """The counts of a store by week (traps 9, 13); ScenarioError when the file holds none."""
    counts, rows, dropped = _read_counts(path, store_number)
    known = {day: count for day, count in counts.items() if count is not None}
    # Zeros alone are no counts either.
    if not any(known.values()):
        raise ScenarioError(f"{path}: no customer counts of store {store_number}")
    means = _weekday_means(known)
    days, filled, silent = _whole_weeks(known, means)
    weekly: dict[int, list[float]] = {}
    for day, count in days.items():
        weekly.setdefault(week_of(day), []).append(count)
    totals = {week: math.fsum(values) for week, values in weekly.items()}
    by_week = {week: total for week, total in totals.items() if total > 0}  # trap 13
    report = CustomerReport(
        rows=rows,
        dropped=dict(sorted(dropped.items())),
        filled_days=filled,
        closed_days=sum(1 for count in days.values() if not count),
        weeks=len(by_week),
        weeks_without_counts=silent,
        weeks_without_customers=len(totals) - len(by_week),
        # Counts shipped with RetailBench are seven times the truth: a common divisor gives it away (trap 9).
        common_divisor=math.gcd(*(count for count in known.values() if count)),
        per_day=_per_day(days, start_date),
    )
    return Customers(by_week, report)


def _read_counts(path: Path, store_number: int) -> tuple[dict[date, int | None], int, Counter[str]]:
    """(count by day, None where it is null; rows of the store; dropped rows by reason)."""
    counts: dict[date, int | None] = {}
    dropped: Counter[str] = Counter()
    rows = 0
    with _table(path, ("STORE", "DATE", "CUSTCOUN")) as (columns, cells, lines):
        store, day_column, count_column = (columns[name] for name in ("STORE", "DATE", "CUSTCOUN"))
        for line in lines:
            if len(line) < cells:
                dropped["short_row"] += 1
            elif _integer(line[store]) == store_number:
                rows += 1
                day, count = _day(line[day_column]), _integer(line[count_column])
                if day is None:
                    dropped["bad_date"] += 1
                # The first count of a day stands: which of two is right cannot be known.
                elif day in counts:
                    dropped["repeated_date"] += 1
                else:
                    # Nulls are kept as days: their week exists and can be filled.
                    counts[day] = count if count is not None and count >= 0 else None
    return counts, rows, dropped


def _day(text: str) -> date | None:
    """A date written YYMMDD (also "890914.0") or ISO."""
    text = text.strip().strip('"')
    whole_number = _integer(text)
    try:
        if whole_number is None:
            return date.fromisoformat(text[:10])
        year, rest = divmod(whole_number, 10_000)
        # The data end in 1997: two digits always mean the twentieth century.
        return date(1900 + year if year < 100 else year, rest // 100, rest % 100)
    except (ValueError, OverflowError):
        return None


def _weekday_means(known: Mapping[date, int]) -> list[float]:
    """Mean count of each weekday, Monday first, over the days that had customers."""
    everything = fmean(count for count in known.values() if count)
    return [
        fmean([count for day, count in known.items() if count and day.weekday() == weekday] or [everything])
        for weekday in range(7)
    ]


def _whole_weeks(known: Mapping[date, int], means: Sequence[float]) -> tuple[dict[date, float], int, int]:
    """(every day of each week with a count, nulls and gaps filled by weekday mean; filled days; silent weeks)."""
    weeks = {week_of(day) for day in known}
    days: dict[date, float] = {}
    filled = 0
    for week in sorted(weeks):
        for offset in range(7):
            day = FIRST_WEEK + timedelta(days=7 * (week - 1) + offset)
            if day in known:
                days[day] = known[day]
            # The stores were closed on 25 December: a gap there is a zero, not a missing count (trap 9).
            elif (day.month, day.day) == _CHRISTMAS:
                days[day] = 0.0
            else:
                days[day] = means[day.weekday()]
                filled += 1
    return days, filled, max(weeks) - min(weeks) + 1 - len(weeks)


def _per_day(days: Mapping[date, float], start_date: date) -> float:
    """Mean customers per open day of the year before the start, else of all days."""
    first = start_date - timedelta(days=_YEAR_DAYS)
    year = [count for day, count in days.items() if first <= day < start_date and count]
    return round(fmean(year or [count for count in days.values() if count]), 6)


# --- movement -------------------------------------------------------------------------------------------------------


class Label(NamedTuple):
    """What the UPC file says; `item` joins the UPCs of one product (trap 10)."""

    item: str
    description: str
    size: str


class Sale(NamedTuple):
    """A usable movement row: price and cost per unit in currency units, cost None where it is not recorded."""

    upc: int
    units: int
    price: float
    cost: float | None


class Item:
    """One product over the weeks."""

    def __init__(self, label: Label) -> None:
        self.label = label
        self.last_week = 0
        self.upcs: set[int] = set()
        self.sales: dict[int, list[Sale]] = {}
        self.not_carried: set[int] = set()

    def add(self, week: int, sale: Sale, label: Label) -> None:
        """Take a row; the latest one gives the item its name, because descriptions change over the years."""
        if week >= self.last_week:
            self.label, self.last_week = label, week
        self.upcs.add(sale.upc)
        self.sales.setdefault(week, []).append(sale)


class Week(NamedTuple):
    """An item's week: mean price and cost per unit, weighted by units."""

    units: int
    price: float
    cost: float | None


def joined(sales: Sequence[Sale]) -> Week:
    """The week of an item from the rows of its UPCs: units summed, prices and costs weighted by units (trap 10)."""
    units = sum(sale.units for sale in sales)
    costs = [sale for sale in sales if sale.cost is not None]
    return Week(units, _weighted(sales, [sale.price for sale in sales]), _cost(costs))


def _cost(sales: Sequence[Sale]) -> float | None:
    return _weighted(sales, [sale.cost or 0.0 for sale in sales]) if sales else None


def _weighted(sales: Sequence[Sale], values: Sequence[float]) -> float:
    """Mean of `values` by the units of the rows; the plain mean where nothing was sold."""
    # A week without sales still has a shelf price: rows then count alike.
    weights = [sale.units for sale in sales] if any(sale.units for sale in sales) else [1] * len(sales)
    # One row keeps its exact price; a sum divided by its weight may differ in the last bit.
    if len(values) == 1:
        return values[0]
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)


_MOVEMENT = ("STORE", "UPC", "WEEK", "MOVE", "QTY", "PRICE", "SALE", "PROFIT", "OK")
_HEX = ("PRICE_HEX", "PROFIT_HEX")


class Movement:
    """The movement file of one category, read for one store; counts why rows were dropped or mended."""

    def __init__(self, category: str, labels: Mapping[int, Label], store_number: int) -> None:
        self._category = category
        self._labels = labels
        self._store_number = store_number
        self._stores: dict[str, bool] = {}
        self._seen: set[tuple[int, int]] = set()
        self.items: dict[str, Item] = {}
        self.rows = 0
        self.other_rows = 0
        self.dropped: Counter[str] = Counter()
        self.mended: Counter[str] = Counter()
        self.sale_codes: Counter[str] = Counter()

    def read(self, path: Path) -> None:
        """Take every row of the store; ScenarioError when there is none."""
        with _table(path, _MOVEMENT) as (columns, cells, lines):
            if not all(name in columns for name in _HEX):
                self.mended["no_hex_columns"] = 1
            for line in lines:
                self._take(columns, cells, line)
        if not self.rows:
            raise ScenarioError(f"{path}: no rows of store {self._store_number}")

    def _take(self, columns: Mapping[str, int], cells: int, line: Sequence[str]) -> None:
        """Use a row of the store; count it where it belongs to another one or has to be dropped."""
        if len(line) < cells:
            self.dropped["short_row"] += 1
            return
        store = line[columns["STORE"]]
        if store not in self._stores:
            # Files hold up to a hundred stores: the number of a store is parsed once, not once per row.
            self._stores[store] = _integer(store) == self._store_number
        if not self._stores[store]:
            self.other_rows += 1
            return
        self.rows += 1
        reason = self._use({name: line[place] for name, place in columns.items() if place < len(line)})
        if reason:
            self.dropped[reason] += 1

    def _use(self, row: Mapping[str, str]) -> str | None:
        """Take a row of the store, or tell why not (traps 2, 3, 4, 7)."""
        # Also written "1.0" (trap 2).
        if _number(row["OK"]) != 1:
            return "not_ok"
        upc, week, units, quantity = (_integer(row[name]) for name in ("UPC", "WEEK", "MOVE", "QTY"))
        price = self._exact(row, "PRICE", "PRICE_HEX")
        if upc is None or week is None or units is None or price is None:
            return "unreadable"
        if week < 1 or not 0 <= units <= _UNITS_LIMIT or not 0 <= price <= _PRICE_LIMIT:
            return "out_of_range"
        label = self._labels.get(upc)
        if label is None:
            return "upc_unknown"
        # The first row of a week counts: a repeated one would double its units.
        if (upc, week) in self._seen:
            return "repeated_week"
        self._seen.add((upc, week))
        # Not a gift: the store did not carry the item that week (trap 7).
        if price == 0:
            return self._unpriced(label, week, units)
        if quantity is None or not 1 <= quantity <= _QUANTITY_LIMIT:
            return "no_quantity"
        # PRICE is for QTY units (trap 3).
        self._sell(row, label, week, Sale(upc, units, price / quantity, self._unit_cost(row, price / quantity)))
        return None

    def _unpriced(self, label: Label, week: int, units: int) -> str:
        """Price 0 without sales says that the item was not carried: no row of the fit, but worth remembering."""
        # Sold at no price: the row is damaged, which says nothing about the item.
        if units:
            return "sales_without_price"
        self.items.setdefault(label.item, Item(label)).not_carried.add(week)
        return "not_carried"

    def _sell(self, row: Mapping[str, str], label: Label, week: int, sale: Sale) -> None:
        """Count the SALE code of a usable row and add it to its item."""
        self.sale_codes[row["SALE"].strip().upper() or "blank"] += 1
        self.items.setdefault(label.item, Item(label)).add(week, sale, label)

    def _exact(self, row: Mapping[str, str], name: str, hex_name: str) -> float | None:
        """The exact double behind a truncated decimal (trap 4)."""
        written, exact = _number(row[name]), _from_hex(row.get(hex_name, ""))
        if exact is None or written is None:
            return written if exact is None else exact
        if abs(exact - written) >= _HEX_NEAR:
            self.mended["hex_disagrees"] += 1
            return written
        self.mended["hex_more_exact"] += exact != written
        return exact

    def _unit_cost(self, row: Mapping[str, str], price: float) -> float | None:
        """Average acquisition cost; the margin in per cent of price may be negative (traps 5, 12)."""
        margin = self._exact(row, "PROFIT", "PROFIT_HEX")
        if margin is None or abs(margin) > _MARGIN_LIMIT:
            self.mended["cost_unknown"] += 1
            return None
        if self._category == _EXCISE_CATEGORY and abs(margin - _EXCISE_MARGIN) <= _EXCISE_NEAR:
            self.mended["excise_margin"] += 1
            margin = _EXCISE_TRUE
        self.mended["negative_margin"] += margin < 0
        return price * (1 - margin / 100)


_UPC_COLUMNS = ("UPC", "DESCRIP", "SIZE", "NITEM")
_NOISE = re.compile(r"[^A-Za-z0-9&'./ -]+")


def read_labels(path: Path) -> dict[int, Label]:
    """Labels by UPC (traps 10, 11); rows without a UPC are passed over."""
    labels: dict[int, Label] = {}
    with _table(path, _UPC_COLUMNS) as (columns, cells, lines):
        for line in lines:
            upc = _integer(line[columns["UPC"]]) if len(line) >= cells else None
            if upc is not None:
                number = _integer(line[columns["NITEM"]])
                labels[upc] = Label(
                    item=f"item {number}" if number is not None and number > 0 else f"upc {upc}",
                    description=_clean(line[columns["DESCRIP"]]),
                    size=_size(line[columns["SIZE"]]),
                )
    return labels


def _clean(text: str) -> str:
    """A description without marks and double blanks, as words (trap 11)."""
    words = _NOISE.sub(" ", text).split()
    return " ".join(word.capitalize() for word in words if any(map(str.isalnum, word)))


def _size(text: str) -> str:
    """A size in small letters; "not recorded" where it has no figure."""
    size = " ".join(_NOISE.sub(" ", text).split()).lower()
    # A size without a figure tells nothing (trap 11).
    return size if any(map(str.isdigit, size)) else "not recorded"
