"""Bubbles in the asset market, by rules alone: mean prices beside the fundamental value."""

from __future__ import annotations

from statistics import fmean

from tradefair.evaluation.markets.order_book.outcomes import bubble
from tradefair.order_book.rules import OrderBook


def means(market: OrderBook) -> list[float | None]:
    """The mean price of each period, weighted by quantity; None without a trade."""
    found: list[float | None] = []
    for number in range(1, market.scenario.periods + 1):
        trades = [trade for trade in market.state.trades if trade.period == number]
        prices = [trade.price for trade in trades for _ in range(trade.quantity)]
        found.append(fmean(prices) if prices else None)
    return found


def fundamentals(market: OrderBook) -> list[float]:
    """FV of each period."""
    return [market.scenario.fundamental(number) for number in range(1, market.scenario.periods + 1)]


def gaps(market: OrderBook) -> list[float | None]:
    """Mean price less FV, by period."""
    pairs = zip(means(market), fundamentals(market), strict=True)
    return [None if price is None else price - worth for price, worth in pairs]


def deviations(market: OrderBook) -> tuple[float, float]:
    """RAD and RD of a finished episode (Stöckl, Huber & Kirchler 2010). ValueError: nobody traded."""
    found = bubble(means(market), fundamentals(market))
    if found.rad is None or found.rd is None:
        raise ValueError("nobody traded")
    return found.rad, found.rd
