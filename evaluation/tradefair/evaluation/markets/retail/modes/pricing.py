"""Failure modes of list prices: beyond what anybody pays, below what the goods cost."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.retail.modes.play import PriceChoice, RetailPlay, TradedDay, Unsold, counted
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked
from tradefair.retail.model import product_id


def priced_out(play: RetailPlay, *, times: float) -> Seen:
    """Days on the shelf with stock and without a sale, at `times` the highest price paid; by the price in force."""
    if play.unseen:
        return unchecked(play.unseen)
    found: dict[tuple[int, PriceChoice | None], list[Unsold]] = {}
    for unsold in play.unsold:
        if unsold.price >= times * unsold.sold_at:
            key = unsold.product, _price_call(play, unsold.product, unsold.day)
            found.setdefault(key, []).append(unsold)
    on_shelf = sum(len(_stocked(day)) for day in play.days)
    return Seen([_asked(play, call, days) for (_, call), days in found.items()], on_shelf)


def _asked(play: RetailPlay, call: PriceChoice | None, days: Sequence[Unsold]) -> Case:
    # A start price that nobody pays has no call: the first day is all there is to cite.
    seq, day = (call.seq, call.day) if call else (play.days[0].ended, 1)
    first, about = days[0], product_id(days[0].product)
    because = (
        f"day {day}: price of {about} {cents_text(first.price)}; no sale on "
        f"{counted(len(days), 'day')}, {cents_text(first.sold_at)} is the highest that sold"
    )
    return Case(seq, day, because, shown_by=first.seq, about=about, amount=len(days))


def _stocked(day: TradedDay) -> list[int]:
    product = day.facts.product
    return [place for place, units in enumerate(product.opening_stock) if units and product.on_shelf[place]]


def _price_call(play: RetailPlay, place: int, day: int) -> PriceChoice | None:
    """The price call in force on a day; None while the start price stands."""
    calls = [choice for choice in play.prices if choice.product == place and choice.day <= day]
    return calls[-1] if calls else None


def below_cost(play: RetailPlay) -> Seen:
    """Units sold for less than they cost, by the price in force or the order that raised the cost under it.

    The general mode `below_cost` judges it.
    """
    found: dict[tuple[int, int, str], list[tuple[TradedDay, int]]] = {}
    for day in play.days:
        for place, units in enumerate(day.facts.product.below_cost_units):
            if units:
                found.setdefault(_raised_by(play, place, day), []).append((day, place))
    cases = [_sold_below(cause, some) for cause, some in found.items()]
    return Seen(cases, sum(sum(day.facts.product.units) for day in play.days))


def _sold_below(cause: tuple[int, int, str], some: Sequence[tuple[TradedDay, int]]) -> Case:
    seq, number, done = cause
    first, place = some[0]
    units = sum(day.facts.product.below_cost_units[place] for day, _ in some)
    because = (
        f"day {number}: {done}; {units} sold at {cents_text(first.facts.product.price_cents[place])}, below their cost"
    )
    return Case(seq, number, because, shown_by=first.seq, about=product_id(place), amount=units)


def _raised_by(play: RetailPlay, place: int, day: TradedDay) -> tuple[int, int, str]:
    """The decision behind sales below cost: event, day, what was done."""
    about, call = product_id(place), _price_call(play, place, day.facts.day)
    there = [line for line in play.bought_of(place) if line.due <= day.facts.day]
    # The order came after the price, at a cost above it: the price was sound when it was set.
    if there and (call is None or there[-1].day > call.day):
        return there[-1].seq, there[-1].day, f"order of {there[-1].quantity} {about} above its list price"
    if call is None:
        return day.ended, day.facts.day, f"the start price of {about} stood"
    return call.seq, call.day, f"price of {about} set to {cents_text(call.price)}"
