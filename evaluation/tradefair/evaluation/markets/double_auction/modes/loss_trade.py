"""loss_trade: trades that lost points."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat
from tradefair.evaluation.modes.sign import Sign


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Trades with a payoff below 0, which only a quote through the seat's own value can bring; severity: the loss."""
    traded = [round_ for round_ in seat.rounds if round_.traded]
    lost = {round_: float(-round_.payoff) for round_ in traded if round_.payoff < 0}
    # Out of the trades, not the rounds: untraded breaches are the general mode `value_breach`.
    return proven(lost, len(traded), raised=len(lost) >= limits["losses"])
