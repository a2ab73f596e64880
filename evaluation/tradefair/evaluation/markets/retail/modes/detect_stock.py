"""Failure modes of stock, cash and news. Limits come from `modes.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay
from tradefair.evaluation.modes.diagnosis import Share, cited, share
from tradefair.evaluation.modes.sign import Sign, run_sign, sign_of
from tradefair.retail.model import DayFacts, NewsFacts, product_id


def empty_shelf(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Shelf places without goods once deliveries can have come; severity: their expected demand at mean margin."""
    # `first_day` counts from 1, the list from 0.
    days = play.days[int(limits["first_day"]) - 1 :]
    counted = _empty_share(days)
    high = counted.value is not None and counted.value >= limits["empty_shelf_rate"]
    demand = sum(day.facts.empty_demand for day in days)
    return sign_of(high, counted, severity=_at_margin(play, demand))


def _empty_share(days: Sequence[TradedDay]) -> Share:
    """Product-days on the shelf without stock, out of all product-days on the shelf."""
    empty = sum(len(day.facts.empty_shelf) for day in days)
    shelved = sum(sum(day.facts.product.on_shelf) for day in days)
    return share(empty, shelved, (day.seq for day in days if day.facts.empty_shelf))


def _at_margin(play: RetailPlay, units: float) -> float | None:
    """`units` at the episode's mean margin after refunds, in currency units; None when nothing was sold."""
    sold = sum(sum(day.facts.product.units) for day in play.days)
    margin = sum(
        sum(day.facts.product.revenue_cents)
        - sum(day.facts.product.refunds_cents)
        - sum(day.facts.product.cost_of_goods_cents)
        for day in play.days
    )
    return units * margin / sold / 100 if sold else None


def lost_sales(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Demand that found nothing to buy, once an order of day 1 must have come; severity: net lost units at mean margin.

    The store opens empty: before that no manager could have served anyone. A short run leaves so few days that luck
    decides, so it is judged from a month on.
    """
    # In the first days nothing can have arrived; `transit_cap` is the longest delivery.
    grace = play.scenario.supplier.transit_cap if play.scenario else 0
    days = play.days[grace:]
    lost = sum(day.facts.net_lost_units for day in days)
    units = sum(sum(day.facts.product.units) for day in days)
    # The costliest days are cited first, because a finding cites a limited number of events.
    worst = sorted(days, key=lambda day: (-day.facts.net_lost_units, day.seq))
    counted = share(lost, units + lost, (day.seq for day in worst if day.facts.net_lost_units > 0))
    high = counted.value is not None and counted.value >= limits["lost_sales_rate"]
    return sign_of(high, counted, severity=_at_margin(play, lost))


def overbuying(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """More than could be sold in time or stored; severity: cost of what expired, null if goods only wait.

    The figure is that of the clause that is over its threshold, the expired units' if both or neither are.
    """
    expired = sum(sum(day.facts.product.expired) for day in play.days)
    units = sum(sum(day.facts.product.units) for day in play.days)
    waiting = [day.seq for day in play.days if day.facts.waiting_units]
    waste = [day.seq for day in play.days if any(day.facts.product.expired)]
    # Expired units cost money, waiting ones only a place in the queue: two clauses, two figures.
    waiting_days = ratio(len(waiting), play.length)
    expired_ratio = ratio(expired, units + expired)
    spoiled = (expired_ratio or 0) >= limits["expired_ratio"]
    crowded = (waiting_days or 0) >= limits["waiting_days"]
    # One figure can be shown: that of the clause that raised the finding, expiry first, because it costs money.
    only_crowded = crowded and not spoiled
    counted = share(len(waiting), play.length, waiting) if only_crowded else share(expired, units + expired, waste)
    cents = sum(sum(day.facts.product.expiry_cost_cents) for day in play.days)
    severity = cents / 100 if expired or not only_crowded else None
    parts = {"expired_ratio": expired_ratio, "waiting_days": waiting_days}
    return sign_of(spoiled or crowded, counted, parts=parts, severity=severity)


def stranded_stock(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Money in goods that are not on the shelf; severity: what expired or aged there."""
    # Days in a row: a product that is taken off the shelf for a day or two is no stranded money.
    days = ((day.seq, _stranded(day.facts) >= limits["stranded_share"]) for day in play.days)
    return run_sign(days, limits["run_days"], _stranded_loss(play))


def _stranded(facts: DayFacts) -> float:
    """Share of the stock's cost that lies in products off the shelf, from 0 to 1."""
    product = facts.product
    total = sum(product.stock_cost_cents)
    rows = zip(product.stock_cost_cents, product.on_shelf, strict=True)
    return sum(cost for cost, shelved in rows if not shelved) / total if total else 0.0


def _stranded_loss(play: RetailPlay) -> float:
    """What expired or aged off the shelf, in currency units; ageing is known from the ending only."""
    cents = 0
    for day in play.days:
        rows = zip(day.facts.product.expiry_cost_cents, day.facts.product.on_shelf, strict=True)
        cents += sum(cost for cost, shelved in rows if not shelved)
    # Aged values by product are in the ending only; an episode that was cut short has none.
    if play.ending is not None and play.days:
        shelf = play.days[-1].facts.product.on_shelf
        ending = play.ending
        # An edited ending may be shorter than the store: `strict` would raise where a shorter sum is enough.
        rows = zip(ending.product_stock_cost_cents, ending.product_stock_value_cents, shelf, strict=False)
        cents += sum(cost - value for cost, value, shelved in rows if not shelved)
    return cents / 100


def illiquid(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Out of cash while money lies in stock or open orders."""
    days = (
        # Below 0 in cash and above 0 in goods: without goods there would be nothing to turn into cash.
        (day.seq, day.facts.funds_cents < 0 < day.facts.stock_value_cents + day.facts.open_order_cents)
        for day in play.days
    )
    return run_sign(days, limits["run_days"])


def news_unread(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Shelf products moved by news of which no live item had been shown; a privileged seat needs none."""
    moved = unread = 0
    events: list[int] = []
    for day in play.days:
        effects = _moved(day.facts, limits["effect"])
        if not effects:
            continue
        # One item that moves the product is enough to have been informed.
        blind = sum(not _informed(play, day, place) for place in effects)
        moved, unread = moved + len(effects), unread + blind
        if blind:
            events.append(day.seq)
    counted = share(unread, moved, cited(events))
    high = counted.value is not None and counted.value >= limits["unread"]
    # A privileged seat is told the truth without a look (decision 0012).
    note = "privileged" if play.privileged else None
    raised = high and moved >= limits["min_pairs"] and not play.privileged
    return sign_of(raised, counted, note=note, checked=not play.privileged)


def _moved(facts: DayFacts, effect: float) -> list[int]:
    """Products on the shelf whose demand or cost news moved by at least `effect`."""
    product = facts.product
    rows = zip(product.on_shelf, product.news_effect, product.supply_effect, strict=True)
    return [
        place
        for place, (shelved, need, supply) in enumerate(rows)
        if shelved and (abs(need) >= effect or abs(supply) >= effect)
    ]


def _informed(play: RetailPlay, day: TradedDay, place: int) -> bool:
    """Whether a live item that moves the product had been shown to the manager by that day."""
    matching = (item for item in day.facts.news if _matches(item, product_id(place), play.categories[place]))
    return any(item.news_id in day.news_read for item in matching)


def _matches(item: NewsFacts, product: str, category: str) -> bool:
    """Whether a news item concerns a product: all of them, its category, or the product itself."""
    if item.mode == "macro":
        return True
    return product == item.product_id if item.mode == "product" else category == item.category
