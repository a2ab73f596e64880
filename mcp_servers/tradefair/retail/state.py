"""The one mutable record of an episode: the store, its books, goods, prices and news. Views read it, rules change it.

Products, suppliers and categories are addressed by index: products in store order (P001 is 0), a pair of product and
supplier as product·suppliers + supplier. Money is in integer cents.
"""

from __future__ import annotations

import copy
import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple, Self

from tradefair.contract import Clock, EndReason, IllegalAction, SeatId, SeatSpec
from tradefair.contract.chain import canonical
from tradefair.retail.answers.results import DayReport
from tradefair.retail.data.generator import Past
from tradefair.retail.engine.luck import Luck
from tradefair.retail.engine.stock import Order, Stock
from tradefair.retail.engine.world import NewsItem
from tradefair.retail.model import SEAT, RetailScenario, product_id, supplier_id

_LONGEST_NEWS = 6
"""Days to look back for items that are still listed; an item has at most 5 extra days (`NewsRules.extra_days`)."""


class ShelfChange(NamedTuple):
    """What a new assortment changed: product indices, ascending."""

    added: list[int]
    removed: list[int]


@dataclass
class Books:
    """Cash flows in cents and units of the whole episode; kept for `check` and for the facts of the ending."""

    revenue: int = 0
    refunds: int = 0
    cost_of_goods: int = 0
    expiry_cost: int = 0
    rent: int = 0
    purchases: int = 0
    ordered_units: int = 0
    sold_units: int = 0
    expired_units: int = 0


class State:
    """The whole truth of one episode; changed by the rules only.

    `day` counts from 1, `index` from the first day of the visible past. `prices` and `on_shelf` are by product,
    `ordered_today` by pair. `news` holds every item that was ever listed, oldest first, and `records` the visible past,
    one row per closed day. `line_ordinals` counts the order lines of the open day by pair: each has its own delivery
    draw. `past` is a running hash of the closed days.
    """

    def __init__(self, scenario: RetailScenario, seed: int, past: Past) -> None:
        self.scenario = scenario
        self.seed = seed
        self.seats: Mapping[SeatId, SeatSpec] = {SEAT: SeatSpec(SEAT, SEAT)}
        self.read_marks: dict[SeatId, int] = {SEAT: 0}
        self.clock = Clock(1, "open", 0)
        self.terminated: EndReason | None = None
        self.store = past.store
        # All episodes of a scenario share one past: without copies, one would write into another's history.
        self.records = past.records.copy()
        self.world = past.world.copy()
        self.news: list[NewsItem] = list(past.news)
        self.stock = Stock([item.shelf_life_days for item in past.store.products], scenario.storage_capacity)
        self.day: int = 1
        self.funds_cents: int = scenario.funds_start_cents
        self.prices: list[int] = [item.start_price_cents for item in past.store.products]
        self.on_shelf = [False] * len(past.store.products)
        self.negative_days: int = 0
        self.report: DayReport | None = None
        self.books = Books()
        self.orders_placed: int = 0
        self.ordered_today = [0] * (len(self.prices) * past.store.suppliers)
        self.line_ordinals: dict[int, int] = {}
        self.orders_today: list[Order] = []
        self.luck = Luck.of_episode(seed)
        # Begun with seed, scenario and store, so that equal days of other episodes have another digest.
        self.past = hashlib.blake2b(
            canonical([seed, scenario.model_dump(mode="json"), past.store.digest]), digest_size=32
        )
        # Texts of the past are worded when they are read, so its luck is needed during the episode too.
        self._past_luck = Luck.of_history(past.store.key)
        self._places = {item.id: place for place, item in enumerate(past.store.products)}
        self._numbers = {supplier_id(number): number for number in range(past.store.suppliers)}

    @property
    def index(self) -> int:
        """Day index of the open day (0 = first history day); the last closed day is index − 1."""
        return self.scenario.history_days + self.day - 1

    @property
    def today(self) -> date:
        """Date of the open day."""
        return self.scenario.date_at(self.index)

    @property
    def suppliers(self) -> int:
        """Suppliers per product."""
        return self.store.suppliers

    @property
    def product_ids(self) -> list[str]:
        """Ids of all products, in store order."""
        return list(self._places)

    @property
    def supplier_ids(self) -> list[str]:
        """Ids of all suppliers, by number."""
        return list(self._numbers)

    @property
    def shelf(self) -> list[int]:
        """Indices of the products on the shelf, ascending."""
        return [place for place, shelved in enumerate(self.on_shelf) if shelved]

    @property
    def stock_value_cents(self) -> int:
        """Aged value of everything on hand and waiting, today (6.8).

        In cents; each product's value is rounded half to even by itself.
        """
        return self.stock.value(self.day)

    @property
    def net_worth_cents(self) -> int:
        """Funds, aged stock and open orders at cost (6.8).

        In cents; open orders count in full, for they are prepaid.
        """
        return self.funds_cents + self.stock_value_cents + self.stock.open_cost

    # --- ids --------------------------------------------------------------------------------------------------------

    def place_of(self, product: str) -> int:
        """Index of a product id. Raises IllegalAction unknown_id."""
        place = self._places.get(product)
        if place is None:
            raise _unknown("product", product, f"products are {product_id(0)}..{product_id(len(self.prices) - 1)}")
        return place

    def places_of(self, products: Sequence[str]) -> list[int]:
        """Indices of product ids, in the order of `products`. Raises IllegalAction unknown_id."""
        return [self.place_of(product) for product in products]

    def number_of(self, supplier: str) -> int:
        """Number of a supplier id. Raises IllegalAction unknown_id."""
        number = self._numbers.get(supplier)
        if number is None:
            raise _unknown("supplier", supplier, f"suppliers are {', '.join(self._numbers)}")
        return number

    def category_of(self, name: str) -> int:
        """Index of a category name. Raises IllegalAction unknown_id."""
        names = [category.name for category in self.store.categories]
        if name not in names:
            raise _unknown("category", name, f"categories are {', '.join(names)}")
        return names.index(name)

    # --- news -------------------------------------------------------------------------------------------------------

    def news_of(self, news: str) -> NewsItem:
        """The item of a news id that has been listed. Raises IllegalAction unknown_id."""
        head, _, slot = news.removeprefix("N").partition("-")
        # A client may send any text: only short ASCII digits are read as a number.
        if news.startswith("N") and head.isascii() and head.isdigit() and len(head) < 9:
            for item in self._news_first_on(int(head) - 1, int(head) - 1):
                if slot == str(item.slot):
                    return item
        raise _unknown("news item", news, "view_today_news and view_news_history show the ids")

    def news_between(self, first: int, last: int) -> list[NewsItem]:
        """Items that were listed on any of the day indices first..last, oldest first."""
        # Items are sorted by their first day; one that began earlier may still be listed.
        return [item for item in self._news_first_on(first - _LONGEST_NEWS, last) if item.last >= first]

    def _news_first_on(self, first: int, last: int) -> list[NewsItem]:
        """Items that were listed for the first time on the day indices first..last."""
        start = bisect_left(self.news, first, key=_first_day)
        return self.news[start : bisect_left(self.news, last + 1, key=_first_day)]

    def text_luck(self, *, history: bool) -> Luck:
        """The chance that chooses the words of reviews and news, of the history or of the episode."""
        return self._past_luck if history else self.luck

    def copy(self) -> Self:
        """An independent copy in the same state."""
        # Scenario, store, seats and luck never change and are shared; everything else is copied below.
        twin = copy.copy(self)
        twin.read_marks, twin.prices, twin.on_shelf = dict(self.read_marks), self.prices[:], self.on_shelf[:]
        twin.records, twin.world, twin.stock = self.records.copy(), self.world.copy(), self.stock.copy()
        twin.news, twin.books = self.news[:], replace(self.books)
        twin.ordered_today, twin.line_ordinals = self.ordered_today[:], dict(self.line_ordinals)
        twin.orders_today, twin.past = self.orders_today[:], self.past.copy()
        return twin


def _first_day(item: NewsItem) -> int:
    return item.first


def _unknown(kind: str, asked: str, hint: str) -> IllegalAction:
    """The refusal of an id that does not exist; the id is cut, for a client may send any text."""
    return IllegalAction("unknown_id", f"there is no {kind} {asked[:40]!r}", hint=hint)
