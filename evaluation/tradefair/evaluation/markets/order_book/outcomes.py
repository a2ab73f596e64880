"""Outcomes of the order book from the facts of a trace, in ticks. T: closed periods, p* = (p_lo + p_hi)/2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.arithmetic import mean, ratio
from tradefair.evaluation.markets.order_book.modes.play import Game, Trader, read_game
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome, common_seat
from tradefair.evaluation.reading import read_trace
from tradefair.tracestore import Trace


class OrderBookSeat(SeatOutcome):
    """What one seat earned, beside what competition and the best partners would have given it, and how it traded.

    Of an asset `profit` is the change of cash with what the shares pay at the end; `gain` is that beside holding.
    """

    profit: int
    units: int
    competitive_profit: float | None
    profit_share: float | None
    ceiling: float | None
    ceiling_share: float | None
    taken: int
    made: int
    mean_edge: float | None
    quote_life: float | None
    cancel_rate: float | None
    through_value: int
    wealth: int | None
    gain: float | None


class OrderBookMarket(MarketOutcome):
    """The whole market: what there was to gain, how much of it was taken, at which prices."""

    max_surplus: int
    q_star: int
    p_lo: int | None
    p_hi: int | None
    efficiency: float | None
    alpha: float | None
    alpha_by_period: list[float | None]
    trades: int
    spread: float | None
    depth: float | None
    price_mean: float | None
    price_sd: float | None
    priority_violations: int
    ledger_violations: int
    rad: float | None
    rd: float | None
    amplitude: float | None
    duration: int | None
    turnover: float | None
    silent_periods: int | None


# The best of these is the best known reference: traders of goods, then of shares.
_KNOWN = ("kaplan", "anchored", "gd", "zip", "aa", "shaver", "fundamentalist")

OrderBookOutcome = Outcome[OrderBookSeat, OrderBookMarket]


def order_book_outcome(trace: Trace, version: str) -> OrderBookOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    reading = read_trace(trace)
    game = read_game(trace)
    seats = {seat: OrderBookSeat(**common_seat(reading, seat), **_seat(game, seat)) for seat in reading.conduct}
    return OrderBookOutcome.of(reading, version, seats, _market(game))


def relative_to_references(
    seat: SeatId, outcomes: Mapping[str, OrderBookOutcome]
) -> dict[str, dict[str, float | None]]:
    """Per label the profit between that of the naive reference (0) and of the best of the known ones (1)."""
    seats = {label: outcome.seats[seat] for label, outcome in outcomes.items()}
    profits = {label: _won(own) for label, own in seats.items()}
    floor = profits.get("policy:truthful", profits.get("policy:hold"))
    best = max([profits[f"policy:{name}"] for name in _KNOWN if f"policy:{name}" in profits], default=None)
    scale = max([_scale(own) for own in seats.values()], default=0.0)
    return {label: {"share_of_best": _between(won, floor, best, scale)} for label, won in profits.items()}


def _won(seat: OrderBookSeat) -> float:
    return float(seat.profit) if seat.gain is None else seat.gain


def _scale(seat: OrderBookSeat) -> float:
    """What there is to win: the competitive profit; of an asset what holding gives."""
    if seat.gain is not None and seat.wealth is not None:
        return seat.wealth - seat.gain
    return seat.competitive_profit or 0.0


def _between(won: float, floor: float | None, best: float | None, scale: float) -> float | None:
    """(won − floor)/(best − floor); null where the two are less than 1 % of the scale apart, or one is missing."""
    if floor is None or best is None or best - floor < max(scale / 100, 1e-9):
        return None
    return ratio(won - floor, best - floor)


def _seat(game: Game, seat: SeatId) -> dict[str, Any]:
    trader = game.trader(seat)
    orders = [step for step in trader.steps if step.act == "order"]
    cancelled = [quote for quote in trader.quotes if quote.end == "cancelled"]
    return {
        **earned(game, trader),
        "units": sum(fill.quantity for fill in trader.fills),
        "taken": sum(fill.quantity for fill in trader.fills if fill.taker == seat),
        "made": sum(fill.quantity for fill in trader.fills if fill.taker != seat),
        "mean_edge": mean(_edges(game, trader)),
        "quote_life": mean([quote.ended - quote.placed for quote in trader.quotes]),
        "cancel_rate": ratio(len(cancelled), len(orders)),
        "through_value": sum(
            trader.slack(value, fill.price) < 0 for fill in trader.fills for value in fill.values.get(seat, ())
        ),
    }


def earned(game: Game, trader: Trader) -> dict[str, Any]:
    """Profit beside competition and the ceiling; of shares wealth and the gain over holding. Null where unknown."""
    seat, last = trader.seat, game.periods[-1] if game.periods else None
    nothing = dict.fromkeys(("competitive_profit", "profit_share", "ceiling", "ceiling_share", "wealth", "gain"))
    if last is None or game.opening is None:
        return {**nothing, "profit": 0}
    if game.asset:
        cash, shares = game.opening.endowments.get(seat, (0, 0))
        final = int(game.scenario.get("final_value", 0))
        wealth = last.cash.get(seat, 0) + last.shares.get(seat, 0) * final
        held = cash + shares * (sum(row.dividend or 0 for row in game.periods) + final)
        return {**nothing, "profit": wealth - cash, "wealth": wealth, "gain": float(wealth - held)}
    profit, closed = last.profit.get(seat, 0), len(game.periods)
    units, p_star = game.opening.values.get(seat, []), game.p_star
    competitive = None if p_star is None else closed * sum(max(0.0, trader.slack(unit, p_star)) for unit in units)
    ceiling = float(closed * _ceiling(game, trader, units))
    return {
        **nothing,
        "profit": profit,
        "competitive_profit": competitive,
        "profit_share": None if not competitive else profit / competitive,
        "ceiling": ceiling,
        "ceiling_share": None if not ceiling else profit / ceiling,
    }


def _ceiling(game: Game, trader: Trader, units: Sequence[int]) -> float:
    """Own units against all others' of the other side in the best order: nobody who trades without loss can pass it."""
    assert game.opening is not None
    buys = trader.sign > 0
    other = [
        unit
        for seat, values in game.opening.values.items()
        if (game.roles.get(seat) == "buyer") != buys
        for unit in values
    ]
    best = sorted(other, reverse=not buys)
    return sum(max(0, trader.slack(own, theirs)) for own, theirs in zip(units, best, strict=False))


def _edges(game: Game, trader: Trader) -> list[float]:
    """p* (or FV) less the price per unit bought, mirrored for sales."""
    found: list[float] = []
    for fill in trader.fills:
        fair = game.fundamental(fill.period) if game.asset else game.p_star
        if fair is not None:
            sign = 1 if fill.buyer == trader.seat else -1
            found += [sign * (fair - fill.price)] * fill.quantity
    return found


def _market(game: Game) -> OrderBookMarket:
    opening = game.opening
    prices = [float(fill.price) for fill in game.fills for _ in range(fill.quantity)]
    middle = mean(prices)
    spread = None if middle is None else math.sqrt(math.fsum((p - middle) ** 2 for p in prices) / len(prices))
    p_star = game.p_star
    surplus = sum(sum(row.values()) for row in [game.periods[-1].profit]) if game.periods else 0
    possible = opening.max_surplus * len(game.periods) if opening else 0
    return OrderBookMarket(
        max_surplus=opening.max_surplus if opening else 0,
        q_star=opening.q_star if opening else 0,
        p_lo=opening.p_lo if opening else None,
        p_hi=opening.p_hi if opening else None,
        efficiency=ratio(surplus, possible) if not game.asset else None,
        alpha=smiths_alpha(prices, p_star),
        alpha_by_period=[smiths_alpha(_prices(game, row.number), p_star) for row in game.periods],
        trades=len(game.fills),
        spread=mean(game.spreads),
        depth=mean(game.depths),
        price_mean=middle,
        price_sd=spread,
        priority_violations=game.priority_violations,
        ledger_violations=ledger_violations(game),
        **_bubble(game),
    )


def _prices(game: Game, period: int) -> list[float]:
    """The prices of a period, each as often as units were traded at it."""
    return [float(fill.price) for fill in game.fills if fill.period == period for _ in range(fill.quantity)]


def smiths_alpha(prices: Sequence[float], p_star: float | None) -> float | None:
    """100·√(mean of (p − p*)²)/p* (Smith 1962)."""
    if not prices or not p_star:
        return None
    return 100 * math.sqrt(math.fsum((price - p_star) ** 2 for price in prices) / len(prices)) / p_star


def ledger_violations(game: Game) -> int:
    """Seats and periods whose ledger is not that of the replayed fills, or which traded more than they had."""
    if game.opening is None:
        return 0
    wrong = 0
    for seat in game.seats:
        trader = game.trader(seat)
        cash, shares = game.opening.endowments.get(seat, (0, 0))
        profit, units = 0.0, len(game.opening.values.get(seat, ()))
        for row in game.periods:
            fills = [fill for fill in trader.fills if fill.period == row.number]
            if not game.asset:
                profit += sum(trader.slack(value, fill.price) for fill in fills for value in fill.values.get(seat, ()))
                wrong += row.profit.get(seat, 0) != profit or sum(fill.quantity for fill in fills) > units
                continue
            for fill in fills:
                sign = 1 if fill.buyer == seat else -1
                cash, shares = cash - sign * fill.price * fill.quantity, shares + sign * fill.quantity
            wrong += min(cash, shares) < 0 or row.shares.get(seat, 0) != shares
            cash += (row.dividend or 0) * shares
            wrong += row.cash.get(seat, 0) != cash
    return wrong


class Bubble(NamedTuple):
    """How far mean prices are from the fundamental value, over periods with a trade; null without one.

    `rad` is mean |P − FV|/|mean FV|, `rd` the same with its sign (Stöckl, Huber & Kirchler 2010); `amplitude` is
    (max − min of P − FV)/FV_1, `duration` the longest run of rises of P − FV (King et al. 1993).
    """

    rad: float | None
    rd: float | None
    amplitude: float | None
    duration: int
    silent_periods: int


def bubble(means: Sequence[float | None], fundamentals: Sequence[float]) -> Bubble:
    """The measures of a path: the mean price of each closed period, null without a trade, and FV of all periods."""
    # A silent period never borrows an older price: FV falls, and that alone would look like a bubble.
    off = [price - worth for price, worth in zip(means, fundamentals, strict=False) if price is not None]
    level, silent = abs(math.fsum(fundamentals) / len(fundamentals)), sum(price is None for price in means)
    if not off or not level:
        return Bubble(None, None, None, 0, silent)
    return Bubble(
        math.fsum(map(abs, off)) / len(off) / level,
        math.fsum(off) / len(off) / level,
        (max(off) - min(off)) / fundamentals[0],
        _longest_rise(off),
        silent,
    )


def _bubble(game: Game) -> dict[str, Any]:
    if not game.asset or not game.periods or game.opening is None:
        return dict.fromkeys((*Bubble._fields, "turnover"))
    whole = range(1, int(game.scenario.get("periods", len(game.periods))) + 1)
    found = bubble([mean(_prices(game, row.number)) for row in game.periods], [*map(game.fundamental, whole)])
    shares = sum(shares for _, shares in game.opening.endowments.values())
    return {**found._asdict(), "turnover": ratio(sum(fill.quantity for fill in game.fills), shares)}


def _longest_rise(values: Sequence[float]) -> int:
    """Steps of the longest run in which each value is above the one before it."""
    longest = run = 0
    for before, now in pairwise(values):
        run = run + 1 if now > before else 0
        longest = max(longest, run)
    return longest
