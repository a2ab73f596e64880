"""Quotes before the seat had looked at its own value, or against what its own analysis said."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import NonNegativeInt, PositiveInt

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, Quote
from tradefair.evaluation.modes.diagnosis import Part, Seen, unchecked


def value_unseen(seat: AuctionSeat) -> Seen:
    """Accepted quotes before the first view_my_value; a privileged seat needs none."""
    if seat.privileged:
        return unchecked("privileged")
    first = seat.first_look
    cases = [
        seat.case(quote, " before any view_my_value") for quote in seat.quotes if first is None or quote.seq < first
    ]
    return Seen(cases, len(seat.quotes), note="the value was never looked at" if cases and first is None else None)


def contradicted_analysis(
    seat: AuctionSeat, *, near: NonNegativeInt, part: Part, worth: float, rounds_used: PositiveInt
) -> Seen:
    """Quotes with less than `part` of the best mean surplus that the seat's analysis of the same round told it.

    Judged is a best surplus above `worth`, in points. A quote's row is the nearest one within `near` points. An
    analysis of fewer than `rounds_used` rounds is luck.
    """
    # A privileged seat knows more than its analysis: quoting against it need not be a mistake.
    if seat.privileged:
        return unchecked("privileged")
    asked = [(quote, _asked(seat, quote, near, rounds_used)) for quote in seat.quotes]
    judged = [(quote, told) for quote, told in asked if told is not None]
    cases = [
        seat.case(
            quote,
            f", to which its own analysis gave {told.own:.1f} points a round and {told.best:.1f} to {told.best_price}",
            told.seq,
        )
        for quote, told in judged
        if told.best > worth and told.own < part * told.best
    ]
    return Seen(cases, len(judged), note=f"{seat.unread} analyses are not in the trace" if seat.unread else None)


class _Told(NamedTuple):
    """Mean surplus in points a round, of the row nearest to a quote and of the best row; `seq` is the last analysis."""

    seq: int
    own: float
    best: float
    best_price: int


def _asked(seat: AuctionSeat, quote: Quote, near: int, rounds_used: int) -> _Told | None:
    """None where nothing was asked, too few rounds were used, or no row is near the price."""
    asked = [
        advice
        for advice in seat.advice
        # Answers after the quote could not be followed.
        if advice.round == quote.round and advice.seq < quote.seq and advice.rounds_used >= rounds_used
    ]
    # A later answer replaces an earlier one.
    rows = {price: surplus for advice in asked for price, surplus in advice.surplus.items()}
    candidates = [price for price in rows if abs(price - quote.price) <= near]
    if not candidates:
        return None
    # Of two rows at equal distance the better one counts: the doubt is the seat's.
    nearest = min(candidates, key=lambda price: (abs(price - quote.price), -rows[price]))
    best = max(rows, key=lambda price: rows[price])
    return _Told(asked[-1].seq, rows[nearest], rows[best], best)
