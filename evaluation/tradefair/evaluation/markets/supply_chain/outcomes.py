"""Outcomes of the supply chain from the facts of a trace (supply-chain page, 9). Money in currency units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from tradefair.contract.money import currency
from tradefair.contract.seats import SeatId
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
from tradefair.evaluation.outcome import (
    ON_EVERY_SEAT,
    MarketOutcome,
    Outcome,
    SeatOutcome,
    common_seat,
)
from tradefair.tracestore import Trace


class SupplyChainSeat(SeatOutcome):
    """One retailer over the closed rounds; formulas and edge cases: section 9.

    `pi` is cumulative profit, `wealth` money and stock at cost at the end, `roi` its growth, `share_fill` units sold
    over all units wanted. `fill` and `stockout` are of visits by buyers, `stockout_in_stock` of those to items that
    were held; `attempts` and `directed` (units) say how many there were. `osi` and `iei` flatter inactivity: read them
    beside `units_sold`. `overpay_regret` is money above sure-win prices, `underbid_regret` an upper bound. `mms` needs
    the embedder beside it. `profits`, `revenues`, `wealths`, `sold`, `requested` and `won` are by round.
    """

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


class SupplyChainMarket(MarketOutcome):
    """All retailers together; `*_by_round` hold the same after each closed round.

    `wealth_*` (money and stock at cost) and `revenue_*` (cumulative) are over all N seats after the last round, as is
    `slogan_convergence`; the mobilities and `active_ratio` to `mean_markup` are means over rounds. `equal_hhi` = 1/N
    and `equal_cr4` = 4/N are what an equal split would give.
    """

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
    return SupplyChainOutcome.of(play.reading, version, seats, _market(play))


def relative_to_references(
    seat: SeatId, outcomes: Mapping[str, SupplyChainOutcome]
) -> dict[str, dict[str, float | None]]:
    """pi_norm = (Π − Π_floor)/(Π_oracle − Π_floor), same luck and rivals; null unless the oracle earned more."""
    profits = {label: outcome.seats[seat].pi for label, outcome in outcomes.items()}
    floor, oracle = profits.get("policy:floor_bidder"), profits.get("policy:oracle")
    return {
        label: {"pi_norm": None if label.startswith(ON_EVERY_SEAT) else _normalised(profit, floor, oracle)}
        for label, profit in profits.items()
    }


def _normalised(profit: float, floor: float | None, oracle: float | None) -> float | None:
    if floor is None or oracle is None or oracle <= floor:
        return None
    return ratio(profit - floor, oracle - floor)


def _seat(play: SupplyPlay, seat: SeatId) -> SupplyChainSeat:
    rows, scenario = play.of(seat), play.scenario
    profits = [row.own.profit for row in rows]
    revenues = [sum(row.own.revenue) for row in rows]
    sold = [sum(row.own.sold) for row in rows]
    requested = [formulas.requested_units(row.round, seat) for row in rows]
    fills = [[(line[0], line[3]) for line in row.round.passes[-1].lines.get(seat, ())] for row in rows]
    won = [sum(units for _, units in lines) for lines in fills]
    spend = sum(row.own.spend for row in rows)
    base = sum(units * scenario.items[item].base_cents for lines in fills for item, units in lines) if scenario else 0
    wealths = [row.own.funds + sum(row.own.book) for row in rows]
    start = scenario.initial_funds_cents if scenario else 0
    attempts, failed = (sum(sum(one) for one in ones) for ones in _visits(rows))
    directed = sum(sum(row.own.directed) for row in rows)
    regret = formulas.bid_regret(play.rounds, seat, scenario) if scenario else formulas.BidRegret(0, 0.0)
    mms = formulas.message_match(play.rounds, seat, scenario) if scenario else None
    return SupplyChainSeat(
        **common_seat(play.reading, seat),
        pi=currency(sum(profits)),
        npm=formulas.net_profit_margin(profits, revenues),
        rar=formulas.risk_adjusted_return(profits),
        iei=formulas.inventory_efficiency(sold, [sum(row.own.units) for row in rows]),
        stockout=formulas.stockout_rate(failed, attempts, ever_stocked=any(any(row.own.available) for row in rows)),
        bid_eff=formulas.bid_efficiency(sum(won), sum(requested), base, spend),
        osi=formulas.order_stability(requested, sold, scenario.osi_mode if scenario else "abs"),
        fill=ratio(sum(sold), directed) or 0.0,
        mms=mms,
        mms01=None if mms is None else rounded((1 + mms) / 2),
        attempts=attempts,
        directed=directed,
        units_sold=sum(sold),
        units_won=sum(won),
        stockout_in_stock=_stockout_in_stock(rows),
        cash_delta=currency(rows[-1].own.funds - start) if rows else 0.0,
        wealth=currency(wealths[-1] if wealths else start),
        roi=(ratio(wealths[-1] - start, start) or 0.0) if wealths else 0.0,
        share_fill=ratio(sum(sold), sum(sum(one.buyers.quantity) for one in play.rounds)) or 0.0,
        overspends=play.overspends[seat],
        write_off=currency(sum(row.own.write_off for row in rows)),
        overpay_regret=currency(regret.overpaid),
        overpay_share=ratio(regret.overpaid, spend) or 0.0,
        underbid_regret=rounded(regret.underbid / 100),
        bankrupt_in=next((row.round.round for row in rows if row.own.bankrupt), None),
        profits=[currency(one) for one in profits],
        revenues=[currency(one) for one in revenues],
        wealths=[currency(one) for one in wealths],
        sold=sold,
        requested=requested,
        won=won,
    )


def _visits(rows: Sequence[SeatRound]) -> tuple[list[list[int]], list[list[int]]]:
    return [row.own.attempts for row in rows], [row.own.failed for row in rows]


def _stockout_in_stock(rows: Sequence[SeatRound]) -> float:
    """Failed visits over visits of items that were held when the phase began; 0 without any."""
    held = [(row.own, item) for row in rows for item, units in enumerate(row.own.available) if units]
    attempts = sum(own.attempts[item] for own, item in held)
    return ratio(sum(own.failed[item] for own, item in held), attempts) or 0.0


def _market(play: SupplyPlay) -> SupplyChainMarket:
    rounds, scenario = play.rounds, play.scenario
    wealth = [{seat: float(own.funds + sum(own.book)) for seat, own in facts.seats.items()} for facts in rounds]
    paid = {seat: list(accumulate(sum(row.own.revenue) for row in play.of(seat))) for seat in play.seats}
    revenue = [{seat: float(paid[seat][number]) for seat in play.seats} for number in range(len(rounds))]
    wealth_rows = [inequality(list(one.values())) for one in wealth]
    revenue_rows = [inequality(list(one.values())) for one in revenue]
    moves = [_mobilities(one) for one in (wealth, revenue)]
    count = len(play.seats)
    active = [ratio(sum(any(own.sold) for own in facts.seats.values()), count) for facts in rounds]
    unmet = [_unmet(facts.buyers.quantity, [sum(own.sold) for own in facts.seats.values()]) for facts in rounds]
    taken = [ratio(sum(facts.passes[-1].won), sum(facts.supply)) for facts in rounds]
    markups = [mean_markup(facts) for facts in rounds]
    convergence = [slogan_convergence(play, facts) for facts in rounds]
    last_wealth, last_revenue = (rows[-1] if rows else None for rows in (wealth_rows, revenue_rows))
    return SupplyChainMarket(
        embedder=scenario.embedder_id if scenario else None,
        tau=scenario.temperature if scenario else None,
        gate=("inert" if scenario.gate_inert else "active") if scenario else None,
        **_named("wealth", last_wealth, moves[0]),
        **_named("revenue", last_revenue, moves[1]),
        equal_hhi=ratio(1, count),
        equal_cr4=ratio(min(4, count), count),
        active_ratio=mean(one for one in active if one is not None),
        unmet=mean(one for one in unmet if one is not None),
        supply_sold=mean(one for one in taken if one is not None),
        mean_markup=mean(one for one in markups if one is not None),
        slogan_convergence=convergence[-1] if convergence else None,
        profit=currency(sum(own.profit for facts in rounds for own in facts.seats.values())),
        wealth_by_round=wealth_rows,
        revenue_by_round=revenue_rows,
        wealth_mobility_by_round=moves[0],
        revenue_mobility_by_round=moves[1],
        active_ratio_by_round=active,
        unmet_by_round=unmet,
        supply_sold_by_round=taken,
        mean_markup_by_round=markups,
        slogan_convergence_by_round=convergence,
        partial=scenario is not None and len(rounds) < scenario.rounds,
    )


def _mobilities(rows: Sequence[Mapping[SeatId, float]]) -> list[float | None]:
    """By round; null in the first."""
    return [None if number == 0 else mobility(rows[number - 1], one) for number, one in enumerate(rows)]


def _named(basis: str, row: Inequality | None, moves: Sequence[float | None]) -> dict[str, float | None]:
    values = row._asdict() if row else dict.fromkeys(Inequality._fields)
    moved = mean(one for one in moves if one is not None)
    return {f"{basis}_{name}": value for name, value in values.items()} | {f"{basis}_mobility": moved}


def _unmet(wanted: Sequence[int], sold: Sequence[int]) -> float | None:
    share = ratio(sum(sold), sum(wanted))
    return None if share is None else rounded(1 - share)
