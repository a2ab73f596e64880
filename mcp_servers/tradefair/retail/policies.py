"""Scripted managers: the registry, the plain ones, and one for every way to fail that a failure mode looks for (8, 10).

All of them but the oracle see tool answers only. Most controls differ from `careful_reader` in one habit, so that a
failure mode that one of them raises is due to that habit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.contract import Draw, PolicySpec, ToolCall, Turns, TurnView, policy
from tradefair.contract.policy import scripted
from tradefair.retail import analysis
from tradefair.retail.model import SEAT, supplier_id
from tradefair.retail.seats.strategies import (
    CarefulReader,
    Catalogue,
    Keeper,
    Oracle,
    PriceFirst,
    Reading,
    Refused,
    Rules,
    Today,
    ask,
    order,
    read_catalogue,
    read_holdings,
    read_quotes,
    read_rules,
    read_window,
    set_price,
)

_MOST_UNITS = 1_000_000
"""Units of an order line that any scenario's tools take."""


class Passive(policy.Passive):
    """Only ever closes the day."""

    call = ToolCall("end_today")


class ReorderPoint:
    """Classic stock keeping: best sellers at their start prices, reorder point and order-up-to level.

    It buys from the third-cheapest supplier: of five, the middle one.
    """

    # Days of mean sales: order below 7, up to 14 (8).
    _point_days = 7
    _level_days = 14

    def __init__(self) -> None:
        self._shelf: list[str] = []

    def turn(self, now: TurnView) -> Turns:
        """Choose the shelf on the first turn; every day order below 7 days of mean sales up to 14."""
        today = Today.of(now)
        try:
            if not self._shelf:
                yield from self._open(today)
            yield from self._restock(today)
        # A call limit ends the work of the day, not the episode: the day is closed with what was done.
        except Refused:
            pass
        yield ToolCall("end_today")

    def _open(self, today: Today) -> Turns:
        """Choose and fill the shelf, once: best sellers of the last 30 days."""
        catalogue = yield from read_catalogue((yield from read_rules()))
        units = [sold.units for sold in (yield from _read_sales(catalogue.ids, today))]
        places = analysis.best_sellers(units, today.shelf_places)
        self._shelf = [catalogue.ids[place] for place in places]
        yield from ask("set_shelf_products", {"product_ids": [*self._shelf]})

    def _restock(self, today: Today) -> Turns:
        """Order every product that has fallen below its order point, while funds last."""
        holdings = yield from read_holdings(self._shelf)
        sales = yield from _read_sales(self._shelf, today)
        quotes = yield from read_quotes(self._shelf)
        funds = today.funds
        for product, sold in zip(self._shelf, sales, strict=True):
            # Over days in stock: an empty shelf says nothing about demand.
            mean = sold.units / sold.days_in_stock if sold.days_in_stock else 0.0
            position = holdings.on_hand[product] + holdings.waiting[product] + holdings.incoming[product]
            units = int(self._level_days * mean) - position
            offers = quotes[product]
            # With two suppliers there is no third-cheapest, and the last one is taken.
            supplier = sorted(range(len(offers)), key=lambda number: (offers[number], number))[min(2, len(offers) - 1)]
            # Quotes are in 1e-4 currency units, funds in cents.
            if position < self._point_days * mean and units > 0 and units * offers[supplier] <= funds * 100:
                left = yield from order(product, supplier, units)
                funds = funds if left is None else left


class _Sold(NamedTuple):
    units: int
    days_in_stock: int


def _read_sales(products: Sequence[str], today: Today) -> Reading[list[_Sold]]:
    """Units sold and days in stock over the last 30 closed days, in the order of the products."""
    told = yield from ask(
        "view_sales_profit_history",
        {"product_ids": [*products], "start_date": today.back(30), "end_date": today.back(1), "detail": "summary"},
    )
    sums = told["summary"]
    return [_Sold(*row) for row in zip(sums["units"], sums["days_in_stock"], strict=True)]


class RandomLegal:
    """Up to four random actions a day, none of which can be refused; used to walk through the rules."""

    draw: Draw

    def __init__(self) -> None:
        self._catalogue = Catalogue([], [], [])
        self._rules: Rules | None = None

    def turn(self, now: TurnView) -> Turns:
        """0 to 4 of: an order of at most 5 % of funds, a price changed by −20 … +25 %, another shelf."""
        try:
            if not self._catalogue.ids:
                yield from self._open()
            today = Today.of(now)
            for action in range(self._whole(5, today.day)):
                key = (today.day, action)
                # Every draw is keyed by day and action: a refused read does not shift the luck of later days.
                kind = (self._order, self._price, self._shelf)[self._whole(3, *key)]
                yield from kind(today, key)
        except Refused:
            pass
        yield ToolCall("end_today")

    def _open(self) -> Turns:
        self._rules = yield from read_rules()
        self._catalogue = yield from read_catalogue(self._rules)

    def _whole(self, count: int, *key: int | str) -> int:
        """A whole number from 0 to count − 1."""
        return int(count * self.draw.uniform(*key))

    def _product(self, key: tuple[int, int]) -> str:
        return self._catalogue.ids[self._whole(len(self._catalogue.ids), *key, "product")]

    def _order(self, today: Today, key: tuple[int, int]) -> Turns:
        """Order a random product from a random supplier for at most 5 % of funds."""
        product = self._product(key)
        told = yield from ask("view_funds_and_date")
        quotes = (yield from read_quotes([product]))[product]
        supplier = self._whole(len(quotes), *key, "supplier")
        # 5 % of funds.
        budget_cents = round(told["funds"] * 100) // 20
        assert self._rules is not None
        # Funds in cents times 100 are 1e-4 units, as quotes are.
        most = min(budget_cents * 100 // quotes[supplier], self._rules.order_units, _MOST_UNITS)
        if most > 0:
            yield from order(product, supplier, 1 + self._whole(most, *key, "units"))

    def _price(self, today: Today, key: tuple[int, int]) -> Turns:
        """Change a random price by a factor of 0.8 to 1.25."""
        product = self._product(key)
        told = yield from ask("view_product_prices", {"product_ids": [product]})
        old = round(told["price"][0] * 100)
        new = round(old * (0.8 + 0.45 * self.draw.uniform(*key, "price")))
        assert self._rules is not None
        yield from set_price(product, min(max(new, 1), self._rules.price_max))

    def _shelf(self, today: Today, key: tuple[int, int]) -> Turns:
        """Put a random set of products on the shelf."""
        ids = self._catalogue.ids
        lots = {product: self.draw.uniform(*key, product) for product in ids}
        # The id breaks ties, so that equal draws give the same shelf on every machine.
        chosen = sorted(ids, key=lambda product: (lots[product], product))
        size = 1 + self._whole(min(today.shelf_places, len(ids)), *key, "size")
        yield from ask("set_shelf_products", {"product_ids": [*chosen[:size]]})


# --- ways to fail ---------------------------------------------------------------------------------------------------


class NarrowAttention(CarefulReader):
    """Control: a careful_reader that looks after six products and forgets the rest of the store."""

    def choose(self, ranked: list[str]) -> list[str]:
        """The first six products of the recommendation."""
        # Six of forty places: enough to earn, too few to serve the store.
        return ranked[:6]


class NoFollowUp(CarefulReader):
    """Control: a careful_reader that orders for long, and comes back to a product every twentieth day only."""

    cover = 20.0
    _cycle = 20

    def __init__(self) -> None:
        super().__init__()
        self._first_day = 0

    def open(self, today: Today) -> Turns:
        """Remember the first day."""
        self._first_day = today.day
        yield from super().open(today)

    def due(self, today: Today) -> list[str]:
        """All products on the first day, then each product in its turn."""
        # As many products a day as keep all of them in turn: i acts on days i + 1, i + 21, …
        turn = (today.day - 1) % self._cycle
        first = today.day == self._first_day
        return [product for place, product in enumerate(self.selected) if first or place % self._cycle == turn]


class Hoarder(CarefulReader):
    """Control: a careful_reader that holds four times the stock."""

    cover = 24.0


class SealedEars(CarefulReader):
    """Control: a careful_reader that reads no news."""

    reads_news = False


class Giveaway(CarefulReader):
    """Control: a careful_reader that sells below cost on even days, at the start prices on odd ones."""

    def __init__(self) -> None:
        super().__init__()
        self._start: dict[str, int] = {}

    def open(self, today: Today) -> Turns:
        """Remember the start prices of the products."""
        yield from super().open(today)
        told = yield from ask("view_product_prices", {"product_ids": [*self.selected]})
        cents = (round(price * 100) for price in told["price"])
        self._start = dict(zip(told["product_id"], cents, strict=True))

    def price(self, product: str, best: int | None, quotes: Sequence[int], today: Today) -> int | None:
        """.95 of the cheapest quote, or the start price."""
        # Cents: the lowest quote is in 1e-4 units, so 95 % of it is times 95 over 10,000.
        return self._start[product] if today.day % 2 else max(1, min(quotes) * 95 // 10_000)


class BareShelf(CarefulReader):
    """Control: fills the shelf and orders once, then lets it run empty."""

    def __init__(self) -> None:
        super().__init__()
        self._filled = False

    def run(self, today: Today) -> Turns:
        """The first day's work only."""
        if not self._filled:
            self._filled = True
            yield from super().run(today)


class Fumbler(CarefulReader):
    """Control: sends orders that it cannot pay and prices of 0 along with its work."""

    _every = 5

    def run(self, today: Today) -> Turns:
        """The day's work, then the mistakes."""
        yield from super().run(today)
        for product in self.selected[:: self._every]:
            lines: JsonValue = [{"product_id": product, "quantity": 1_000_000}]
            yield ToolCall("place_order", {"supplier_id": supplier_id(0), "lines": lines})
            # The order is refused by the rules (rejected), the price by its type (invalid): both kinds must count.
            yield ToolCall("modify_product_price", {"product_id": product, "new_price": 0})


class BlindBuyer(Keeper):
    """Control: fixes prices on the first day, then orders by the stock alone, always from the same supplier."""

    _low_days = 3
    _order_days = 8

    def __init__(self) -> None:
        super().__init__()
        self._demand: dict[str, float] = {}

    def open(self, today: Today) -> Turns:
        """Select, and fix prices and expected sales by the past."""
        yield from super().open(today)
        days = yield from read_window(self.selected, today)
        quotes = yield from read_quotes(self.selected)
        for product in self.selected:
            # Of supplier_1, from which it always orders.
            optimum = analysis.window_optimum(days[product], quotes[product][0])
            self._demand[product] = optimum.demand
            if optimum.price is not None:
                yield from set_price(product, optimum.price)

    def run(self, today: Today) -> Turns:
        """Orders by the stock on hand."""
        holdings = yield from read_holdings(self.selected)
        for product, demand in self._demand.items():
            # What is waiting or on order is not looked at: that is the habit that this control shows.
            if holdings.on_hand[product] < self._low_days * demand:
                yield from order(product, 0, max(1, int(self._order_days * demand)))


class Stockpiler:
    """Control: turns nearly all cash into goods that it never puts on the shelf."""

    _spared_days = 10

    def __init__(self) -> None:
        self._done = False

    def turn(self, now: TurnView) -> Turns:
        """Buys on the first turn, then only closes days."""
        try:
            if not self._done:
                self._done = True
                yield from self._spend(now)
        except Refused:
            pass
        yield ToolCall("end_today")

    def _spend(self, now: TurnView) -> Turns:
        """Spend all but ten days' rent on the cheapest quotes, an equal share of what is left per product."""
        told = yield from ask("view_funds_and_date")
        catalogue = yield from read_catalogue((yield from read_rules()))
        quotes = yield from read_quotes(catalogue.ids)
        funds = round(told["funds"] * 100)
        spared = self._spared_days * round(told["rent_per_day"] * 100)
        for place, product in enumerate(catalogue.ids):
            # What a refused or rounded order leaves over goes to the products that follow.
            share_cents = (funds - spared) // (len(catalogue.ids) - place)
            supplier = analysis.cheapest(quotes[product])
            # The default of `order_units_max`.
            units = min(share_cents * 100 // quotes[product][supplier], 10_000)
            if units > 0:
                left = yield from order(product, supplier, units)
                funds = funds if left is None else left


# --- the registry ---------------------------------------------------------------------------------------------------

_ROLES = frozenset({SEAT})
_SPECS = (
    scripted(Oracle, _ROLES, privileged=True, reference=True),
    scripted(CarefulReader, _ROLES, stand_in=True),
    scripted(PriceFirst, _ROLES),
    scripted(ReorderPoint, _ROLES),
    scripted(Passive, _ROLES, reference=True),
    scripted(RandomLegal, _ROLES),
    scripted(NarrowAttention, _ROLES),
    scripted(NoFollowUp, _ROLES),
    scripted(BlindBuyer, _ROLES),
    scripted(Hoarder, _ROLES),
    scripted(Giveaway, _ROLES),
    scripted(BareShelf, _ROLES),
    scripted(Stockpiler, _ROLES),
    scripted(SealedEars, _ROLES),
    scripted(Fumbler, _ROLES),
)

POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
