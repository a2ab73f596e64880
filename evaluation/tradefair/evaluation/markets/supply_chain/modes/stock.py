"""idle_capital, reorder_glut, dead_stock, empty_shelf and bankruptcy: money and goods in the wrong place."""

from __future__ import annotations

from typing import NamedTuple

from tradefair.contract.money import currency
from tradefair.evaluation.markets.supply_chain.modes.play import Params, Retail, SeatRound, bought, money, printed
from tradefair.evaluation.markets.supply_chain.modes.prices import Dear, unsold_at_a_price
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked
from tradefair.supply_chain.analysis import sure_win_price

# --- idle_capital -----------------------------------------------------------------------------------------------------


class Idle(Params):
    """`used`: at most this share of money and stock was at work; `worth`: idle money would have earned this share."""

    used: float
    worth: float


class _Chance(NamedTuple):
    """Units of an item that idle money would have bought for sure at `price` and sold at `resale`, in cents."""

    item: int
    units: int
    price: int
    resale: float

    @property
    def gain(self) -> float:
        return self.units * (self.resale - self.price)


def detect_idle(seat: Retail, params: Idle) -> Seen:
    """Rounds in which little was asked for although more would have sold, out of rounds with money for a unit.

    Stock from before is money at work; a seat that holds plenty needs no more. Rounds in which the market acted for a
    silent seat are told by `lapse`.
    """
    able = [row for row in seat.rounds if row.funds >= seat.game.rules.cheapest_reserve_cents]
    cases: list[Case] = []
    for row in able:
        held = sum(row.before.own.book) if row.before else 0
        # A vector above funds that is forfeited puts no money to work.
        asked = sum(line[1] * line[2] for line in row.lines)
        if not row.silent and asked + held <= params.used * (row.funds + held):
            chances = _chances(row)
            gain = sum(chance.gain for chance in chances)
            if chances and gain >= params.worth * row.funds:
                best = max(chances, key=lambda chance: chance.gain)
                lost = row.lost_cents
                what = f"bids for {printed(lost)} forfeited, with" if lost else f"bids for {printed(asked)} of"
                because = (
                    f"round {row.round}: {what} {printed(row.funds)}; {best.units} more {row.item(best.item)} "
                    f"at {printed(best.price)} would have sold at {printed(best.resale)}"
                )
                cases.append(Case(row.order, row.round, because, money(gain), row.closed))
    return Seen(cases, len(able))


def _chances(row: SeatRound) -> list[_Chance]:
    """What the money left would have earned with buyers who left without, best return first; rivals as they were."""
    rules, name = row.seat.game.rules, row.seat.seat
    won = {line[0]: line[3] for line in row.lines}
    found: list[_Chance] = []
    # A seat that offers nothing is noticed by nobody: then all buyers who left without goods count.
    open_shop = any(price is not None for price in row.own.prices)
    for item, missing in (row.unserved if open_shop else row.wanted).items():
        # What lies on the shelf would have to sell first.
        units = min(missing - row.own.available[item] + row.own.sold[item], row.facts.supply[item] - won.get(item, 0))
        lines = [line for rival, vector in row.facts.passes[-1].lines.items() if rival != name for line in vector]
        rivals = [(line[2], line[1]) for line in lines if line[0] == item]
        terms = (row.facts.supply[item], rules.items[item].base_cents, rules.tick_cents)
        price = sure_win_price(rivals, won.get(item, 0) + units, *terms)
        found.append(_Chance(item, units, price, row.others_mean(item)))
    left, taken = row.funds - row.own.spend, list[_Chance]()
    for chance in sorted(found, key=lambda chance: -chance.resale / chance.price):
        units = min(chance.units, left // chance.price)
        if units > 0 and chance.gain > 0:
            left -= units * chance.price
            taken.append(chance._replace(units=units))
    return taken


# --- idle rounds: the general mode counts them ------------------------------------------------------------------------


def idle_rounds(seat: Retail) -> Seen:
    """Rounds without a bid or an offer although there was money for a unit, or without an offer for goods in stock.

    Cost: what the idle money and the goods that were not for sale would have earned.
    """
    cheapest = seat.game.rules.cheapest_reserve_cents
    cases: list[Case] = []
    for row in seat.rounds:
        bid, posted = any(row.actions("submit_bids")), any(row.actions("submit_offer"))
        kept = {} if posted else {item: row.forgone(item) for item in row.withheld}
        gain = sum(kept.values())
        # Below the cheapest reserve nothing could be bought: such a seat is poor, not idle.
        if not bid and not posted and row.funds >= cheapest:
            gain += sum(chance.gain for chance in _chances(row))
            what = f"no bid and no offer with {printed(row.funds)} in hand; the cheapest unit costs {printed(cheapest)}"
            cases.append(_idle(row, _first(row), what, gain))
        elif gain > 0:
            best = max(kept, key=lambda item: kept[item])
            what = (
                f"no offer for {row.own.available[best]} {row.item(best)} in stock; "
                f"rivals sold at {printed(row.others_mean(best))}"
            )
            cases.append(_idle(row, row.offer, what, gain))
    return Seen(cases, len(seat.rounds))


def _idle(row: SeatRound, seq: int, what: str, gain: float) -> Case:
    return Case(seq, row.round, f"round {row.round}: {what}", money(gain), row.closed)


def _first(row: SeatRound) -> int:
    """The first thing that was skipped or lapsed in a round."""
    return next((seq for phase in row.seat.game.rules.phases for seq in row.waived(phase)), row.closed)


# --- reorder_glut and dead_stock --------------------------------------------------------------------------------------


class Plenty(Params):
    """An opening stock of at least `units`, and of `times` the units that were sold in the round before."""

    units: float
    times: float


def detect_glut(seat: Retail, params: Plenty) -> Seen:
    """Bid lines for items of which plenty is left, out of all lines from round 2 on; cost: what of it was never sold.

    What a line is blamed for is taken off, so that lines of one item never cost more together than what is left of it.
    """
    lines = [(row, before, line) for row in seat.rounds if (before := row.before) for line in row.lines]
    left = seat.rounds[-1].left if seat.rounds else []
    stuck = {
        (row.round, item): part
        for item, cents in enumerate(left)
        for row, _, part in bought(seat, item, cents, seat.rounds)
    }
    cases: list[Case] = []
    for row, before, (item, asked, price, _) in lines:
        held, sold = row.own.opening[item], before.own.sold[item]
        if held >= max(params.units, params.times * sold):
            because = (
                f"round {row.round}: bid {printed(price)} for {asked} {row.item(item)} with {held} in stock, "
                f"{sold} sold in round {before.round}"
            )
            cost = stuck.get((row.round, item), 0)
            cases.append(Case(row.order, row.round, because, money(cost), row.closed, row.item(item)))
    return Seen(cases, len(lines))


class Unsold(Dear):
    """`above`: from this multiple of the mean price at which rivals sold, the price kept goods on the shelf."""

    above: float


def detect_dead(seat: Retail, params: Unsold) -> Seen:
    """Stock at cost that was never sold, by the lines that bought it, out of the money spent.

    Goods that were too dear ever since are left out: their price kept them, not their purchase. Those that were dearer
    than rivals' to the end are told by the first offer of that stretch. Nothing to check where the episode was cut
    short: what is left in the middle of an episode may still be sold.
    """
    if not seat.game.terminated or not seat.rounds:
        return unchecked("the episode was cut short")
    cases: list[Case] = []
    for item, cents in enumerate(seat.rounds[-1].left):
        for row, (_, _, price, filled), part in bought(seat, item, cents, seat.rounds):
            if all(unsold_at_a_price(later, item, params) for later in seat.rounds if later.round >= row.round):
                continue
            dear = _dear_since(seat, item, params)
            cause, seq = (row, row.order) if dear is None else (dear, dear.offer)
            what = f"bought {filled} {row.item(item)} at {printed(price)}"
            if dear is not None:
                asked, others = printed(dear.own.prices[item] or 0), printed(dear.others_mean(item))
                what = f"{filled} {row.item(item)} of round {row.round} at {asked}, rivals sold at {others}"
            because = f"round {cause.round}: {what}; {printed(part)} of their {printed(filled * price)} was never sold"
            last = seat.rounds[-1].closed
            cases.append(Case(seq, cause.round, because, money(part), last, row.item(item), money(part)))
    return Seen(cases, currency(sum(row.own.spend for row in seat.rounds)))


def _dear_since(seat: Retail, item: int, params: Unsold) -> SeatRound | None:
    """The first round of the last stretch, to the end, with an item in stock that was dearer than rivals'."""
    first: SeatRound | None = None
    for row in reversed(seat.rounds):
        price, others = row.own.prices[item], row.others_mean(item)
        if not row.own.available[item] or price is None or not 0 < params.above * others <= price:
            break
        first = row
    return first


# --- empty_shelf and bankruptcy ---------------------------------------------------------------------------------------


def detect_empty(seat: Retail) -> Seen:
    """Visits of buyers to items that the seat posted without having a unit, out of all its visits.

    No cost: whether these buyers would have paid is not known.
    """
    cases: list[Case] = []
    for row in seat.rounds:
        # One that sold out later was rightly posted.
        bare = {item: tried for item, tried in enumerate(row.own.attempts) if tried and not row.own.available[item]}
        if bare:
            most = max(bare, key=lambda item: bare[item])
            because = (
                f"round {row.round}: posted {row.item(most)} with 0 in stock; {sum(bare.values())} of "
                f"{sum(row.own.attempts)} visits were to items without a unit"
            )
            cases.append(Case(row.offer, row.round, because, None, row.closed, None, sum(bare.values())))
    return Seen(cases, sum(sum(row.own.attempts) for row in seat.rounds))


def detect_bankruptcy(seat: Retail) -> Seen:
    """The round in which the seat went out of business, by its last order; cost: stock at cost that was written off."""
    cases: list[Case] = []
    for row in seat.rounds:
        if row.own.bankrupt:
            orders = [bid for bid in seat.rounds if bid.own.spend]
            cause = orders[-1] if orders else row
            because = (
                f"round {row.round}: out of business with {printed(row.own.funds)} left; the last order, of round "
                f"{cause.round}, took {printed(cause.own.spend)} of {printed(cause.funds)}"
            )
            cases.append(Case(cause.order, row.round, because, money(row.own.write_off), row.closed))
    return Seen(cases, len(seat.rounds))
