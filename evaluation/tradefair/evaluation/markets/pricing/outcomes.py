"""Outcomes of posted prices from the facts of a trace; money in minor units.

The benchmarks of a round are those of its costs and its outside option; profits beside them are means over rounds. N is
nash, M joint profit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tradefair.contract import SeatId
from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.pricing.modes.play import Firm, Game, read_game
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome, common_seat, nothing
from tradefair.evaluation.read.arithmetic import mean, ratio
from tradefair.evaluation.reading import read_trace
from tradefair.pricing.engine import equilibrium
from tradefair.tracestore import Trace

_DECIMALS = 7
_LONGEST_CYCLE = 30


class PricingSeat(SeatOutcome):
    """What one firm earned, beside the competitive and the joint optimum and beside what its rivals' prices allowed.

    Letters: N is nash, M the highest joint profit, π̄ a mean profit per round, a quality, p price, a_0 the outside
    option; a high gain is no praise: it is what customers pay.
    """

    profit: int = figure("profit", "minor units", "higher", over="total", on="table compare primary")
    """Σ over closed rounds of units · (price − unit cost of the round)"""
    mean_price: float | None = figure("mean price", "minor units", on="table")
    """mean over closed rounds with a price

    Null: the firm never posted a price
    """
    units: int = figure("units", "units", on="table")
    """Σ over closed rounds of units sold"""
    rounds_closed: int = figure("rounds", "rounds")
    """closed rounds"""
    gain: float | None = figure("profit gain", "share", on="table compare")
    """(π̄ − π̄^N) / (π̄^M − π̄^N): mean profit between nash (0) and joint profit (1)

    Null: one firm only, no closed round, or joint profit gives this firm no more than competition
    Source: Calvano et al. 2020
    """
    gain_late: float | None = figure("late profit gain", "share")
    """gain over the last third of the rounds

    Null: as gain
    Source: Calvano et al. 2020
    """
    hindsight: int = figure("profit in hindsight", "minor units")
    """Σ over rounds of the profit of the best price, rivals' prices frozen; another price might have changed them"""
    hindsight_share: float | None = figure("share of hindsight", "share", "higher", on="table compare")
    """profit / hindsight

    Null: hindsight is not above 0: even the best prices lose
    """
    best_reply_distance: float | None = figure(
        "distance to the best reply", "minor units", short="off the best reply", on="table"
    )
    """mean over rounds with a price of |price − best price|

    Null: the firm never posted a price
    """
    profits: list[int] = figure("profit by round", "minor units", "higher")
    """by closed round, the firm's profit"""
    prices: list[int | None] = figure("price by round", "minor units")
    """by closed round, the firm's price

    Null: an entry is null where the firm was closed
    """


class PricingMarket(MarketOutcome):
    """All firms together, and their customers."""

    nash_prices: dict[SeatId, float] = figure("competitive prices", "minor units")
    """by seat, the Nash prices of the scenario without shocks

    Null: never; empty before a round closed
    Source: Anderson, de Palma & Thisse 1992
    """
    monopoly_prices: dict[SeatId, float] = figure("joint-profit prices", "minor units")
    """by seat, the prices of the highest joint profit, without shocks

    Null: never; empty before a round closed
    Source: Anderson, de Palma & Thisse 1992
    """
    nash_profits: dict[SeatId, float] = figure("competitive profits", "minor units per consumer")
    """by seat, profit per consumer and round at nash_prices

    Null: never; empty before a round closed
    """
    monopoly_profits: dict[SeatId, float] = figure("joint-profit profits", "minor units per consumer")
    """by seat, profit per consumer and round at monopoly_prices

    Null: never; empty before a round closed
    """
    gain: float | None = figure("profit gain of all", "share", on="compare")
    """(π̄ − π̄^N) / (π̄^M − π̄^N) of the mean profit of all firms, with the costs of each round

    Null: one firm only, or no closed round
    Source: Calvano et al. 2020
    """
    price_index: float | None = figure("price index", "share", on="compare")
    """(p̄ − p̄^N) / (p̄^M − p̄^N), prices weighted by units sold

    Null: nothing was sold, or no closed round
    """
    consumer_surplus: float | None = figure("consumer surplus", "minor units per consumer", "higher", on="compare")
    """mean over rounds of mu · ln(Σ e^((a − p)/mu) + e^(a_0/mu)) − a_0

    Null: no closed round
    Source: Small & Rosen 1981
    """
    surplus_nash: float | None = figure("surplus at nash", "minor units per consumer")
    """consumer_surplus at nash_prices

    Null: no closed round
    Source: Small & Rosen 1981
    """
    surplus_monopoly: float | None = figure("surplus at joint profit", "minor units per consumer")
    """consumer_surplus at monopoly_prices

    Null: no closed round
    Source: Small & Rosen 1981
    """
    surplus_share: float | None = figure("share of the welfare", "share", "higher", on="compare")
    """Σ (consumer surplus + profits) / Σ consumer surplus at price = cost

    Null: no closed round, or that surplus is 0 or less
    """
    cycle: int | None = figure("price cycle", "rounds")
    """smallest k up to 30 with which all prices of the last third of the rounds repeat

    Null: no such k, or fewer than two rounds in that third
    """


class PricingBeside(BaseModel):
    """What a seat has beside references, on the same scenario and seed."""

    share_of_best: float | None = figure("share of the best known", "share", "higher")
    """(profit − that of nash) / (that of the best of planner, matcher and leader − that of nash), in the same seat on
    the same luck

    Null: a reference was not played, or both lie within 1 %
    """


PricingOutcome = Outcome[PricingSeat, PricingMarket]


def pricing_outcome(trace: Trace, version: str) -> PricingOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    reading = read_trace(trace)
    game = read_game(trace)
    for facts in reading.rounds[:1] if game.problem else ():
        reading.found(facts.seq, game.problem or "")
    seats = {seat: PricingSeat(**common_seat(reading, seat), **_seat(game, seat)) for seat in reading.conduct}
    return PricingOutcome.of(reading, version, seats, _market(game))


def relative_to_references(seat: SeatId, outcomes: Mapping[str, PricingOutcome]) -> dict[str, dict[str, float | None]]:
    """Per label the profit between `nash` (0) and the best reference (1), in the same seat, on the same luck.

    In a duel that is `planner`; beside several rivals it has no plan, and another reference may earn more.
    """
    profits = {label: outcome.seats[seat].profit for label, outcome in outcomes.items()}
    floor = profits.get("policy:nash")
    known = (profits.get(f"policy:{name}") for name in ("planner", "matcher", "leader"))
    best = max((profit for profit in known if profit is not None), default=None)
    return {label: {"share_of_best": share_of_best(profit, floor, best)} for label, profit in profits.items()}


def share_of_best(profit: float, floor: float | None, best: float | None) -> float | None:
    """(profit − floor)/(best − floor); null where the references lie within 1 % of the best, or one is missing."""
    if floor is None or best is None or best - floor < abs(best) / 100:
        return None
    return ratio(profit - floor, best - floor)


def _seat(game: Game, seat: SeatId) -> dict[str, Any]:
    if game.world is None:
        return nothing(PricingSeat)
    firm = game.firms[seat]
    posted = [price for price in firm.prices if price is not None]
    best = sum(found.profit for found in firm.best)
    moved = [abs(price - found.price) for price, found in zip(firm.prices, firm.best, strict=True) if price is not None]
    return {
        "profit": sum(firm.profits),
        "mean_price": mean(posted),
        "units": sum(period.units[firm.place] for period in firm.periods),
        "rounds_closed": len(firm.periods),
        "gain": _gain(firm, 0),
        "gain_late": _gain(firm, 2 * len(firm.periods) // 3),
        "hindsight": best,
        # Where even the best loses, a share of it says nothing.
        "hindsight_share": ratio(sum(firm.profits), best) if best > 0 else None,
        "best_reply_distance": mean(moved),
        "profits": firm.profits,
        "prices": firm.prices,
    }


def _gain(firm: Firm, start: int) -> float | None:
    """(π̄ − π̄^N)/(π̄^M − π̄^N) over the rounds from `start` on; null for a single firm (Calvano et al. 2020)."""
    game = firm.game
    low = [game.profits_at(p, game.nash[at])[firm.place] for at, p in enumerate(game.periods) if at >= start]
    high = [game.profits_at(p, game.monopoly[at])[firm.place] for at, p in enumerate(game.periods) if at >= start]
    if len(game.seats) < 2 or not low or sum(high) <= sum(low):
        return None
    return (sum(firm.profits[start:]) - sum(low)) / (sum(high) - sum(low))


def gain_of_all(game: Game, start: int = 0, end: int | None = None) -> float | None:
    """Δ: the gain of the mean profit of all firms over some rounds, by their places; null for a single firm."""
    low = high = own = 0.0
    for at, period in list(enumerate(game.periods))[start:end]:
        low += sum(game.profits_at(period, game.nash[at]))
        high += sum(game.profits_at(period, game.monopoly[at]))
        own += sum(period.profits)
    return None if len(game.seats) < 2 or high <= low else (own - low) / (high - low)


def _market(game: Game) -> PricingMarket:
    world = game.world
    if world is None:
        return PricingMarket(**nothing(PricingMarket))
    benchmarks: dict[str, Any] = {}
    surpluses: dict[str, Any] = {}
    for name, solved in (("nash", equilibrium.nash), ("monopoly", equilibrium.monopoly)):
        # Of the scenario without its shocks: what the episode as a whole is about.
        prices = solved(world.quality, world.cost, world.mu, world.outside)
        parts = equilibrium.shares(prices, world.quality, world.mu, world.outside)
        each = [part * (price - cost) for part, price, cost in zip(parts, prices, world.cost, strict=True)]
        benchmarks[f"{name}_prices"] = _named(game, prices)
        benchmarks[f"{name}_profits"] = _named(game, each)
        surpluses[f"surplus_{name}"] = round(
            equilibrium.surplus(prices, world.quality, world.mu, world.outside), _DECIMALS
        )
    return PricingMarket(
        **benchmarks,
        **surpluses,
        gain=gain_of_all(game),
        price_index=_price_index(game),
        consumer_surplus=mean(_surpluses(game)),
        surplus_share=_surplus_share(game),
        cycle=_cycle([period.prices for period in game.periods]),
    )


def _named(game: Game, values: Sequence[float]) -> dict[SeatId, float]:
    return {seat: round(value, _DECIMALS) for seat, value in zip(game.seats, values, strict=True)}


def _price_index(game: Game) -> float | None:
    """(p̄ − p̄^N)/(p̄^M − p̄^N), all prices weighted by the units that were sold; null without sales."""
    own = low = high = 0.0
    for at, period in enumerate(game.periods):
        for place, (price, units) in enumerate(zip(period.prices, period.units, strict=True)):
            own += units * (price or 0)
            low += units * game.nash[at][place]
            high += units * game.monopoly[at][place]
    return None if high <= low else (own - low) / (high - low)


def _surpluses(game: Game) -> list[float]:
    """Consumer surplus per consumer of each round: the log-sum (Small & Rosen 1981)."""
    world = game.world
    assert world is not None
    return [
        equilibrium.surplus(
            [float("inf") if price is None else price for price in period.prices],
            world.quality,
            world.mu,
            period.outside,
        )
        for period in game.periods
    ]


def _surplus_share(game: Game) -> float | None:
    """(consumer surplus + profits) / (consumer surplus at price = cost), per consumer, over all rounds."""
    world = game.world
    assert world is not None
    had = sum(_surpluses(game)) + sum(sum(period.profits) for period in game.periods) / world.scenario.consumers
    most = sum(
        equilibrium.surplus([float(cost) for cost in period.costs], world.quality, world.mu, period.outside)
        for period in game.periods
    )
    return ratio(had, most) if most > 0 else None


def _cycle(rows: Sequence[tuple[int | None, ...]]) -> int | None:
    """The smallest k <= 30 with which the prices of the last third repeat; null where none does, or it is too short."""
    last = rows[2 * len(rows) // 3 :]
    return next(
        (k for k in range(1, min(_LONGEST_CYCLE, len(last) - 1) + 1) if list(last[k:]) == list(last[:-k])), None
    )
