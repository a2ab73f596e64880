"""Outcomes of the double auction from the facts of a trace.

R is the number of closed rounds; an episode that was cut short is marked as censored. Floats are rounded to nine
decimals, so that two machines print the same. Each small function below makes one group of figures; the models put the
groups together, so that a missing or a misspelt figure is an error.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, Literal, NamedTuple

from tradefair.contract import ScenarioError, SeatId
from tradefair.double_auction.analysis import PlayedRound, Regret, regret
from tradefair.double_auction.model import EndingFacts, MatchFacts, OpeningFacts, RoundFacts
from tradefair.evaluation.markets.double_auction.modes.play import AuctionGame
from tradefair.evaluation.markets.double_auction.modes.reading import read_auction
from tradefair.evaluation.markets.double_auction.results import (
    CsaMissing,
    DoubleAuctionMarket,
    DoubleAuctionOutcome,
    DoubleAuctionSeat,
)
from tradefair.evaluation.markets.double_auction.source_table import csa_source, published_keys, source_table
from tradefair.evaluation.markets.double_auction.surplus_alpha import (
    ReferenceTable,
    SeatResult,
    Shape,
    csa,
    csa_clean,
    reference_table,
)
from tradefair.evaluation.outcome import common_seat
from tradefair.evaluation.read.arithmetic import mean, ratio, rounded
from tradefair.evaluation.reading import TraceReading
from tradefair.tracestore import Trace
from tradefair.trading.game_log import MAX_SCORE


def auction_outcome(trace: Trace, version: str) -> DoubleAuctionOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it.

    Seats are the keys of `conduct`: every seat of the manifest, also those that never acted.
    """
    auction = read_auction(trace)
    # A copy: the reading is shared with the failure modes, and each outcome lists its findings once.
    reading = replace(auction.reading, findings=[*auction.reading.findings])
    game = _game(reading, auction)
    yardstick = _yardstick(reading, game)
    logged = _logged(reading)
    seats = {seat: _seat(reading, game, seat, yardstick, logged) for seat in reading.conduct}
    market = DoubleAuctionMarket(
        **_law(game), **_surplus(game), **_prices(game), **_quality(game), **yardstick.figures(seats.values())
    )
    return DoubleAuctionOutcome.of(reading, version, seats, market)


class _Trade(NamedTuple):
    """A trade with its round's number, and the place of that round among the closed ones."""

    round: int
    match: MatchFacts
    place: int


@dataclass(frozen=True)
class _Game:
    """The usable facts of a trace. `opening`, with values and benchmarks, is null until the first round has closed."""

    rounds: list[RoundFacts]
    played: list[PlayedRound]
    """The same rounds, as regret reads them."""
    opening: OpeningFacts | None
    price_max: int

    @cached_property
    def trades(self) -> list[_Trade]:
        """All trades, in the order of rounds and matches."""
        return [
            _Trade(closed.round, match, place) for place, closed in enumerate(self.rounds) for match in closed.matches
        ]

    @cached_property
    def by_seat(self) -> Mapping[SeatId, list[_Trade]]:
        """The trades of each seat that has some."""
        found: defaultdict[SeatId, list[_Trade]] = defaultdict(list)
        for trade in self.trades:
            # A set, because a forged match may name one seat twice.
            for seat in {trade.match.buyer, trade.match.seller}:
                found[seat].append(trade)
        return found

    @cached_property
    def forfeits(self) -> Counter[SeatId]:
        """Rounds that each seat forfeited."""
        return Counter(seat for closed in self.rounds for seat in set(closed.forfeited))

    @property
    def twice_p_star(self) -> int | None:
        """2·p* is whole, so that the split of the lost surplus stays exact.

        Null before the first round closed, and where no buyer values the good above the lowest cost.
        """
        opening = self.opening
        if opening is None or opening.p_lo is None or opening.p_hi is None:
            return None
        return opening.p_lo + opening.p_hi

    @property
    def p_star(self) -> float | None:
        """Competitive price in points: the middle of the clearing interval; null without gains from trade."""
        twice = self.twice_p_star
        return None if twice is None else twice / 2


def _game(reading: TraceReading, auction: AuctionGame) -> _Game:
    """Rounds with facts that cannot be typed are left out and listed in the reading's findings."""
    # The scenario of the manifest is plain JSON here. 100 is the grid of the source (P of the page).
    price_max = reading.core.scenario.get("price_max") if reading.core else None
    opening = _opening(reading, auction.closed)
    return _Game(auction.closed, auction.played, opening, price_max if isinstance(price_max, int) else 100)


def _opening(reading: TraceReading, rounds: Sequence[RoundFacts]) -> OpeningFacts | None:
    """Values and benchmarks of the episode; null, and a finding, where the trace does not hold those of all seats."""
    # The first closed round carries them. An episode in which none closed has them in its ending only.
    ending = reading.typed(reading.ending, EndingFacts) if reading.ending else None
    opening = next((closed.opening for closed in rounds if closed.opening), ending.opening if ending else None)
    if opening is None:
        reading.found(None, "no round has closed: values and benchmarks are not in the trace yet")
    elif any(seat not in opening.values or seat not in opening.potentials for seat in reading.conduct):
        reading.found(None, "the facts do not name the values of every seat")
        return None
    return opening


# --- seats ----------------------------------------------------------------------------------------------------------


class _Seat(NamedTuple):
    """One seat's part of the game. `payoffs`, `offsets`, `prices`: by round; null where it forfeited, or did not trade.

    Prices are compared with `sign`: 1 for a buyer, -1 for a seller, so that positive is always good for the seat.
    """

    seat: SeatId
    buys: bool
    sign: int
    value: int | None
    potential: int | None
    payoffs: list[int]
    offsets: list[int | None]
    prices: list[int | None]
    matches: list[MatchFacts]

    @property
    def payoff(self) -> int:
        """Points earned in all closed rounds."""
        return sum(self.payoffs)

    @property
    def most(self) -> int:
        """R·potential: what truthful rivals would have left the seat in all closed rounds.

        The denominator of all shares: 0 where the seat has no potential or no round was closed.
        """
        return (self.potential or 0) * len(self.payoffs)

    @property
    def quoted(self) -> list[int]:
        """Offsets of the rounds with a quote."""
        return [offset for offset in self.offsets if offset is not None]


def _seat(
    reading: TraceReading, game: _Game, seat: SeatId, yardstick: _Yardstick, logged: Mapping[SeatId, float]
) -> DoubleAuctionSeat:
    own = _seat_of(reading, game, seat)
    return DoubleAuctionSeat(
        **common_seat(reading, seat),
        **_earnings(own),
        **_trading(own, game),
        **_quoting(own),
        **_hindsight(own, _regret(reading, game, own)),
        **_scores(own, game, yardstick),
        csa_logged=logged.get(seat),
    )


def _seat_of(reading: TraceReading, game: _Game, seat: SeatId) -> _Seat:
    """The seat's rounds in its own terms.

    Empty lists where nothing was closed; `value` and `potential` are then null.
    """
    buys = reading.roles[seat] == "buyer"
    # Regret, offsets and edges of both roles then share one formula, instead of two that could drift apart.
    sign = 1 if buys else -1
    value = game.opening.values[seat] if game.opening else None
    # A seat without an entry forfeited: the facts list quotes that stood in the book only.
    quotes = [closed.quotes.get(seat) for closed in game.rounds]
    trades = game.by_seat.get(seat, [])
    prices: list[int | None] = [None] * len(game.rounds)
    # A seat trades at most once in a round; of a forged second trade the price is not read.
    for trade in reversed(trades):
        prices[trade.place] = trade.match.price
    return _Seat(
        seat,
        buys,
        sign,
        value,
        game.opening.potentials[seat] if game.opening else None,
        [closed.payoff.get(seat, 0) for closed in game.rounds],
        _offsets(sign, value, quotes),
        prices,
        [trade.match for trade in trades],
    )


def _offsets(sign: int, value: int | None, prices: Sequence[int | None]) -> list[int | None]:
    """Value − price by round, for a seller price − cost; null where there is no such price."""
    return [None if price is None or value is None else sign * (value - price) for price in prices]


def _earnings(own: _Seat) -> dict[str, Any]:
    # By round: a seat trades at most once in a round, so that a negative payoff is one lossy trade.
    """Payoffs in points over all closed rounds, and as a share of R·potential."""
    losses = [payoff for payoff in own.payoffs if payoff < 0]
    return {
        "value": own.value,
        "payoff": own.payoff,
        "payoff_per_round": ratio(own.payoff, len(own.payoffs)),
        "potential": own.potential,
        # Not floored at 0, unlike s of the source's csa: a loss has to show here.
        "surplus_share": ratio(own.payoff, own.most),
        "loss_trades": len(losses),
        "loss_sum": sum(losses),
    }


def _trading(own: _Seat, game: _Game) -> dict[str, Any]:
    # Without gains from trade there is no competitive price, and so nothing that a price could be better than.
    """Trades, forfeits and fill rate of the seat.

    `price_edge` is in points, above 0 where prices were better than p*; trajectories by round.
    """
    edges = [] if game.p_star is None else [own.sign * (game.p_star - match.price) for match in own.matches]
    return {
        "trades": len(own.matches),
        "trade_frequency": ratio(len(own.matches), len(game.rounds)),
        # Out of the rounds with a quote: forfeits have a figure of their own and would be counted twice.
        "fill_rate": ratio(len(own.matches), len(own.quoted)),
        "forfeits": game.forfeits[own.seat],
        "price_edge": mean(edges),
        "trade_offsets": _offsets(own.sign, own.value, own.prices),
        "trade_prices": own.prices,
        "traded": [price is not None for price in own.prices],
    }


def _quoting(own: _Seat) -> dict[str, Any]:
    """Offsets in points over the rounds with a quote: v − bid for a buyer, ask − c for a seller."""
    return {
        "offset_mean": mean(own.quoted),
        "offset_median": float(median(own.quoted)) if own.quoted else None,
        "offsets": own.offsets,
        "through_value_rate": ratio(sum(offset < 0 for offset in own.quoted), len(own.quoted)),
    }


def _hindsight(own: _Seat, found: Regret | None) -> dict[str, Any]:
    """Regret in points and as a share of R·potential; all null without one."""
    # In the order of `figures` below; `strict=True` fails when a name is added without its figure.
    names = ("static_regret", "static_regret_share", "best_price", "dynamic_regret", "dynamic_regret_share")
    if found is None:
        return dict.fromkeys(names)
    static, dynamic = found.static, found.dynamic
    figures = (rounded(static), ratio(static, own.most), found.best_price, rounded(dynamic), ratio(dynamic, own.most))
    return dict(zip(names, figures, strict=True))


# The last three as `SourceScore` has them.
_SCORES = ("csa", "csa_clean", "csa_source", "csa_source_basis", "csa_source_error")


def _scores(own: _Seat, game: _Game, yardstick: _Yardstick) -> dict[str, Any]:
    """Conditional surplus alphas; null without a table of this very shape, `csa_source` also without its key."""
    shape, table = yardstick.shape, yardstick.table
    if shape is None or own.value is None or own.potential is None:
        return dict.fromkeys(_SCORES)
    # The spread of the last round is a key of the table: what was left to trade when the episode ended.
    spread = game.rounds[-1].residual_spread
    result = SeatResult("buyer" if own.buys else "seller", own.value, own.payoff, own.potential, spread)
    scores = {"csa": csa(table, result), "csa_clean": csa_clean(table, result)} if table else {}
    published = csa_source(shape, result) if yardstick.published else None
    by_source = dict(zip(_SCORES[2:], published, strict=True)) if published else {}
    return {**dict.fromkeys(_SCORES), **scores, **by_source}


def _logged(reading: TraceReading) -> Mapping[SeatId, float]:
    """The scores that the log of an imported game gives its seats; none of any other episode."""
    origin = (reading.seating.origin or {}).get("imported_from")
    said = origin.get("seat_csa_map") if isinstance(origin, dict) else None
    scores = {seat: said[seat] for seat in reading.conduct if seat in said} if isinstance(said, dict) else {}
    known: dict[SeatId, float] = {}
    for seat, score in scores.items():
        # The importer keeps numbers of this range only; whoever wrote this trace did not ask it.
        if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= MAX_SCORE:
            reading.found(None, f"the log's csa of {seat} is no number from {-MAX_SCORE:,.0f} to {MAX_SCORE:,.0f}")
        else:
            known[seat] = float(score)
    return known


class _Yardstick(NamedTuple):
    """What the seats' csa rest on, or why there is nothing; `shape` is null where values or rounds are unusual.

    `published`: the source's own table is about such games, and sound.
    """

    shape: Shape | None
    table: ReferenceTable | None
    missing: CsaMissing | None
    published: bool = False

    def figures(self, seats: Iterable[DoubleAuctionSeat]) -> dict[str, Any]:
        """As fields of the market outcome."""
        return {
            "csa_episodes": self.table.episodes if self.table else None,
            "csa_missing": self.missing,
            "csa_source_missing": sum(seat.csa_source is None for seat in seats) if self.published else None,
        }


def _yardstick(reading: TraceReading, game: _Game) -> _Yardstick:
    """The reference table of exactly this episode's shape; none for a game that was cut short."""
    core, opening = reading.core, game.opening
    if core is None or opening is None:
        return _Yardstick(None, None, "cut short")
    # The law comes from the facts: in a `mix` the scenario only says that the episode drew one of four.
    shape = Shape.of(core.scenario, opening.distribution)
    if shape is None:
        return _Yardstick(None, None, "unusual values")
    # Payoffs of fewer rounds than the table's would be read as bad play.
    if len(game.rounds) != shape.rounds:
        return _Yardstick(None, None, "cut short")
    table = reference_table(shape)
    return _Yardstick(shape, table, None if table is not None else "no table", _published(reading, shape))


def _published(reading: TraceReading, shape: Shape) -> bool:
    """Whether the source's table is about such games; a damaged one is a finding and gives no figure."""
    try:
        return published_keys(shape) and bool(source_table())
    except ScenarioError as damage:
        # Of the file alone: the error names it with line and field. All other figures stand.
        reading.found(None, str(damage))
        return False


def _regret(reading: TraceReading, game: _Game, own: _Seat) -> Regret | None:
    """Hindsight; None when nothing was played or a round's facts contradict each other."""
    if game.opening is None or not game.rounds:
        return None
    role: Literal["buyer", "seller"] = "buyer" if own.buys else "seller"
    try:
        return regret(own.seat, role, game.opening.values[own.seat], game.played, game.price_max)
    # Forged or damaged facts can name unknown seats or repeat quotes; the other figures of the seat are still good.
    except (ValueError, IndexError, KeyError) as error:
        reading.found(None, f"no regret for {own.seat}: the facts contradict each other ({error!r})"[:300])
        return None


# --- the market -----------------------------------------------------------------------------------------------------


def _law(game: _Game) -> dict[str, Any]:
    """Law of the values and competitive benchmarks; all null where the trace does not hold them."""
    opening = game.opening
    names = ("distribution", "q_star", "p_lo", "p_hi")
    # `getattr` with a default serves both cases: `opening` itself may be None.
    figures: dict[str, Any] = {name: getattr(opening, name, None) for name in names}
    return {**figures, "max_surplus_per_round": opening.max_surplus if opening else None}


def _surplus(game: _Game) -> dict[str, Any]:
    """Realised and lost surplus in points, of the episode and by round."""
    opening, rounds = game.opening, game.rounds
    # 0 makes `ratio` return None, which is what an episode without benchmarks should show.
    most = opening.max_surplus if opening else 0
    surplus = sum(closed.surplus for closed in rounds)
    missed, extra = _lost(game)
    return {
        "surplus": surplus,
        "efficiency": ratio(surplus, most * len(rounds)),
        "efficiency_by_round": [ratio(closed.surplus, most) for closed in rounds],
        "lost_surplus": most * len(rounds) - surplus if opening else None,
        "lost_missed": missed,
        "lost_extra_marginal": extra,
    }


def _prices(game: _Game) -> dict[str, Any]:
    """Smith's alpha, convergence and prices of all trades.

    Alpha is per cent of p*, the slope in points a round.
    """
    trades, p_star = game.trades, game.p_star
    prices = [trade.match.price for trade in trades]
    # In whole numbers, so that 10 rounds and 30 split at the same share of the episode.
    last_third = [trade for trade in trades if 3 * trade.round > 2 * len(game.rounds)]
    by_round: list[list[_Trade]] = [[] for _ in game.rounds]
    for trade in trades:
        by_round[trade.place].append(trade)
    return {
        "smiths_alpha": _alpha(trades, p_star),
        "smiths_alpha_last_third": _alpha(last_third, p_star),
        "smiths_alpha_by_round": [_alpha(of_round, p_star) for of_round in by_round],
        "convergence": _convergence(game),
        "price_mean": mean(prices),
        "price_sd": _population_sd(prices),
    }


def _quality(game: _Game) -> dict[str, Any]:
    """Number of trades, also relative to q*·R, and how far seats are from their competitive profit."""
    opening, count = game.opening, len(game.trades)
    return {
        "trades": count,
        "trades_of_q_star": ratio(count, opening.q_star * len(game.rounds)) if opening else None,
        "profit_dispersion": _dispersion(game),
    }


def _lost(game: _Game) -> tuple[float | None, float | None]:
    """Missed and extra-marginal part of the lost surplus in points; ties in value rank by seat index.

    Missed: gains at p* of seats of rank <= q* that did not trade. Extra-marginal: losses at p* of the others that did.
    """
    opening = game.opening
    if opening is None:
        return None, None
    # Without gains from trade p* drops out of the sum: as many buyers as sellers trade.
    twice_price = game.twice_p_star or 0
    inside = _inside(opening)
    # Twice the gains, which are whole, are added up: halves would make the two parts miss the sum by a rounding.
    missed = extra = 0
    for closed in game.rounds:
        buyers = {match.buyer for match in closed.matches}
        traded = buyers | {match.seller for match in closed.matches}
        for seat, value in opening.values.items():
            gain = 2 * value - twice_price
            # A seller gains what the price is above its cost: the same difference with the other sign.
            gain = gain if _buys(seat) else -gain
            if seat in inside and seat not in traded:
                missed += gain
            # Seats inside that traded and seats outside that did not are as competition would have them: nothing is
            # lost.
            elif seat not in inside and seat in traded:
                extra -= gain
    return missed / 2, extra / 2


def _inside(opening: OpeningFacts) -> frozenset[SeatId]:
    """Seats of rank <= q* on their side: those that trade at the competitive price."""
    # The facts list seats by index and sorting keeps their order, so that equal values rank by seat index.
    buyers = sorted((seat for seat in opening.values if _buys(seat)), key=lambda seat: -opening.values[seat])
    sellers = sorted((seat for seat in opening.values if not _buys(seat)), key=lambda seat: opening.values[seat])
    return frozenset([*buyers[: opening.q_star], *sellers[: opening.q_star]])


def _buys(seat: SeatId) -> bool:
    # Benchmarks are made of facts alone: these name seats, and only the manifest, which may be damaged, has roles.
    return seat.startswith("B")


def _alpha(trades: Sequence[_Trade], p_star: float | None) -> float | None:
    """Smith (1962): 100·sqrt(mean (price − p*)²)/p*."""
    # p* = 0 is excluded too: alpha is per cent of p*.
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
            price = math.fsum(match.price for match in closed.matches) / len(closed.matches)
            points.append((closed.round, abs(price - p_star)))
    # One point has no slope, and the sum of squares below would be 0.
    if len(points) < 2:
        return None
    centre = math.fsum(number for number, _ in points) / len(points)
    return ratio(
        math.fsum((number - centre) * gap for number, gap in points),
        math.fsum((number - centre) ** 2 for number, _ in points),
    )


def _dispersion(game: _Game) -> float | None:
    """sqrt(mean over seats of (payoff/R − profit at p*)²), in points a round; null without gains from trade."""
    opening, p_star, count = game.opening, game.p_star, len(game.rounds)
    if opening is None or p_star is None or not count:
        return None
    squares: list[float] = []
    for seat, value in opening.values.items():
        # Seats that do not trade at p* are expected to earn 0, not a loss.
        fair = max(0.0, value - p_star if _buys(seat) else p_star - value)
        earned = sum(closed.payoff.get(seat, 0) for closed in game.rounds)
        squares.append((earned / count - fair) ** 2)
    return rounded(math.sqrt(math.fsum(squares) / len(squares)))


def _population_sd(numbers: Sequence[int]) -> float | None:
    """Population deviation in points; null without trades."""
    if not numbers:
        return None
    # Of all trades there were, not of a sample: divided by n.
    centre = math.fsum(numbers) / len(numbers)
    return rounded(math.sqrt(math.fsum((number - centre) ** 2 for number in numbers) / len(numbers)))
