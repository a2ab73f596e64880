"""forfeited_round: rounds without a quote in the book, by silence or after a refusal that was never repaired."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Closed rounds that the seat gave away; severity: what the best quote would have earned in each."""
    given = [one for one in seat.rounds if one.forfeited]
    refused = sum(one.round in seat.refused for one in given)
    counted = share(len(given), len(seat.rounds), (seq for one in given for seq in _proof(seat, one)))
    parts = {"silent": len(given) - refused, "refused": refused}
    severity = math.fsum(one.best for one in given)
    return sign_of(len(given) >= limits["forfeits"], counted, parts=parts, severity=severity)


def _proof(seat: AuctionSeat, one: SeatRound) -> list[int]:
    """The last refusal, the lapse and the closure."""
    refused, lapsed = seat.refused.get(one.round, [])[-1:], seat.lapsed.get(one.round)
    return [*refused, *([] if lapsed is None else [lapsed]), one.closed]
