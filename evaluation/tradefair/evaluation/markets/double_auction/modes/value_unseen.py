"""value_unseen: quotes before the seat had looked at its own value."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Accepted quotes before the first view_my_value; a privileged seat needs none, a foreign log holds none."""
    # Privileged seats are handed the values, and public logs hold no reads (decision 0025): both would always fire.
    if seat.privileged or seat.game.imported:
        reason = "privileged" if seat.privileged else "the imported log does not hold what the seat was shown"
        return Sign(False, 0, note=reason, checked=False)
    first = seat.first_look
    blind = [quote.seq for quote in seat.quotes if first is None or quote.seq < first]
    note = "the value was never looked at" if blind and first is None else None
    return sign_of(len(blind) >= limits["quotes"], share(len(blind), len(seat.quotes), blind), note=note)
