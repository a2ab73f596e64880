"""Outcomes of bargaining from the facts of a trace (bargaining page, 9). R = closed rounds, G = v − c, in ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.bargaining.model import RoundFacts
from tradefair.contract.seats import SeatId
from tradefair.evaluation.arithmetic import mean, ratio
from tradefair.evaluation.outcome import (
    ON_EVERY_SEAT,
    MarketOutcome,
    Outcome,
    SeatOutcome,
    common_seat,
)
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.tracestore import Trace


class BargainingSeat(SeatOutcome):
    """One seat, in ticks unless said otherwise; null where a quantity is undefined (no round, G <= 0, no trade).

    `surplus_share_raw` = profit/(R·G), `surplus_share` floors it at 0. `hindsight_profit` is the best reply to the
    counterpart's realised quotes, round by round: another quote might have changed them.

    By round: `profits`; `quote_offsets`, own limit minus quote (quote minus limit for the seller; positive is tough),
    null where the seat forfeited; `opponent_offsets`, the counterpart's, by its own limit; `trade_offsets`, limit minus
    price in the same sense, null without a trade; `traded`.
    """

    limit: int | None
    profit: int
    profit_per_round: float | None
    surplus_share: float | None
    surplus_share_raw: float | None
    forfeits: int
    loss_rounds: int
    losses: int
    hindsight_profit: int
    hindsight_regret: int
    messages: int
    words: int
    quote_offsets: list[int | None]
    opponent_offsets: list[int | None]
    trade_offsets: list[int | None]
    traded: list[bool]
    profits: list[int]


class BargainingMarket(MarketOutcome):
    """Both together. `price_position`: the seller's part of G in the mean trade; `first_trade_round`: R + 1 = never.

    `potential` = R·G over the closed rounds, 0 where nothing can be gained.
    """

    law: str | None
    gap: int | None
    potential: int
    trades: int
    trade_frequency: float | None
    any_trade: bool
    efficiency: float | None
    price_mean: float | None
    price_position: float | None
    first_trade_round: int
    lossy_trades: int
    partial: bool


BargainingOutcome = Outcome[BargainingSeat, BargainingMarket]


def bargaining_outcome(trace: Trace, version: str) -> BargainingOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    talk: dict[SeatId, _Talk] = {}
    reading = read_trace(trace, lambda _: lambda seq, event: _hear(talk, event))
    rounds = [typed for facts in reading.rounds if (typed := reading.typed(facts, RoundFacts)) is not None]
    seats = {seat: _seat(reading, rounds, seat, talk.get(seat, _Talk(0, 0))) for seat in reading.conduct}
    return BargainingOutcome.of(reading, version, seats, _market(reading, rounds))


def relative_to_references(
    seat: SeatId, outcomes: Mapping[str, BargainingOutcome]
) -> dict[str, dict[str, float | None]]:
    """Per label the normalised regret, and the profit over that of the equilibrium pair, on the same limits (9)."""
    profits = {label: outcome.seats[seat].profit for label, outcome in outcomes.items()}
    passive, oracle = profits.get("policy:passive"), profits.get("policy:oracle")
    equilibrium = profits.get(f"{ON_EVERY_SEAT}linear_equilibrium")
    return {
        label: {
            "normalised_regret": _normalised_regret(profit, passive, oracle),
            "over_equilibrium": None if equilibrium is None else profit - equilibrium,
        }
        for label, profit in profits.items()
    }


def _normalised_regret(profit: int, passive: int | None, oracle: int | None) -> float | None:
    """(oracle − agent)/(oracle − passive), null unless the oracle earned more; the oracle is strong, not a bound."""
    if passive is None or oracle is None or oracle <= passive:
        return None
    return ratio(oracle - profit, oracle - passive)


class _Talk(NamedTuple):
    messages: int
    words: int


def _hear(talk: dict[SeatId, _Talk], event: dict[str, object]) -> None:
    public = event.get("public") if event.get("event") == "phase_closed" else None
    if isinstance(public, dict):
        seat, words, silent = (public.get(name) for name in ("seat", "words", "silent"))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(seat, str) and isinstance(words, int) and not silent:
            before = talk.get(seat, _Talk(0, 0))
            talk[seat] = _Talk(before.messages + 1, before.words + words)


def _seat(reading: TraceReading, rounds: Sequence[RoundFacts], seat: SeatId, talk: _Talk) -> BargainingSeat:
    common = common_seat(reading, seat)
    buys = common["role"] == "buyer"
    sign = 1 if buys else -1
    records = [closed.record for closed in rounds]
    limit, other_limit = (_limit(rounds, side) for side in (buys, not buys))
    profits = [record.profit_buyer if buys else record.profit_seller for record in records]
    quotes = [record.bid if buys else record.ask for record in records]
    theirs = [record.ask if buys else record.bid for record in records]
    most = _possible(rounds)
    best = 0 if limit is None else sum(max(0, sign * (limit - other)) for other in theirs if other is not None)
    return BargainingSeat(
        **common,
        limit=limit,
        profit=sum(profits),
        profit_per_round=ratio(sum(profits), len(rounds)),
        surplus_share=ratio(max(0, sum(profits)), most),
        surplus_share_raw=ratio(sum(profits), most),
        forfeits=sum(quote is None for quote in quotes),
        loss_rounds=sum(profit < 0 for profit in profits),
        losses=-sum(profit for profit in profits if profit < 0),
        hindsight_profit=best,
        hindsight_regret=best - sum(profits),
        messages=talk.messages,
        words=talk.words,
        quote_offsets=_offsets(sign, limit, quotes),
        opponent_offsets=_offsets(-sign, other_limit, theirs),
        trade_offsets=_offsets(sign, limit, [record.price for record in records]),
        traded=[record.price is not None for record in records],
        profits=profits,
    )


def _limit(rounds: Sequence[RoundFacts], buys: bool) -> int | None:
    if not rounds:
        return None
    opening = rounds[0].opening
    return opening.buyer_value if buys else opening.seller_cost


def _offsets(sign: int, limit: int | None, prices: Sequence[int | None]) -> list[int | None]:
    """s(L − x) by round: how far inside the limit; null where there is no such price."""
    return [None if price is None or limit is None else sign * (limit - price) for price in prices]


def _possible(rounds: Sequence[RoundFacts]) -> int:
    """R·G, 0 where nothing can be gained."""
    return max(0, rounds[0].opening.gap) * len(rounds) if rounds else 0


def _market(reading: TraceReading, rounds: Sequence[RoundFacts]) -> BargainingMarket:
    opening = rounds[0].opening if rounds else None
    trades = [(closed.record.round, closed.record.price) for closed in rounds if closed.record.price is not None]
    prices = [price for _, price in trades]
    gap = opening.gap if opening else 0
    surplus = sum(closed.record.profit_buyer + closed.record.profit_seller for closed in rounds)
    positions = [(price - opening.seller_cost) / gap for price in prices] if opening and gap > 0 else []
    asked = reading.core.scenario.get("rounds") if reading.core else None
    return BargainingMarket(
        law=opening.law if opening else None,
        gap=opening.gap if opening else None,
        potential=_possible(rounds),
        trades=len(trades),
        trade_frequency=ratio(len(trades), len(rounds)),
        any_trade=bool(trades),
        efficiency=ratio(surplus, _possible(rounds)),
        price_mean=mean(prices),
        price_position=mean(positions),
        first_trade_round=trades[0][0] if trades else len(rounds) + 1,
        lossy_trades=len(trades) if opening is not None and gap <= 0 else 0,
        partial=isinstance(asked, int) and len(rounds) < asked,
    )
