"""What only the store's facts tell the general failure modes: wanted goods, trouble, idle days, prices out of scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.retail.modes.figures import BEST_SELLERS
from tradefair.evaluation.markets.retail.modes.follow_up import event_pairs
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay
from tradefair.evaluation.markets.retail.modes.pricing import below_cost
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.modes.selection import high_demand
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.modes.insight import EvidenceCase, Happening, Insight, Scale
from tradefair.evaluation.modes.table import Fact
from tradefair.retail.model import product_id
from tradefair.tracestore import Trace

# The general mode is about private values of traders; a store has costs instead.
_ABSENT = {"value_breach": "this market has no private values; below_cost judges sales"}

_UNREADABLE = dict.fromkeys(
    ("idle_drift", "below_cost", "narrow_attention", "resolved"),
    "could not be computed: the scenario in the manifest cannot be read",
)
_FACTS: Mapping[str, Fact] = {
    "place_order": "order",
    "modify_product_price": "price",
    "set_shelf_products": "order",
    "end_today": "action",
}


def retail_insight(trace: Trace) -> Insight:
    """Everything that the closed days tell, from the same reading as the market's own failure modes."""
    play = read_retail(trace).play
    # Without the scenario the store's columns have no meaning; conduct is still judged from the trace alone.
    if play.scenario is None:
        return Insight(unit="currency units", facts=_FACTS, absent={**_UNREADABLE, **_ABSENT})
    seat = play.seat
    return Insight(
        unit="currency units",
        facts=_FACTS,
        scales={seat: list(_scales(play))},
        idle={seat: Seen(list(idle_days_of(play)), play.length)},
        below_cost={seat: below_cost(play)},
        wanted={seat: list(retail_wanted(play))},
        happenings={seat: list(_happenings(play))},
        evidence={seat: list(_evidence(play))},
        absent=_ABSENT,
    )


def _evidence(play: RetailPlay) -> Iterator[EvidenceCase]:
    """One case per action event: how many categories it needed, and which were missing or too old."""
    for event in play.events:
        about = product_id(event.product)
        # The needs are judged while reading: scopes of this market's tools need the shelf and past orders.
        yield EvidenceCase(event.seq, event.day, about, len(event.needs), event.missing, event.stale)


def retail_wanted(play: RetailPlay) -> Iterator[Happening]:
    """Products that called for an action, by day.

    Best sellers, stock-outs and empty shelf places that run out before an order could come, and the best product of
    each category that the shelf leaves out although it has room.
    """
    for number, day in enumerate(play.days, 1):
        empty = {place for place in _on_shelf(day) if not day.facts.product.opening_stock[place]}
        for place in sorted(high_demand(day, BEST_SELLERS) | empty):
            # What has days of stock calls for nothing, however well it sells.
            if _is_short(play, day, place):
                yield Happening(number, product_id(place), day.ended)
        for place in _left_out(play, day):
            yield Happening(number, product_id(place), day.ended)


def _on_shelf(day: TradedDay) -> list[int]:
    return [place for place, shelved in enumerate(day.facts.product.on_shelf) if shelved]


def _is_short(play: RetailPlay, day: TradedDay, place: int) -> bool:
    """Whether what lies here or is on its way lasts no longer than the quickest delivery, at the sales of the day."""
    product, now = day.facts.product, day.facts.day
    coming = sum(line.quantity for line in play.bought_of(place) if line.day < now < line.due)
    days = 1 + (play.quickest[place] if play.quickest else 1)
    # A unit at least: without stock nothing is asked for, and nothing that comes is too little.
    return product.opening_stock[place] + coming < max(1, days * max(product.units[place], product.demand[place]))


def _left_out(play: RetailPlay, day: TradedDay) -> list[int]:
    """The most profitable product of each category without a shelf place, at most as many as there are free places."""
    shelf = day.facts.product.on_shelf
    room = play.scenario.shelf_places - sum(shelf) if play.scenario and play.worth else 0
    stood = {category for category, shelved in zip(play.categories, shelf, strict=True) if shelved}
    best: dict[str, int] = {}
    for place, category in enumerate(play.categories):
        if category not in stood and play.worth and play.worth[place] > play.worth[best.get(category, place)] - 1e-9:
            best[category] = place
    return sorted(best.values(), key=lambda place: -play.worth[place])[: max(0, room)]


def _happenings(play: RetailPlay) -> Iterator[Happening]:
    """Stock-outs, returns and expiries, as in stage 4."""
    for pair in event_pairs(play):
        yield Happening(pair.day, product_id(pair.product), play.days[pair.day - 1].ended)


def idle_days_of(play: RetailPlay) -> Iterator[Case]:
    """Days that were only closed although goods could have been bought for less than their list price."""
    for day in play.days:
        offer = None if day.conduct.active else _open_offer(day, play.scenario.shelf_places if play.scenario else 0)
        if offer is not None:
            place, quote = offer
            price = cents_text(day.facts.product.price_cents[place])
            offered = (
                f"{product_id(place)}, at a list price of {price}, was not on sale and on offer at {quote / 10_000:.4f}"
            )
            yield day.case(f"closed without an action; {offered}")


def _open_offer(day: TradedDay, places: int) -> tuple[int, int] | None:
    """The first product that was not on sale, with a quote below its list price that funds pay beyond the rent.

    With that quote, in 1e-4 currency units. A product off the shelf counts only while the shelf has room for it.
    """
    product, offers = day.facts.product, day.facts.supplier
    has_room = sum(product.on_shelf) < places
    for place, price in enumerate(product.price_cents):
        # Not on sale: off the shelf, or on it without stock in the morning.
        missing = not product.opening_stock[place] if product.on_shelf[place] else has_room
        quote = min(offers.quote_e4[place * offers.suppliers : (place + 1) * offers.suppliers])
        if missing and quote < 100 * min(price, day.facts.funds_cents - day.facts.rent_cents):
            return place, quote
    return None


def _scales(play: RetailPlay) -> Iterator[Scale]:
    """Each price that was set, and what it is compared with: the list price of the day before.

    On day 1 there is none, so the most profitable price takes its place.
    """
    prices = iter(play.prices)
    for event in (event for event in play.events if event.kind == "modify_product_price"):
        choice = next(prices, None)
        # Prices are judged only where the store's visible past could be rebuilt.
        if choice is None or choice.seq != event.seq:
            return
        # `days` begins with day 1 at index 0: the day before the event's is at `day` − 2.
        seen = play.days[event.day - 2].facts.product.price_cents[event.product] if event.day > 1 else choice.best
        if seen:
            yield Scale(event.seq, event.day, choice.price / 100, seen / 100, product_id(event.product))
