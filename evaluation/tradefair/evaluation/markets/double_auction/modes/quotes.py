"""Quotes through the own value, the same again and again, or far from every price."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from pydantic import PositiveInt

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.evaluation.read.arithmetic import stretches


def loss_trade(seat: AuctionSeat) -> Seen:
    """Trades with a payoff below 0, which only a quote through the seat's own value can bring."""
    traded = [round_ for round_ in seat.rounds if round_.traded]
    # Out of the trades, not the rounds: untraded breaches are the general mode `value_breach`.
    return Seen([_breach(round_) for round_ in traded if round_.payoff < 0], len(traded))


def through_value(seat: AuctionSeat) -> Seen:
    """Quotes through the own value, traded or not."""
    quoted = [(round_, round_.quote) for round_ in seat.rounds if round_.quote is not None]
    return Seen([_breach(round_) for round_, quote in quoted if seat.shade(quote) < 0], len(quoted))


def _breach(round_: SeatRound) -> Case:
    seat = round_.seat
    ended = "traded" if round_.traded else "did not trade"
    return round_.case(f"{seat.quotes_as} {round_.quote} with a {seat.limit} of {seat.value}; it {ended}")


def frozen_quote(seat: AuctionSeat, *, rounds: PositiveInt) -> Seen:
    """Missed rounds of stretches of at least `rounds` equal quotes without a trade, out of the rounds with a quote."""
    quoted = _quoted(seat)
    # An equal quote is no mistake where nothing would have traded: only missed rounds are cases.
    cases = [
        _missed(round_, f" in any of rounds {run[0].round} to {run[-1].round}")
        for run in _equal(quoted)
        if len(run) >= rounds
        for round_ in run
        if _is_missed(round_)
    ]
    return Seen(cases, len(quoted))


def _equal(quoted: list[SeatRound]) -> Iterator[list[SeatRound]]:
    """Consecutive rounds with one quote, none of them traded."""
    # A trade ends the stretch: a quote that works is kept for a reason.
    untraded = [round_ for round_ in quoted if not round_.traded]
    for run in stretches(untraded, lambda round_: round_.round):
        for _, same in groupby(run, lambda round_: round_.quote):
            yield list(same)


def parking(seat: AuctionSeat, *, away: Part, learning: Part) -> Seen:
    """Missed rounds after the learning with a quote far from every price, out of the rounds with a quote.

    `away` is a part of the way from the price to the quote that offers least, and not of the price range: where prices
    are low, no bid is many points below them. `learning` is the part of the episode in which a seat may still look for
    the price; after it one such quote is a slip.
    """
    # A seat that no counterpart could have paid may wait wherever it likes (docs/explanation/why/double_auction.md).
    if seat.potential <= 0:
        return unchecked("no counterpart's value leaves this seat a gain")
    judged = [round_ for round_ in _quoted(seat) if round_.round > max(1, learning * seat.game.length)]
    cases: list[Case] = []
    for round_ in judged:
        price = _in_reach(seat, round_)
        far = price - seat.flipped(round_.quote or 0)
        if far > away * price and _is_missed(round_):
            cases.append(_missed(round_, f", {round(far, 1):g} points from the last price or its {seat.limit}"))
    return Seen(cases, len(judged))


def _in_reach(seat: AuctionSeat, round_: SeatRound) -> float:
    """The last mean price or the own value, whichever is lower, in buyer terms.

    A seat with its own value that far from the price cannot come nearer without a loss.
    """
    value, top = seat.flipped(seat.value), seat.game.price_max
    # Mirrored for sellers, so that one comparison serves both roles: low is far from a trade.
    last = seat.game.last_prices.get(round_.round)
    return min(value, value if last is None else last if seat.role == "buyer" else top - last)


def _quoted(seat: AuctionSeat) -> list[SeatRound]:
    return [round_ for round_ in seat.rounds if round_.quote is not None]


def _is_missed(round_: SeatRound) -> bool:
    """Whether a quote did not trade although one within the own value would have, and with a gain.

    The first round does not count, since no seat can know its rivals yet.
    """
    # In this order, since `open` ranks the quotes of the round and is not needed for most.
    return round_.round > 1 and not round_.traded and round_.open is not None


def _missed(round_: SeatRound, how: str) -> Case:
    """A missed round: alike in both modes but for `how`, so that a merged case says it once."""
    price, met = round_.open or (None, None)
    own, others = ("a bid", "an ask") if round_.seat.role == "buyer" else ("an ask", "a bid")
    stood_open = f"{own} of {price} would have traded with {others} of {met}"
    return round_.case(f"{round_.seat.quotes_as} {round_.quote} did not trade{how}; {stood_open}")
