"""underpriced_sellout, unsellable_price and gouging, and sales below cost: retail prices against cost and rivals."""

from __future__ import annotations

from tradefair.contract.money import currency
from tradefair.evaluation.markets.supply_chain.modes.play import Params, Retail, SeatRound, money, printed
from tradefair.evaluation.modes.diagnosis import Case, Seen


def _sold(seat: Retail) -> list[tuple[SeatRound, int, int]]:
    """Rounds, items and cents of which the seat sold something."""
    return [
        (row, item, price)
        for row in seat.rounds
        for item, price in enumerate(row.own.prices)
        if row.own.sold[item] > 0 and price is not None
    ]


# --- underpriced_sellout ----------------------------------------------------------------------------------------------


class Cheap(Params):
    """`failures`: failed visits per unit sold; `part`: of rivals' mean sold price."""

    failures: float
    part: float


def detect_underpriced(seat: Retail, params: Cheap) -> Seen:
    """Items sold out well below what rivals got while buyers still came; cost: the difference on the units sold.

    At a higher price fewer units might have sold.
    """
    sold, cases = _sold(seat), list[Case]()
    for row, item, price in sold:
        own, units, failed = row.own, row.own.sold[item], row.own.failed[item]
        # Rivals only: with the own price in the mean, a large seller would be compared with itself.
        others = row.others_mean(item)
        if units == own.available[item] and failed >= params.failures * units and price < params.part * others:
            because = (
                f"round {row.round}: all {units} {row.item(item)} sold at {printed(price)}, {failed} more visits came; "
                f"rivals got {printed(others)}, {printed(units * (others - price))} more"
            )
            cost = money(units * (others - price))
            cases.append(Case(row.offer, row.round, because, cost, row.closed, row.item(item)))
    return Seen(cases, len(sold))


# --- below cost: the general mode counts it ---------------------------------------------------------------------------


def below_cost(seat: Retail) -> Seen:
    """Items sold for less than they cost, out of those sold, the last round left out.

    In the last round any price above 0 is better than stock that is worth nothing.
    """
    sold = [found for found in _sold(seat) if found[0].round < seat.game.rules.rounds]
    cases: list[Case] = []
    for row, item, price in sold:
        units, cost = row.own.sold[item], row.own.cost_of_goods[item]
        loss = cost - row.own.revenue[item]
        if loss > 0:
            because = (
                f"round {row.round}: sold {units} {row.item(item)} at {printed(price)} that had cost "
                f"{printed(cost / units)} each, {printed(loss)} lost"
            )
            seq = _raised_cost(row, item, price)
            cases.append(Case(seq, row.round, because, money(loss), row.closed, row.item(item)))
    return Seen(cases, len(sold))


def _raised_cost(row: SeatRound, item: int, price: int) -> int:
    """The event behind a price below cost: the offer, or, under a standing one, the bid that raised the cost."""
    standing = not any(row.actions("submit_offer"))
    dear = any(line[0] == item and line[2] > price and line[3] for line in row.lines)
    return row.order if standing and dear else row.offer


# --- unsellable_price and gouging -------------------------------------------------------------------------------------


class Base(Params):
    """`times`: above this multiple of the base price."""

    times: float


class Dear(Base):
    """`rivals`: at least this multiple of the mean price at which rivals sold."""

    rivals: float


def detect_unsellable(seat: Retail, params: Dear) -> Seen:
    """Stock that sold nothing at a price far above rivals' or above base, or with no price at all.

    Cost: what rivals' mean price would have earned on it that round, with buyers who were left without.
    """
    cases: list[Case] = []
    of = 0
    for row in seat.rounds:
        for item, units in enumerate(row.own.available):
            of += units > 0
            price, others = row.own.prices[item], row.others_mean(item)
            # A shop left as it was is told by `idle_drift` and `lapse`.
            left_out = item in row.withheld and any(row.actions("submit_offer"))
            if not left_out and not unsold_at_a_price(row, item, params):
                continue
            asked = "not for sale" if price is None else f"at {printed(price)}"
            because = (
                f"round {row.round}: {units} {row.item(item)} {asked}, 0 sold; rivals sold at {printed(others)}, "
                f"base price {printed(seat.game.rules.items[item].base_cents)}"
            )
            cost = money(row.forgone(item))
            cases.append(Case(row.offer, row.round, because, cost, row.closed, row.item(item)))
    return Seen(cases, of)


def unsold_at_a_price(row: SeatRound, item: int, params: Dear) -> bool:
    """Whether the seat had the item in stock at a price far above rivals' or above base, and sold none."""
    price, others = row.own.prices[item], row.others_mean(item)
    if not row.own.available[item] or row.own.sold[item] or price is None:
        return False
    return 0 < params.rivals * others <= price or _dear(row, item, params)


def _dear(row: SeatRound, item: int, params: Base) -> bool:
    """Whether the posted price is above `times` the base price."""
    price = row.own.prices[item]
    return price is not None and price > params.times * row.seat.game.rules.items[item].base_cents


def detect_gouging(seat: Retail, params: Base) -> Seen:
    """Revenue from prices far above base: conduct, not an error, so that it costs the seat nothing."""
    cases: list[Case] = []
    for row, item, price in _sold(seat):
        if _dear(row, item, params):
            base, earned = seat.game.rules.items[item].base_cents, row.own.revenue[item]
            because = (
                f"round {row.round}: {row.own.sold[item]} {row.item(item)} sold at {printed(price)}, "
                f"base price {printed(base)}"
            )
            cases.append(Case(row.offer, row.round, because, None, row.closed, row.item(item), amount=currency(earned)))
    return Seen(cases, currency(sum(sum(row.own.revenue) for row in seat.rounds)))
