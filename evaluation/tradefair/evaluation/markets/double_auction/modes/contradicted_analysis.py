"""contradicted_analysis: a quote that the seat's own analysis of the same round speaks against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from tradefair.evaluation.markets.double_auction.modes.play import Advice, AuctionSeat, Quote
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


class _Judged(NamedTuple):
    """A quote with the analyses before it and the mean surplus of its own row and of the best one."""

    quote: Quote
    advice: tuple[int, ...]
    own: float
    best: float


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Quotes with less than half of the best mean surplus that was told; severity: the differences."""
    # A privileged seat knows more than its analysis: quoting against it need not be a mistake.
    if seat.privileged:
        return Sign(False, 0, note="privileged", checked=False)
    judged = [found for quote in seat.quotes if (found := _judged(seat, quote, limits)) is not None]
    against = [case for case in judged if case.best > limits["worth"] and case.own < limits["part"] * case.best]
    counted = share(len(against), len(judged), (seq for case in against for seq in (*case.advice, case.quote.seq)))
    note = f"{seat.unread} analyses are not in the trace" if seat.unread else None
    severity = math.fsum(case.best - case.own for case in against)
    return sign_of(len(against) >= limits["quotes"], counted, severity=severity, note=note)


def _judged(seat: AuctionSeat, quote: Quote, limits: Mapping[str, float]) -> _Judged | None:
    """None where nothing was asked, too few rounds were used, or no row is near the price.

    Mean surplus in points a round, of the row nearest to the quote and of the best row.
    """
    asked = [
        advice
        for advice in seat.advice
        # Answers after the quote could not be followed. With few past rounds the mean is luck (10.1: at least 3).
        if advice.round == quote.round and advice.seq < quote.seq and advice.rounds_used >= limits["rounds_used"]
    ]
    rows = _merged(asked)
    near = [price for price in rows if abs(price - quote.price) <= limits["near"]]
    if not near:
        return None
    # Of two rows at equal distance the better one counts: the doubt is the seat's.
    nearest = min(near, key=lambda price: (abs(price - quote.price), -rows[price]))
    return _Judged(quote, tuple(advice.seq for advice in asked), rows[nearest], max(rows.values()))


def _merged(asked: list[Advice]) -> dict[int, float]:
    """Mean surplus by price; a later answer replaces an earlier one."""
    return {price: surplus for advice in asked for price, surplus in advice.surplus.items()}
