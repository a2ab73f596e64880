"""Outcomes of the order book from the facts of a trace, in ticks. T: closed periods, p* = (p_lo + p_hi)/2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import BaseModel

from tradefair.contract import SeatId
from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.order_book.modes.play import Game, Trader, read_game
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome, common_seat
from tradefair.evaluation.read.arithmetic import mean, ratio
from tradefair.evaluation.reading import read_trace
from tradefair.tracestore import Trace


class OrderBookSeat(SeatOutcome):
    """What one seat earned, beside what competition and the best partners would have given it, and how it traded.

    Of an asset `profit` is the change of cash with what the shares pay at the end; `gain` is that beside holding.

    Letters: T is the number of closed periods, v a unit's value, c a unit's cost, p* = (p_lo + p_hi)/2, FV what a share
    will pay in the mean from a period on.
    """

    profit: int = figure("profit", "ticks", "higher", over="total", on="table compare primary")
    """Σ over units traded of value − price, for a seller price − cost; of shares the change of cash with what they pay
    at the end
    """
    units: int = figure("units", "units", on="table")
    """units traded"""
    competitive_profit: float | None = figure("competitive profit", "ticks", short="competitive")
    """T · Σ over own units of max(0, v − p*), sellers mirrored

    Null: no period has closed, nothing can gain, or shares are traded
    Source: Smith 1962
    """
    profit_share: float | None = figure(
        "share of competitive profit", "share", "higher", short="share of competitive", on="table compare"
    )
    """profit / competitive_profit

    Null: competitive_profit is 0 or null
    """
    ceiling: float | None = figure("ceiling", "ticks")
    """T · Σ over own units in order of max(0, v_k − c_(k)), c_(k) the other side's units from the best on: no more can
    be earned while nobody trades at a loss

    Null: no period has closed, or shares are traded
    """
    ceiling_share: float | None = figure("share of the ceiling", "share", "higher", short="share of ceiling")
    """profit / ceiling

    Null: ceiling is 0 or null
    """
    taken: int = figure("units taken", "units", on="table")
    """units traded by own orders that came last"""
    made: int = figure("units made", "units", on="table")
    """units traded by own resting orders"""
    mean_edge: float | None = figure("mean edge", "ticks", "higher", on="table")
    """mean over units of p* − price, for shares the fundamental value − price; sales mirrored

    Null: no unit traded, or no fair price
    """
    quote_life: float | None = figure("quote life", "steps")
    """mean over own resting orders of the steps that they stood

    Null: no order rested
    """
    cancel_rate: float | None = figure("cancel rate", "share")
    """own orders cancelled or replaced / own steps with an order

    Null: no order
    """
    through_value: int = figure("units through the value", "units", "lower", short="through value")
    """units that traded at a loss"""
    wealth: int | None = figure("wealth", "ticks", "higher")
    """cash + shares · final_value at the end of the last closed period

    Null: goods are traded
    """
    gain: float | None = figure("gain over holding", "ticks", "higher")
    """wealth − what the endowment would have become untraded

    Null: goods are traded
    """


class OrderBookMarket(MarketOutcome):
    """The whole market: what there was to gain, how much of it was taken, at which prices."""

    max_surplus: int = figure("possible gains", "ticks")
    """W*: Σ of value − cost over all pairs of units that gain, per period

    Null: never; 0 for shares
    """
    q_star: int = figure("possible trades", "units")
    """q*: pairs of units that gain, per period

    Null: never; 0 for shares
    """
    p_lo: int | None = figure("lowest competitive price", "ticks")
    """max(c(q*), v(q* + 1))

    Null: nothing can gain
    """
    p_hi: int | None = figure("highest competitive price", "ticks")
    """min(v(q*), c(q* + 1))

    Null: nothing can gain
    """
    efficiency: float | None = figure("efficiency", "share", "higher", on="compare")
    """Σ of all profits / (T · W*)

    Null: W* is 0, or no period has closed
    Source: Smith 1962
    """
    alpha: float | None = figure("alpha", "percent", "lower", on="compare")
    """100 · √(mean over units of (price − p*)²) / p*

    Null: no trade, or no p*
    Source: Smith 1962
    """
    alpha_by_period: list[float | None] = figure("alpha by period", "percent", "lower")
    """alpha of each period, in order

    Null: an entry is null in a period without a trade, and where there is no p*
    Source: Smith 1962
    """
    trades: int = figure("trades", "trades", on="compare")
    """fills of orders"""
    spread: float | None = figure("spread", "ticks", "lower")
    """mean over steps with both sides of best ask − best bid

    Null: no such step
    """
    depth: float | None = figure("depth", "units")
    """mean over steps with both sides of the quantity at the best prices

    Null: no such step
    """
    price_mean: float | None = figure("mean price", "ticks")
    """mean over units traded

    Null: no trade
    """
    price_sd: float | None = figure("price deviation", "ticks")
    """standard deviation over units traded

    Null: no trade
    """
    priority_violations: int = figure("violations of priority", "fills", "lower")
    """fills that differ from a replay of all orders through a scanned list"""
    ledger_violations: int = figure("violations of the ledger", "periods of seats", "lower")
    """seats and periods whose profit, or cash and shares, are not those of the replayed fills, or which traded more
    than they had
    """
    rad: float | None = figure("relative absolute deviation", "share", "lower", on="compare")
    """mean over periods with a trade of |mean price − FV| / |mean FV over all periods|

    Null: goods are traded, or no trade
    Source: Stöckl, Huber & Kirchler 2010
    """
    rd: float | None = figure("relative deviation", "share")
    """mean over periods with a trade of (mean price − FV) / |mean FV over all periods|

    Null: goods are traded, or no trade
    Source: Stöckl, Huber & Kirchler 2010
    """
    amplitude: float | None = figure("amplitude", "share", "lower")
    """(max − min over periods of mean price − FV) / FV of period 1

    Null: goods are traded, or no trade
    Source: King et al. 1993
    """
    duration: int | None = figure("duration", "periods", "lower")
    """longest run of periods in which mean price − FV rises

    Null: goods are traded
    Source: King et al. 1993
    """
    turnover: float | None = figure("turnover", "share")
    """shares traded / shares that there are

    Null: goods are traded
    """
    silent_periods: int | None = figure("silent periods", "periods")
    """closed periods without a trade

    Null: goods are traded
    """


# The best of these is the best known reference: traders of goods, then of shares.
_KNOWN = ("kaplan", "anchored", "gd", "zip", "aa", "shaver", "fundamentalist")


class OrderBookBeside(BaseModel):
    """What a seat has beside references, on the same scenario and seed."""

    share_of_best: float | None = figure("share of the best known", "share", "higher", short="share of best")
    """(profit − that of truthful) / (that of the best of kaplan, anchored, gd, zip, aa and shaver − that of truthful),
    same seat, same luck; shares: gain, hold and fundamentalist

    Null: a reference was not played, or both lie within 1 %
    """


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
        final = game.rules.final_value
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
        fair = game.rules.fundamental(fill.period) if game.asset else game.p_star
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
    whole = range(1, game.rules.periods + 1)
    found = bubble([mean(_prices(game, row.number)) for row in game.periods], [*map(game.rules.fundamental, whole)])
    shares = sum(shares for _, shares in game.opening.endowments.values())
    return {**found._asdict(), "turnover": ratio(sum(fill.quantity for fill in game.fills), shares)}


def _longest_rise(values: Sequence[float]) -> int:
    """Steps of the longest run in which each value is above the one before it."""
    longest = run = 0
    for before, now in pairwise(values):
        run = run + 1 if now > before else 0
        longest = max(longest, run)
    return longest
