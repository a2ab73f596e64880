"""Fitting a store, on made-up files in the original format: 2 categories × 4 products × 2 stores × 60 weeks."""

from __future__ import annotations

import csv
import json
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from statistics import NormalDist, median
from typing import Any, NamedTuple

import pytest
from benchmarks.dominicks import main as print_oracle
from examples.dominicks.dominicks_files import read_customers, week_of
from examples.dominicks.fit import Fitted, WeekPoint, Wish, fit_demand, fit_store, main, scenario_toml

from tradefair.catalog import load_scenario
from tradefair.contract import Chance, ScenarioError
from tradefair.retail.model import RetailScenario
from tradefair.retail.rules import LineAsked, Retail

START = date(1991, 9, 7)
WISH = Wish(categories=("cer", "cig"))
WEEKS = range(46, 106)
STORES = (12, 15)
FIRST_DAY = date(1989, 9, 14)
WEEKDAY = (0.95, 0.92, 0.93, 0.955, 0.98, 1.18, 1.08)
MOVEMENT = ["STORE", "UPC", "WEEK", "MOVE", "QTY", "PRICE", "SALE", "PROFIT", "OK", "PRICE_HEX", "PROFIT_HEX"]
SWAPPED = ["STORE", "UPC", "WEEK", "MOVE", "PRICE", "QTY", "SALE", "PROFIT", "OK", "PRICE_HEX", "PROFIT_HEX"]
UPC = ["COM_CODE", "UPC", "DESCRIP", "SIZE", "CASE", "NITEM"]
Row = dict[str, str]


class Made(NamedTuple):
    """A made-up product: reference price, true slope and intercept of its demand, margin in per cent."""

    upc: int
    nitem: int
    name: str
    price: float
    beta: float
    alpha: float
    margin: float


PRODUCTS = {
    "cer": [
        Made(3800000101, 501, "CORN RINGS", 2.4, -0.9, -2.6, 18.0),
        Made(3800000102, 502, "BRAN SQUARES", 2.9, -0.7, -2.9, 15.0),
        Made(3800000103, -1, "OAT MOONS", 1.9, -1.2, -2.4, 20.0),
        Made(3800000104, 504, "RICE STARS", 3.1, -0.8, -2.2, 21.0),
    ],
    "cig": [
        Made(2820000201, 601, "GREY BARGE", 2.3, -0.9, -2.5, 12.0),
        Made(2820000202, 602, "TALL PIPER", 2.2, -1.0, -2.6, 14.0),
        Made(2820000203, 603, "SLOW FERRY", 2.4, -0.8, -2.8, 11.0),
        Made(2820000204, 604, "LONG MILE", 2.3, -1.1, -2.3, 16.0),
    ],
}
EVERY = {made.name.title(): made for rows in PRODUCTS.values() for made in rows}


def hexed(value: float) -> str:
    return struct.pack(">d", value).hex().upper()


def normal(*key: int | str) -> float:
    return NormalDist().inv_cdf(Chance("sample").uniform("noise", *key))


def price_of(made: Made, store: int, week: int) -> float:
    return round(made.price * (0.8 + 0.4 * Chance("sample").uniform("price", made.upc, store, week)), 2)


@dataclass
class Sample:
    """Rows of the files, to be changed by a test before they are written."""

    movement: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    upcs: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    counts: list[Row] = field(default_factory=list[Row])
    columns: dict[str, list[str]] = field(default_factory=lambda: {"cer": MOVEMENT, "cig": MOVEMENT})

    def row(self, code: str, upc: int, week: int, store: int = 12) -> Row:
        wanted = (str(store), str(upc), str(week))
        return next(row for row in self.movement[code] if (row["STORE"], row["UPC"], row["WEEK"]) == wanted)

    def count(self, day: date, store: int = 12) -> Row:
        wanted = (str(store), day.strftime("%y%m%d"))
        return next(row for row in self.counts if (row["STORE"], row["DATE"]) == wanted)

    def write(self, folder: Path) -> Path:
        for code, rows in self.movement.items():
            write_csv(folder / f"w{code}.csv", self.columns[code], rows)
            write_csv(folder / f"upc{code}.csv", UPC, self.upcs[code])
        write_csv(folder / "ccount.csv", ["STORE", "DATE", "GROCERY", "CUSTCOUN"], self.counts)
        return folder


def write_csv(path: Path, columns: list[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)


def visitors(store: int, day: date) -> int:
    return round(3000 * WEEKDAY[day.weekday()] * math.exp(0.05 * normal("visitors", store, day.isoformat())))


def clean_sample() -> Sample:
    made = made_sample()
    return Sample(copied(made.movement), copied(made.upcs), [dict(row) for row in made.counts])


def copied(table: dict[str, list[Row]]) -> dict[str, list[Row]]:
    return {code: [dict(row) for row in rows] for code, rows in table.items()}


@cache
def made_sample() -> Sample:
    sample = Sample()
    weekly: dict[tuple[int, int], int] = {}
    for store in STORES:
        for week in WEEKS:
            for offset in range(7):
                day = FIRST_DAY + timedelta(days=7 * (week - 1) + offset)
                count = 0 if (day.month, day.day) == (12, 25) else visitors(store, day)
                weekly[store, week] = weekly.get((store, week), 0) + count
                sample.counts.append(
                    {"STORE": str(store), "DATE": day.strftime("%y%m%d"), "GROCERY": "9.5", "CUSTCOUN": str(count)}
                )
    for code, products in PRODUCTS.items():
        sample.movement[code] = [
            sold(made, store, week, weekly[store, week]) for made in products for store in STORES for week in WEEKS
        ]
        sample.upcs[code] = [labelled(made) for made in products]
    return sample


def sold(made: Made, store: int, week: int, customers: int) -> Row:
    price = price_of(made, store, week)
    angle = 2 * math.pi * week / 52
    slope = made.beta * (1 + 0.04 * math.sin(angle) - 0.03 * math.cos(angle))
    odds = math.exp(made.alpha + slope * price + 0.04 * normal("demand", made.upc, store, week))
    row = {"STORE": store, "UPC": made.upc, "WEEK": week, "MOVE": round(customers * odds / (1 + odds)), "QTY": 1}
    priced = {"PRICE": price, "SALE": "", "PROFIT": made.margin, "OK": 1}
    exact = {"PRICE_HEX": hexed(price), "PROFIT_HEX": hexed(made.margin)}
    return {name: str(value) for name, value in {**row, **priced, **exact}.items()}


def labelled(made: Made) -> Row:
    row = {"COM_CODE": 1, "UPC": made.upc, "DESCRIP": made.name, "SIZE": "12 OZ", "CASE": 12, "NITEM": made.nitem}
    return {name: str(value) for name, value in row.items()}


def set_price(row: Row, price: float, quantity: int = 1) -> None:
    row |= {"PRICE": str(price), "PRICE_HEX": hexed(price), "QTY": str(quantity)}


def set_margin(row: Row, margin: float) -> None:
    row |= {"PROFIT": str(margin), "PROFIT_HEX": hexed(margin)}


def columns_in_another_order(sample: Sample) -> None:  # 1
    sample.columns = {"cer": SWAPPED, "cig": list(reversed(MOVEMENT))}


def integers_with_a_point(sample: Sample) -> None:  # 2
    for row in sample.movement["cer"]:
        row |= {name: row[name] + ".0" for name in ("STORE", "UPC", "WEEK", "MOVE", "QTY", "OK")}


def prices_for_two(sample: Sample) -> None:  # 3
    for row in sample.movement["cer"][::3]:
        set_price(row, 2 * float(row["PRICE"]), 2)


def a_hex_value_of_another_price(sample: Sample) -> None:  # 4
    sample.row("cer", PRODUCTS["cer"][0].upc, 70)["PRICE_HEX"] = hexed(77.0)
    sample.row("cer", PRODUCTS["cer"][0].upc, 71)["PRICE_HEX"] = "not hex"


def sale_codes(sample: Sample) -> None:  # 6
    for row, code in zip(sample.movement["cer"], "BCSGLQ", strict=False):
        row["SALE"] = code


def dates_in_full(sample: Sample) -> None:  # 9
    for row in sample.counts:
        row["DATE"] = f"19{row['DATE'][:2]}-{row['DATE'][2:4]}-{row['DATE'][4:]}"
    sample.counts += [{"STORE": "12", "DATE": "someday", "CUSTCOUN": "5"}, dict(sample.counts[0])]


WRITTEN: tuple[tuple[Callable[[Sample], None], dict[str, int]], ...] = (
    (columns_in_another_order, {}),
    (prices_for_two, {}),
    (a_hex_value_of_another_price, {"hex_disagrees": 1}),
    (sale_codes, {"Q": 1, "blank": 234}),
    (dates_in_full, {"bad_date": 1, "repeated_date": 1}),
    # Last: after it no row is found by its numbers.
    (integers_with_a_point, {}),
)


def sample_with_every_trap() -> Sample:
    sample = clean_sample()
    rings, squares, barge = PRODUCTS["cer"][0], PRODUCTS["cer"][1], PRODUCTS["cig"][0]
    truncated = sample.row("cer", rings.upc, 52)
    truncated["PRICE"] = truncated["PRICE"][:3]  # 4
    set_margin(sample.row("cer", rings.upc, 53), -12.5)  # 5
    for week, price, known in ((54, 250.0, "0"), (55, 0.0, "1")):
        set_price(sample.row("cer", rings.upc, week), price)
        sample.row("cer", rings.upc, week).update(MOVE="0", OK=known)  # 7
    sample.count(date(1991, 3, 5))["CUSTCOUN"] = "."  # 9
    sample.counts.remove(sample.count(date(1991, 3, 6)))  # 9
    for week in range(80, 106):
        sample.row("cer", squares.upc, week)["UPC"] = "3800000999"  # 10
    sample.upcs["cer"].append(labelled(squares) | {"UPC": "3800000999"})
    sample.upcs["cer"][0] |= {"DESCRIP": "#~CORN   RINGS *", "SIZE": "~12  OZ"}  # 11
    set_margin(sample.row("cig", barge.upc, 100), 64.3)  # 12
    for offset in range(7):
        sample.count(date(1990, 8, 2) + timedelta(days=offset))["CUSTCOUN"] = "0"  # 13
    for change, _ in WRITTEN:
        change(sample)
    return sample


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Fitted]:
    def loaded(sample: Sample, **changes: Any) -> Fitted:
        return fit_store(sample.write(tmp_path), WISH._replace(**changes))

    return loaded


@pytest.fixture
def clean(load: Callable[..., Fitted]) -> Fitted:
    return load(clean_sample())


def scenario_of(file: Path, **changes: Any) -> RetailScenario:
    scenario = load_scenario("retail", str(file), changes)
    assert isinstance(scenario, RetailScenario)
    return scenario


def named(fitted: Fitted, name: str) -> int:
    return [product.description for product in fitted.report.products].index(name)


# --- the fit --------------------------------------------------------------------------------------------------------


def test_true_demand_is_recovered_within_fifteen_per_cent_though_every_trap_is_set(load: Callable[..., Fitted]) -> None:
    fitted = load(sample_with_every_trap())
    assert len(fitted.store.products) == 8
    for product, row in zip(fitted.store.products, fitted.report.products, strict=True):
        made = EVERY[row.description]
        assert product.beta == pytest.approx(made.beta, rel=0.15)
        assert product.alpha == pytest.approx(made.alpha, abs=0.4)
        assert row.seasonal
        assert 0.02 < product.sigma < 0.08


def test_the_fit_is_exact_where_demand_has_no_noise() -> None:
    points: list[WeekPoint] = []
    for week in range(1, 61):
        price, angle = 2 + (week * 37 % 60) / 100, 2 * math.pi * week / 52
        y = -3.0 + (-1.1 + 0.06 * math.sin(angle) - 0.02 * math.cos(angle)) * price
        points.append(WeekPoint(week, price, 1 / (1 + math.exp(-y))))
    fit = fit_demand(points)
    assert fit is not None
    assert fit[:5] == pytest.approx((-3.0, -1.1, 0.06, -0.02, 0.0), abs=1e-8)
    assert fit.seasonal


def test_seasonal_terms_that_cannot_be_estimated_are_zero() -> None:
    points = [WeekPoint(52, 1 + week / 100, 1 / (1 + math.exp(3 + week / 100))) for week in range(60)]
    fit = fit_demand(points)
    assert fit is not None
    assert (fit.beta_sin, fit.beta_cos, fit.seasonal) == (0.0, 0.0, False)
    assert fit.beta == pytest.approx(-1.0)
    assert fit_demand([WeekPoint(week, 2.0, 0.01 + week / 10_000) for week in range(60)]) is None


def test_a_product_that_cannot_be_fitted_is_rejected_with_its_reason(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    rising, constant, short, _ = (made.upc for made in PRODUCTS["cig"])
    for row in sample.movement["cer"]:
        if row["UPC"] == str(PRODUCTS["cer"][0].upc) and 78 <= int(row["WEEK"]) < 104:
            row |= {"PROFIT": ".", "PROFIT_HEX": ""}
    for row in sample.movement["cig"]:
        if row["UPC"] == str(rising):
            row["MOVE"] = str(round(100 * float(row["PRICE"])))
        if row["UPC"] == str(constant):
            set_price(row, 2.0)
    sample.movement["cig"] = [
        row for row in sample.movement["cig"] if row["UPC"] != str(short) or int(row["WEEK"]) <= 96
    ]
    cereals, cigarettes = load(sample).report.categories
    assert {one.item: one.reason for one in cereals.rejected} == {"item 501": "no_recent_cost"}
    assert cereals.mended["cost_unknown"] == 26
    assert {one.item: one.reason for one in cigarettes.rejected} == {
        "item 601": "demand_rises_with_price",
        "item 602": "price_never_changes",
        "item 603": "too_few_weeks",
    }


def test_five_products_at_most_are_taken_those_with_most_weeks_and_then_most_units(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    fewer = str(PRODUCTS["cer"][3].upc)
    sample.movement["cer"] = [row for row in sample.movement["cer"] if (row["UPC"], row["WEEK"]) != (fewer, "46")]
    units = {
        made.name.title(): sum(int(sample.row("cer", made.upc, week)["MOVE"]) for week in WEEKS)
        for made in PRODUCTS["cer"][:3]
    }
    fitted = load(sample, products_per_category=2)
    chosen = [row.description for row in fitted.report.products[:2]]
    assert chosen == sorted(units, key=lambda name: -units[name])[:2]
    assert [report.not_needed for report in fitted.report.categories] == [2, 2]
    assert [row.weeks for row in load(sample).report.products[:4]] == [60, 60, 60, 59]


# --- the traps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "counted"), WRITTEN)
def test_the_same_data_written_otherwise_are_the_same_store(
    change: Callable[[Sample], None], counted: dict[str, int], clean: Fitted, load: Callable[..., Fitted]
) -> None:
    sample = clean_sample()
    change(sample)
    fitted = load(sample)
    assert fitted.store.digest == clean.store.digest
    category = fitted.report.categories[0]
    found = {**category.mended, **category.sale_codes, **fitted.report.customers.dropped}
    assert {name: found[name] for name in counted} == counted
    assert ["Q" in warning for warning in fitted.report.warnings] == [True for code in counted if code == "Q"]


def test_trap_4_the_hex_columns_hold_the_exact_price(clean: Fitted, load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    for row in sample.movement["cer"]:
        row["PRICE"], row["PROFIT"] = row["PRICE"][:1], row["PROFIT"].partition(".")[0]
    fitted = load(sample)
    assert fitted.store.digest == clean.store.digest
    assert fitted.report.categories[0].mended["hex_more_exact"] > 200
    sample.columns["cer"] = MOVEMENT[:-2]
    without = load(sample)
    assert without.store.digest != clean.store.digest
    assert any("truncated" in warning for warning in without.report.warnings)


def test_trap_5_the_cost_is_kept_and_not_the_percentage(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    rings = PRODUCTS["cer"][0]
    for row in sample.movement["cer"]:
        if row["UPC"] == str(rings.upc):
            set_margin(row, 100 * (1 - 1.75 / float(row["PRICE"])))
    fitted = load(sample)
    place = named(fitted, "Corn Rings")
    row = fitted.report.products[place]
    prices = [price_of(rings, 12, week) for week in range(78, 104)]
    assert row.acquisition_cost == pytest.approx(1.75)
    assert row.margin == pytest.approx(1 - 1.75 / median(prices))
    for supplier in fitted.store.products[place].suppliers:
        assert 0.56 * 1.75 * 0.72 <= supplier.base_cost <= 0.56 * 1.75 * 1.25


def test_trap_7_doubtful_rows_are_dropped_and_absence_is_remembered(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    rings = PRODUCTS["cer"][0].upc
    for week in (47, 48):
        set_price(sample.row("cer", rings, week), 99.0)
        sample.row("cer", rings, week)["OK"] = "0"
    for week in (49, 95):
        set_price(sample.row("cer", rings, week), 0.0)
        sample.row("cer", rings, week)["MOVE"] = "0"
    set_price(sample.row("cer", rings, 50), 0.0)
    sample.row("cer", rings, 51)["MOVE"] = "0"
    sample.row("cer", rings, 52)["QTY"] = "0"
    sample.row("cer", rings, 53).update(PRICE=".", PRICE_HEX="")
    fitted = load(sample, products_per_category=4)
    report, row = fitted.report.categories[0], fitted.report.products[named(fitted, "Corn Rings")]
    assert report.dropped == {
        "no_quantity": 1,
        "not_carried": 2,
        "not_ok": 2,
        "sales_without_price": 1,
        "unreadable": 1,
    }
    assert report.left_out_of_fit == {"nothing_sold": 1}
    assert row.not_carried_weeks == [49, 95]
    assert row.weeks == 60 - 8
    assert row.history_weeks_filled == 1
    prices = fitted.store.products[named(fitted, "Corn Rings")].weekly_price_cents
    assert prices[95 - 91] == prices[94 - 91]
    assert report.rows == 240
    assert report.other_store_rows == 240


@pytest.mark.parametrize(("start", "first_week"), [(START, 91), (START - timedelta(days=1), 90)])
def test_trap_8_weeks_start_on_thursday(
    start: date, first_week: int, load: Callable[..., Fitted], clean: Fitted
) -> None:
    fitted = load(clean_sample(), start_date=start)
    for product, row in zip(fitted.store.products, fitted.report.products, strict=True):
        recorded = [price_of(EVERY[row.description], 12, first_week + step) for step in range(14)]
        assert product.weekly_price_cents == tuple(round(100 * price) for price in recorded)
        assert row.history_weeks_filled == 0
    assert week_of(FIRST_DAY) == 1
    assert week_of(FIRST_DAY + timedelta(days=6)) == 1
    assert week_of(FIRST_DAY + timedelta(days=7)) == 2


def test_trap_9_missing_counts_are_filled_by_the_mean_of_their_weekday(tmp_path: Path) -> None:
    sample = clean_sample()
    null, gap, christmas = date(1991, 3, 5), date(1991, 3, 6), date(1990, 12, 25)
    whole = read_customers(sample.write(tmp_path) / "ccount.csv", 12, START)
    sample.count(null)["CUSTCOUN"] = "."
    sample.counts.remove(sample.count(gap))
    sample.counts.remove(sample.count(christmas))
    mended = read_customers(sample.write(tmp_path) / "ccount.csv", 12, START)
    expected = whole.by_week[week_of(null)]
    for day in (null, gap):
        others = [visitors(12, date(1990, 7, 26) + timedelta(days=offset)) for offset in range(420)]
        same = [
            count
            for offset, count in enumerate(others)
            if (that := date(1990, 7, 26) + timedelta(days=offset)).weekday() == day.weekday()
            and that not in (day, christmas)
        ]
        expected += sum(same) / len(same) - visitors(12, day)
    assert mended.by_week[week_of(null)] == pytest.approx(expected)
    assert mended.by_week[week_of(christmas)] == whole.by_week[week_of(christmas)]
    assert (mended.report.filled_days, mended.report.closed_days) == (2, 1)
    assert whole.report.filled_days == 0


def test_trap_9_counts_that_share_a_divisor_are_taken_as_they_are_with_a_warning(
    clean: Fitted, load: Callable[..., Fitted]
) -> None:
    sample = clean_sample()
    for row in sample.counts:
        row["CUSTCOUN"] = str(7 * int(row["CUSTCOUN"]))
    fitted = load(sample)
    assert clean.report.warnings == []
    assert any("multiples of 7" in warning for warning in fitted.report.warnings)
    assert fitted.report.customers.per_day == pytest.approx(7 * clean.report.customers.per_day)
    for seven, one in zip(fitted.store.products, clean.store.products, strict=True):
        assert seven.alpha == pytest.approx(one.alpha - math.log(7), abs=0.05)
        assert seven.beta == pytest.approx(one.beta, rel=0.05)


def test_trap_10_items_outlive_their_upc(clean: Fitted, load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    squares, moons = PRODUCTS["cer"][1], PRODUCTS["cer"][2]
    for row in sample.movement["cer"]:
        if row["UPC"] in (str(squares.upc), str(moons.upc)) and int(row["WEEK"]) >= 80:
            row["UPC"] = str(int(row["UPC"]) + 800)
    for made in (squares, moons):
        sample.upcs["cer"].append(labelled(made) | {"UPC": str(made.upc + 800)})
    fitted = load(sample)
    row = fitted.report.products[named(fitted, "Bran Squares")]
    assert (row.item, row.upcs, row.weeks) == ("item 502", [squares.upc, squares.upc + 800], 60)
    joined, alone = (
        store.products[named(one, "Bran Squares")] for one, store in ((fitted, fitted[0]), (clean, clean[0]))
    )
    assert (joined.alpha, joined.beta, joined.suppliers) == (alone.alpha, alone.beta, alone.suppliers)
    # Without an item number each UPC stands for itself.
    assert [one.item for one in fitted.report.categories[0].rejected] == ["upc 3800000103", "upc 3800000903"]


def test_trap_10_a_week_with_both_upcs_has_their_units_and_mean_price(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    squares = PRODUCTS["cer"][1]
    both = dict(sample.row("cer", squares.upc, 95)) | {"UPC": "3800000999", "MOVE": "100"}
    first = sample.row("cer", squares.upc, 95)
    first["MOVE"] = "300"
    set_price(first, 3.0)
    set_price(both, 2.0)
    sample.movement["cer"].append(both)
    sample.upcs["cer"].append(labelled(squares) | {"UPC": "3800000999"})
    fitted = load(sample)
    assert fitted.store.products[named(fitted, "Bran Squares")].weekly_price_cents[95 - 91] == 275


def test_trap_11_descriptions_and_sizes_are_cleaned(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    dirt = [("#~CORN   RINGS *\x07", "~12  OZ"), ("$BRAN", "NO SIZE"), ("  ", "~"), ("M&M'S 7-UP %", "6/12 O")]
    for row, (description, size) in zip(sample.upcs["cer"], dirt, strict=True):
        row |= {"DESCRIP": description, "SIZE": size}
    products = load(sample).store.products[:4]
    assert {(product.brand, product.description, product.size) for product in products} == {
        ("Corn", "Rings", "12 oz"),
        ("Bran", "cereal", "not recorded"),
        ("Unnamed", "cereal", "not recorded"),
        ("M&m's", "7-up", "6/12 o"),
    }


def test_trap_12_cigarette_margins_before_excise_count_as_fifteen_per_cent(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    for code in ("cer", "cig"):
        for row in sample.movement[code]:
            set_margin(row, 64.2)
    fitted = load(sample)
    categories = [product.category for product in fitted.store.products]
    margins = [row.margin for row in fitted.report.products]
    for category, margin in zip(categories, margins, strict=True):
        assert margin == pytest.approx(0.642 if category == 0 else 0.15)
    assert [report.mended.get("excise_margin") for report in fitted.report.categories] == [None, 240]


def test_trap_13_weeks_without_customers_are_left_out(load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    for offset in range(7):
        sample.count(date(1990, 8, 2) + timedelta(days=offset))["CUSTCOUN"] = "0"
        sample.counts.remove(sample.count(date(1990, 8, 9) + timedelta(days=offset)))
    report = load(sample).report
    assert {row.weeks for row in report.products} == {58}
    assert [one.left_out_of_fit for one in report.categories] == [{"no_customers": 8}] * 2
    assert (report.customers.weeks, report.customers.weeks_without_customers) == (58, 1)
    assert report.customers.weeks_without_counts == 1


# --- the store ------------------------------------------------------------------------------------------------------


def test_the_same_files_give_the_same_store_and_another_outlet_gives_another(
    clean: Fitted, load: Callable[..., Fitted]
) -> None:
    assert load(clean_sample()).store == clean.store
    assert load(clean_sample(), store_number=15).store.digest != clean.store.digest
    assert load(clean_sample(), categories=["Cereals", "Cigarettes"]).store.digest == clean.store.digest


def test_prices_are_those_of_the_half_year_before_the_start(clean: Fitted) -> None:
    for product, row in zip(clean.store.products, clean.report.products, strict=True):
        prices = sorted(price_of(EVERY[row.description], 12, week) for week in range(78, 104))
        assert product.reference_price_cents == round(100 * median(prices))
        assert 100 * prices[1] <= product.start_price_cents <= 100 * prices[-2]
        assert row.elasticity == pytest.approx(-product.beta * median(prices))


def test_what_is_printed_is_a_scenario_with_the_same_store_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sample_with_every_trap().write(tmp_path)
    report, printed = tmp_path / "report.json", tmp_path / "store.toml"
    assert main([str(folder), "--categories", "cer", "cig", "--report", str(report)]) == 0
    text, remarks = capsys.readouterr()
    printed.write_text(text)
    assert remarks.splitlines() == [
        "warning: Cereals: SALE codes Q are unknown; nothing depends on them",
        "8 products: tradefair play retail --scenario store.toml",
    ]
    fitted = fit_store(folder, WISH)
    assert json.loads(report.read_text()) == fitted.report.model_dump(mode="json")
    scenario = scenario_of(printed)
    assert scenario.store.fitted == fitted.store
    assert scenario.traffic.customers_per_day == fitted.report.customers.per_day
    assert scenario.seats == {"manager": "agent"}


def test_a_store_too_large_for_a_scenario_file_is_refused(clean: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.dominicks.fit.MIB", 8_000)
    with pytest.raises(ScenarioError, match=r"a scenario of \d,\d{3} bytes; at most 8,000 .* take fewer --products"):
        scenario_toml(clean)


def test_a_fitted_store_is_played_like_a_synthetic_one(load: Callable[..., Fitted], tmp_path: Path) -> None:
    fitted = load(sample_with_every_trap())
    file = tmp_path / "store.toml"
    file.write_text(scenario_toml(fitted))
    market = Retail(scenario_of(file, shelf_capacity=6, funds_start="3000.00"), 3)
    units = [market.records.units.series(place, 0, WISH.history_days - 1) for place in range(8)]
    assert min(map(sum, units)) > 0
    market.set_shelf(["P001", "P006"])
    market.place_order("supplier_1", [LineAsked("P001", 50), LineAsked("P006", 50)])
    for day in range(1, 11):
        market.end_today(day)
        market.advance()
        market.check()
    assert sum(market.records.units.series(0, WISH.history_days, WISH.history_days + 9)) > 0
    assert market.records.price.at(0, 0) == fitted.store.products[0].weekly_price_cents[0]


def test_the_benchmark_prints_how_well_a_fitted_store_meets_the_published_oracle(
    load: Callable[..., Fitted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "store.toml"
    file.write_text(scenario_toml(load(clean_sample())))
    print_oracle([str(file), "--seeds", "1"])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "oracle in retail/dominicks: 8 products, 1 seeds"
    rows = [line.split() for line in lines]
    assert [row[0] for row in rows] == ["net_worth", "units", "sold_products", "stockout_days"]
    assert [row[3] for row in rows] == ["131,510.00", "267,998.00", "34.48", "122.00"]
    # Eight products cannot be thirty-four.
    assert "not met" in lines[2]


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wcer.csv", "upccig.csv", "ccount.csv"])
def test_a_file_lies_anywhere_in_the_folder_once(name: str, tmp_path: Path) -> None:
    clean_sample().write(tmp_path)
    below = tmp_path / "movement" / name.upper()
    below.parent.mkdir()
    (tmp_path / name).rename(below)
    assert len(fit_store(tmp_path, WISH).store.products) == 8
    (tmp_path / name).write_text("")
    with pytest.raises(ScenarioError, match=f"2 files are called {name}: leave one"):
        fit_store(tmp_path, WISH)
    below.unlink()
    (tmp_path / name).unlink()
    with pytest.raises(ScenarioError, match=f"no file {name}"):
        fit_store(tmp_path, WISH)


def test_a_folder_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    text, said = capsys.readouterr()
    assert text == ""
    assert "none: no such folder; it must hold the Dominick's file ccount.csv" in said


@pytest.mark.parametrize("name", ["STORE", "PROFIT", "OK"])
def test_a_missing_column_is_named(name: str, load: Callable[..., Fitted]) -> None:
    sample = clean_sample()
    sample.columns["cer"] = [column for column in MOVEMENT if column != name]
    with pytest.raises(ScenarioError, match=rf"wcer.csv: no column {name}; found "):
        load(sample)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"store_number": 99}, "no customer counts of store 99"),
        ({"categories": ["cer", "xyz"]}, "xyz.*Cereals"),
        ({"categories": []}, "none"),
        ({"categories": ["cer", "Cereals"]}, "twice"),
        ({"start_date": date(1996, 1, 1)}, "no item of store 12 can be used.*no_recent_price 4"),
        ({"history_days": 3}, "history_days"),
        ({"cost_level": 2.0}, "cost_level"),
        ({"start_date": date(1980, 1, 1)}, "start_date"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    changes: dict[str, Any], message: str, load: Callable[..., Fitted]
) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(clean_sample(), **changes)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe" * 100, b"STORE,UPC\n12,1\n", b'"STORE\n' * 200_000])
def test_a_file_that_is_no_table_is_refused(content: bytes, tmp_path: Path) -> None:
    clean_sample().write(tmp_path)
    (tmp_path / "wcer.csv").write_bytes(content)
    with pytest.raises(ScenarioError, match=r"wcer\.csv"):
        fit_store(tmp_path, WISH)


def test_damaged_rows_are_counted_and_stop_nothing(clean: Fitted, tmp_path: Path) -> None:
    clean_sample().write(tmp_path)
    huge = "9" * 400
    damaged = [
        "12,3800000101",
        "",
        f"12,3800000101,{huge},5,1,2.0,,10,1,,",
        "12,3800000101,60,1e12,1,2.0,,10,1,,",
        "12,3800000101,61,5,1,-2.0,,10,1,,",
        "12,3800000101,62,5,1,nan,,10,1,,",
        "12,1,62,5,1,2.0,,10,1,,",
        "12,3800000101,63,5,1,2.0,,10,1,,",
        "12,3800000101,64,5,1,2.0,,10,,,",
    ]
    with (tmp_path / "wcer.csv").open("a") as file:
        file.write("\n".join(damaged) + "\n")
    fitted = fit_store(tmp_path, WISH)
    assert fitted.store.digest == clean.store.digest
    assert fitted.report.categories[0].dropped == {
        "not_ok": 1,
        "out_of_range": 2,
        "repeated_week": 1,
        "short_row": 1,
        "unreadable": 2,
        "upc_unknown": 1,
    }
