"""Quotes that could not trade: none at all, the same again and again, far from every price, or short of a gain.

What a missed round costs is hindsight: what the best quote within the own value would have earned, rivals as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from pydantic import Field

from tradefair.double_auction.analysis import Hindsight
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound, runs
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked

NOTHING_TO_GAIN = "no counterpart's value leaves this seat a gain"


class Stretch(Record):
    """Rounds in a row with one quote from which on it is kept."""

    rounds: int = Field(ge=2)


def frozen_quote(seat: AuctionSeat, params: Stretch) -> Seen:
    """Missed rounds of stretches of equal quotes without a trade, out of the rounds with a quote."""
    quoted = _quoted(seat)
    # An equal quote is no mistake where nothing would have traded: only missed rounds are cases.
    cases = [
        _missed(round_, f"{_failed(round_)} in any of rounds {run[0].round} to {run[-1].round}")
        for run in _equal(quoted)
        if len(run) >= params.rounds
        for round_ in run
        if round_.missed
    ]
    return Seen(cases, len(quoted))


def _equal(quoted: list[SeatRound]) -> Iterator[list[SeatRound]]:
    """Consecutive rounds with one quote, none of them traded."""
    # A trade ends the stretch: a quote that works is kept for a reason.
    for run in runs([round_ for round_ in quoted if not round_.traded]):
        for _, same in groupby(run, lambda round_: round_.quote):
            yield list(same)


class Distance(Record):
    """When a missed quote is far away: `away`, the part of the way from the price to the quote that offers least.

    A part of that way and not of the price range: where prices are low, no bid is many points below them. `learning` is
    the part of the episode in which a seat may still look for the price; after it one such quote is a slip.
    """

    away: float = Field(gt=0, lt=1)
    learning: float = Field(ge=0, lt=1)


def parking(seat: AuctionSeat, params: Distance) -> Seen:
    """Missed rounds after the learning with a quote far from every price, out of the rounds with a quote."""
    # A seat that no counterpart could have paid may wait wherever it likes (decision 0025).
    if seat.potential <= 0:
        return unchecked(NOTHING_TO_GAIN)
    judged = _after(seat, params.learning)
    cases: list[Case] = []
    for round_ in judged:
        price = _in_reach(seat, round_)
        far = price - seat.flipped(round_.quote or 0)
        if round_.missed and far > params.away * price:
            what = f"{round(far, 1):g} points from the last price or its {seat.limit}"
            cases.append(_missed(round_, f"{_failed(round_)}, {what}"))
    return Seen(cases, len(judged))


def _in_reach(seat: AuctionSeat, round_: SeatRound) -> float:
    """The last mean price or the own value, whichever is lower, in buyer terms.

    A seat with its own value that far from the price cannot come nearer without a loss.
    """
    value, top = seat.flipped(seat.value), seat.game.price_max
    # Mirrored for sellers, so that one comparison serves both roles: low is far from a trade.
    last = seat.game.last_prices.get(round_.round)
    return min(value, value if last is None else last if seat.role == "buyer" else top - last)


class Shortfall(Record):
    """When a missed round is a case: `short`, the part of the price range by which the quote fell short of a gain.

    A smaller shortfall is a probe, which competent traders make in every third round, unless it is repeated in
    `patience` rounds on end. `learning` is the part of the episode in which a seat may still look for the price:
    nearly all wide misses of competent traders lie in it.
    """

    short: float = Field(gt=0, lt=1)
    patience: int = Field(ge=2)
    learning: float = Field(ge=0, lt=1)


def missed_profit(seat: AuctionSeat, params: Shortfall) -> Seen:
    """Rounds after the learning in which a seat with something to gain fell short of a quote that would have paid."""
    if seat.potential <= 0:
        return unchecked(NOTHING_TO_GAIN)
    judged = _after(seat, params.learning)
    cases = [
        _missed(round_, _failed(round_))
        for run in runs([round_ for round_ in seat.rounds if round_.missed])
        for round_ in run
        if round_ in judged and (len(run) >= params.patience or round_.short_by >= params.short * seat.game.price_max)
    ]
    return Seen(cases, len(judged), {"missed by any distance": float(sum(round_.missed for round_ in judged))})


def given_away(seat: AuctionSeat) -> Seen:
    """Rounds without a quote although one within the own value would have paid, out of the closed rounds."""
    cases: list[Case] = []
    for round_ in seat.rounds:
        # None and 0 alike: where no quote within the value would have paid, nothing was given away.
        if round_.forfeited and round_.seen and round_.seen.best_within:
            # Other than silence: the seat tried and did not repair its call.
            refused = len(seat.refused.get(round_.round, ()))
            after = f" after {refused} refused" if refused else ""
            cases.append(_missed(round_, f"no {seat.quotes_as} was made{after}"))
    return Seen(cases, len(seat.rounds))


def _failed(round_: SeatRound) -> str:
    """How a sentence about a quote without a trade begins: alike in all modes, which then say it once."""
    return f"{round_.seat.quotes_as} {round_.quote} did not trade"


def _missed(round_: SeatRound, what: str) -> Case:
    """A round in which the best quote within the own value would have earned something."""
    seen: Hindsight | None = round_.seen
    return round_.case(f"{what}; {round_.better}", seen.best_within if seen else None)


def _after(seat: AuctionSeat, learning: float) -> list[SeatRound]:
    """Rounds with a quote after the learning, which takes the first round at least."""
    return [round_ for round_ in _quoted(seat) if round_.round > max(1, learning * seat.game.length)]


def _quoted(seat: AuctionSeat) -> list[SeatRound]:
    return [round_ for round_ in seat.rounds if not round_.forfeited]
