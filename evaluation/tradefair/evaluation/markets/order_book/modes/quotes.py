"""Orders in the book: far away, taken back, filled or taken at a bad moment. Money in ticks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from tradefair.evaluation.markets.order_book.modes.play import Filled, Quote, Trader
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen


class Far(Record):
    """A distance as a share of p*, or of FV."""

    share: float


def dead_quote(trader: Trader, params: Far) -> Seen:
    """Orders that rested to the end of a period far beyond the best quote of their side."""
    cases: list[Case] = []
    for quote in trader.quotes:
        fair = trader.game.fundamental(quote.period) if trader.game.asset else trader.game.p_star
        whole = quote.end == "lapsed" and not quote.filled and quote.ended - quote.placed >= _sweep(trader)
        if not whole or not fair:
            continue
        # Alone on its side: behind the fair price.
        best = fair if quote.best is None else quote.best
        behind = (best - quote.price) if quote.side == "buy" else (quote.price - best)
        if behind > params.share * fair:
            said = f"order {quote.order} at {quote.price} rested {behind:g} behind {best:g} to the end"
            cases.append(trader.case(quote.seq, quote.period, said))
    return Seen(cases, len(trader.quotes))


def _sweep(trader: Trader) -> int:
    """Steps of one sweep."""
    return max(1, len(trader.game.seats))


class Worse(Record):
    """How much worse than others traded, in how many of their trades, and the least of them that tell a price.

    `beyond`: of goods also as a share of the competitive price. Trades of one period lie 30 % apart where nobody errs.
    """

    share: float
    trades: int
    least: int
    beyond: float


def picked_off(trader: Trader, params: Worse) -> Seen:
    """Resting orders that were filled worse than others traded right afterwards."""
    game, cases, of = trader.game, list[Case](), 0
    for at, fill in enumerate(game.fills):
        if trader.seat not in (fill.buyer, fill.seller) or fill.taker == trader.seat:
            continue
        of += fill.quantity
        later = _others(trader, fill, game.fills[at + 1 :])[: params.trades]
        if len(later) < params.least:
            continue
        after = sum(later) / len(later)
        worse = trader.turn(fill) * (fill.price - after)
        fair = game.p_star
        dear = fair is None or trader.turn(fill) * (fill.price - fair) >= params.beyond * fair
        if worse >= params.share * after and dear:
            said = f"order {fill.order} was filled at {fill.price}; others' next {len(later)} trades were at {after:g}"
            cost = float(worse * fill.quantity)
            cases.append(trader.case(trader.event_of(fill), fill.period, said, cost, amount=fill.quantity))
    return Seen(cases, of)


def paid_up(trader: Trader, params: Worse) -> Seen:
    """Units that were taken far beyond the competitive price; shares beyond any of the others' last trades."""
    game, cases, of = trader.game, list[Case](), 0
    for at, fill in enumerate(game.fills):
        if fill.taker != trader.seat:
            continue
        of += fill.quantity
        fair, part, said = game.p_star, params.beyond, "the competitive price was"
        if game.asset:
            before = _others(trader, fill, game.fills[:at])[-params.trades :]
            fair, part, said = None, params.share, f"others' last {len(before)} trades went no further than"
            if len(before) >= params.least:
                fair = max(before) if fill.buyer == trader.seat else min(before)
        if fair is None:
            continue
        over = trader.turn(fill) * (fill.price - fair)
        if over >= part * fair:
            cost, told = float(over * fill.quantity), f"took {fill.price}, where {said} {fair:g}"
            cases.append(trader.case(trader.event_of(fill), fill.period, told, cost, amount=fill.quantity))
    return Seen(cases, of)


def _others(trader: Trader, fill: Filled, fills: Sequence[Filled]) -> list[int]:
    """Prices of trades between others: of goods in any period, whose schedules begin afresh; of shares in this one."""
    return [
        row.price
        for row in fills
        if trader.seat not in (row.buyer, row.seller) and (not trader.game.asset or row.period == fill.period)
    ]


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
