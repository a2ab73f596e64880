"""Outcomes of the double auction from the facts of a trace (double_auction page, 9.1 to 9.3).

R is the number of closed rounds; an episode that was cut short is marked as censored. Floats are rounded to nine
decimals, so that two machines print the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

from tradefair.contract.seats import SeatId
from tradefair.double_auction.analysis import PlayedRound, Regret, regret
from tradefair.double_auction.model import EndingFacts, MatchFacts, OpeningFacts, RoundFacts
from tradefair.evaluation.arithmetic import mean, ratio, rounded
from tradefair.evaluation.markets.double_auction.surplus_alpha import (
    ReferenceTable,
    SeatResult,
    Shape,
    csa,
    csa_clean,
    reference_table,
)
from tradefair.evaluation.outcome import (
    MarketOutcome,
    Outcome,
    SeatOutcome,
    common_seat,
)
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.tracestore import Trace

CsaMissing = Literal["unusual values", "cut short", "no table"]


class DoubleAuctionSeat(SeatOutcome):
    """One seat (9.1, 9.3), in points unless said otherwise; null where a quantity is undefined.

    `surplus_share` = payoff/(R·potential). An offset is v − bid or ask − c, per round null where the seat forfeited.
    `price_edge` = mean of p* − price over own trades (sellers mirrored). Regret holds rivals, orders and forfeits
    fixed and takes a coin at its mean: rivals do not react. `csa` and `csa_clean` are conditional surplus alphas (9.4),
    null where the shape has no reference table or the game was cut short.
    """

    value: int | None
    payoff: int
    payoff_per_round: float | None
    potential: int | None
    surplus_share: float | None
    trades: int
    trade_frequency: float | None
    fill_rate: float | None
    forfeits: int
    offset_mean: float | None
    offset_median: float | None
    offsets: list[int | None]
    through_value_rate: float | None
    loss_trades: int
    loss_sum: int
    price_edge: float | None
    static_regret: float | None
    static_regret_share: float | None
    best_price: int | None
    dynamic_regret: float | None
    dynamic_regret_share: float | None
    csa: float | None
    csa_clean: float | None


class DoubleAuctionMarket(MarketOutcome):
    """The market (9.2), in points unless said otherwise; null where a quantity is undefined.

    `lost_surplus` = R·W* − surplus = `lost_missed` + `lost_extra_marginal` exactly. `smiths_alpha` is per cent of p*.
    The seats' csa rest on `csa_episodes` all-truthful episodes of this very shape and law; without any, `csa_missing`
    says why: `unusual values` (given, or accepted by another rule), `cut short`, or `no table` (tradefair references
    builds one).
    """

    distribution: str | None
    q_star: int | None
    p_lo: int | None
    p_hi: int | None
    max_surplus_per_round: int | None
    surplus: int
    efficiency: float | None
    efficiency_by_round: list[float | None]
    lost_surplus: int | None
    lost_missed: float | None
    lost_extra_marginal: float | None
    smiths_alpha: float | None
    smiths_alpha_last_third: float | None
    smiths_alpha_by_round: list[float | None]
    convergence: float | None
    price_mean: float | None
    price_sd: float | None
    trades: int
    trades_of_q_star: float | None
    profit_dispersion: float | None
    csa_episodes: int | None
    csa_missing: CsaMissing | None


DoubleAuctionOutcome = Outcome[DoubleAuctionSeat, DoubleAuctionMarket]


def auction_outcome(trace: Trace, version: str) -> DoubleAuctionOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    reading = read_trace(trace)
    game = _game(reading)
    yardstick = _yardstick(reading, game)
    seats = {seat: _seat_outcome(reading, game, seat, yardstick.table) for seat in reading.conduct}
    return DoubleAuctionOutcome.of(reading, version, seats, _market_outcome(game, yardstick))


class _Trade(NamedTuple):
    """A trade with its round's number."""

    round: int
    match: MatchFacts


class _Game(NamedTuple):
    """The usable facts of a trace."""

    rounds: list[RoundFacts]
    played: list[PlayedRound]
    """The same rounds, as regret reads them: made once for all seats."""
    opening: OpeningFacts | None
    price_max: int

    @property
    def trades(self) -> list[_Trade]:
        return [_Trade(closed.round, match) for closed in self.rounds for match in closed.matches]

    @property
    def twice_p_star(self) -> int | None:
        """2·p* is whole, so that the split of the lost surplus stays exact."""
        opening = self.opening
        if opening is None or opening.p_lo is None or opening.p_hi is None:
            return None
        return opening.p_lo + opening.p_hi

    @property
    def p_star(self) -> float | None:
        twice = self.twice_p_star
        return None if twice is None else twice / 2


def _game(reading: TraceReading) -> _Game:
    typed = (reading.typed(facts, RoundFacts) for facts in reading.rounds)
    rounds = [closed for closed in typed if closed is not None]
    ending = reading.typed(reading.ending, EndingFacts) if reading.ending else None
    opening = next((closed.opening for closed in rounds if closed.opening), ending.opening if ending else None)
    if opening is None:
        reading.found(None, "no round has closed: values and benchmarks are not in the trace yet")
    elif any(seat not in opening.values or seat not in opening.potentials for seat in reading.conduct):
        reading.found(None, "the facts do not name the values of every seat")
        opening = None
    price_max = reading.core.scenario.get("price_max") if reading.core else None
    sides = {known.id: known.role for known in reading.core.seats} if reading.core else {}
    played = [_played(closed, sides) for closed in rounds]
    return _Game(rounds, played, opening, price_max if isinstance(price_max, int) else 100)


# --- seats ----------------------------------------------------------------------------------------------------------


def _seat_outcome(reading: TraceReading, game: _Game, seat: SeatId, table: ReferenceTable | None) -> DoubleAuctionSeat:
    common = common_seat(reading, seat)
    buys = common["role"] == "buyer"
    sign = 1 if buys else -1
    opening, rounds = game.opening, game.rounds
    value = opening.values[seat] if opening else None
    potential = opening.potentials[seat] if opening else None
    payoffs = [closed.payoff.get(seat, 0) for closed in rounds]
    own = [match for closed in rounds for match in closed.matches if seat in (match.buyer, match.seller)]
    quotes = [closed.quotes.get(seat) for closed in rounds]
    offsets = [None if quote is None or value is None else sign * (value - quote) for quote in quotes]
    quoted = [offset for offset in offsets if offset is not None]
    edges = [] if game.p_star is None else [sign * (game.p_star - match.price) for match in own]
    most = (potential or 0) * len(rounds)
    hindsight = _regret(reading, game, seat, buys)
    result = None
    if table is not None and value is not None and potential is not None:
        result = SeatResult("buyer" if buys else "seller", value, sum(payoffs), potential, rounds[-1].residual_spread)
    return DoubleAuctionSeat(
        **common,
        value=value,
        payoff=sum(payoffs),
        payoff_per_round=ratio(sum(payoffs), len(rounds)),
        potential=potential,
        surplus_share=ratio(sum(payoffs), most),
        trades=len(own),
        trade_frequency=ratio(len(own), len(rounds)),
        fill_rate=ratio(len(own), len(quoted)),
        forfeits=sum(seat in closed.forfeited for closed in rounds),
        offset_mean=mean(quoted),
        offset_median=float(median(quoted)) if quoted else None,
        offsets=offsets,
        through_value_rate=ratio(sum(offset < 0 for offset in quoted), len(quoted)),
        loss_trades=sum(payoff < 0 for payoff in payoffs),
        loss_sum=sum(payoff for payoff in payoffs if payoff < 0),
        price_edge=mean(edges),
        static_regret=rounded(hindsight.static) if hindsight else None,
        static_regret_share=ratio(hindsight.static, most) if hindsight else None,
        best_price=hindsight.best_price if hindsight else None,
        dynamic_regret=rounded(hindsight.dynamic) if hindsight else None,
        dynamic_regret_share=ratio(hindsight.dynamic, most) if hindsight else None,
        csa=csa(table, result) if table and result else None,
        csa_clean=csa_clean(table, result) if table and result else None,
    )


class _Yardstick(NamedTuple):
    """What the seats' csa rest on, or why there is nothing."""

    table: ReferenceTable | None
    missing: CsaMissing | None


def _yardstick(reading: TraceReading, game: _Game) -> _Yardstick:
    """The reference table of exactly this episode's shape; none for a game that was cut short."""
    core, opening = reading.core, game.opening
    if core is None or opening is None:
        return _Yardstick(None, "cut short")
    shape = Shape.of(core.scenario, opening.distribution)
    if shape is None:
        return _Yardstick(None, "unusual values")
    if len(game.rounds) != shape.rounds:
        return _Yardstick(None, "cut short")
    table = reference_table(shape)
    return _Yardstick(table, None if table is not None else "no table")


def _regret(reading: TraceReading, game: _Game, seat: SeatId, buys: bool) -> Regret | None:
    """Hindsight of 9.3; None when nothing was played or a round's facts contradict each other."""
    if game.opening is None or not game.rounds:
        return None
    role: Literal["buyer", "seller"] = "buyer" if buys else "seller"
    try:
        return regret(seat, role, game.opening.values[seat], game.played, game.price_max)
    except (ValueError, IndexError, KeyError) as error:
        reading.found(None, f"no regret for {seat}: the facts contradict each other ({error!r})"[:300])
        return None


def _played(closed: RoundFacts, sides: dict[SeatId, str]) -> PlayedRound:
    bids = {seat: price for seat, price in closed.quotes.items() if sides.get(seat) == "buyer"}
    asks = {seat: price for seat, price in closed.quotes.items() if sides.get(seat) == "seller"}
    return PlayedRound(bids, asks, closed.quote_order)


# --- the market -----------------------------------------------------------------------------------------------------


def _market_outcome(game: _Game, yardstick: _Yardstick) -> DoubleAuctionMarket:
    opening, rounds, trades = game.opening, game.rounds, game.trades
    most = opening.max_surplus if opening else 0
    surplus = sum(closed.surplus for closed in rounds)
    prices = [trade.match.price for trade in trades]
    missed, extra = _lost(game)
    last_third = [trade for trade in trades if 3 * trade.round > 2 * len(rounds)]
    return DoubleAuctionMarket(
        distribution=opening.distribution if opening else None,
        q_star=opening.q_star if opening else None,
        p_lo=opening.p_lo if opening else None,
        p_hi=opening.p_hi if opening else None,
        max_surplus_per_round=opening.max_surplus if opening else None,
        surplus=surplus,
        efficiency=ratio(surplus, most * len(rounds)),
        efficiency_by_round=[ratio(closed.surplus, most) for closed in rounds],
        lost_surplus=most * len(rounds) - surplus if opening else None,
        lost_missed=missed,
        lost_extra_marginal=extra,
        smiths_alpha=_alpha(trades, game.p_star),
        smiths_alpha_last_third=_alpha(last_third, game.p_star),
        smiths_alpha_by_round=[
            _alpha([_Trade(closed.round, match) for match in closed.matches], game.p_star) for closed in rounds
        ],
        convergence=_convergence(game),
        price_mean=mean(prices),
        price_sd=_population_sd(prices),
        trades=len(trades),
        trades_of_q_star=ratio(len(trades), opening.q_star * len(rounds)) if opening else None,
        profit_dispersion=_dispersion(game),
        csa_episodes=yardstick.table.episodes if yardstick.table else None,
        csa_missing=yardstick.missing,
    )


def _lost(game: _Game) -> tuple[float | None, float | None]:
    """Missed and extra-marginal part of the lost surplus (9.2); ties in value rank by seat index."""
    opening = game.opening
    if opening is None:
        return None, None
    # Without gains from trade p* drops out of the sum: as many buyers as sellers trade.
    twice_price = game.twice_p_star or 0
    inside = _inside(opening)
    missed = extra = 0
    for closed in game.rounds:
        buyers = {match.buyer for match in closed.matches}
        traded = buyers | {match.seller for match in closed.matches}
        for seat, value in opening.values.items():
            gain = 2 * value - twice_price
            gain = gain if _buys(seat) else -gain
            if seat in inside and seat not in traded:
                missed += gain
            elif seat not in inside and seat in traded:
                extra -= gain
    return missed / 2, extra / 2


def _inside(opening: OpeningFacts) -> frozenset[SeatId]:
    """The seats of rank <= q* on their side."""
    buyers = sorted((seat for seat in opening.values if _buys(seat)), key=lambda seat: -opening.values[seat])
    sellers = sorted((seat for seat in opening.values if not _buys(seat)), key=lambda seat: opening.values[seat])
    return frozenset([*buyers[: opening.q_star], *sellers[: opening.q_star]])


def _buys(seat: SeatId) -> bool:
    return seat.startswith("B")


def _alpha(trades: Sequence[_Trade], p_star: float | None) -> float | None:
    """Smith (1962): 100·sqrt(mean (price − p*)²)/p*."""
    if not trades or not p_star:
        return None
    squares = math.fsum((trade.match.price - p_star) ** 2 for trade in trades)
    return rounded(100 * math.sqrt(squares / len(trades)) / p_star)


def _convergence(game: _Game) -> float | None:
    """Least-squares slope of |mean price − p*| on the round, over rounds with trades (at least two)."""
    p_star = game.p_star
    if p_star is None:
        return None
    points: list[tuple[int, float]] = []
    for closed in game.rounds:
        if closed.matches:
            mean = math.fsum(match.price for match in closed.matches) / len(closed.matches)
            points.append((closed.round, abs(mean - p_star)))
    if len(points) < 2:
        return None
    centre = math.fsum(at for at, _ in points) / len(points)
    return ratio(
        math.fsum((at - centre) * gap for at, gap in points), math.fsum((at - centre) ** 2 for at, _ in points)
    )


def _dispersion(game: _Game) -> float | None:
    """sqrt(mean over seats of (payoff/R − profit at p*)²)."""
    opening, p_star, count = game.opening, game.p_star, len(game.rounds)
    if opening is None or p_star is None or not count:
        return None
    squares: list[float] = []
    for seat, value in opening.values.items():
        fair = max(0.0, value - p_star if _buys(seat) else p_star - value)
        earned = sum(closed.payoff.get(seat, 0) for closed in game.rounds)
        squares.append((earned / count - fair) ** 2)
    return rounded(math.sqrt(math.fsum(squares) / len(squares)))


def _population_sd(numbers: Sequence[int]) -> float | None:
    if not numbers:
        return None
    mean = math.fsum(numbers) / len(numbers)
    return rounded(math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)))
