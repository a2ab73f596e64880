"""What only this market tells: own values, quotes through them, numbers out of scale, orders that were followed."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.markets.double_auction.modes.orders import followed_orders
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat
from tradefair.evaluation.markets.double_auction.modes.quotes import through_value
from tradefair.evaluation.markets.double_auction.modes.reading import read_auction
from tradefair.evaluation.modes.insight import Insight, Scale, Secret
from tradefair.tracestore import Trace


def double_auction_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; what does not fit is left out.

    Without closed rounds there are no seats, and figures that need values are null instead of 0.
    """
    game = read_auction(trace)
    seats = game.seats
    return Insight(
        # One decision, one finding: what the general modes say of a quote merges with the market's own modes.
        facts={"submit_quote": "quote", "send_message": "talk"},
        # Holds a seat id although its name does not end in `_id`, which is how the general modes know ids.
        id_arguments=frozenset({"trader"}),
        messages={"send_message": "message"} if game.talks else {},
        # Values hold for the whole episode, so that the secret has no range of rounds.
        secrets={name: [Secret("own value", seat.value)] for name, seat in seats.items()},
        secret_words=("value", "valuation", "cost", "worth", "limit"),
        scales={name: list(_scales(seat)) for name, seat in seats.items()},
        value_breach={name: through_value(seat) for name, seat in seats.items()} or None,
        orders=followed_orders(game) if game.talks and seats else None,
        absent={
            "below_cost": "asks below the own cost are counted in value_breach",
            "idle_drift": "rounds without a quote are counted in lapse",
        },
    )


def _scales(seat: AuctionSeat) -> Iterator[Scale]:
    """Quotes that go through the own value, with the value that they missed. Within it a small quote may be meant."""
    for round_ in seat.rounds:
        if round_.quote is not None and seat.shade(round_.quote) < 0:
            yield Scale(round_.cause, round_.round, round_.quote, seat.value)
