"""Orders in the book: far away, taken back, taken too dear. Money in ticks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from tradefair.evaluation.markets.order_book.modes.play import Filled, Quote, Trader
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen


def dead_quote(trader: Trader, *, share: Part) -> Seen:
    """Orders that rested to the end of a period behind the best quote of their side by `share` of p*, or of FV."""
    cases: list[Case] = []
    for quote in trader.quotes:
        fair = trader.game.rules.fundamental(quote.period) if trader.game.asset else trader.game.p_star
        whole = quote.end == "lapsed" and not quote.filled and quote.ended - quote.placed >= _sweep(trader)
        if not whole or not fair:
            continue
        # Alone on its side: behind the fair price.
        best = fair if quote.best is None else quote.best
        behind = (best - quote.price) if quote.side == "buy" else (quote.price - best)
        if behind > share * fair:
            said = f"order {quote.order} at {quote.price} rested {behind:g} behind {best:g} to the end"
            cases.append(trader.case(quote.seq, quote.period, said))
    return Seen(cases, len(trader.quotes))


def _sweep(trader: Trader) -> int:
    """Steps of one sweep."""
    return max(1, len(trader.game.seats))


def paid_up(trader: Trader, *, beyond: Part, share: Part, trades: int, least: int) -> Seen:
    """Units that were taken far beyond the competitive price; shares beyond any of the others' last trades.

    `beyond` is a share of the competitive price, `share` one of the dearest of the last `trades`, at least `least`.
    """
    cases: list[Case] = []
    taken = [(at, fill) for at, fill in enumerate(trader.game.fills) if fill.taker == trader.seat]
    for at, fill in taken:
        fair, part, said = trader.game.p_star, beyond, "the competitive price was"
        if trader.game.asset:
            before = _others(trader, fill, trader.game.fills[:at])[-trades:]
            part, said = share, f"others' last {len(before)} trades went no further than"
            furthest = max if fill.buyer == trader.seat else min
            fair = furthest(before) if len(before) >= least else None
        if fair is not None and trader.turn(fill) * (fill.price - fair) >= part * fair:
            cases.append(trader.filled(fill, f"took {fill.price}, where {said} {fair:g}"))
    return Seen(cases, sum(fill.quantity for _, fill in taken))


def _others(trader: Trader, fill: Filled, fills: Sequence[Filled]) -> list[int]:
    """Prices of trades between others in the period of a fill."""
    return [row.price for row in fills if row.period == fill.period and trader.seat not in (row.buyer, row.seller)]


def churn(trader: Trader) -> Seen:
    """Orders that were taken back or replaced within a sweep without a better price."""
    cases: list[Case] = []
    for quote, following in zip_longest(trader.quotes, trader.quotes[1:]):
        if quote.end != "cancelled" or quote.ended - quote.placed > _sweep(trader):
            continue
        better = following is not None and _better(quote, following)
        if not better:
            said = f"order {quote.order} at {quote.price} stood {quote.ended - quote.placed} steps and was taken back"
            cases.append(trader.case(quote.seq, quote.period, said))
    return Seen(cases, len(trader.quotes))


def _better(quote: Quote, following: Quote) -> bool:
    sign = 1 if quote.side == "buy" else -1
    return following.side == quote.side and sign * (following.price - quote.price) > 0
