"""Idle rounds, reorder_glut, dead_stock, empty_shelf and bankruptcy: money and goods in the wrong place."""

from __future__ import annotations

from tradefair.contract.money import currency
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound, printed
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked

# --- idle rounds: the general mode counts them ------------------------------------------------------------------------


def idle_rounds(seat: Retail) -> Seen:
    """Rounds without a bid or an offer although there was money for a unit, or without an offer for goods in stock.

    Goods count that buyers still wanted, at a price of rivals above what they had cost.
    """
    cheapest = seat.game.rules.cheapest_reserve_cents
    cases: list[Case] = []
    for row in seat.rounds:
        bid, posted = any(row.actions("submit_bids")), any(row.actions("submit_offer"))
        kept = [] if posted else [item for item in row.withheld if row.wanted(item) and _worth(row, item)]
        # Below the cheapest reserve nothing could be bought: such a seat is poor, not idle.
        if not bid and not posted and row.funds >= cheapest:
            what = f"no bid and no offer with {printed(row.funds)} in hand; the cheapest unit costs {printed(cheapest)}"
            cases.append(row.case(_first(row), what))
        elif kept:
            stock = f"{row.own.available[kept[0]]} {row.item(kept[0])} in stock"
            what = f"no offer for {stock}; rivals sold at {printed(row.others_mean(kept[0]))}"
            cases.append(row.case(row.offer, what))
    return Seen(cases, len(seat.rounds))


def _worth(row: SeatRound, item: int) -> bool:
    """Whether rivals took more for an item than the units in stock had cost."""
    return row.others_mean(item) * row.own.available[item] > row.own.book[item]


def _first(row: SeatRound) -> int:
    """The first thing that was skipped or lapsed in a round."""
    return next((seq for phase in row.seat.game.rules.phases for seq in row.waived(phase)), row.closed)


# --- reorder_glut and dead_stock --------------------------------------------------------------------------------------


def detect_glut(seat: Retail, *, units: float, times: float) -> Seen:
    """Bid lines for items of which plenty is left, out of all lines from round 2 on.

    Plenty is an opening stock of at least `units`, and of `times` the units that were sold in the round before.
    """
    lines = [(row, before, line) for row in seat.rounds if (before := row.before) for line in row.lines]
    cases: list[Case] = []
    for row, before, (item, asked, price, _) in lines:
        held, sold = row.own.opening[item], before.own.sold[item]
        if held >= max(units, times * sold):
            bid = f"bid {printed(price)} for {asked} {row.item(item)} with {held} in stock"
            cases.append(row.case(row.order, f"{bid}, {sold} sold in round {before.round}", item=item))
    return Seen(cases, len(lines))


def detect_dead(seat: Retail) -> Seen:
    """Money spent on items of which not one unit was sold from then on, out of all the money spent.

    Nothing to check where the episode was cut short: what is left in the middle of an episode may still be sold.
    """
    if not seat.game.terminated or not seat.rounds:
        return unchecked("the episode was cut short")
    # The last round in which any of an item was sold.
    sold = {item: row.round for row in seat.rounds for item, units in enumerate(row.own.sold) if units}
    cases: list[Case] = []
    for row in seat.rounds:
        for item, _, price, filled in row.lines:
            if filled and sold.get(item, 0) < row.round:
                what = f"bought {filled} {row.item(item)} at {printed(price)} and sold none from then on"
                money, last = currency(filled * price), seat.rounds[-1].closed
                cases.append(row.case(row.order, what, item=item, shown_by=last, amount=money))
    return Seen(cases, currency(sum(row.own.spend for row in seat.rounds)))


# --- empty_shelf and bankruptcy ---------------------------------------------------------------------------------------


def detect_empty(seat: Retail) -> Seen:
    """Visits of buyers to items that the seat posted without having a unit, out of all its visits."""
    cases: list[Case] = []
    for row in seat.rounds:
        # One that sold out later was rightly posted.
        bare = {item: tried for item, tried in enumerate(row.own.attempts) if tried and not row.own.available[item]}
        if bare:
            most = max(bare, key=lambda item: bare[item])
            visits = f"{sum(bare.values())} of {sum(row.own.attempts)} visits were to items without a unit"
            what = f"posted {row.item(most)} with 0 in stock; {visits}"
            cases.append(row.case(row.offer, what, amount=sum(bare.values())))
    return Seen(cases, sum(sum(row.own.attempts) for row in seat.rounds))


def detect_bankruptcy(seat: Retail) -> Seen:
    """The round in which the seat went out of business, by its last order."""
    cases: list[Case] = []
    for row in seat.rounds:
        if row.own.bankrupt:
            orders = [bid for bid in seat.rounds if bid.own.spend]
            cause = orders[-1] if orders else row
            took = f"of round {cause.round}, took {printed(cause.own.spend)} of {printed(cause.funds)}"
            what = f"out of business with {printed(row.own.funds)} left; the last order, {took}"
            cases.append(row.case(cause.order, what))
    return Seen(cases, len(seat.rounds))
