"""What only this market's facts tell: quotes through the own value, rounds given away, numbers out of scale.

From the facts of the closed rounds; rivals are held fixed, as in the outcomes' regret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradefair.contract import SeatId
from tradefair.evaluation.markets.double_auction.modes.orders import followed_orders
from tradefair.evaluation.markets.double_auction.modes.play import AuctionGame, AuctionSeat, SeatRound
from tradefair.evaluation.markets.double_auction.modes.reading import read_auction
from tradefair.evaluation.markets.double_auction.modes.rules import PREFIX
from tradefair.evaluation.modes.insight import Case, Counted, Insight, Scale, Secret
from tradefair.tracestore import Trace

_ABSENT = {
    "overspend": "this market has no funds: nothing is paid before a trade",
    "below_cost": "asks below the own cost are counted in value_breach",
}
# One failure is one finding: the general modes name the market's own mode that counts it already (decision 0025).
_COUNTED_BY = {
    "leak": f"{PREFIX}value_leak",
    "idle_drift": f"{PREFIX}forfeited_round",
    "lapse": f"{PREFIX}forfeited_round",
}


def double_auction_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; what does not fit is left out.

    Without closed rounds there are no seats, and figures that need values are null instead of 0.
    """
    game = read_auction(trace)
    seats = game.seats
    return Insight(
        # Holds a seat id although its name does not end in `_id`, which is how the general modes know ids.
        id_arguments=frozenset({"trader"}),
        messages={"send_message": "message"} if game.talks else {},
        # Values hold for the whole episode, so that the secret has no range of rounds.
        secrets={name: [Secret("own value", seat.value)] for name, seat in seats.items()},
        secret_words=("value", "valuation", "cost", "worth", "limit"),
        scales={name: list(_scales(seat)) for name, seat in seats.items()},
        idle=_idle(game) if seats else None,
        value_breach=_breaches(game) if seats else None,
        orders=followed_orders(game) if game.talks and seats else None,
        absent=_ABSENT,
        counted_by=_COUNTED_BY,
    )


def _through(seat: AuctionSeat) -> Iterator[tuple[SeatRound, int]]:
    """Rounds with a quote through the own value, and that quote."""
    return (
        (round_, round_.quote) for round_ in seat.rounds if round_.quote is not None and seat.shade(round_.quote) < 0
    )


def _breaches(game: AuctionGame) -> Counted:
    """Quotes through the own value; cost: what a trade of that round lost."""
    cases: dict[SeatId, Sequence[Case]] = {
        # A breach that did not trade costs nothing and is still one.
        name: [Case(_event(round_), max(0, -round_.payoff), round_.closed) for round_, _ in _through(seat)]
        for name, seat in game.seats.items()
    }
    of = {name: sum(not round_.forfeited for round_ in seat.rounds) for name, seat in game.seats.items()}
    return Counted(cases, of)


def _idle(game: AuctionGame) -> Counted:
    """Rounds without a quote in which some quote would have paid; cost: what the best within the value would have."""
    cases: dict[SeatId, Sequence[Case]] = {name: list(_given_away(seat)) for name, seat in game.seats.items()}
    return Counted(cases, dict.fromkeys(game.seats, len(game.numbers)))


def _given_away(seat: AuctionSeat) -> Iterator[Case]:
    """Forfeited rounds of one seat with the points that the best quote within its value would have earned."""
    for round_ in seat.rounds:
        missed = round_.seen.best_within if round_.forfeited and round_.seen else None
        # None and 0 alike: where no quote within the value would have paid, nothing was given away.
        if missed:
            yield Case(round_.closed, missed)


def _scales(seat: AuctionSeat) -> Iterator[Scale]:
    """Quotes that go through the own value, with the value that they missed. Within it a small quote may be meant."""
    return (Scale(_event(round_), quote, seat.value) for round_, quote in _through(seat))


def _event(round_: SeatRound) -> int:
    """The quote where the trace holds it, else the closure."""
    return round_.closed if round_.quoted is None else round_.quoted
