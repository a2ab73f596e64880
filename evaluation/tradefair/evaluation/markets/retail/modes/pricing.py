"""Failure modes of list prices: far from what sells best, beyond what anybody pays, below what the goods cost."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.evaluation.markets.retail.modes.goods import Sale
from tradefair.evaluation.markets.retail.modes.play import (
    PriceChoice,
    RetailPlay,
    TradedDay,
    counted,
    money,
    whole_cents,
)
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked
from tradefair.retail.model import product_id


class Distance(Record):
    """`distance`: per cent of p* from which a price is far from it."""

    distance: float


def price_off_optimum(play: RetailPlay, limits: Distance) -> Seen:
    """Prices far from the most profitable one in sight; cost: what p* earned a day, less what was earned at them."""
    if play.unseen:
        return unchecked(play.unseen)
    judged = [choice for choice in play.prices if choice.best is not None]
    ends = _ends(play)
    cases: list[Case] = []
    for choice in judged:
        if choice.best is not None and (choice.distance or 0.0) >= limits.distance:
            days = _on_sale(play.days[choice.day - 1 : ends[choice.seq]], choice.product)
            earned = sum(_earned(day, choice.product) for day in days)
            cents = max(0.0, choice.daily * len(days) - earned)
            about = product_id(choice.product)
            because = (
                f"day {choice.day}: price of {about} set to {money(choice.price)}; {money(choice.best)} had earned "
                f"{money(choice.daily)} a day, this earned {money(earned)} on {counted(len(days), 'day')}"
            )
            cases.append(Case(choice.seq, choice.day, because, whole_cents(cents), None, about))
    return Seen(cases, len(judged))


def _ends(play: RetailPlay) -> dict[int, int]:
    """By price call, the last day on which its price was in force."""
    ends: dict[int, int] = {}
    latest: dict[int, PriceChoice] = {}
    for choice in play.prices:
        before = latest.get(choice.product)
        if before is not None:
            ends[before.seq] = choice.day - 1
        latest[choice.product] = choice
        ends[choice.seq] = play.length
    return ends


def _on_sale(days: Sequence[TradedDay], place: int) -> list[TradedDay]:
    """Days on which a product could be bought."""
    columns = ((day, day.facts.product) for day in days)
    return [day for day, product in columns if product.on_shelf[place] and product.opening_stock[place]]


def _earned(day: TradedDay, place: int) -> float:
    """Revenue after refunds less cost of goods, in cents."""
    product = day.facts.product
    return product.revenue_cents[place] - product.refunds_cents[place] - product.cost_of_goods_cents[place]


class Beyond(Record):
    """`times`: a price so many times the highest that anybody paid sells nothing because of the price."""

    times: float


def priced_out(play: RetailPlay, limits: Beyond) -> Seen:
    """Days on the shelf with stock and without a sale, at a price beyond all that were paid; by the price in force.

    Cost: what the product earned a day at the highest price that sold.
    """
    if play.unseen:
        return unchecked(play.unseen)
    found: dict[tuple[int, int], list[float]] = {}
    for unsold in play.unsold:
        if unsold.price >= limits.times * unsold.sold_at:
            call = _price_call(play, unsold.product, unsold.day)
            found.setdefault((unsold.product, call.seq if call else 0), []).append(unsold.daily)
    calls = {choice.seq: choice for choice in play.prices}
    days = {(unsold.product, unsold.day): unsold for unsold in play.unsold}
    cases: list[Case] = []
    for (place, seq), daily in found.items():
        # A start price that nobody pays has no call: the first day is all there is to cite.
        call = calls.get(seq)
        first = call.day if call else 1
        unsold = next(row for (product, day), row in days.items() if product == place and day >= first)
        because = (
            f"day {first}: price of {product_id(place)} {money(unsold.price)}; no sale on "
            f"{counted(len(daily), 'day')}, {money(unsold.sold_at)} is the highest that sold"
        )
        cause = seq or play.days[0].ended
        cents = sum(daily)
        cases.append(Case(cause, first, because, whole_cents(cents), unsold.seq, product_id(place), len(daily)))
    on_shelf = sum(len(_stocked(day)) for day in play.days)
    return Seen(cases, on_shelf)


def _stocked(day: TradedDay) -> list[int]:
    product = day.facts.product
    return [place for place, units in enumerate(product.opening_stock) if units and product.on_shelf[place]]


def _price_call(play: RetailPlay, place: int, day: int) -> PriceChoice | None:
    """The price call in force on a day; None while the start price stands."""
    calls = [choice for choice in play.prices if choice.product == place and choice.day <= day]
    return calls[-1] if calls else None


def below_cost(play: RetailPlay) -> Seen:
    """Units sold for less than they cost, by the price in force or the order that raised the cost under it.

    The general mode `below_cost` judges it. Cost: cost of those units less their revenue.
    """
    found: dict[tuple[int, int, str], list[Sale]] = {}
    for sale in play.sales:
        if sale.price < sale.line.unit_cents:
            found.setdefault(_raised_by(play, sale), []).append(sale)
    cases: list[Case] = []
    for (seq, day, done), some in found.items():
        units = sum(sale.units for sale in some)
        cents = sum(sale.units * (sale.line.unit_cents - sale.price) for sale in some)
        about, paid = product_id(some[0].line.product), some[0].line.unit_cents / 100
        because = f"day {day}: {done}; {units} sold at {money(some[0].price)} that had cost {paid:.4f}"
        cases.append(Case(seq, day, because, whole_cents(cents), play.days[some[0].day - 1].seq, about, units))
    return Seen(cases, sum(sale.units for sale in play.sales))


def _raised_by(play: RetailPlay, sale: Sale) -> tuple[int, int, str]:
    """The decision behind a sale below cost: event, day, what was done."""
    line, about = sale.line, product_id(sale.line.product)
    call = _price_call(play, line.product, sale.day)
    # The order came after the price, at a cost above it: the price was sound when it was set.
    if call is None or line.day > call.day:
        return line.seq, line.day, f"order of {line.quantity} {about} above its list price"
    return call.seq, call.day, f"price of {about} set to {money(call.price)}"
