"""Failure modes of stock and cash: too little, too much, in the wrong place, more than can be paid."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.retail.modes.play import Bought, RetailPlay, TradedDay, case_of_line, counted
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked
from tradefair.retail.model import product_id

_UNREADABLE = "the scenario in the manifest cannot be read"


def empty_shelf(play: RetailPlay, *, first_day: int) -> Seen:
    """Shelf places without goods for which none lay outside or were on order when the day was closed.

    Days before `first_day` are not judged, because nothing that was ordered can have come.
    """
    if play.scenario is None:
        return unchecked(_UNREADABLE)
    cases: list[Case] = []
    days = play.days[first_day - 1 :]
    for day in days:
        for place, shelved in enumerate(day.facts.product.on_shelf):
            if shelved and not _position(play, place, day.facts.day):
                about = product_id(place)
                what = f"no order of {about}; none in stock or on order, its shelf place empty"
                cases.append(day.case(what, about))
    return Seen(cases, sum(sum(day.facts.product.on_shelf) for day in days))


def _position(play: RetailPlay, place: int, day: int) -> int:
    """Units in the store, outside it and on order at the end of a day's orders, before its sales."""
    before = play.days[day - 2].facts.product.waiting[place] if day > 1 else 0
    coming = sum(line.quantity for line in play.bought_of(place) if line.day <= day < line.due)
    return play.days[day - 1].facts.product.opening_stock[place] + before + coming


def overbuying(play: RetailPlay, *, days: float) -> Seen:
    """Order lines after which stock and open orders last longer than `days`, at the sales of the last 30.

    What never sold is not judged, nor what is off the shelf: that is another fault than its quantity.
    """
    if play.unseen:
        return unchecked(play.unseen)
    cases: list[Case] = []
    shelves = [day.facts.product.on_shelf for day in play.days]
    known = [line for line in play.lines if line.cover and shelves[line.day - 1][line.product]]
    for line in known:
        held = _position(play, line.product, line.day)
        lasting = held * (line.cover or 0.0) / line.quantity
        if lasting > days:
            lasts = f"{held} in stock or on order last {lasting:.0f} days at the sales of the last 30"
            cases.append(case_of_line(line, f"order of {line.quantity} {product_id(line.product)}; {lasts}"))
    return Seen(cases, len(known))


def stranded_stock(play: RetailPlay) -> Seen:
    """Money times days in goods off the shelf, by product and the last decision before they lay there."""
    off: dict[int, list[TradedDay]] = {}
    for day in play.days:
        product = day.facts.product
        for place, cents in enumerate(product.stock_cost_cents):
            if cents and not product.on_shelf[place]:
                off.setdefault(place, []).append(day)
    cases: list[Case] = []
    for place, days in off.items():
        seq, number, done = _left_out(play, place, days[0])
        because = f"day {number}: {done}; its goods lay off the shelf for {counted(len(days), 'day')}"
        amount = sum(day.facts.product.stock_cost_cents[place] for day in days) / 100
        cases.append(Case(seq, number, because, shown_by=days[0].seq, about=product_id(place), amount=amount))
    return Seen(cases, sum(sum(day.facts.product.stock_cost_cents) for day in play.days) / 100)


def _left_out(play: RetailPlay, place: int, day: TradedDay) -> tuple[int, int, str]:
    """Why goods are off the shelf on a day: the assortment without them or their order, whichever came last."""
    about, places = product_id(place), play.scenario.shelf_places if play.scenario else 0
    decisions = [
        *((call.seq, call.day, f"assortment of {len(call.products)} of {places} places without {about}")
          for call in play.shelves if place not in call.products),
        *((line.seq, line.day, f"order of {line.quantity} {about}, which was not on the shelf")
          for line in play.bought_of(place)),
    ]  # fmt: skip
    earlier = (decision for decision in decisions if decision[1] <= day.facts.day)
    return max(earlier, default=(day.ended, day.facts.day, f"closed with {about} not on the shelf"))


def illiquid(play: RetailPlay) -> Seen:
    """Closes with funds below 0 while goods have value, by the last order before them."""
    closes: dict[Bought | None, list[TradedDay]] = {}
    for day in play.days:
        if day.facts.funds_cents < 0 < day.facts.stock_value_cents + day.facts.open_order_cents:
            before = [line for line in play.bought if line.day <= day.facts.day]
            closes.setdefault(before[-1] if before else None, []).append(day)
    return Seen([_broke(line, days) for line, days in closes.items()], play.length)


def _broke(line: Bought | None, days: Sequence[TradedDay]) -> Case:
    seq, day, done = days[0].ended, days[0].facts.day, "closed without the money for the rent"
    if line is not None:
        seq, day, done = line.seq, line.day, f"order of {line.quantity} {product_id(line.product)}"
        done += f" for {cents_text(line.cents)}"
    least = cents_text(min(some.facts.funds_cents for some in days))
    because = f"day {day}: {done}; funds below 0 at {counted(len(days), 'close')}, down to {least}"
    return Case(seq, day, because, shown_by=days[0].seq, amount=len(days))
