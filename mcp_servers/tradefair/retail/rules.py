"""The engine: one manager, one day after another (retail page, 4 and 6).

A day is open until the manager closes it; the close runs the ten steps of 6.9. Days of the records are indices
(0 = first history day), days of the clock count from 1: index = history_days + day − 1.
"""

from __future__ import annotations

import copy
import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.contract.chain import canonical
from tradefair.contract.chance import Chance
from tradefair.contract.errors import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.market import Clock, Closure, EndReason, LapseReason
from tradefair.contract.money import currency, divide_half_even, from_minor
from tradefair.contract.seats import SeatId, SeatSpec
from tradefair.retail.data.generator import past_of
from tradefair.retail.engine.closing import ClosedDay, day_facts, day_report
from tradefair.retail.engine.demand import Curve, review_curve
from tradefair.retail.engine.sales import DayBook, Shoppers
from tradefair.retail.engine.stock import Order, OrderLine, Stock
from tradefair.retail.engine.world import Luck, NewsItem, World
from tradefair.retail.model import (
    SEAT,
    DayReport,
    EndingFacts,
    OrderLineFacts,
    RetailScenario,
    RulesView,
    Store,
    Streams,
    TurnPart,
    order_id,
    product_id,
    supplier_id,
)
from tradefair.retail.records import Records

_MEAN_STARS = 3.63
_LONGEST_NEWS = 6


class LineAsked(NamedTuple):
    """A line of an order as the manager asks for it."""

    product_id: str
    quantity: int


class ShelfChange(NamedTuple):
    """What a new assortment changed; product places in store order."""

    added: list[int]
    removed: list[int]


class HiddenTruth(NamedTuple):
    """What privileged policies are given: views of today's truth, by product or product·suppliers; do not change them.

    `qualities` in 1/1000 star, effects as in 6.4 (`supply_effect` = δ).
    """

    store: Store
    qualities: Sequence[int]
    need_effect: Sequence[float]
    supply_effect: Sequence[float]


@dataclass
class Books:
    """Cash flows of the episode in cents, and units by product; kept for `check` and the ending."""

    revenue: int = 0
    refunds: int = 0
    cost_of_goods: int = 0
    expiry_cost: int = 0
    rent: int = 0
    purchases: int = 0
    ordered_units: int = 0
    sold_units: int = 0
    expired_units: int = 0


class Retail:
    """A live store (contract `Market`). Everything a view needs is readable here; only the actions and `advance` write.

    Lists are by product (store order) or, where named so, by product·suppliers + supplier.
    """

    def __init__(self, scenario: RetailScenario, seed: int) -> None:
        past = past_of(scenario)
        self.scenario = scenario
        self.seed = seed
        self.seats: Mapping[SeatId, SeatSpec] = {SEAT: SeatSpec(SEAT, SEAT)}
        self.read_marks: dict[SeatId, int] = {SEAT: 0}
        self.clock = Clock(1, "open", 0)
        self.terminated: EndReason | None = None
        self.store = past.store
        self.records: Records = past.records.copy()
        self.world: World = past.world.copy()
        self.news: list[NewsItem] = list(past.news)
        self.stock = Stock([item.shelf_life_days for item in past.store.products], scenario.storage_capacity)
        self.day = 1
        self.funds_cents = scenario.funds_start_cents
        self.prices = [item.start_price_cents for item in past.store.products]
        self.on_shelf = [False] * len(past.store.products)
        self.negative_days = 0
        self.report: DayReport | None = None
        self.books = Books()
        self._rent = scenario.rent_per_day_cents
        self._places = {item.id: place for place, item in enumerate(past.store.products)}
        self._numbers = {supplier_id(number): number for number in range(past.store.suppliers)}
        self._luck = Luck.of_episode(seed)
        self._past_luck = Luck.of_history(past.store.key)
        self._shoppers = Shoppers(scenario, past.store)
        self._curves = _curves(past.store)
        self._base_ratings = _base_ratings(scenario, past.store, past.records)
        self._orders_placed = 0
        self._ordered_today = [0] * (len(self.prices) * past.store.suppliers)
        self._line_ordinals: dict[int, int] = {}
        self._lines_today: list[OrderLineFacts] = []
        self._history = self._start_hash()
        self.news += self.world.open_day(self._luck, self.day, self.index, history=False)

    # --- what can be read -------------------------------------------------------------------------------------------

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
    def shelf(self) -> list[int]:
        """Places of the products on the shelf, in store order."""
        return [place for place, shelved in enumerate(self.on_shelf) if shelved]

    @property
    def stock_value_cents(self) -> int:
        """Aged value of everything on hand and waiting, today."""
        return self.stock.value(self.day)

    @property
    def net_worth_cents(self) -> int:
        """Funds, aged stock and open orders at cost (6.8)."""
        return self.funds_cents + self.stock_value_cents + self.stock.open_cost

    def place_of(self, product: str) -> int:
        """Place of a product id. IllegalAction: unknown_id."""
        place = self._places.get(product)
        if place is None:
            raise _unknown("product", product, f"products are {product_id(0)}..{product_id(len(self.prices) - 1)}")
        return place

    def number_of(self, supplier: str) -> int:
        """Number of a supplier id. IllegalAction: unknown_id."""
        number = self._numbers.get(supplier)
        if number is None:
            raise _unknown("supplier", supplier, f"suppliers are {', '.join(self._numbers)}")
        return number

    def category_of(self, name: str) -> int:
        """Place of a category name. IllegalAction: unknown_id."""
        names = [category.name for category in self.store.categories]
        if name not in names:
            raise _unknown("category", name, f"categories are {', '.join(names)}")
        return names.index(name)

    def news_of(self, news: str) -> NewsItem:
        """The item of a news id that has been listed. IllegalAction: unknown_id."""
        head, _, slot = news.removeprefix("N").partition("-")
        if news.startswith("N") and head.isascii() and head.isdigit() and len(head) < 9:
            for item in self._news_first_on(int(head) - 1, int(head) - 1):
                if slot == str(item.slot):
                    return item
        raise _unknown("news item", news, "view_today_news and view_news_history show the ids")

    def news_between(self, first: int, last: int) -> list[NewsItem]:
        """Items that were listed on any of the day indices first..last, oldest first."""
        return [item for item in self._news_first_on(first - _LONGEST_NEWS, last) if item.last >= first]

    def _news_first_on(self, first: int, last: int) -> list[NewsItem]:
        start = bisect_left(self.news, first, key=_first_day)
        return self.news[start : bisect_left(self.news, last + 1, key=_first_day)]

    def text_luck(self, *, history: bool) -> Luck:
        """The chance that words reviews and news of the history or of the episode."""
        return self._past_luck if history else self._luck

    # --- actions ----------------------------------------------------------------------------------------------------

    def place_order(self, supplier: str, lines: Sequence[LineAsked]) -> Order:
        """Order and pay; everything arrives on the slowest line's day (6.7).

        Raises EpisodeOver, or IllegalAction: unknown_id, invalid_arguments, order_too_large, insufficient_funds.
        """
        self._require_open()
        number = self.number_of(supplier)
        asked = [(self.place_of(line.product_id), line.quantity) for line in lines]
        self._require_order(asked)
        priced = [self._price_line(number, place, quantity) for place, quantity in asked]
        total = sum(line.cost for line in priced)
        if total > self.funds_cents:
            raise IllegalAction(
                "insufficient_funds",
                f"the order costs {from_minor(total)}; funds are {from_minor(self.funds_cents)}",
                hint="place_order with smaller quantities or fewer lines",
            )
        return self._book_order(number, priced, total)

    def _require_order(self, asked: Sequence[tuple[int, int]]) -> None:
        if not asked or len({place for place, _ in asked}) != len(asked) or min(units for _, units in asked) < 1:
            raise IllegalAction(
                "invalid_arguments",
                "an order has at least one line, each product once, and whole quantities from 1",
                hint="place_order with one line per product",
            )
        limit = self.scenario.units_per_order
        if sum(units for _, units in asked) > limit:
            raise IllegalAction(
                "order_too_large", f"an order holds at most {limit} units", hint="place_order with smaller quantities"
            )

    def _price_line(self, number: int, place: int, quantity: int) -> OrderLine:
        pair = place * self.suppliers + number
        quote = self.world.quotes[pair]
        return OrderLine(place, quantity, quote, divide_half_even(quantity * quote, 100), self.world.qualities[pair])

    def _book_order(self, number: int, lines: Sequence[OrderLine], total: int) -> Order:
        due = self.day + max(self._transit(number, line.product) for line in lines)
        self._orders_placed += 1
        order = Order(self._orders_placed, number, tuple(lines), total, self.day, due)
        self.stock.place(order)
        self.funds_cents -= total
        self.books.purchases += total
        for line in lines:
            self._ordered_today[line.product * self.suppliers + number] += line.quantity
            self.books.ordered_units += line.quantity
            self._lines_today.append(_line_facts(order, line))
        return order

    def _transit(self, number: int, place: int) -> int:
        """Days until a line would arrive: one draw per line of the day for this product and supplier."""
        pair = place * self.suppliers + number
        ordinal = self._line_ordinals[pair] = self._line_ordinals.get(pair, 0) + 1
        offer = self.store.products[place].suppliers[number]
        u = self._luck.uniform(Streams.DELIVERY, self.day, place, number, ordinal)
        return offer.transit_min + int(u * (offer.transit_max - offer.transit_min + 1))

    def set_price(self, product: str, cents: int) -> int:
        """Set a list price, effective at once; the old one. Raises EpisodeOver or IllegalAction: price_out_of_range."""
        self._require_open()
        place = self.place_of(product)
        if not 1 <= cents <= self.scenario.price_max_cents:
            raise IllegalAction(
                "price_out_of_range",
                f"prices run from 0.01 to {self.scenario.price_max}",
                hint="modify_product_price within that range",
            )
        old, self.prices[place] = self.prices[place], cents
        return old

    def set_shelf(self, products: Sequence[str]) -> ShelfChange:
        """Replace the assortment. Raises EpisodeOver or IllegalAction: unknown_id, shelf_over_capacity."""
        self._require_open()
        places = {self.place_of(product) for product in products}
        room = self.scenario.shelf_places
        if len(places) > room:
            raise IllegalAction(
                "shelf_over_capacity",
                f"the shelf holds {room} products, not {len(places)}",
                hint=f"set_shelf_products with at most {room} products",
            )
        change = ShelfChange(
            added=[place for place in sorted(places) if not self.on_shelf[place]],
            removed=[place for place in self.shelf if place not in places],
        )
        self.on_shelf = [place in places for place in range(len(self.prices))]
        return change

    def end_today(self, day: int | None = None) -> None:
        """Close the day; `advance` does the rest. Raises EpisodeOver or IllegalAction: stale_round."""
        self._require_open()
        if day is not None and day != self.day:
            raise IllegalAction(
                "stale_round",
                f"day {day} is not open; the open day is {self.day}",
                hint=f"end_today with day={self.day}, or without day",
            )
        self.clock = self.clock._replace(phase="close")

    def _require_open(self) -> None:
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        if self.clock.phase != "open":
            raise IllegalAction("wrong_phase", "the day is being closed", hint="await_turn for the next day")

    # --- the clock --------------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The manager, while a day is open."""
        return _MANAGER if self.clock.phase == "open" and self.terminated is None else _NOBODY

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """A silent manager's day is closed."""
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        self.end_today()
        return "end_today"

    def advance(self) -> Closure:
        """Close the day: report for the manager, facts for the trace."""
        closed = self.close_day()
        assert self.report is not None
        return Closure("round", self.report, day_facts(self.scenario, self.store, closed, self.stock))

    def close_day(self) -> ClosedDay:
        """The ten steps of 6.9; `advance` without its facts, for play by rules alone."""
        if self.clock.phase != "close" or self.terminated is not None:
            raise HarnessFailure("a day closes after end_today, and while the episode is not over")
        self.stock.admit()  # (1)
        closed = self._trade()  # (2) to (4)
        self.funds_cents += sum(closed.book.revenue) - sum(closed.book.refunds)  # (6)
        self.day += 1  # (7)
        arrivals = self.stock.deliver(self.day)
        self.stock.admit()
        self.funds_cents -= self._rent  # (8)
        self._keep_books(closed)
        self._test_end()  # (10), before (5) and (9): no news or quotes come after the last day
        closed = closed._replace(
            arrivals=arrivals,
            funds=self.funds_cents,
            stock_value=self.stock_value_cents,
            open_order_cost=self.stock.open_cost,
            waiting_units=self.stock.total_waiting,
            negative_days=self.negative_days,
            end_reason=self.terminated,
        )
        self.report = day_report(self.scenario, closed)
        if self.terminated is None:
            self.news += self.world.open_day(self._luck, self.day, self.index, history=False)  # (5), (9)
        return closed

    def _trade(self) -> ClosedDay:
        """Demand, sales, returns, reviews, expiries and the day's records."""
        luck, index, shoppers, stock = self._luck, self.index, self._shoppers, self.stock
        opening = stock.on_hand.copy()
        available = [shelved and units > 0 for shelved, units in zip(self.on_shelf, opening, strict=True)]
        review_effect = [self._review_effect(place) for place in range(len(self.prices))]
        effects = [review + need for review, need in zip(review_effect, self.world.need_effect, strict=True)]
        visitors = shoppers.count(luck, self.day, self.today)
        attraction = shoppers.attractions(luck, self.day, self.today, self.prices, self.shelf, effects)
        demand = shoppers.demand(luck, self.day, visitors, attraction, available)
        book = DayBook(self.scenario.feedback, luck, self.day, index, len(self.prices), self.suppliers)
        for place, wanted in enumerate(demand):
            if wanted:
                sold = min(wanted, opening[place])
                book.sell(place, self.prices[place], stock.take(place, sold), self.records.reviews)
        gone = stock.expire(self.day)
        stock.admit()
        self._record(
            book, available, gone.units, [wanted > units for wanted, units in zip(demand, opening, strict=True)]
        )
        return ClosedDay(
            day=self.day,
            day_index=index,
            visitors=visitors,
            prices=self.prices.copy(),
            on_shelf=self.on_shelf,
            opening=opening,
            demand=demand,
            attraction=attraction,
            review_effect=review_effect,
            need_effect=self.world.need_effect,
            supply_effect=self.world.supply_effect,
            quotes=self.world.quotes,
            qualities=self.world.qualities,
            book=book,
            expired=gone.units,
            expiry_cost=gone.cost,
            lost=shoppers.lost(visitors, attraction, available),
            news=self.world.listed,
            orders=self._lines_today,
            arrivals={},
            funds=0,
            stock_value=0,
            open_order_cost=0,
            waiting_units=0,
            negative_days=0,
            end_reason=None,
        )

    def _review_effect(self, place: int) -> float:
        """ρ_rev (6.3): mean stars of the window before today, widened until it holds a review."""
        rules, last = self.scenario.feedback, self.index - 1
        if not rules.enabled:
            return 0.0
        first = self.index
        for _ in range(rules.window_steps + 1):
            first -= rules.window_days
            stars, reviews = self.records.rating(place, first, last)
            if reviews:
                curve = self._curves[place]
                return curve.at(stars / reviews) - curve.at(self._base_ratings[place])
            if first <= 0:
                break
        return 0.0

    def _record(
        self, book: DayBook, available: Sequence[bool], expired: Sequence[int], sold_out: Sequence[bool]
    ) -> None:
        """Append the day to the records and to the running hash."""
        columns = book.columns(
            price=self.prices,
            in_stock=available,
            expired=expired,
            sold_out=sold_out,
            quotes=self.world.quotes,
            ordered=self._ordered_today,
        )
        self._history.update(self.records.close_day(columns))

    def _keep_books(self, closed: ClosedDay) -> None:
        books, book = self.books, closed.book
        books.revenue += sum(book.revenue)
        books.refunds += sum(book.refunds)
        books.cost_of_goods += sum(book.cost_of_goods)
        books.sold_units += sum(book.units)
        books.expiry_cost += sum(closed.expiry_cost)
        books.expired_units += sum(closed.expired)
        books.rent += self._rent
        self._ordered_today = [0] * len(self._ordered_today)
        self._line_ordinals = {}
        self._lines_today = []

    def _test_end(self) -> None:
        self.negative_days = self.negative_days + 1 if self.funds_cents < 0 else 0
        closed_days = self.day - 1
        if self.negative_days >= self.scenario.insolvency_days:
            self.terminated = "terminated:insolvent"
        elif closed_days >= self.scenario.horizon_days:
            self.terminated = "terminated:horizon"
        open_round = closed_days if self.terminated else self.day
        self.clock = Clock(open_round, "close" if self.terminated else "open", self.clock.revision + 1)

    # --- contract: views, facts, digest -----------------------------------------------------------------------------

    def feed(self, source: str, payload: JsonValue) -> None:
        """This market takes no free-standing input."""
        raise IllegalAction("unknown_source", f"{source[:40]!r} is not an input of this market", retryable=False)

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules, as far as the manager may know them."""
        scenario = self.scenario
        return RulesView(
            goal="End with as much net worth as you can: funds, stock at its aged cost, open orders at cost.",
            horizon_days=scenario.horizon_days,
            first_day=scenario.start_date.isoformat(),
            first_visible_day=scenario.first_date.isoformat(),
            products=len(self.prices),
            categories=[category.name for category in self.store.categories],
            suppliers=list(self._numbers),
            funds_start=currency(scenario.funds_start_cents),
            rent_per_day=currency(self._rent),
            storage_capacity=scenario.storage_capacity,
            shelf_capacity=scenario.shelf_places,
            price_max=currency(scenario.price_max_cents),
            order_units_max=scenario.units_per_order,
            transit_cap=scenario.supplier.transit_cap,
            **_RULES,
            end=_END.format(days=scenario.insolvency_days),
        )

    def turn_view(self, seat: SeatId) -> TurnPart:
        """The open day in short, with the report of the last closed one."""
        scenario = self.scenario
        return TurnPart(
            day=self.clock.round,
            date=scenario.date_at(scenario.history_days + self.clock.round - 1).isoformat(),
            days_left=scenario.horizon_days - self.day + 1,
            funds=currency(self.funds_cents),
            rent_per_day=currency(self._rent),
            shelf_used=sum(self.on_shelf),
            shelf_capacity=scenario.shelf_places,
            negative_days=self.negative_days,
            last=self.report,
        )

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """funds, current_date, day, rent and product_ids."""
        return {
            "funds": currency(self.funds_cents),
            "current_date": self.today.isoformat(),
            "day": self.day,
            "rent": currency(self._rent),
            "product_ids": list(self._places),
        }

    def news_mark(self, seat: SeatId) -> int:
        """Closed days: nothing else ever reaches the manager."""
        return self.day - 1

    def privileged(self) -> HiddenTruth:
        """Today's true qualities and news effects."""
        world = self.world
        return HiddenTruth(self.store, world.qualities, world.need_effect, world.supply_effect)

    def ending_facts(self) -> EndingFacts:
        """The books and what is left."""
        books, stock = self.books, self.stock
        held = sum(stock.cost)
        return EndingFacts(
            days_closed=self.day - 1,
            funds_cents=self.funds_cents,
            net_worth_cents=self.net_worth_cents,
            stock_value_cents=self.stock_value_cents,
            stock_cost_cents=held,
            open_order_cents=stock.open_cost,
            gain_cents=self.net_worth_cents - self.scenario.funds_start_cents,
            revenue_cents=books.revenue,
            refunds_cents=books.refunds,
            cost_of_goods_cents=books.cost_of_goods,
            expiry_cost_cents=books.expiry_cost,
            rent_cents=books.rent,
            ageing_allowance_cents=held - self.stock_value_cents,
            on_hand=stock.on_hand,
            waiting=stock.waiting_units,
            product_stock_cost_cents=stock.cost,
            product_stock_value_cents=[stock.product_value(place, self.day) for place in range(len(self.prices))],
        )

    def _start_hash(self) -> hashlib.blake2b:
        start = [self.seed, self.scenario.model_dump(mode="json"), self.store.digest]
        return hashlib.blake2b(canonical(start), digest_size=32)

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, scenario, store and closed days (a running hash) and of the open day; flat cost."""
        world, stock = self.world, self.stock
        now = [
            [*self.clock, self.day, self.terminated, self.negative_days, self.funds_cents, self._orders_placed],
            [self.prices, self.on_shelf, self._ordered_today, sorted(self._line_ordinals.items()), self.read_marks],
            [world.quotes, world.qualities, [[item.id, item.last, item.strength] for item in world.listed]],
            [stock.plain(), vars(self.books)],
        ]
        return hashlib.blake2b(self._history.digest() + canonical(now), digest_size=32).digest()

    def check(self) -> None:
        """Conservation laws (section 13); raises AssertionError."""
        stock, books, start = self.stock, self.books, self.scenario.funds_start_cents
        stock.check(self.day)
        held = stock.total_on_hand + stock.total_waiting + sum(stock.incoming)
        assert books.ordered_units == books.sold_units + books.expired_units + held, "units do not balance"
        cash = start + books.revenue - books.refunds - books.rent - books.purchases
        assert self.funds_cents == cash, "cash does not balance"
        goods = books.cost_of_goods + books.expiry_cost + sum(stock.cost) + stock.open_cost
        assert books.purchases == goods, "what was paid is not what was sold, lost, held and awaited"
        allowance = sum(stock.cost) - self.stock_value_cents
        gain = books.revenue - books.refunds - books.cost_of_goods - books.expiry_cost - books.rent - allowance
        assert self.net_worth_cents == start + gain, "the profit decomposition is not exact"
        assert self.records.days == self.index, "a day is missing in the records"
        assert sum(self.on_shelf) <= self.scenario.shelf_places, "the shelf is over-full"
        assert self.scenario.news.daily_count == len(self.world.listed) or not self.scenario.news.enabled, "news count"

    def clone(self) -> Retail:
        """An independent market in the same state."""
        twin = copy.copy(self)
        twin.read_marks, twin.prices, twin.on_shelf = dict(self.read_marks), self.prices[:], self.on_shelf[:]
        twin.records, twin.world, twin.stock = self.records.copy(), self.world.copy(), self.stock.copy()
        twin.news, twin.books = self.news[:], replace(self.books)
        twin._ordered_today, twin._line_ordinals = self._ordered_today[:], dict(self._line_ordinals)
        twin._lines_today, twin._history = self._lines_today[:], self._history.copy()
        twin._shoppers = Shoppers(self.scenario, self.store)
        return twin

    def perturbed(self, salt: int) -> Retail:
        """The same visible past and present over other hidden truth: demand, qualities, walks, strength of news."""
        twin = self.clone()
        chance = Chance(f"retail.perturb:{salt}")
        shift = [chance.uniform("shift", place) for place in range(97)]
        twin.store = _other_store(self.store, shift)
        twin.world.perturb(twin.store, shift)
        twin.stock.hidden_qualities([round(1000 + 4000 * step) for step in shift])
        twin._shoppers = Shoppers(self.scenario, twin.store)
        twin._curves = _curves(twin.store)
        twin._base_ratings = _base_ratings(self.scenario, twin.store, twin.records)
        return twin


_MANAGER: frozenset[SeatId] = frozenset({SEAT})
_NOBODY: frozenset[SeatId] = frozenset()

_RULES = {
    "day": "Actions take effect at once; end_today closes the day: customers buy, some units come back, rent is due.",
    "shelf": "Only products on the shelf with stock on hand are sold. Prices and shelf may be changed freely.",
    "ageing": "Units lose value evenly over their shelf life and are removed, worthless, when it is over.",
    "orders": (
        "Orders are paid when they are placed and arrive whole, within transit_cap days; what finds no room waits "
        "outside, ages there, and is admitted first in, first out."
    ),
    "substitution": "Customers choose inside a category: products on the shelf there compete with one another.",
    "quality": "Quality differs between suppliers and is not shown; returns and reviews reflect it.",
    "news": "News moves demand or supplier prices for up to a week.",
}
_END = "The episode ends after the horizon, or when funds are negative at the close of {days} consecutive days."


def _first_day(item: NewsItem) -> int:
    return item.first


def _unknown(kind: str, asked: str, hint: str) -> IllegalAction:
    return IllegalAction("unknown_id", f"there is no {kind} {asked[:40]!r}", hint=hint)


def _line_facts(order: Order, line: OrderLine) -> OrderLineFacts:
    return OrderLineFacts.model_construct(
        order_id=order_id(order.number),
        product_id=product_id(line.product),
        supplier_id=supplier_id(order.supplier),
        quantity=line.quantity,
        cost_cents=line.cost,
        quality_milli=line.quality,
        due_day=order.due,
    )


def _curves(store: Store) -> list[Curve]:
    """g_c by product."""
    curves = [review_curve(category.lift, category.threshold) for category in store.categories]
    return [curves[product.category] for product in store.products]


def _base_ratings(scenario: RetailScenario, store: Store, records: Records) -> list[float]:
    """r0 (6.3): mean stars of the last history days, else the category's, else 3.63."""
    last = scenario.history_days - 1
    first = last - scenario.feedback.window_days + 1
    rated = [records.rating(place, first, last) for place in range(len(store.products))]
    totals = [[0, 0] for _ in store.categories]
    for product, (stars, reviews) in zip(store.products, rated, strict=True):
        totals[product.category][0] += stars
        totals[product.category][1] += reviews
    ratings: list[float] = []
    for product, (stars, reviews) in zip(store.products, rated, strict=True):
        all_stars, all_reviews = (stars, reviews) if reviews else totals[product.category]
        ratings.append(all_stars / all_reviews if all_reviews else _MEAN_STARS)
    return ratings


def _other_store(store: Store, shift: Sequence[float]) -> Store:
    """A store with the same catalogue and offers but other demand, curves and base qualities."""
    products = tuple(
        product.model_copy(
            update={
                "alpha": product.alpha + shift[place % len(shift)] - 0.5,
                "beta": product.beta * (0.5 + shift[(place + 1) % len(shift)]),
                "sigma": product.sigma * shift[(place + 2) % len(shift)],
                "suppliers": tuple(
                    offer.model_copy(update={"base_quality": 6 - offer.base_quality}) for offer in product.suppliers
                ),
            }
        )
        for place, product in enumerate(store.products)
    )
    categories = tuple(item.model_copy(update={"lift": 1 - item.lift}) for item in store.categories)
    return store.model_copy(update={"products": products, "categories": categories})
