"""What tools, policies, calibration and evaluation reckon from visible records (retail page, 6.10, 6.11, 8).

It is one rule for all of them: an agent, a scripted manager and a failure mode that look at the same days come to the
same figures. Prices are in cents, quotes and unit costs in 1e-4 currency units (`e4`); comparisons of profits are
exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import compress, starmap
from typing import Literal, NamedTuple, TypeAlias

from tradefair.retail.engine.day_records import Records

PriceKey = Literal["cent", "unit_sum"]
EvidenceWord = Literal["none", "thin", "fair", "good"]

DEFAULT_DEMAND = 10.0
"""d, units per day, where no day of the window had a sale (6.10)."""
EVIDENCE_UNITS = 30
"""Units sold from which a supplier's return rate is taken for evidence."""
_GOOD_UNITS = 200
_POOL_UNITS = 200
# The pooled rate of a product with fewer than 200 units sold (6.11).
_POOL_DEFAULT = Fraction(8, 100)
_PRIOR_UNITS = 50
# Places of the store that a planned order leaves free (8, step 3).
_SPARE_PLACES = 100


class PriceDays(NamedTuple):
    """Days of a product as the records show them, oldest first: list prices in cents, units sold, and two flags.

    Columns, because a scripted manager groups thousands of days a day.
    """

    price: Sequence[int]
    units: Sequence[int]
    sold_out: Sequence[int]
    in_stock: Sequence[int]


class PriceGroup(NamedTuple):
    """The days at one list price with at least one unit sold.

    `price` in cents, a float under the key unit_sum. Sold-out days are included: they sold at least that much.
    """

    price: float
    days: int
    units: int
    sold_out_days: int

    @property
    def mean_units(self) -> float:
        """Mean units per day."""
        return self.units / self.days

    def daily_profit(self, unit_cost_e4: int) -> float:
        """Mean (price − unit cost)·units per day, in currency units."""
        return (self.price * 100 - unit_cost_e4) * self.units / (10_000 * self.days)


_Group: TypeAlias = tuple[float, int, int, int]
"""The fields of a `PriceGroup`."""


class PriceOptimum(NamedTuple):
    """p* in cents (None without a day with sales), and d, the mean units per day at p*."""

    price: int | None
    demand: float


def price_days(records: Records, place: int, window_days: int) -> PriceDays:
    """The last `window_days` closed days of a product; fewer at the start of the records."""
    last = records.days - 1
    first = max(0, last - window_days + 1)
    columns = (records.price, records.units, records.sold_out, records.in_stock)
    return PriceDays(*[column.series(place, first, last) for column in columns])


def price_groups(days: PriceDays, key: PriceKey = "cent") -> list[PriceGroup]:
    """Days with sales grouped by list price, cheapest first (6.10); sold-out days are included."""
    return list(starmap(PriceGroup, _grouped(days, key)))


def _grouped(days: PriceDays, key: PriceKey) -> list[_Group]:
    # Plain rows: a scripted manager looks at hundreds of groups a day, and keeps none.
    found: dict[float, list[int]] = {}
    prices = days.price if key == "cent" else list(map(_unit_sum, days.price, days.units))
    # Most windows show a price that never changed: they need no loop.
    if prices and prices.count(prices[0]) == len(prices):
        days_sold = len(prices) - days.units.count(0)
        return [(prices[0], days_sold, sum(days.units), sum(compress(days.sold_out, days.units)))] if days_sold else []
    for price, units, sold_out in zip(prices, days.units, days.sold_out, strict=True):
        if units:
            group = found.get(price)
            if group is None:
                found[price] = [1, units, sold_out]
            else:
                group[0] += 1
                group[1] += units
                group[2] += sold_out
    return [(price, days_sold, units, sold_out) for price, (days_sold, units, sold_out) in sorted(found.items())]


# A day is looked at again as long as it is in the window.
@lru_cache(maxsize=2**15)
def _unit_sum(price: int, units: int) -> float:
    """The published oracle's key: the price added once per unit in float64, divided by the units; in cents.

    Equal prices fall into several groups under it, and p* rests on single lucky days.
    """
    total = 0.0
    for _ in range(units):
        total += price / 100
    return total / max(units, 1) * 100


def price_optimum(groups: Iterable[_Group], unit_cost_e4: int) -> PriceOptimum:
    """p* = argmax of the mean daily profit, ties to the lower price; no group: no price and d = 10 (6.10)."""
    best: tuple[float, int] | None = None
    best_profit, best_days = 0, 1
    for price, days, units, _ in groups:
        # Profits are compared as fractions: a float price is an exact one too.
        profit = (_exact(price) * 100 - unit_cost_e4) * units
        # Cross-multiplied: dividing each profit by its days would round, and ties must be exact.
        if best is None or profit * best_days > best_profit * days:
            best, best_profit, best_days = (price, units), profit, days
    # Under `unit_sum` a group's price is a float near a whole cent.
    return PriceOptimum(round(best[0]), best[1] / best_days) if best else PriceOptimum(None, DEFAULT_DEMAND)


def window_optimum(days: PriceDays, unit_cost_e4: int, key: PriceKey = "cent") -> PriceOptimum:
    """`price_optimum` of the days of a window."""
    return price_optimum(_grouped(days, key), unit_cost_e4)


def _exact(price: float) -> int | Fraction:
    """A price as an exact number: a float is a fraction too."""
    return price if isinstance(price, int) else Fraction(price)


def unsold_days(days: PriceDays) -> int:
    """Days on the shelf with stock on which nothing was sold."""
    return sum(offered and not units for offered, units in zip(days.in_stock, days.units, strict=True))


def semi_log_slope(days: PriceDays) -> float | None:
    """OLS slope of ln units on price (currency units) over days with sales; None with fewer than 3 prices.

    Days without sales have no logarithm and are left out.
    """
    sold = [(price / 100, math.log(units)) for price, units in zip(days.price, days.units, strict=True) if units]
    # Two prices always fit a line; only a third one can contradict it.
    if len({price for price, _ in sold}) < 3:
        return None
    mean_price = math.fsum(price for price, _ in sold) / len(sold)
    mean_log = math.fsum(log for _, log in sold) / len(sold)
    spread = math.fsum((price - mean_price) ** 2 for price, _ in sold)
    return math.fsum((price - mean_price) * (log - mean_log) for price, log in sold) / spread


class SupplierEvidence(NamedTuple):
    """What the records say of one supplier of a product: units sold and returned in the window, today's quote.

    `pool` is the return rate of all suppliers of the product together.
    """

    supplier: int
    sold: int
    returned: int
    quote_e4: int
    pool: Fraction

    @property
    def shrunk(self) -> Fraction:
        """r̂ = (r + 50·pool)/(n + 50) (6.11), an exact fraction.

        The prior of 50 units keeps a supplier with two sales and no return from looking perfect.
        """
        # Made where it is asked for: a choice by quote needs none.
        above, below = self.pool.as_integer_ratio()
        return Fraction(self.returned * below + _PRIOR_UNITS * above, (self.sold + _PRIOR_UNITS) * below)

    @property
    def word(self) -> EvidenceWord:
        """How much there is to go by."""
        if not self.sold:
            return "none"
        if self.sold < EVIDENCE_UNITS:
            return "thin"
        return "fair" if self.sold < _GOOD_UNITS else "good"


def pool_rate(sold: Sequence[int], returned: Sequence[int]) -> Fraction:
    """The return rate of all suppliers of a product together; .08 below 200 units sold."""
    total = sum(sold)
    return Fraction(sum(returned), total) if total >= _POOL_UNITS else _POOL_DEFAULT


def gather_suppliers(sold: Sequence[int], returned: Sequence[int], quotes: Sequence[int]) -> list[SupplierEvidence]:
    """Evidence by supplier from units sold, units returned and quotes; all lists are by supplier number."""
    pool = pool_rate(sold, returned)
    return [
        SupplierEvidence(number, units, back, quote, pool)
        for number, (units, back, quote) in enumerate(zip(sold, returned, quotes, strict=True))
    ]


def supplier_evidence(records: Records, place: int, quotes: Sequence[int], window_days: int) -> list[SupplierEvidence]:
    """Evidence on the suppliers of a product over the last `window_days` closed days.

    `quotes` are today's, by product·suppliers + supplier.
    """
    last = records.days - 1
    first = max(0, last - window_days + 1)
    pairs = range(place * records.suppliers, (place + 1) * records.suppliers)
    return gather_suppliers(
        [records.sold(pair, first, last) for pair in pairs],
        [records.sent_back(pair, first, last) for pair in pairs],
        [quotes[pair] for pair in pairs],
    )


def returns_order(evidence: Sequence[SupplierEvidence]) -> list[int]:
    """rank_by_returns: known suppliers (n >= 30) by (r̂, quote, id), then the others, highest quote first (6.11).

    Without evidence a high price is the only hint of quality that can be seen.
    """
    known = [row for row in evidence if row.sold >= EVIDENCE_UNITS]
    rest = [row for row in evidence if row.sold < EVIDENCE_UNITS]
    known.sort(key=_by_returns)
    rest.sort(key=lambda row: (-row.quote_e4, row.supplier))
    return [row.supplier for row in (*known, *rest)]


def _by_returns(row: SupplierEvidence) -> tuple[Fraction, int, int]:
    return row.shrunk, row.quote_e4, row.supplier


def margin_order(evidence: Sequence[SupplierEvidence], price: int) -> list[int]:
    """rank_by_margin: price·(1 − r̂) − quote, descending; ties by id. `price` in cents."""
    return [
        row.supplier
        for row in sorted(evidence, key=lambda row: (row.quote_e4 - 100 * price * (1 - row.shrunk), row.supplier))
    ]


def cheapest(quotes: Sequence[int]) -> int:
    """The supplier with the lowest quote; ties by id."""
    return min(range(len(quotes)), key=lambda number: (quotes[number], number))


def best_visible_supplier(evidence: Sequence[SupplierEvidence]) -> int:
    """The lowest r̂ among those with n >= 30, else the cheapest quote (10, stage 3); a supplier number."""
    known = [row for row in evidence if row.sold >= EVIDENCE_UNITS]
    # The only known one needs no rate, nor does a choice by quote.
    if len(known) == 1:
        return known[0].supplier
    return min(known, key=_by_returns).supplier if known else cheapest([row.quote_e4 for row in evidence])


def true_best_supplier(qualities: Sequence[int], quotes: Sequence[int]) -> int:
    """The oracle's choice: highest true quality today; ties to the cheaper, then by id (8)."""
    best = max(qualities)
    return min((quote, number) for number, quote in enumerate(quotes) if qualities[number] == best)[1]


# --- the skeleton that the policies share (8) -----------------------------------------------------------------------


def history_scores(records: Records) -> list[int]:
    """score_j by product: Σ over all records of (list price − that day's cheapest quote)·units.

    In 1e-4 currency units.
    """
    last = records.days - 1
    scores: list[int] = []
    for place in range(records.products):
        pairs = range(place * records.suppliers, (place + 1) * records.suppliers)
        # By day: the lowest quote of the day is what goods would have cost then.
        quotes = zip(*(records.pair_quote.series(pair, 0, last) for pair in pairs), strict=True)
        prices, units = records.price.series(place, 0, last), records.units.series(place, 0, last)
        days = zip(prices, units, quotes, strict=True)
        scores.append(sum((100 * price - min(offers)) * sold for price, sold, offers in days if sold))
    return scores


def select_products(scores: Sequence[float], categories: Sequence[object], places: int, each: int = 2) -> list[int]:
    """The best `each` products per category by score, round-robin over categories up to `places` (8).

    `categories` names the category of each product. Categories come in the order of their first product, ties by index.
    """
    by_category: dict[object, list[int]] = {}
    for place, category in enumerate(categories):
        by_category.setdefault(category, []).append(place)
    ranked = [sorted(members, key=lambda place: (-scores[place], place)) for members in by_category.values()]
    # Best products of all categories first, then the second ones: a short shelf still has every category.
    return [members[turn] for turn in range(each) for members in ranked if turn < len(members)][:places]


def best_sellers(units: Sequence[int], places: int) -> list[int]:
    """The products with most units, at most `places`; ties by index."""
    return sorted(range(len(units)), key=lambda place: (-units[place], place))[:places]


def demand_multiplier(need_effect: float, supply_effect: float) -> float:
    """m = clip((1 + E_need)(1 + E_supply), .5, 2) (8)."""
    return min(2.0, max(0.5, (1.0 + need_effect) * (1.0 + supply_effect)))


class RestockPlan(NamedTuple):
    """Where the stock of one product stands: units, free places of the store, funds in cents, the quote (1e-4)."""

    on_hand: int
    waiting: int
    incoming: int
    free: int
    funds: int
    quote_e4: int


def plan_restock(plan: RestockPlan, demand: float, cover: float) -> int:
    """Units to order so that stock reaches `cover` days of `demand`; 0 = none (8, step 3)."""
    target = cover * demand
    # Units on order are counted below: they lower the quantity, not the decision to order.
    if plan.on_hand + plan.waiting > target:
        return 0
    # At least one: with a tiny demand a product would never be ordered and never be known.
    wanted = max(1, math.floor(target))
    if wanted - plan.incoming > plan.free - _SPARE_PLACES:
        wanted = plan.incoming + plan.free - _SPARE_PLACES
    units = wanted - plan.incoming
    # All or nothing, as section 8 has it.
    return units if units > 0 and units * plan.quote_e4 <= plan.funds * 100 else 0


class Decision(NamedTuple):
    """What the skeleton does for one product: a list price in cents (None: leave it) and units to order (0: none)."""

    price: int | None
    units: int


def decide(
    days: PriceDays, plan: RestockPlan, *, multiplier: float = 1.0, cover: float, key: PriceKey = "cent"
) -> Decision:
    """Steps 1 to 3 of the skeleton for a chosen supplier: p* and d at its quote, then restock (8).

    `days` is the window of 30 days, `multiplier` m (what news does to demand), `cover` B in days.
    """
    optimum = window_optimum(days, plan.quote_e4, key)
    return Decision(optimum.price, plan_restock(plan, multiplier * optimum.demand, cover))
