"""What only the store's facts tell the general failure modes: wanted goods, trouble, idle days, prices out of scale."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.markets.retail.modes.follow_up import event_pairs
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.modes.rules import PREFIX, diagnostic_rules
from tradefair.evaluation.markets.retail.modes.selection import high_demand
from tradefair.evaluation.modes.insight import Case, Counted, EvidenceCase, Happening, Insight, Scale
from tradefair.retail.model import product_id
from tradefair.tracestore import Trace

# The general mode is about private values of traders; a store has costs instead.
_ABSENT = {"value_breach": "this market has no private values; below_cost judges sales"}

_UNREADABLE = dict.fromkeys(
    ("idle_drift", "below_cost", "narrow_attention", "resolved"),
    "could not be computed: the scenario in the manifest cannot be read",
)
# These modes exist here with windows of this market: the general ones are not raised a second time.
_COUNTED_BY = {
    "narrow_attention": PREFIX + "narrow_attention",
    "follow_up": PREFIX + "no_follow_up",
    "resolved": PREFIX + "unresolved_events",
    "below_cost": PREFIX + "below_cost",
}


def retail_insight(trace: Trace) -> Insight:
    """Everything that the closed days tell, from the same reading as the market's own failure modes."""
    play = read_retail(trace).play
    # Without the scenario the store's columns have no meaning; conduct is still judged from the trace alone.
    if play.scenario is None:
        return Insight(unit="currency", absent={**_UNREADABLE, **_ABSENT})
    seat = play.seat
    return Insight(
        unit="currency",
        scales={seat: list(_scales(play))},
        idle=Counted({seat: list(_idle(play))}, {seat: play.length}),
        below_cost=Counted({seat: list(_below_cost(play))}, {seat: _sales(play)}),
        wanted={seat: list(_wanted(play))},
        happenings={seat: list(_happenings(play))},
        evidence={seat: list(_evidence(play))},
        absent=_ABSENT,
        counted_by=_COUNTED_BY,
    )


def _evidence(play: RetailPlay) -> Iterator[EvidenceCase]:
    """One case per action event: how many categories it needed, and which were missing or too old."""
    for event in play.events:
        about = product_id(event.product)
        # The needs are judged while reading: scopes of this market's tools need the shelf and past orders.
        yield EvidenceCase(event.seq, event.day, about, len(event.needs), event.missing, event.stale)


def _wanted(play: RetailPlay) -> Iterator[Happening]:
    """Best sellers and stock-outs of each day, as in stage 1."""
    best = diagnostic_rules().windows.best_sellers
    for number, day in enumerate(play.days, 1):
        for place in sorted(high_demand(day, best)):
            yield Happening(number, product_id(place), day.seq)


def _happenings(play: RetailPlay) -> Iterator[Happening]:
    """Stock-outs, returns and expiries, as in stage 4; cost: refunds and expiries of the day."""
    for pair in event_pairs(play):
        product = play.days[pair.day - 1].facts.product
        cents = product.refunds_cents[pair.product] + product.expiry_cost_cents[pair.product]
        # Facts hold cents, findings currency units.
        yield Happening(pair.day, product_id(pair.product), pair.seq, cents / 100)


def _sales(play: RetailPlay) -> int:
    """Product-days with a sale: what the cases of selling below cost are counted out of."""
    return sum(units > 0 for day in play.days for units in day.facts.product.units)


def _below_cost(play: RetailPlay) -> Iterator[Case]:
    """Product-days with units sold below their cost; cost: how far their revenue fell short, in currency units."""
    for day in play.days:
        product = day.facts.product
        # Three columns of one product-day: a day may sell some units below cost and others above it.
        rows = zip(product.below_cost_units, product.cost_of_goods_cents, product.revenue_cents, strict=True)
        for below, cost, revenue in rows:
            if below:
                # Not below 0: units above cost may have paid for those below it on the same day.
                yield Case(day.seq, max(0, cost - revenue) / 100)


def _idle(play: RetailPlay) -> Iterator[Case]:
    """Days that were only closed although goods could have been bought for less than their list price.

    No oracle is asked: it takes a product that no customer could buy that day, a quote of the day below its list price,
    and the money for one unit at the close. Cost: the day's lost units at that product's best margin, None without lost
    units.
    """
    for day in play.days:
        if not day.conduct.active:
            margin = _best_margin_cents(day, play.scenario.shelf_places if play.scenario else 0)
            # 0 means that nothing could have been bought at a profit: then closing the day was right.
            if margin > 0:
                lost = day.facts.net_lost_units
                yield Case(day.seq, lost * margin / 100 if lost > 0 else None)


def _best_margin_cents(day: TradedDay, places: int) -> float:
    """List price less the lowest quote, the best among products that were not on sale and can be paid for.

    A product off the shelf counts only while the shelf has room for it. 0 when there is none.
    """
    product, offers = day.facts.product, day.facts.supplier
    has_room = sum(product.on_shelf) < places
    best = 0.0
    for place, price in enumerate(product.price_cents):
        # Not on sale: off the shelf, or on it without stock in the morning.
        on_sale = product.on_shelf[place] and product.opening_stock[place]
        if on_sale or not (product.on_shelf[place] or has_room):
            continue
        # From 1e-4 currency units to cents.
        quote = min(offers.quote_e4[place * offers.suppliers : (place + 1) * offers.suppliers]) / 100
        if quote <= day.facts.funds_cents:
            best = max(best, price - quote)
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
            yield Scale(event.seq, choice.price, seen)
