"""Quotes before the seat had looked at its own value, or against what its own analysis said."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from tradefair.evaluation.markets.double_auction.modes.play import Advice, AuctionSeat, Quote
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked


def value_unseen(seat: AuctionSeat) -> Seen:
    """Accepted quotes before the first view_my_value; a privileged seat needs none."""
    if seat.privileged:
        return unchecked("privileged")
    first = seat.first_look
    cases = [
        Case(quote.seq, quote.round, f"round {quote.round}: {seat.quotes_as} {quote.price} before any view_my_value")
        for quote in seat.quotes
        if first is None or quote.seq < first
    ]
    return Seen(cases, len(seat.quotes), note="the value was never looked at" if cases and first is None else None)


class Contradiction(Record):
    """When a quote speaks against an analysis: less than `part` of the best mean surplus, which is above `worth`.

    Its row is the nearest one within `near` points. An analysis of fewer than `rounds_used` rounds is luck.
    """

    near: int = Field(ge=0)
    part: float = Field(gt=0, lt=1)
    worth: float = Field(ge=0)
    rounds_used: int = Field(ge=1)


def contradicted_analysis(seat: AuctionSeat, params: Contradiction) -> Seen:
    """Quotes with less than a part of the best mean surplus that the seat's analysis of the same round told it.

    What a case costs is the hindsight of its round: the best quote within the value less the own one.
    """
    # A privileged seat knows more than its analysis: quoting against it need not be a mistake.
    if seat.privileged:
        return unchecked("privileged")
    judged = [found for quote in seat.quotes if (found := _judged(seat, quote, params)) is not None]
    cases = [
        _case(seat, found) for found in judged if found.best > params.worth and found.own < params.part * found.best
    ]
    return Seen(cases, len(judged), note=f"{seat.unread} analyses are not in the trace" if seat.unread else None)


class _Judged(NamedTuple):
    """A quote with the last analysis before it, and the mean surplus of its own row and of the best one."""

    quote: Quote
    advice: Advice
    own: float
    best: float
    best_price: int


def _case(seat: AuctionSeat, found: _Judged) -> Case:
    quote = found.quote
    because = (
        f"round {quote.round}: {seat.quotes_as} {quote.price}, to which its own analysis gave {found.own:.1f} points "
        f"a round and {found.best:.1f} to {found.best_price}"
    )
    played = next((round_ for round_ in seat.rounds if round_.round == quote.round), None)
    seen = played.seen if played else None
    cost = None if seen is None else max(0.0, (seen.best_within or 0.0) - seen.actual)
    return Case(quote.seq, quote.round, because, cost, shown_by=found.advice.seq)


def _judged(seat: AuctionSeat, quote: Quote, params: Contradiction) -> _Judged | None:
    """None where nothing was asked, too few rounds were used, or no row is near the price.

    Mean surplus in points a round, of the row nearest to the quote and of the best row.
    """
    asked = [
        advice
        for advice in seat.advice
        # Answers after the quote could not be followed.
        if advice.round == quote.round and advice.seq < quote.seq and advice.rounds_used >= params.rounds_used
    ]
    # A later answer replaces an earlier one.
    rows = {price: surplus for advice in asked for price, surplus in advice.surplus.items()}
    near = [price for price in rows if abs(price - quote.price) <= params.near]
    if not near:
        return None
    # Of two rows at equal distance the better one counts: the doubt is the seat's.
    nearest = min(near, key=lambda price: (abs(price - quote.price), -rows[price]))
    best = max(rows, key=lambda price: rows[price])
    return _Judged(quote, asked[-1], rows[nearest], rows[best], best)
