"""What the manager could see at a moment: records of the closed days, today's quotes, the rules' own analysis.

Built from the scenario's simulated past and the facts of the trace; nothing is played again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from tradefair.catalog import market_type
from tradefair.contract import ScenarioError
from tradefair.retail.analysis import (
    SupplierEvidence,
    best_visible_supplier,
    history_scores,
    price_days,
    price_groups,
    supplier_evidence,
    window_optimum,
)
from tradefair.retail.engine.day_records import DayColumns, Records
from tradefair.retail.model import DayFacts, RetailScenario, Store, product_id, supplier_id
from tradefair.retail.rules import Retail

# Days that the judgements look back, whatever windows the agent asked its tools for.
_PRICE_WINDOW = 30
_SUPPLIER_WINDOW = 60
_COVER_WINDOW = 30


class Visible:
    """Records up to yesterday and quotes of today.

    Call `see` with a day's facts, ask, then `close` it with the same facts. Products are indices, suppliers numbers.
    """

    def __init__(self, records: Records, store: Store) -> None:
        """`records` are those of the simulated past of `store`; they are written to at every close."""
        self.store = store
        self._records = records
        self._quotes: list[int] = []
        self._suppliers: dict[int, list[SupplierEvidence]] = {}
        self._optima: dict[int, int | None] = {}
        self._ordered = {supplier_id(number): self._past_orders(number) for number in range(records.suppliers)}

    @classmethod
    def of(cls, scenario: RetailScenario, seed: int) -> Visible:
        """What there is to see on day 1. Raises ScenarioError when the store cannot be rebuilt."""
        market = market_type("retail").create(scenario, seed)
        if not isinstance(market, Retail):
            raise ScenarioError("the installed retail market is another one")
        # The market is made for its simulated past only; it is never played.
        return cls(market.records.copy(), market.store)

    def _past_orders(self, number: int) -> set[str]:
        """Products that were ordered from a supplier in the simulated past."""
        records = self._records
        pairs = ((place, place * records.suppliers + number) for place in range(records.products))
        return {product_id(place) for place, pair in pairs if records.ordered(pair, 0, records.days - 1)}

    @property
    def ordered_from(self) -> Mapping[str, set[str]]:
        """Products ever ordered from each supplier, the past included."""
        return self._ordered

    def worth(self) -> list[float]:
        """What each product earned a day so far, in cents, had it been bought at the lowest quotes."""
        # Scores are in 1e-4 currency units.
        return [score / 100 / self._records.days for score in history_scores(self._records)]

    def see(self, facts: DayFacts) -> None:
        """Open the day of these facts: only its quotes were there to be seen before its close."""
        # Quotes change every morning; those of yesterday must not judge a choice of today.
        self._quotes = facts.supplier.quote_e4
        # Emptied each morning: evidence rests on the records up to yesterday and the quotes of today.
        self._suppliers, self._optima = {}, {}

    def close(self, facts: DayFacts) -> None:
        """File the day's visible columns, as the rules do at the close."""
        day, pairs = facts.product, facts.supplier
        nothing, no_pairs = [0] * self._records.products, [0] * len(pairs.units)
        stock = zip(day.on_shelf, day.opening_stock, strict=True)
        demand = zip(day.demand, day.opening_stock, strict=True)
        self._records.close_day(
            DayColumns(
                price=day.price_cents,
                # As the rules file it: on the shelf with stock in the morning.
                in_stock=[int(shelved > 0 and units > 0) for shelved, units in stock],
                units=day.units,
                revenue=day.revenue_cents,
                # Sold out: more was wanted than lay there in the morning.
                refunds=day.refunds_cents,
                cost_of_goods=day.cost_of_goods_cents,
                returned=day.returned,
                expired=day.expired,
                sold_out=[int(wanted > units) for wanted, units in demand],
                # No figure here asks for reviews or costs by supplier, and facts do not hold them.
                stars=nothing,
                reviews=nothing,
                pair_quote=pairs.quote_e4,
                pair_units=pairs.units,
                pair_returned=pairs.returned,
                pair_ordered=no_pairs,
                pair_cost=no_pairs,
            )
        )
        # From the close on: an order of today is not yet in what the manager could have read about a supplier.
        for line in facts.orders:
            self._ordered.setdefault(line.supplier_id, set()).add(line.product_id)

    def suppliers(self, place: int) -> list[SupplierEvidence]:
        """Evidence on a product's suppliers over the last 60 days; computed once per product and day."""
        found = self._suppliers.get(place)
        if found is None:
            found = supplier_evidence(self._records, place, self._quotes, _SUPPLIER_WINDOW)
            self._suppliers[place] = found
        return found

    def best_price(self, place: int) -> int | None:
        """p* over 30 days at the quote of the best visible supplier, in cents; None without a day with sales."""
        if place not in self._optima:
            suppliers = self.suppliers(place)
            days = price_days(self._records, place, _PRICE_WINDOW)
            self._optima[place] = window_optimum(days, suppliers[best_visible_supplier(suppliers)].quote_e4).price
        return self._optima[place]

    def sold_price(self, facts: DayFacts, place: int, siblings: Sequence[int]) -> float:
        """The highest price at which a product sold in 60 days, in cents.

        Never sold: the lowest quote times the median mark-up of its category on the day.
        """
        cheapest = {item: min(facts.supplier.quote_e4[slice(*self._pairs(item))]) / 100 for item in siblings}
        groups = price_groups(price_days(self._records, place, _SUPPLIER_WINDOW))
        if groups:
            return groups[-1].price
        usual = median(facts.product.price_cents[item] / max(cheapest[item], 1) for item in siblings)
        return cheapest[place] * usual

    def _pairs(self, place: int) -> tuple[int, int]:
        """First and end of a product's columns among pairs of product and supplier."""
        return place * self._records.suppliers, (place + 1) * self._records.suppliers

    def daily_units(self, place: int) -> float | None:
        """Mean units per day over the last 30 days, days without stock included; None when nothing was sold."""
        records = self._records
        first = max(0, records.days - _COVER_WINDOW)
        sold = records.units.series(place, first, records.days - 1)
        return math.fsum(sold) / len(sold) if any(sold) else None
