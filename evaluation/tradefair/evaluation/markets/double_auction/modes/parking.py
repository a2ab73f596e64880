"""parking: quotes so far from anything that trades that they only wait."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound, runs
from tradefair.evaluation.modes.sign import Sign


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Rounds in a row of parked quotes without a trade, of those with a quote; severity: what was missed in them."""
    # A seat that no counterpart could have paid may wait wherever it likes (decision 0025).
    if seat.potential <= 0:
        return Sign(False, 0, note="no counterpart's value leaves this seat a gain", checked=False)
    quoted = [round_ for round_ in seat.rounds if not round_.forfeited]
    # Far is relative to the last prices; a quote that traded was near enough by proof.
    away = [round_ for round_ in quoted if not round_.traded and _parked(seat, round_, limits["distance"])]
    parked = [run for run in runs(away) if len(run) >= limits["rounds"]]
    costs = {round_: round_.best if round_.missed else 0.0 for run in parked for round_ in run}
    return proven(costs, len(quoted), raised=bool(parked), parts={"longest": max(map(len, parked), default=0)})


def _parked(seat: AuctionSeat, round_: SeatRound, distance: float) -> bool:
    """Further than P/`distance` below the last mean price or the own value, whichever is lower (buyers).

    A seat whose own value lies that far from the price cannot come nearer without a loss.
    """
    if round_.quote is None:
        return False
    value, top = seat.flipped(seat.value), seat.game.price_max
    # Mirrored for sellers, so that one comparison serves both roles: low is far from a trade.
    last = seat.game.last_prices.get(round_.round)
    price = value if last is None else last if seat.role == "buyer" else top - last
    return seat.flipped(round_.quote) < min(price, value) - top / distance
