"""forfeited_round: rounds without a quote in the book, by silence or after a refusal that was never repaired."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Closed rounds that the seat gave away; severity: what the best quote would have earned in each."""
    given = [round_ for round_ in seat.rounds if round_.forfeited]
    # A refusal is another failure than silence: the seat tried and did not repair its call.
    refused = sum(round_.round in seat.refused for round_ in given)
    counted = share(len(given), len(seat.rounds), (seq for round_ in given for seq in _proof(seat, round_)))
    parts = {"silent": len(given) - refused, "refused": refused}
    # Every one of them could have been any quote, hence the best of all (10.1), not the best within the value.
    severity = math.fsum(round_.best for round_ in given)
    return sign_of(len(given) >= limits["forfeits"], counted, parts=parts, severity=severity)


def _proof(seat: AuctionSeat, round_: SeatRound) -> list[int]:
    """The last refusal, the lapse and the closure."""
    refused, lapsed = seat.refused.get(round_.round, [])[-1:], seat.lapsed.get(round_.round)
    return [*refused, *([] if lapsed is None else [lapsed]), round_.closed]
