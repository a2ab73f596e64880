"""The engine: one manager, one day after another (retail page, 4 and 6).

A day is open until the manager closes it; the close runs the ten steps of 6.9. Days of the records are indices (0 =
first history day), days of the clock count from 1: index = history_days + day − 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pydantic import JsonValue

from tradefair.contract import (
    Chance,
    Clock,
    Closure,
    EndReason,
    EpisodeOver,
    HarnessFailure,
    IllegalAction,
    LapseReason,
    SeatId,
)
from tradefair.contract.chain import canonical
from tradefair.contract.money import currency, divide_half_even, from_minor
from tradefair.retail import views
from tradefair.retail.answers.results import RulesView, TurnPart
from tradefair.retail.data.generator import past_of
from tradefair.retail.engine.closing import ClosedDay, day_facts, day_report
from tradefair.retail.engine.day_records import Records
from tradefair.retail.engine.demand import Curve, review_curve
from tradefair.retail.engine.luck import Floats
from tradefair.retail.engine.sales import DayBook, Shoppers
from tradefair.retail.engine.stock import Order, OrderLine
from tradefair.retail.model import SEAT, EndingFacts, RetailScenario, Store, Streams
from tradefair.retail.state import ShelfChange, State

_MEAN_STARS = 3.63
"""r0 where a category has no review: the mean of the base shares of stars (6.6)."""


class LineAsked(NamedTuple):
    """One line of an order as the manager asks for it: product id and units."""

    product_id: str
    quantity: int


class HiddenTruth(NamedTuple):
    """Today's truth for privileged policies, as views of the live lists; do not change them.

    `qualities` in 1/1000 star by product·suppliers + supplier; `need_effect` and `supply_effect` (δ of 6.4) by product.
    """

    store: Store
    qualities: Sequence[int]
    need_effect: Sequence[float]
    supply_effect: Sequence[float]


class Retail(State):
    """A live store (contract `Market`): the state, and the verbs that change it.

    An action takes effect at once. `end_today` or a lapse only marks the day for closing; `advance` runs the close.
    """

    def __init__(self, scenario: RetailScenario, seed: int) -> None:
        super().__init__(scenario, seed, past_of(scenario))
        self._rent = scenario.rent_per_day_cents
        self._shoppers = Shoppers(scenario, self.store)
        self._curve = _curve(self.store)
        # Fixed at the start: ρ_rev compares with the rating before day 1, however long an episode is (6.3).
        self._base_effects = self._curve.at(_base_ratings(scenario, self.store, self.records))
        # Day 1 is opened here, as `close_day` opens all later ones.
        self.news += self.world.open_day(self.luck, self.day, self.index, history=False)

    # --- actions ----------------------------------------------------------------------------------------------------

    def place_order(self, supplier: str, lines: Sequence[LineAsked]) -> Order:
        """Order from one supplier, pay at once, and return the order; all lines arrive on the slowest line's day (6.7).

        Either the whole order is placed or nothing changes. Raises EpisodeOver, or IllegalAction: unknown_id,
        bad_value, order_too_large, insufficient_funds.
        """
        self._require_open()
        number = self.number_of(supplier)
        asked = [(self.place_of(line.product_id), line.quantity) for line in lines]
        # Every refusal comes before the first change: a refused order must leave the state as it was.
        self._require_order(asked)
        priced = [self._price_line(number, place, quantity) for place, quantity in asked]
        total = sum(line.cost for line in priced)
        # Also with funds below 0: the manager may act then, but no order can be paid.
        if total > self.funds_cents:
            raise IllegalAction(
                "insufficient_funds",
                f"the order costs {from_minor(total)}; funds are {from_minor(self.funds_cents)}",
                hint="place_order with smaller quantities or fewer lines",
            )
        return self._book_order(number, priced, total)

    def _require_order(self, asked: Sequence[tuple[int, int]]) -> None:
        """Refuse an order without lines, with a product twice, or with too many units."""
        # A product on two lines would draw two deliveries for what the manager sees as one.
        if not asked or len({place for place, _ in asked}) != len(asked) or min(units for _, units in asked) < 1:
            raise IllegalAction(
                "bad_value",
                "an order has at least one line, each product once, and whole quantities from 1",
                hint="place_order with one line per product",
            )
        limit = self.scenario.units_per_order
        if sum(units for _, units in asked) > limit:
            raise IllegalAction(
                "order_too_large", f"an order holds at most {limit} units", hint="place_order with smaller quantities"
            )

    def _price_line(self, number: int, place: int, quantity: int) -> OrderLine:
        """A line at today's quote, with the true quality that it buys; a lot keeps the quality of its order day."""
        pair = place * self.suppliers + number
        quote = self.world.quotes[pair]
        # Rounded once per line, half to even: rounding per unit would make large orders cheaper or dearer than their
        # quote.
        return OrderLine(place, quantity, quote, divide_half_even(quantity * quote, 100), self.world.qualities[pair])

    def _book_order(self, number: int, lines: Sequence[OrderLine], total: int) -> Order:
        """Draw the delivery, take the money, and file the order."""
        # The whole order waits for its slowest line (6.7).
        due = self.day + max(self._transit(number, line.product) for line in lines)
        self.orders_placed += 1
        order = Order(self.orders_placed, number, tuple(lines), total, self.day, due)
        self.stock.place(order)
        self.funds_cents -= total
        self.books.purchases += total
        for line in lines:
            self.ordered_today[line.product * self.suppliers + number] += line.quantity
            self.books.ordered_units += line.quantity
        self.orders_today.append(order)
        return order

    def _transit(self, number: int, place: int) -> int:
        """Days until a line would arrive: one draw per order line of the day for this product and supplier."""
        pair = place * self.suppliers + number
        # Counted per pair and day: a second order of the same goods has luck of its own, and an order of other goods
        # shifts no draw of this one.
        ordinal = self.line_ordinals[pair] = self.line_ordinals.get(pair, 0) + 1
        offer = self.store.products[place].suppliers[number]
        u = self.luck.uniform(Streams.DELIVERY, self.day, place, number, ordinal)
        return offer.transit_min + int(u * (offer.transit_max - offer.transit_min + 1))

    def set_price(self, product: str, cents: int) -> int:
        """Set a list price in cents, effective at once, and return the old one.

        Raises EpisodeOver, or IllegalAction: unknown_id, price_out_of_range.
        """
        self._require_open()
        place = self.place_of(product)
        # The source takes NaN and unbounded prices; here both bounds hold (12).
        if not 1 <= cents <= self.scenario.price_max_cents:
            raise IllegalAction(
                "price_out_of_range",
                f"prices run from 0.01 to {self.scenario.price_max}",
                hint="modify_product_price within that range",
            )
        old, self.prices[place] = self.prices[place], cents
        return old

    def set_shelf(self, products: Sequence[str]) -> ShelfChange:
        """Replace the assortment, effective at once, and return what changed.

        Raises EpisodeOver, or IllegalAction: unknown_id, shelf_over_capacity.
        """
        self._require_open()
        # A set: a product that is named twice stands on the shelf once.
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
        # A new list: the facts of a closed day keep the old one.
        self.on_shelf = [place in places for place in range(len(self.prices))]
        return change

    def end_today(self, day: int | None = None) -> None:
        """Mark the open day for closing; `advance` does the rest.

        `day` guards against a repeated call: any number but that of the open day raises IllegalAction stale_round.
        Raises EpisodeOver when the episode is over.
        """
        self._require_open()
        if day is not None and day != self.day:
            raise IllegalAction(
                "stale_round",
                f"day {day} is not open; the open day is {self.day}",
                hint=f"end_today with day={self.day}, or without day",
            )
        # From here on no action is accepted: a call that arrives late must not change a day that is being closed.
        self.clock = self.clock._replace(phase="close")

    def _require_open(self) -> None:
        """Refuse an action after the end. Raises EpisodeOver."""
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)

    # --- the clock --------------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The manager, while a day is open."""
        return _MANAGER if self.clock.phase == "open" and self.terminated is None else _NOBODY

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Close the day of a silent manager; the default action is `end_today`.

        Raises HarnessFailure if the manager is not awaited.
        """
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        self.end_today()
        return "end_today"

    def advance(self) -> Closure:
        """Close the day and return the report for the manager and the facts for the trace."""
        closed = self.close_day()
        assert self.report is not None
        return Closure("round", self.report, day_facts(self.scenario, self.store, closed, self.stock))

    def close_day(self) -> ClosedDay:
        """Run the ten steps of 6.9 (numbered in the comments) and return the truth of the closed day.

        This is `advance` without its facts, for play by rules alone. Raises HarnessFailure unless the day was ended.
        """
        if self.clock.phase != "close" or self.terminated is not None:
            raise HarnessFailure("a day closes after end_today, and while the episode is not over")
        self.stock.admit()  # (1)
        closed = self._trade()  # (2) to (4)
        self.funds_cents += sum(closed.book.revenue) - sum(closed.book.refunds)  # (6)
        self.day += 1  # (7)
        arrivals = self.stock.deliver(self.day)
        self.stock.admit()
        self.funds_cents -= self._rent  # (8)
        # Rent is paid before the end test, on the last day too: it decides who is insolvent.
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
            self.news += self.world.open_day(self.luck, self.day, self.index, history=False)  # (5), (9)
        return closed

    def _trade(self) -> ClosedDay:
        """Demand, sales, returns, reviews, expiries and the day's records: steps (2) to (4)."""
        luck, index, shoppers, stock = self.luck, self.index, self._shoppers, self.stock
        # Customers see the shelf as it was in the morning: what a sale empties does not send demand to other products
        # of the category that day.
        opening = stock.on_hand.copy()
        available = [shelved and units > 0 for shelved, units in zip(self.on_shelf, opening, strict=True)]
        review_effect = self._review_effects()
        effects = [review + need for review, need in zip(review_effect, self.world.need_effect, strict=True)]
        visitors = shoppers.count(luck, self.day, self.today)
        attraction = shoppers.attractions(luck, self.day, self.today, self.prices, self.shelf, effects)
        demand = shoppers.demand(luck, self.day, visitors, attraction, available)
        book = DayBook(self.scenario.feedback, luck, self.day, index, len(self.prices), self.suppliers)
        for place, wanted in enumerate(demand):
            if wanted:
                # Demand beyond the stock is lost: it does not move to another product that day (6.5).
                sold = min(wanted, opening[place])
                book.sell(place, self.prices[place], stock.take(place, sold), self.records.reviews)
        # After the sales: a unit may be sold on the last day of its life.
        gone = stock.expire(self.day)
        # Again: what was sold and removed has made room.
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
            orders=self.orders_today,
            arrivals={},
        )

    def _review_effects(self) -> list[float]:
        """ρ_rev (6.3) by product: how far its rating moves demand, compared with its rating at the start.

        The rating is the mean of the stars in the window before today. The window widens by its own length until it
        holds a review; 0 without any, and where feedback is off.
        """
        rules, last = self.scenario.feedback, self.index - 1
        if not rules.enabled:
            return [0.0] * len(self.prices)
        first = self.index - rules.window_days
        stars, reviews = self.records.ratings(first, last)
        for _ in range(rules.window_steps):
            # There are no days before the first history day: a wider window holds the same reviews.
            if first <= 0 or reviews.all():
                break
            first -= rules.window_days
            more_stars, more_reviews = self.records.ratings(first, last)
            stars, reviews = np.where(reviews, stars, more_stars), np.where(reviews, reviews, more_reviews)
        change = self._curve.at(stars / np.maximum(reviews, 1)) - self._base_effects
        return np.where(reviews, change, 0.0).tolist()

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
            ordered=self.ordered_today,
        )
        self.past.update(self.records.close_day(columns))

    def _keep_books(self, closed: ClosedDay) -> None:
        """Add the day to the books, and forget what belongs to the closed day only."""
        books, book = self.books, closed.book
        books.revenue += sum(book.revenue)
        books.refunds += sum(book.refunds)
        books.cost_of_goods += sum(book.cost_of_goods)
        books.sold_units += sum(book.units)
        books.expiry_cost += sum(closed.expiry_cost)
        books.expired_units += sum(closed.expired)
        books.rent += self._rent
        self.ordered_today = [0] * len(self.ordered_today)
        self.line_ordinals = {}
        self.orders_today = []

    def _test_end(self) -> None:
        """Count days with negative funds, test the end, and move the clock."""
        self.negative_days = self.negative_days + 1 if self.funds_cents < 0 else 0
        self.terminated = self._end_reason()
        # Once it is over the clock stays on the last day that was played.
        open_round = self.day - 1 if self.terminated else self.day
        self.clock = Clock(open_round, "close" if self.terminated else "open", self.clock.revision + 1)

    def _end_reason(self) -> EndReason | None:
        """Why the episode ends now; None while it goes on."""
        # Insolvency first: a store that fails on its last day has not survived.
        if self.negative_days >= self.scenario.insolvency_days:
            return "terminated:insolvent"
        return "terminated:horizon" if self.day > self.scenario.horizon_days else None

    # --- contract: views, facts, digest -----------------------------------------------------------------------------

    def feed(self, source: str, payload: JsonValue) -> None:
        """Refuse: this market takes no free-standing input."""
        raise IllegalAction("unknown_source", f"{source[:40]!r} is not an input of this market", retryable=False)

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules, as far as the manager may know them."""
        return views.rules(self)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """The open day in short, with the report of the last closed one."""
        return views.turn_part(self)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """funds and rent in currency units, current_date, day and product_ids, for `execute_code`."""
        return {
            "funds": currency(self.funds_cents),
            "current_date": self.today.isoformat(),
            "day": self.day,
            "rent": currency(self._rent),
            "product_ids": [*self.product_ids],
        }

    def news_mark(self, seat: SeatId) -> int:
        """The number of closed days: nothing else ever reaches the manager."""
        return self.day - 1

    def privileged(self) -> HiddenTruth:
        """Today's true qualities and news effects."""
        world = self.world
        return HiddenTruth(self.store, world.qualities, world.need_effect, world.supply_effect)

    def ending_facts(self) -> EndingFacts:
        """The books of the episode and what is left, in cents and units."""
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

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, scenario, store and closed days, and of the open day.

        Closed days enter as a running hash of their records, so that the cost does not grow with the length of an
        episode.
        """
        world, stock = self.world, self.stock
        # Plain lists, in a fixed order: the digest must not depend on how objects are printed.
        now = [
            [*self.clock, self.day, self.terminated, self.negative_days, self.funds_cents, self.orders_placed],
            [self.prices, self.on_shelf, self.ordered_today, sorted(self.line_ordinals.items()), self.read_marks],
            [world.quotes, world.qualities, [[item.id, item.last, item.strength] for item in world.listed]],
            [stock.plain(), vars(self.books)],
        ]
        return hashlib.blake2b(self.past.digest() + canonical(now), digest_size=32).digest()

    def check(self) -> None:
        """Raise AssertionError unless the conservation laws of section 13 hold."""
        stock, books, start = self.stock, self.books, self.scenario.funds_start_cents
        stock.check(self.day)
        # Every unit that was ever ordered is sold, expired, on hand, waiting or in transit.
        held = stock.total_on_hand + stock.total_waiting + sum(stock.incoming)
        assert books.ordered_units == books.sold_units + books.expired_units + held, "units do not balance"
        cash = start + books.revenue - books.refunds - books.rent - books.purchases
        assert self.funds_cents == cash, "cash does not balance"
        # Every cent paid to suppliers is in goods sold, goods expired, goods held or open orders.
        goods = books.cost_of_goods + books.expiry_cost + sum(stock.cost) + stock.open_cost
        assert books.purchases == goods, "what was paid is not what was sold, lost, held and awaited"
        # The decomposition of section 9, to the cent: what evaluation prints must add up.
        allowance = sum(stock.cost) - self.stock_value_cents
        gain = books.revenue - books.refunds - books.cost_of_goods - books.expiry_cost - books.rent - allowance
        assert self.net_worth_cents == start + gain, "the profit decomposition is not exact"
        assert self.records.days == self.index, "a day is missing in the records"
        assert sum(self.on_shelf) <= self.scenario.shelf_places, "the shelf is over-full"
        assert self.scenario.news.daily_count == len(self.world.listed) or not self.scenario.news.enabled, "news count"

    def clone(self) -> Retail:
        """An independent market in the same state."""
        twin = self.copy()
        # Shoppers remember the slopes of the current week; two markets must not share that memory.
        twin._shoppers = Shoppers(self.scenario, self.store)
        return twin

    def perturbed(self, salt: int) -> Retail:
        """A market with the same visible past and present over other hidden truth.

        Demand, qualities, walks and the strength of news differ; no tool may answer differently before the next close.
        `salt` makes different twins.
        """
        twin = self.clone()
        chance = Chance(f"retail.perturb:{salt}")
        # A prime number of shifts, so that the pattern does not line up with products, suppliers or categories.
        shift = [chance.uniform("shift", place) for place in range(97)]
        twin.store = _other_store(self.store, shift)
        twin.world.perturb(twin.store, shift)
        twin.stock.hidden_qualities([round(1000 + 4000 * step) for step in shift])
        twin._shoppers = Shoppers(self.scenario, twin.store)
        twin._curve = _curve(twin.store)
        twin._base_effects = twin._curve.at(_base_ratings(self.scenario, twin.store, twin.records))
        return twin


_MANAGER: frozenset[SeatId] = frozenset({SEAT})
_NOBODY: frozenset[SeatId] = frozenset()


def _curve(store: Store) -> Curve[Floats]:
    """The review curves g_c of the products' categories: coefficients by product."""
    curves = [review_curve(category.lift, category.threshold) for category in store.categories]
    return Curve(*np.array([curves[product.category] for product in store.products]).T)


def _base_ratings(scenario: RetailScenario, store: Store, records: Records) -> Floats:
    """r0 (6.3) by product: mean stars of the last history days, else the category's mean, else 3.63."""
    last = scenario.history_days - 1
    first = last - scenario.feedback.window_days + 1
    rated = list(zip(*(column.tolist() for column in records.ratings(first, last)), strict=True))
    totals = [[0, 0] for _ in store.categories]
    for product, (stars, reviews) in zip(store.products, rated, strict=True):
        totals[product.category][0] += stars
        totals[product.category][1] += reviews
    ratings: list[float] = []
    for product, (stars, reviews) in zip(store.products, rated, strict=True):
        # A product without reviews of its own takes its category's mean (6.3).
        all_stars, all_reviews = (stars, reviews) if reviews else totals[product.category]
        ratings.append(all_stars / all_reviews if all_reviews else _MEAN_STARS)
    return np.array(ratings)


def _other_store(store: Store, shift: Sequence[float]) -> Store:
    """A store with the same catalogue and offers but other demand, review curves and base qualities."""
    products = tuple(
        product.model_copy(
            update={
                "alpha": product.alpha + shift[place % len(shift)] - 0.5,
                "beta": product.beta * (0.5 + shift[(place + 1) % len(shift)]),
                "sigma": product.sigma * shift[(place + 2) % len(shift)],
                # Mirrored on the scale of 1 to 5, so that the best supplier becomes the worst.
                "suppliers": tuple(
                    offer.model_copy(update={"base_quality": 6 - offer.base_quality}) for offer in product.suppliers
                ),
            }
        )
        for place, product in enumerate(store.products)
    )
    categories = tuple(item.model_copy(update={"lift": 1 - item.lift}) for item in store.categories)
    return store.model_copy(update={"products": products, "categories": categories})
