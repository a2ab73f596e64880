"""Outcomes of the supply chain from the facts of a trace. Money in currency units.

Facts hold cents: sums are made of them and converted once, so that they are exact. Each small function below makes one
group of figures; the models put the groups together, so that a missing or a misspelt figure is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from tradefair.contract import SeatId
from tradefair.contract.money import currency
from tradefair.evaluation.arithmetic import mean, ratio, rounded
from tradefair.evaluation.markets.supply_chain import seat as formulas
from tradefair.evaluation.markets.supply_chain.market import (
    Inequality,
    inequality,
    mean_markup,
    mobility,
    slogan_convergence,
)
from tradefair.evaluation.markets.supply_chain.play import SeatRound, SupplyPlay, read_supply_chain
from tradefair.evaluation.outcome import ON_EVERY_SEAT, MarketOutcome, Outcome, SeatOutcome, common_seat
from tradefair.supply_chain.model import RoundFacts, SupplyChainScenario
from tradefair.tracestore import Trace


class SupplyChainSeat(SeatOutcome):
    """One retailer over the closed rounds: profit, stock, service, bids, slogans. 0 or null for nothing to count."""

    pi: float
    npm: float
    rar: float
    iei: float
    stockout: float
    bid_eff: float
    osi: float
    fill: float
    mms: float | None
    mms01: float | None
    attempts: int
    directed: int
    units_sold: int
    units_won: int
    stockout_in_stock: float
    cash_delta: float
    wealth: float
    roi: float
    share_fill: float
    overspends: int
    write_off: float
    overpay_regret: float
    overpay_share: float
    underbid_regret: float
    bankrupt_in: int | None
    profits: list[float]
    revenues: list[float]
    wealths: list[float]
    sold: list[int]
    requested: list[int]
    won: list[int]
    osi_by_round: list[float]
    mms_by_round: list[float | None]


class SupplyChainMarket(MarketOutcome):
    """All retailers together after the last round, and by round: inequality, supply and demand, prices, slogans."""

    embedder: str | None
    tau: float | None
    gate: str | None
    wealth_gini: float | None
    wealth_theil: float | None
    wealth_cv: float | None
    wealth_hhi: float | None
    wealth_cr4: float | None
    wealth_mobility: float | None
    revenue_gini: float | None
    revenue_theil: float | None
    revenue_cv: float | None
    revenue_hhi: float | None
    revenue_cr4: float | None
    revenue_mobility: float | None
    equal_hhi: float | None
    equal_cr4: float | None
    active_ratio: float | None
    unmet: float | None
    supply_sold: float | None
    mean_markup: float | None
    slogan_convergence: float | None
    profit: float
    profit_cr4: float | None
    wealth_by_round: list[Inequality]
    revenue_by_round: list[Inequality]
    wealth_mobility_by_round: list[float | None]
    revenue_mobility_by_round: list[float | None]
    active_ratio_by_round: list[float | None]
    unmet_by_round: list[float | None]
    supply_sold_by_round: list[float | None]
    mean_markup_by_round: list[float | None]
    slogan_convergence_by_round: list[float | None]
    partial: bool


SupplyChainOutcome = Outcome[SupplyChainSeat, SupplyChainMarket]


def supply_chain_outcome(trace: Trace, version: str) -> SupplyChainOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    play = read_supply_chain(trace)
    seats = {seat: _seat(play, seat) for seat in play.seats}
    market = SupplyChainMarket(**_conditions(play), **_inequalities(play), **_flows(play))
    return SupplyChainOutcome.of(play.reading, version, seats, market)


def relative_to_references(
    seat: SeatId, outcomes: Mapping[str, SupplyChainOutcome]
) -> dict[str, dict[str, float | None]]:
    """pi_norm = (Π − Π_floor)/(Π_reference − Π_floor) by label, same luck and rivals; null unless that earned more.

    Null as well where a reference plays every seat: its rivals are others, so that the scale is not its own.
    """
    profits = {label: outcome.seats[seat].pi for label, outcome in outcomes.items()}
    floor, oracle = profits.get("policy:floor_bidder"), profits.get("policy:oracle")
    return {
        label: {"pi_norm": None if label.startswith(ON_EVERY_SEAT) else _normalised(profit, floor, oracle)}
        for label, profit in profits.items()
    }


def _normalised(profit: float, floor: float | None, oracle: float | None) -> float | None:
    """The place of a profit on the scale from floor to reference; None where there is no such scale."""
    if floor is None or oracle is None or oracle <= floor:
        return None
    return ratio(profit - floor, oracle - floor)


# --- one retailer -----------------------------------------------------------------------------------------------------


def _seat(play: SupplyPlay, seat: SeatId) -> SupplyChainSeat:
    """One retailer's result over the closed rounds."""
    rows = play.of(seat)
    return SupplyChainSeat(
        **common_seat(play.reading, seat),
        **_profits(rows),
        **_wealth(rows, play.scenario),
        **_stock(rows),
        **_service(rows, sum(sum(facts.buyers.quantity) for facts in play.rounds)),
        **_procurement(play, seat, rows),
        **_orders(rows, seat, play.scenario),
        **_slogans(play, seat),
        overspends=play.overspends[seat],
        bankrupt_in=next((row.round.round for row in rows if row.own.bankrupt), None),
    )


def _profits(rows: Sequence[SeatRound]) -> dict[str, Any]:
    """Profit and revenue in currency units, whole and by round."""
    profits = [row.own.profit for row in rows]
    revenues = [sum(row.own.revenue) for row in rows]
    return {
        "pi": currency(sum(profits)),
        "npm": formulas.net_profit_margin(profits, revenues),
        "rar": formulas.risk_adjusted_return(profits),
        "profits": [currency(profit) for profit in profits],
        "revenues": [currency(revenue) for revenue in revenues],
    }


def _wealth(rows: Sequence[SeatRound], scenario: SupplyChainScenario | None) -> dict[str, Any]:
    """Money and stock at cost; before the first round closed, the funds that everyone begins with."""
    start = scenario.initial_funds_cents if scenario else 0
    wealths = [row.own.funds + sum(row.own.book) for row in rows]
    return {
        "cash_delta": currency(rows[-1].own.funds - start) if rows else 0.0,
        "wealth": currency(wealths[-1] if wealths else start),
        "roi": (ratio(wealths[-1] - start, start) or 0.0) if wealths else 0.0,
        "wealths": [currency(wealth) for wealth in wealths],
    }


def _stock(rows: Sequence[SeatRound]) -> dict[str, Any]:
    """What stock was there and what failed for want of it."""
    attempts, failed = (sum(sum(visits) for visits in kind) for kind in _visits(rows))
    stocked = any(any(row.own.available) for row in rows)
    return {
        "iei": formulas.inventory_efficiency(_sold(rows), [sum(row.own.units) for row in rows]),
        "stockout": formulas.stockout_rate(failed, attempts, ever_stocked=stocked),
        "stockout_in_stock": _stockout_in_stock(rows),
        "attempts": attempts,
        "write_off": currency(sum(row.own.write_off for row in rows)),
    }


def _service(rows: Sequence[SeatRound], wanted: int) -> dict[str, Any]:
    """Units sold, against those that buyers wanted from this seat, and against `wanted`, all units wanted by anyone."""
    sold = _sold(rows)
    directed = sum(sum(row.own.directed) for row in rows)
    return {
        "fill": ratio(sum(sold), directed) or 0.0,
        "directed": directed,
        "units_sold": sum(sold),
        "share_fill": ratio(sum(sold), wanted) or 0.0,
        "sold": sold,
    }


def _procurement(play: SupplyPlay, seat: SeatId, rows: Sequence[SeatRound]) -> dict[str, Any]:
    """What bids cost, against base prices and against the smallest prices that would have won for sure."""
    scenario, spend = play.scenario, sum(row.own.spend for row in rows)
    lines = [line for row in rows for line in formulas.settled_lines(row.round, seat)]
    won = sum(filled for _, _, _, filled in lines)
    requested = sum(formulas.requested_units(row.round, seat) for row in rows)
    base = sum(filled * scenario.items[item].base_cents for item, _, _, filled in lines) if scenario else 0
    regret = formulas.bid_regret(play.rounds, seat, scenario) if scenario else formulas.BidRegret(0, 0.0)
    return {
        "bid_eff": formulas.bid_efficiency(won, requested, base, spend),
        "units_won": won,
        "overpay_regret": currency(regret.overpaid),
        "overpay_share": ratio(regret.overpaid, spend) or 0.0,
        # Not a whole number of cents: the resale price is a mean.
        "underbid_regret": rounded(regret.underbid / 100),
    }


def _orders(rows: Sequence[SeatRound], seat: SeatId, scenario: SupplyChainScenario | None) -> dict[str, Any]:
    """Units asked for and won by round, and how steady orders were."""
    requested, sold = [formulas.requested_units(row.round, seat) for row in rows], _sold(rows)
    mode = scenario.osi_mode if scenario else "abs"
    return {
        "osi": formulas.order_stability(requested, sold, mode),
        # A variation needs several rounds, so a step looks back on all of those before it.
        "osi_by_round": [
            formulas.order_stability(requested[:rounds], sold[:rounds], mode) for rounds in range(1, len(rows) + 1)
        ],
        "requested": requested,
        "won": [sum(filled for _, _, _, filled in formulas.settled_lines(row.round, seat)) for row in rows],
    }


def _slogans(play: SupplyPlay, seat: SeatId) -> dict[str, Any]:
    """The fit of slogans to buyers, on −1 to 1 and on 0 to 1; None without a slogan."""
    scenario = play.scenario
    mms = formulas.message_match(play.rounds, seat, scenario) if scenario else None
    return {
        "mms": mms,
        "mms01": None if mms is None else rounded((1 + mms) / 2),
        "mms_by_round": [formulas.message_match([facts], seat, scenario) for facts in play.rounds] if scenario else [],
    }


def _sold(rows: Sequence[SeatRound]) -> list[int]:
    """Units of all items by round."""
    return [sum(row.own.sold) for row in rows]


def _visits(rows: Sequence[SeatRound]) -> tuple[list[list[int]], list[list[int]]]:
    """Visits of buyers, and those that failed, `[round][item]`."""
    return [row.own.attempts for row in rows], [row.own.failed for row in rows]


def _stockout_in_stock(rows: Sequence[SeatRound]) -> float:
    """Failed visits over visits, of items that were held when the selling phase began; 0 without any.

    `stockout` also counts visits to items that the seat never had: a poor purchase, not a stock that ran out.
    """
    held = [(row.own, item) for row in rows for item, units in enumerate(row.own.available) if units]
    attempts = sum(own.attempts[item] for own, item in held)
    return ratio(sum(own.failed[item] for own, item in held), attempts) or 0.0


# --- the market -------------------------------------------------------------------------------------------------------


def _conditions(play: SupplyPlay) -> dict[str, Any]:
    """What the figures of slogans depend on; figures of two embedders or temperatures cannot be compared."""
    scenario, count = play.scenario, len(play.seats)
    gate = ("inert" if scenario.gate_inert else "active") if scenario else None
    return {
        "embedder": scenario.embedder_id if scenario else None,
        "tau": scenario.temperature if scenario else None,
        "gate": gate,
        "equal_hhi": ratio(1, count),
        "equal_cr4": ratio(min(4, count), count),
        "partial": scenario is not None and len(play.rounds) < scenario.rounds,
    }


def _inequalities(play: SupplyPlay) -> dict[str, Any]:
    """Indices of wealth and of cumulative revenue over all seats, after the last round and by round."""
    wealth = [{seat: float(own.funds + sum(own.book)) for seat, own in facts.seats.items()} for facts in play.rounds]
    paid = {seat: list(accumulate(sum(row.own.revenue) for row in play.of(seat))) for seat in play.seats}
    revenue = [{seat: float(paid[seat][index]) for seat in play.seats} for index in range(len(play.rounds))]
    return _of_basis("wealth", wealth) | _of_basis("revenue", revenue)


def _of_basis(basis: str, amounts: Sequence[Mapping[SeatId, float]]) -> dict[str, Any]:
    """Figures of one basis; `amounts` are by round and seat. Mobility is a mean over rounds, null in the first."""
    rows = [inequality(list(of_seats.values())) for of_seats in amounts]
    # Mobility compares a round with the one before, so the first has none.
    moves = [mobility(amounts[index - 1], now) if index else None for index, now in enumerate(amounts)]
    # Before the first close there is nothing to measure: null, not an equal split.
    last = rows[-1]._asdict() if rows else dict.fromkeys(Inequality._fields)
    return {
        **{f"{basis}_{name}": value for name, value in last.items()},
        f"{basis}_mobility": _mean_of_known(moves),
        f"{basis}_by_round": rows,
        f"{basis}_mobility_by_round": moves,
    }


def _flows(play: SupplyPlay) -> dict[str, Any]:
    """Supply, demand, prices and slogans by round, and their means over rounds."""
    rounds = play.rounds
    by_round = {
        "active_ratio": [_active_ratio(facts) for facts in rounds],
        "unmet": [_unmet(facts) for facts in rounds],
        "supply_sold": [ratio(sum(facts.passes[-1].won), sum(facts.supply)) for facts in rounds],
        "mean_markup": [mean_markup(facts) for facts in rounds],
    }
    convergence = [slogan_convergence(play, facts) for facts in rounds]
    profits = [sum(row.own.profit for row in play.of(seat)) for seat in play.seats]
    return {
        **{name: _mean_of_known(figures) for name, figures in by_round.items()},
        **{f"{name}_by_round": figures for name, figures in by_round.items()},
        # Slogans stand until they are replaced, so that the last round says how alike they have become.
        "slogan_convergence": convergence[-1] if convergence else None,
        "slogan_convergence_by_round": convergence,
        "profit": currency(sum(profits)),
        # Where all of them together earned nothing, no share says who took it.
        "profit_cr4": ratio(sum(sorted(profits)[-4:]), sum(profits)) if sum(profits) > 0 else None,
    }


def _active_ratio(facts: RoundFacts) -> float | None:
    """Seats that sold a unit in the round, over all seats."""
    return ratio(sum(any(own.sold) for own in facts.seats.values()), len(facts.seats))


def _unmet(facts: RoundFacts) -> float | None:
    """1 − units sold over units wanted; null where nothing was wanted."""
    share = ratio(sum(sum(own.sold) for own in facts.seats.values()), sum(facts.buyers.quantity))
    return None if share is None else rounded(1 - share)


def _mean_of_known(figures: Sequence[float | None]) -> float | None:
    """The mean over rounds in which a figure is defined; None where it never is."""
    return mean(figure for figure in figures if figure is not None)
