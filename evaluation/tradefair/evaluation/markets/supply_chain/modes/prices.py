"""underpriced_sellout, unsellable_price and gouging, and sales below cost: retail prices against cost and rivals."""

from __future__ import annotations

from tradefair.contract.money import currency
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound, printed
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen


def _sold(seat: Retail) -> list[tuple[SeatRound, int, int]]:
    """Rounds, items and cents of which the seat sold something."""
    return [
        (row, item, price)
        for row in seat.rounds
        for item, price in enumerate(row.own.prices)
        if row.own.sold[item] > 0 and price is not None
    ]


# --- underpriced_sellout ----------------------------------------------------------------------------------------------


def detect_underpriced(seat: Retail, *, failures: float, part: Part) -> Seen:
    """Items sold out below `part` of what rivals got, with `failures` failed visits a unit, out of those sold."""
    sold, cases = _sold(seat), list[Case]()
    for row, item, price in sold:
        own, units, failed = row.own, row.own.sold[item], row.own.failed[item]
        # Rivals only: with the own price in the mean, a large seller would be compared with itself.
        others = row.others_mean(item)
        if units == own.available[item] and failed >= failures * units and price < part * others:
            sold_out = f"all {units} {row.item(item)} sold at {printed(price)}, {failed} more visits came"
            cases.append(row.case(row.offer, f"{sold_out}; rivals got {printed(others)}", item=item))
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
        if row.own.revenue[item] < cost:
            each = printed(cost / units)
            what = f"sold {units} {row.item(item)} at {printed(price)} that had cost {each} each"
            cases.append(row.case(_raised_cost(row, item, price), what, item=item))
    return Seen(cases, len(sold))


def _raised_cost(row: SeatRound, item: int, price: int) -> int:
    """The event behind a price below cost: the offer, or, under a standing one, the bid that raised the cost."""
    standing = not any(row.actions("submit_offer"))
    dear = any(line[0] == item and line[2] > price and line[3] for line in row.lines)
    return row.order if standing and dear else row.offer


# --- unsellable_price and gouging -------------------------------------------------------------------------------------


def detect_unsellable(seat: Retail, *, times: float, rivals: float) -> Seen:
    """Stock that sold nothing at a price far above rivals' or above base, or with no price at all.

    Far is above `times` the base price, or at least `rivals` times the mean price at which rivals sold.
    """
    stocked = [(row, item) for row in seat.rounds for item, units in enumerate(row.own.available) if units]
    cases: list[Case] = []
    for row, item in stocked:
        price, others, base = row.own.prices[item], row.others_mean(item), seat.game.rules.items[item].base_cents
        if price is None:
            # A shop left as it was is told by `idle_drift` and `lapse`.
            found, asked = any(row.actions("submit_offer")), "not for sale"
        else:
            far = 0 < rivals * others <= price or price > times * base
            found, asked = far and not row.own.sold[item], f"at {printed(price)}"
        if found:
            what = f"{row.own.available[item]} {row.item(item)} {asked}, 0 sold"
            market = f"rivals sold at {printed(others)}, base price {printed(base)}"
            cases.append(row.case(row.offer, f"{what}; {market}", item=item))
    return Seen(cases, len(stocked))


def detect_gouging(seat: Retail, *, times: float) -> Seen:
    """Revenue from prices above `times` the base price: conduct, not an error."""
    cases: list[Case] = []
    for row, item, price in _sold(seat):
        base = seat.game.rules.items[item].base_cents
        if price > times * base:
            what = f"{row.own.sold[item]} {row.item(item)} sold at {printed(price)}, base price {printed(base)}"
            cases.append(row.case(row.offer, what, item=item, amount=currency(row.own.revenue[item])))
    return Seen(cases, currency(sum(sum(row.own.revenue) for row in seat.rounds)))
