"""Fit a store of the retail market to the original Dominick's files: `python fit.py FOLDER > store.toml`.

FOLDER holds, itself or in folders below it, `wXXX.csv` (weekly movement) and `upcXXX.csv` (descriptions) of each
category and `ccount.csv` (daily customer counts). The Kilts Center gives the data for academic use; nothing of it is
bundled. What is printed is a scenario: `tradefair play retail --scenario store.toml`. Traps are numbered as in
`dominicks_files.py`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import tomlkit
from dominicks_files import (
    CustomerReport,
    Customers,
    Item,
    Label,
    Movement,
    Week,
    find_file,
    joined,
    read_customers,
    read_labels,
    week_of,
)
from pydantic import BaseModel, ConfigDict

from tradefair.contract import Chance, ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.files.user_files import MIB
from tradefair.retail.data.generator import (
    CategoryTable,
    Sourcing,
    category_table,
    history_weeks,
    review_category,
    source_products,
    whole,
)
from tradefair.retail.model import CATEGORY_NAMES, SEAT, RetailScenario, Store, StoreProduct, Streams, product_id

# A year, so that every season is in the fit.
LEAST_WEEKS = 52
# Half a year before the start: recent enough for prices, long enough for a median over promotions.
RECENT_WEEKS = 26
# A fitted store has a digest too: it must not depend on the last bits of a logarithm.
_DECIMALS = 9
# B, C and S are documented; G and L occur in the files (trap 6).
_SALE_CODES = frozenset("BCSGL")
# A column that is left with a millionth of its length after the others are taken out tells nothing of its own.
_ESTIMABLE = 1e-6


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wish(NamedTuple):
    """Which store is fitted; `categories` are names or codes, `cost_level` is supplier cost / recorded cost."""

    store_number: int = 12
    categories: tuple[str, ...] = CATEGORY_NAMES
    start_date: date = date(1991, 9, 7)
    history_days: int = 93
    products_per_category: int = 5
    cost_level: float = 0.56
    key: str = ""


class RejectedItem(_Part):
    """An item that cannot become a product, and why."""

    item: str
    description: str
    weeks: int
    reason: str


class FittedProduct(_Part):
    """Where a product comes from: its item, its UPCs, the fit, and what of its past was not recorded.

    Prices and cost are medians of the recent weeks in currency units; `margin` is 1 − cost/price and may be negative.
    `not_carried_weeks` is the availability flag: weeks in which the store recorded the item as not carried.
    """

    product_id: str
    item: str
    upcs: list[int]
    description: str
    weeks: int
    units: int
    reference_price: float
    acquisition_cost: float
    margin: float
    elasticity: float
    seasonal: bool
    not_carried_weeks: list[int]
    history_weeks_filled: int


class CategoryReport(_Part):
    """The rows of the store in one category: what was dropped or mended and why, and what was not chosen."""

    category: str
    code: str
    rows: int
    other_store_rows: int
    dropped: dict[str, int]
    mended: dict[str, int]
    left_out_of_fit: dict[str, int]
    sale_codes: dict[str, int]
    rejected: list[RejectedItem]
    not_needed: int


class FitReport(_Part):
    """Everything that was read, dropped, mended and chosen."""

    store_number: int
    start_date: date
    history_days: int
    cost_level: float
    customers: CustomerReport
    categories: list[CategoryReport]
    products: list[FittedProduct]
    warnings: list[str]


class Fitted(NamedTuple):
    """A fitted store, and the report on how it came about."""

    store: Store
    report: FitReport


def fit_store(folder: Path, wish: Wish) -> Fitted:
    """The store of one Dominick's outlet; demand is fitted on all recorded weeks.

    Reference price and cost are medians of the 26 weeks before the start. ScenarioError names a missing file or column,
    an unknown category or store, and a category without usable items.
    """
    # Names are checked first: reading the files of a large folder takes long.
    rows = _categories(wish.categories)
    # The same outlet and date give the same luck, unless the user asks for another store of the same data.
    key = wish.key or f"dominicks-{wish.store_number}-{wish.start_date}"
    scenario = _base_scenario(key, wish)
    customers = read_customers(find_file(folder, "ccount.csv"), wish.store_number, wish.start_date)
    wanted = _Wanted(folder, wish.store_number, customers, wish.start_date, wish.products_per_category)
    # All categories are loaded before a product is made: ids are numbered across them.
    loads = [_load_category(row, wanted) for row in rows]
    maker = _Maker(scenario, key)
    products = [maker.product(place, row, chosen) for place, row in enumerate(rows) for chosen in loads[place].chosen]
    store = Store(
        key=key,
        categories=tuple(review_category(maker.chance, row.name, scenario.store.review_lift) for row in rows),
        products=tuple(products),
    )
    report = FitReport(
        store_number=wish.store_number,
        start_date=wish.start_date,
        history_days=wish.history_days,
        cost_level=wish.cost_level,
        customers=customers.report,
        categories=[load.report for load in loads],
        products=maker.fitted,
        warnings=_warnings(customers.report, [load.report for load in loads]),
    )
    return Fitted(store, report)


def scenario_toml(fitted: Fitted) -> str:
    """The scenario that plays in the store, with its own dates and customers; all other keys have their defaults.

    `traffic.scale` stays 7, the paper's money level; for 1 divide rent, funds and capacity by about 7. ScenarioError
    for a text that tradefair would not read.
    """
    store, report = fitted
    counts = Counter(product.category for product in store.products)
    content = {
        "id": "retail/dominicks",
        "start_date": report.start_date.isoformat(),
        "history_days": report.history_days,
        "seats": {SEAT: "agent"},
        # The outlet's own customers, not a preset's.
        "traffic": {"customers_per_day": report.customers.per_day},
        "store": {
            "source": "dominicks",
            "key": store.key,
            "digest": store.digest,
            "cost_level": report.cost_level,
            "categories": [
                {"name": category.name, "products": counts[place]} for place, category in enumerate(store.categories)
            ],
            "fitted": store.model_dump(mode="json"),
        },
    }
    build_scenario(RetailScenario, content, source=f"Dominick's store {report.store_number}")
    text = tomlkit.dumps(content)
    size = len(text.encode())
    if size > MIB:
        raise ScenarioError(f"a scenario of {size:,} bytes; at most {MIB:,} are read: take fewer --products")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the scenario, and on standard error what a user should know of it; 2 where no store can be fitted."""
    usual = Wish()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(": ")[0])
    parser.add_argument("folder", type=Path, help="the folder with the data set's files")
    parser.add_argument("--store", type=int, default=usual.store_number, help="number of the outlet")
    parser.add_argument("--categories", nargs="+", default=usual.categories, help="names or codes; default: all")
    parser.add_argument("--start", type=date.fromisoformat, default=usual.start_date, help="date of day 1")
    parser.add_argument("--history-days", type=int, default=usual.history_days, help="days of the past before day 1")
    parser.add_argument("--products", type=int, default=usual.products_per_category, help="of a category, at most")
    parser.add_argument("--cost-level", type=float, default=usual.cost_level, help="supplier cost / recorded cost")
    parser.add_argument("--key", default=usual.key, help="another store of the same data")
    parser.add_argument("--report", type=Path, help="write what was read, dropped, mended and chosen, as JSON")
    asked = parser.parse_args(arguments)
    if asked.products < 1:
        parser.error(f"--products {asked.products}: at least 1")
    dates = (asked.start, asked.history_days)
    wish = Wish(asked.store, tuple(asked.categories), *dates, asked.products, asked.cost_level, asked.key)
    try:
        fitted = fit_store(asked.folder, wish)
        text = scenario_toml(fitted)
        if asked.report:
            asked.report.write_text(fitted.report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except (ScenarioError, OSError) as error:
        print(f"fit.py: {error}", file=sys.stderr)
        return 2
    print(text, end="")
    for warning in fitted.report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"{len(fitted.store.products)} products: tradefair play retail --scenario store.toml", file=sys.stderr)
    return 0


def _categories(names: Sequence[str]) -> list[CategoryTable]:
    """The rows of table 11.1 for the names or codes. Raises ScenarioError for unknown and repeated ones."""
    table = category_table()
    # By name or by the code of the files: a person may know either.
    by_name = {**table, **{row.code: row for row in table.values()}}
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        known = ", ".join(f"{row.name} ({row.code})" for row in table.values())
        raise ScenarioError(f"categories = {', '.join(names) or 'none'}: must name some of {known}")
    rows = [by_name[name] for name in names]
    if len({row.name for row in rows}) != len(rows):
        raise ScenarioError(f"categories = {', '.join(names)}: a category is named twice")
    return rows


def _base_scenario(key: str, wish: Wish) -> RetailScenario:
    """A scenario with the store's dates and costs: what its past is made from before it is fitted."""
    content = {
        "id": "retail/dominicks",
        "start_date": wish.start_date,
        "history_days": wish.history_days,
        "store": {"key": key, "cost_level": wish.cost_level},
    }
    return build_scenario(RetailScenario, content, source="fit.py")


def _warnings(customers: CustomerReport, categories: Sequence[CategoryReport]) -> list[str]:
    """What a user should know about the files, none of which stops the loading."""
    found: list[str] = []
    if customers.common_divisor > 1:
        found.append(
            f"all customer counts are multiples of {customers.common_divisor}: they may have been scaled, as counts "
            "shipped with RetailBench are (by 7); they are taken as they are, scaling belongs to traffic.scale"
        )
    for report in categories:
        strange = sorted(set(report.sale_codes) - _SALE_CODES - {"blank"})
        if strange:
            found.append(f"{report.category}: SALE codes {', '.join(strange)} are unknown; nothing depends on them")
        if "no_hex_columns" in report.mended:
            found.append(f"{report.category}: without PRICE_HEX and PROFIT_HEX; prices are truncated")
    return found


# --- fit ------------------------------------------------------------------------------------------------------------


class WeekPoint(NamedTuple):
    """One week of a product: the price of a unit in currency units, units per customer."""

    week: int
    price: float
    share: float


class DemandFit(NamedTuple):
    """Parameters of 6.2; `seasonal` tells whether the seasonal terms could be estimated."""

    alpha: float
    beta: float
    beta_sin: float
    beta_cos: float
    sigma: float
    seasonal: bool


def fit_demand(points: Sequence[WeekPoint]) -> DemandFit | None:
    """OLS of ln(s/(1 − s)) on (1, p, p·sin, p·cos) (11.5); None when the price never changes.

    s is units per customer, p the price of a unit. Seasonal terms that cannot be estimated are 0. Shares lie in (0, 1);
    needs more than four points.
    """
    angles = [2 * math.pi * point.week / 52 for point in points]
    level = [[1.0] * len(points), [point.price for point in points]]
    season = [
        [point.price * wave(angle) for point, angle in zip(points, angles, strict=True)]
        for wave in (math.sin, math.cos)
    ]
    y = [math.log(point.share / (1 - point.share)) for point in points]
    # First with the season; a price that hardly varies leaves its terms undetermined, and then the plain fit stands.
    full = _least_squares([*level, *season], y)
    fit = full or _least_squares(level, y)
    if fit is None:
        return None
    alpha, beta, beta_sin, beta_cos = (round(value, _DECIMALS) for value in (*fit.coefficients, 0.0, 0.0)[:4])
    # Divided by the degrees of freedom that are left.
    sigma = math.sqrt(fit.squares / (len(points) - len(fit.coefficients)))
    return DemandFit(alpha, beta, beta_sin, beta_cos, round(sigma, _DECIMALS), full is not None)


class _Solution(NamedTuple):
    coefficients: list[float]
    squares: float


def _least_squares(columns: Sequence[Sequence[float]], y: Sequence[float]) -> _Solution | None:
    """Coefficients and residual sum of squares by orthogonalisation; None for (nearly) dependent columns.

    `columns` holds the regressors, each as long as `y`. Modified Gram-Schmidt keeps the accuracy that normal equations
    would lose.
    """
    basis: list[list[float]] = []
    triangle: list[list[float]] = []
    for column in columns:
        rest, steps = list(column), [0.0] * len(basis)
        for _ in range(2):  # once more: rounding of the first pass would leave the basis askew
            for place, direction in enumerate(basis):
                along = _dot(direction, rest)
                steps[place] += along
                rest = [value - along * unit for value, unit in zip(rest, direction, strict=True)]
        length = math.sqrt(_dot(rest, rest))
        if length <= _ESTIMABLE * math.sqrt(_dot(column, column)):
            return None
        basis.append([value / length for value in rest])
        triangle.append([*steps, length])
    left = list(y)
    targets: list[float] = []
    for direction in basis:
        along = _dot(direction, left)
        targets.append(along)
        left = [value - along * unit for value, unit in zip(left, direction, strict=True)]
    return _Solution(_back_substituted(triangle, targets), _dot(left, left))


def _back_substituted(triangle: Sequence[Sequence[float]], targets: Sequence[float]) -> list[float]:
    """The solution of an upper triangular system; `triangle` holds its columns."""
    size = len(targets)
    found = [0.0] * size
    for row in range(size - 1, -1, -1):
        known = math.fsum(triangle[column][row] * found[column] for column in range(row + 1, size))
        found[row] = (targets[row] - known) / triangle[row][row]
    return found


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


# --- choice of products ---------------------------------------------------------------------------------------------


class _Chosen(NamedTuple):
    """An item that becomes a product; prices and costs of the recent weeks in currency units."""

    item: str
    label: Label
    upcs: list[int]
    weeks: dict[int, Week]
    points: int
    units: int
    fit: DemandFit
    recent_prices: list[float]
    recent_cost: float
    not_carried: list[int]


class _CategoryLoad(NamedTuple):
    chosen: list[_Chosen]
    report: CategoryReport


class _Wanted(NamedTuple):
    """Where to look, for which store, and how many products of a category."""

    folder: Path
    store_number: int
    customers: Customers
    start_date: date
    products: int


class _Candidate(NamedTuple):
    name: str
    item: Item
    weeks: dict[int, Week]
    points: list[WeekPoint]


class _Selection(NamedTuple):
    """The products of a category; the items before the last one that were rejected; how many were not looked at."""

    chosen: list[_Chosen]
    rejected: list[RejectedItem]
    not_needed: int


def _load_category(row: CategoryTable, wanted: _Wanted) -> _CategoryLoad:
    """The most recorded items of a category that can be fitted. Raises ScenarioError when there is none."""
    path = find_file(wanted.folder, f"w{row.code}.csv")
    labels = read_labels(find_file(wanted.folder, f"upc{row.code}.csv"))
    movement = Movement(row.name, labels, wanted.store_number)
    movement.read(path)
    left_out: Counter[str] = Counter()
    candidates = [_candidate(name, item, wanted.customers, left_out) for name, item in movement.items.items()]
    selection = _select(candidates, wanted)
    if not selection.chosen:
        # Together with the dropped rows: either may leave a category without a product.
        reasons = Counter(item.reason for item in selection.rejected) + movement.dropped
        tally = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        raise ScenarioError(
            f"{path}: no item of store {wanted.store_number} can be used from {wanted.start_date} on ({tally})"
        )
    report = CategoryReport(
        category=row.name,
        code=row.code,
        rows=movement.rows,
        other_store_rows=movement.other_rows,
        dropped=dict(sorted(movement.dropped.items())),
        mended={name: count for name, count in sorted(movement.mended.items()) if count},
        left_out_of_fit=dict(sorted(left_out.items())),
        sale_codes=dict(sorted(movement.sale_codes.items())),
        rejected=selection.rejected,
        not_needed=selection.not_needed,
    )
    return _CategoryLoad(selection.chosen, report)


def _select(candidates: Sequence[_Candidate], wanted: _Wanted) -> _Selection:
    """The items with most weeks, then most units; the name only makes the order complete."""
    ranked = sorted(candidates, key=lambda item: (-len(item.points), -_units(item.weeks), item.name))
    chosen: list[_Chosen] = []
    rejected: list[RejectedItem] = []
    for place, candidate in enumerate(ranked):
        # The rest is counted and not fitted.
        if len(chosen) == wanted.products:
            return _Selection(chosen, rejected, len(ranked) - place)
        found = _choose(candidate, wanted.start_date)
        if isinstance(found, _Chosen):
            chosen.append(found)
        else:
            description, weeks = candidate.item.label.description, len(candidate.points)
            rejected.append(RejectedItem(item=candidate.name, description=description, weeks=weeks, reason=found))
    return _Selection(chosen, rejected, 0)


def _candidate(name: str, item: Item, customers: Customers, left_out: Counter[str]) -> _Candidate:
    """An item with its joined weeks, and those of them that can be fitted."""
    weeks = {week: joined(sales) for week, sales in sorted(item.sales.items())}
    points: list[WeekPoint] = []
    for number, week in weeks.items():
        visitors = customers.by_week.get(number)
        if visitors is None:
            left_out["no_customers"] += 1
        elif not week.units:
            left_out["nothing_sold"] += 1
        # A share of 1 or more has no logit.
        elif week.units >= visitors:
            left_out["more_units_than_customers"] += 1
        else:
            points.append(WeekPoint(number, week.price, week.units / visitors))
    return _Candidate(name, item, weeks, points)


def _units(weeks: Mapping[int, Week]) -> int:
    return sum(week.units for week in weeks.values())


def _choose(candidate: _Candidate, start_date: date) -> _Chosen | str:
    """The product that a candidate becomes, or the reason why it cannot."""
    if len(candidate.points) < LEAST_WEEKS:
        return "too_few_weeks"
    start = week_of(start_date)
    recent = [week for number, week in candidate.weeks.items() if start - RECENT_WEEKS <= number < start]
    costs = [week.cost for week in recent if week.cost is not None]
    # Before the fit, which costs more.
    if not recent:
        return "no_recent_price"
    if not costs:
        return "no_recent_cost"
    fit = fit_demand(candidate.points)
    if fit is None:
        return "price_never_changes"
    # Such a product would sell best at the highest price: no store could be run with it.
    if fit.beta >= 0:
        return "demand_rises_with_price"
    return _Chosen(
        item=candidate.name,
        label=candidate.item.label,
        upcs=sorted(candidate.item.upcs),
        weeks=candidate.weeks,
        points=len(candidate.points),
        units=_units(candidate.weeks),
        fit=fit,
        recent_prices=[week.price for week in recent],
        # The cost and not the margin: acquisition cost lags behind price, so a margin in per cent jumps with it (trap
        # 5).
        recent_cost=median(costs),
        # A week that has sales under another UPC of the item was carried after all.
        not_carried=sorted(candidate.item.not_carried - set(candidate.weeks)),
    )


# --- the store ------------------------------------------------------------------------------------------------------


class _Maker:
    """Makes products of chosen items; what the files do not tell is drawn as for a synthetic store (11.2)."""

    def __init__(self, scenario: RetailScenario, key: str) -> None:
        self._scenario = scenario
        self.chance = Chance(key)
        self.fitted: list[FittedProduct] = []

    def product(self, category: int, row: CategoryTable, chosen: _Chosen) -> StoreProduct:
        """The next product of the store, with what the files do not tell drawn as for a synthetic one."""
        # Named by category and item, not by place: another choice of products leaves this one's luck as it is.
        entity = f"{row.name}/{chosen.item}"
        prices, filled = self._weekly_prices(chosen)
        fit = chosen.fit
        # A cost of 0 or less would be a gift: promotions below cost keep a cost above nothing.
        base_cost = max(0.01, self._scenario.store.cost_level * chosen.recent_cost)
        suppliers, weekly_supplier = source_products(self.chance, self._scenario, Sourcing(entity, base_cost, prices))
        # The files have no column for the brand; descriptions begin with it.
        brand, _, description = chosen.label.description.partition(" ")
        product = StoreProduct(
            id=product_id(len(self.fitted)),
            category=category,
            brand=brand or "Unnamed",
            description=description or row.noun,
            size=chosen.label.size,
            shelf_life_days=whole(self.chance.uniform(Streams.STORE_PRODUCT, entity, "life"), *row.life),
            reference_price_cents=_cents(median(chosen.recent_prices)),
            start_price_cents=self._start_price(entity, chosen.recent_prices),
            alpha=fit.alpha,
            beta=fit.beta,
            beta_sin=fit.beta_sin,
            beta_cos=fit.beta_cos,
            sigma=fit.sigma,
            suppliers=suppliers,
            weekly_price_cents=prices,
            weekly_supplier=weekly_supplier,
        )
        self.fitted.append(_described(product, chosen, filled))
        return product

    def _start_price(self, entity: str, prices: Sequence[float]) -> int:
        """Uniform between the 5th and the 95th percentile of the recent weekly prices."""
        u = self.chance.uniform(Streams.STORE_PRODUCT, entity, "start_price")
        # Twentieths: the first and the last cut are the 5th and 95th percentile.
        steps = quantiles(prices, n=20, method="inclusive") if len(prices) > 1 else prices
        return _cents(steps[0] + (steps[-1] - steps[0]) * u)

    def _weekly_prices(self, chosen: _Chosen) -> tuple[tuple[int, ...], int]:
        """(recorded price of every week of the past, weeks filled with the price before or the reference price)."""
        prices: list[int] = []
        filled = 0
        first = week_of(self._scenario.first_date)
        earlier = [week.price for number, week in chosen.weeks.items() if number < first]
        # A week without a record keeps the price before it; the first one takes the last price before the past begins.
        last = earlier[-1] if earlier else median(chosen.recent_prices)
        for step in range(history_weeks(self._scenario)):
            recorded = chosen.weeks.get(first + step)
            filled += recorded is None
            last = recorded.price if recorded else last
            prices.append(_cents(last))
        return tuple(prices), filled


def _described(product: StoreProduct, chosen: _Chosen, filled: int) -> FittedProduct:
    """Where a product comes from, for the report."""
    price = median(chosen.recent_prices)
    return FittedProduct(
        product_id=product.id,
        item=chosen.item,
        upcs=chosen.upcs,
        description=chosen.label.description,
        weeks=chosen.points,
        units=chosen.units,
        reference_price=round(price, _DECIMALS),
        acquisition_cost=round(chosen.recent_cost, _DECIMALS),
        margin=round(1 - chosen.recent_cost / price, _DECIMALS),
        elasticity=round(-chosen.fit.beta * price, _DECIMALS),
        seasonal=chosen.fit.seasonal,
        not_carried_weeks=chosen.not_carried,
        history_weeks_filled=filled,
    )


def _cents(price: float) -> int:
    return max(1, round(100 * price))


if __name__ == "__main__":
    sys.exit(main())
