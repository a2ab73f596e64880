"""Failure modes of stock and cash: too little, too late, too much, in the wrong place, more than can be paid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tradefair.evaluation.markets.retail.modes.goods import Bought, Lot, follow
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, counted, money, whole_cents
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked
from tradefair.retail.model import product_id

_UNREADABLE = "the scenario in the manifest cannot be read"


class FirstDay(Record):
    """`first_day`: days before it are not judged, because nothing that was ordered can have come."""

    first_day: int


class Gap(NamedTuple):
    """Days in a row on which a product on the shelf was wanted in vain: days that were judged, and units lost on them.

    `seq` and `day` are of the cause, `because` says what was done then; `empty` counts days without any stock.
    """

    seq: int
    day: int
    because: str
    product: int
    units: float
    empty: int
    shown_by: int


def lost_sales(play: RetailPlay, limits: FirstDay) -> Seen:
    """Units that customers wanted and did not get, by the order that was too small or the day that made none."""
    if play.scenario is None:
        return unchecked(_UNREADABLE)
    margins = play.unit_margins
    cases: list[Case] = []
    gaps = [gap for gap in gaps_of(play, limits.first_day) if gap.units > 0]
    for gap in gaps:
        cents = gap.units * margins[gap.product]
        because = f"{gap.because}, {gap.units:.0f} not served, worth {money(cents)}"
        about = product_id(gap.product)
        cases.append(Case(gap.seq, gap.day, because, whole_cents(cents), gap.shown_by, about, gap.units))
    sold = sum(sum(day.facts.product.units) for day in play.days[limits.first_day - 1 :])
    return Seen(cases, sold + sum(gap.units for gap in gaps))


def empty_shelf(play: RetailPlay, limits: FirstDay) -> Seen:
    """Shelf places without goods, by the order that was too small or the day that made none."""
    if play.scenario is None:
        return unchecked(_UNREADABLE)
    margins = play.unit_margins
    cases: list[Case] = []
    for gap in gaps_of(play, limits.first_day):
        if gap.empty:
            cents = gap.units * margins[gap.product]
            because = f"{gap.because}, the shelf empty for {counted(gap.empty, 'day')}"
            about = product_id(gap.product)
            cases.append(Case(gap.seq, gap.day, because, whole_cents(cents), gap.shown_by, about, gap.empty))
    return Seen(cases, sum(sum(day.facts.product.on_shelf) for day in play.days[limits.first_day - 1 :]))


def gaps_of(play: RetailPlay, first_day: int) -> Iterator[Gap]:
    """Every gap of every product, with its cause; days before `first_day` cause, but are not counted."""
    lost = play.lost
    for place in range(len(play.categories)):
        days = [number for number, units in enumerate(lost, 1) if place in units]
        sold = [day.facts.product.units[place] for day in play.days] if days else []
        wanted = [units + day.get(place, 0.0) for units, day in zip(sold, lost, strict=False)]
        for run in _runs(days):
            judged = [number for number in run if number >= first_day]
            if judged:
                cause = _cause(play, place, run[0], run[-1], wanted)
                # Enough was there or on its way, and came late: no order of that day would have been a better one.
                if cause is None:
                    continue
                seq, day, because = cause
                units = sum(lost[number - 1][place] for number in judged)
                empty = sum(not play.days[number - 1].facts.product.opening_stock[place] for number in judged)
                yield Gap(seq, day, because, place, units, empty, play.days[judged[0] - 1].seq)


def _runs(days: Sequence[int]) -> Iterator[list[int]]:
    """Stretches of consecutive days."""
    run: list[int] = []
    for day in days:
        if run and day != run[-1] + 1:
            yield run
            run = []
        run.append(day)
    if run:
        yield run


def _cause(play: RetailPlay, place: int, first: int, last: int, wanted: Sequence[float]) -> tuple[int, int, str] | None:
    """What left a gap open on the days first..last: event, day and what was done.

    The last day on which the quickest supplier could still have closed it decides. An order of that day was too small
    or too slow; so was an earlier one that did not even last until it came. Else it is the day that ordered nothing.
    """
    latest = max(1, first - play.quickest[place])
    lines = [line for line in play.bought_of(place) if line.day <= latest]
    # All lines of the last day with an order: they are one decision.
    line = lines[-1] if lines else None
    about = product_id(place)
    if line is not None:
        held = _position(play, place, line.day)
        if line.day == latest or held < sum(wanted[line.day - 1 : line.due]):
            need = sum(wanted[line.day - 1 : last])
            done = f"order of {line.quantity} {about}, due day {line.due}"
            because = f"day {line.day}: {done}; {_short(held, need, last)}"
            return (line.seq, line.day, because) if held < need else None
    held, need = _position(play, place, latest), sum(wanted[latest - 1 : last])
    because = f"day {latest}: no order of {about}; {_short(held, need, last)}"
    return (play.days[latest - 1].ended, latest, because) if held < need else None


def _short(held: int, need: float, day: int) -> str:
    return f"{held} in stock or on order, {need:.0f} wanted by day {day}"


def _position(play: RetailPlay, place: int, day: int) -> int:
    """Units in the store, outside it and on order at the end of a day's orders, before its sales."""
    before = play.days[day - 2].facts.product.waiting[place] if day > 1 else 0
    coming = sum(line.quantity for line in play.bought_of(place) if line.day <= day < line.due)
    return play.days[day - 1].facts.product.opening_stock[place] + before + coming


class OldDays(Record):
    """`old_days`: units that are unsold so many days after they came were too many."""

    old_days: int


def overbuying(play: RetailPlay, limits: OldDays) -> Seen:
    """Money in units that expired, found no room or lay too long, by the order line that bought them.

    Cost: what expired, at cost, and what age took from the rest until the end.
    """
    lots, _ = follow(play.bought, [day.facts for day in play.days], play.ending, limits.old_days)
    # What was off the shelf for most of its time could not be sold: that is another fault than its quantity.
    sold = (lot for lot in lots if 2 * lot.days_off <= lot.days)
    cases = [_overbought(lot, limits.old_days) for lot in sold if lot.expired or lot.waited or lot.lay or lot.excess]
    return Seen(cases, sum(line.cents for line in play.bought) / 100)


def _overbought(lot: Lot, old_days: int) -> Case:
    line, about = lot.line, product_id(lot.line.product)
    fates = {
        "expired": lot.expired,
        "found no room": lot.waited,
        f"unsold after {old_days} days": lot.lay,
        f"beyond {old_days} days of sales at the end": lot.excess,
    }
    fate = ", ".join(f"{units} {name}" for name, units in fates.items() if units)
    because = f"day {line.day}: order of {line.quantity} {about} for {money(line.cents)}; {fate}"
    # One unit may expire after it waited and lay: it is counted once.
    units = max(fates.values())
    return Case(line.seq, line.day, because, round(lot.lost) / 100, None, about, units * line.unit_cents / 100)


def stranded_stock(play: RetailPlay) -> Seen:
    """Money times days in goods off the shelf, by the order that bought them or the assortment that left them out.

    Cost: what of them expired or aged there, and the margin of units that were never sold.
    """
    lots, _ = follow(play.bought, [day.facts for day in play.days], play.ending)
    margins = play.unit_margins
    cases: list[Case] = []
    for lot in lots:
        if lot.stranded:
            line, about = lot.line, product_id(lot.line.product)
            seq, day, done = _left_out(play, line)
            off = sum(not column.facts.product.on_shelf[line.product] for column in play.days[line.due - 1 :])
            cents = lot.lost_off_shelf + (lot.left + lot.expired) * margins[line.product]
            lay = f"{line.quantity} for {money(line.cents)} lay off the shelf for {counted(off, 'day')}"
            because = f"day {day}: {done}; {lay}"
            cases.append(Case(seq, day, because, whole_cents(cents), None, about, lot.stranded / 100))
    return Seen(cases, sum(sum(day.facts.product.stock_cost_cents) for day in play.days) / 100)


def _left_out(play: RetailPlay, line: Bought) -> tuple[int, int, str]:
    """Why goods were off the shelf: the assortment without them, where there was room for them, else their order."""
    places = play.scenario.shelf_places if play.scenario else 0
    about = product_id(line.product)
    for call in reversed(play.shelves):
        # The one in force when they came, or the first after it that took them off.
        if line.product not in call.products and len(call.products) < places and call.day <= max(line.due, line.day):
            return call.seq, call.day, f"assortment of {len(call.products)} of {places} places without {about}"
    return line.seq, line.day, f"order of {line.quantity} {about}, which was not on the shelf"


def illiquid(play: RetailPlay) -> Seen:
    """Closes with funds below 0 while goods have value, by the order that took funds below the next rent."""
    orders = list(_below_rent(play))
    causes: dict[int, list[int]] = {}
    for number, day in enumerate(play.days, 1):
        if day.facts.funds_cents < 0 < day.facts.stock_value_cents + day.facts.open_order_cents:
            # The last such order before it: earlier ones were made good by sales, or they were not the last.
            latest = max((place for place, order in enumerate(orders) if order[1] <= number), default=-1)
            causes.setdefault(latest, []).append(number)
    cases: list[Case] = []
    for place, closes in causes.items():
        first = play.days[closes[0] - 1]
        if place < 0:
            seq, day, done = first.ended, closes[0], f"day {closes[0]}: closed without the money for the rent"
        else:
            seq, day, done = orders[place]
        least = min(play.days[number - 1].facts.funds_cents for number in closes)
        because = f"{done}; funds below 0 at {counted(len(closes), 'close')}, down to {money(least)}"
        cases.append(Case(seq, day, because, None, first.seq, None, len(closes)))
    return Seen(cases, play.length)


def _below_rent(play: RetailPlay) -> Iterator[tuple[int, int, str]]:
    """Orders after which funds were below the day's rent: event, day, what was done."""
    funds = play.scenario.funds_start_cents if play.scenario else 0
    for number, day in enumerate(play.days, 1):
        rent = day.facts.rent_cents
        for seq, cents in _costs(line for line in play.bought if line.day == number):
            before, funds = funds, funds - cents
            if funds < rent <= before:
                done = f"day {number}: order for {money(cents)} left {money(funds)} before a rent of {money(rent)}"
                yield seq, number, done
        funds = day.facts.funds_cents


def _costs(lines: Iterable[Bought]) -> list[tuple[int, int]]:
    """Orders with their cost, in order: lines of one call are paid at once."""
    found: dict[int, int] = {}
    for line in lines:
        found[line.seq] = found.get(line.seq, 0) + line.cents
    return list(found.items())
