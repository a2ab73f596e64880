"""What only the store's facts tell the general failure modes: wanted goods, trouble, idle days, prices out of scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.retail.modes.figures import BEST_SELLERS
from tradefair.evaluation.markets.retail.modes.follow_up import event_pairs
from tradefair.evaluation.markets.retail.modes.goods import lost_units
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay, whole_cents
from tradefair.evaluation.markets.retail.modes.pricing import below_cost
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.modes.selection import high_demand
from tradefair.evaluation.modes.diagnosis import Amend, Case, CaseRecord, Seen
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
        idle={seat: Seen(list(_idle(play)), play.length)},
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
    """Products that called for an action: best sellers, stock-outs and empty shelf places that run out before an order
    could come, and the best product of each category that the shelf leaves out although it has room.

    The cost of the last is what the product earned a day before day 1.
    """
    for number, day in enumerate(play.days, 1):
        empty = {place for place in _on_shelf(day) if not day.facts.product.opening_stock[place]}
        for place in sorted(high_demand(day, BEST_SELLERS) | empty):
            # What has days of stock calls for nothing, however well it sells.
            if _is_short(play, day, place):
                yield Happening(number, product_id(place), day.ended)
        for place in _left_out(play, day):
            yield Happening(number, product_id(place), day.ended, play.worth[place] / 100)


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
    """Stock-outs, returns and expiries, as in stage 4; cost: refunds and expiries of the day."""
    for pair in event_pairs(play):
        day = play.days[pair.day - 1]
        product = day.facts.product
        cents = product.refunds_cents[pair.product] + product.expiry_cost_cents[pair.product]
        # Facts hold cents, findings currency units.
        yield Happening(pair.day, product_id(pair.product), day.ended, cents / 100)


def _idle(play: RetailPlay) -> Iterator[Case]:
    """Days that were only closed although goods could have been bought for less than their list price.

    No oracle is asked: it takes a product that no customer could buy that day, a quote of the day below its list price,
    and the money for what was wanted of it, or for one unit, beyond the rent. Cost: the day's lost units at the margins
    of their products, None without lost units.
    """
    margins = play.unit_margins
    for day in play.days:
        if not day.conduct.active:
            lost = lost_units(day.facts, play.members, play.rho)
            place, margin = _best_margin(day, play.scenario.shelf_places if play.scenario else 0, lost)
            # 0 means that nothing could have been bought at a profit: then closing the day was right.
            if margin > 0:
                cents = sum(units * margins[item] for item, units in lost.items())
                cost = whole_cents(cents) if lost else None
                because = (
                    f"day {day.facts.day}: closed without an action; {product_id(place)} was not on sale "
                    f"and would have earned {cents_text(margin)} a unit"
                )
                yield Case(day.ended, day.facts.day, because, cost, day.seq)


def _best_margin(day: TradedDay, places: int, lost: Mapping[int, float]) -> tuple[int, float]:
    """The product that was not on sale, can be paid for and has the best margin; list price less lowest quote, cents.

    A product off the shelf counts only while the shelf has room for it. A margin of 0 when there is none.
    """
    product, offers = day.facts.product, day.facts.supplier
    has_room = sum(product.on_shelf) < places
    best = 0, 0.0
    for place, price in enumerate(product.price_cents):
        # Not on sale: off the shelf, or on it without stock in the morning.
        on_sale = product.on_shelf[place] and product.opening_stock[place]
        if on_sale or not (product.on_shelf[place] or has_room):
            continue
        # From 1e-4 currency units to cents.
        quote = min(offers.quote_e4[place * offers.suppliers : (place + 1) * offers.suppliers]) / 100
        if quote * max(1.0, lost.get(place, 0.0)) <= day.facts.funds_cents - day.facts.rent_cents:
            best = max(best, (place, price - quote), key=lambda found: found[1])
    return best


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


def _in_sight(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The price in sight instead of the one that was set; a refused call is left out, for its correction followed."""
    # The sentence is made from both numbers: "said 119 for P001 where 1.19 was in sight".
    _, seen, rest = case.because.rpartition(" where ")
    return {**arguments, "new_price": round(float(rest.split()[0]), 2)} if seen and "new_price" in arguments else None


REPAIRS: Mapping[str, Amend] = {"unit_mistake": _in_sight}
