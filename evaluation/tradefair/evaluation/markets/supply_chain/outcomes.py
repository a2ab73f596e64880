"""Outcomes of the supply chain from the facts of a trace. Money in currency units.

Facts hold cents: sums are made of them and converted once, so that they are exact. Each small function below makes one
group of figures; the models put the groups together, so that a missing or a misspelt figure is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from pydantic import BaseModel

from tradefair.contract import SeatId
from tradefair.contract.money import currency
from tradefair.evaluation.figure import figure
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
from tradefair.evaluation.read.arithmetic import mean, ratio, rounded
from tradefair.supply_chain.model import RoundFacts, SupplyChainScenario
from tradefair.tracestore import Trace


class SupplyChainSeat(SeatOutcome):
    """One retailer over the closed rounds: profit, stock, service, bids, slogans. 0 or null for nothing to count.

    Letters: Π is cumulative profit, N the number of seats, CV the population deviation over the mean.
    """

    pi: float = figure("profit", "currency units", "higher", over="total", on="table compare primary")
    """Π = Σ over rounds of revenue − cost of goods sold − holding charge; stock written off is no part of it

    Source: Market-Bench (arXiv 2604.05523)
    """
    npm: float = figure("net profit margin", "share", "higher", on="table")
    """Π / Σ revenue; 0 without revenue

    Source: Market-Bench (arXiv 2604.05523)
    """
    units_sold: int = figure("units sold", "units", "higher", on="table compare")
    """Σ over rounds and items"""
    fill: float = figure("share of directed demand served", "share", "higher", short="demand served", on="table")
    """units_sold / directed; 0 for 0/0

    Source: Market-Bench (arXiv 2604.05523)
    """
    stockout: float = figure("stock-out rate", "share", "lower", on="table")
    """failed visits / attempts; without a visit 1 if the seat never had a unit to sell, else 0

    Source: Market-Bench (arXiv 2604.05523)
    """
    bid_eff: float = figure(
        "bid efficiency",
        "ratio",
        "higher",
        caution="share of the units asked for that was won, times what they cost at base prices over what was paid",
        on="table compare",
    )
    """units_won / units requested · base value of units won / spending; 0 where a denominator is 0

    Source: Market-Bench (arXiv 2604.05523)
    """
    overpay_share: float = figure("share of overpayment", "share", "lower", short="overpaid, share", on="table")
    """overpay_regret / spending; 0 for 0/0"""
    mms: float | None = figure(
        "closeness of slogans to buyers",
        "cosine",
        short="slogan match",
        caution="closeness of own slogans to buyers' personas, by this embedder only; what is close need not sell",
        on="table compare",
    )
    """mean over rounds with a slogan and their buyers of the similarity of slogan and persona, −1 to 1; by this
    embedder only

    Null: no round with a slogan
    Source: Market-Bench (arXiv 2604.05523)
    """
    rar: float = figure("risk-adjusted return", "ratio", "higher")
    """mean of profits / their population deviation; 0 where they do not vary

    Source: Market-Bench (arXiv 2604.05523)
    """
    iei: float = figure("inventory efficiency", "share", "higher")
    """units_sold / (units_sold + mean of units left after a close); 0 for 0/0. Flatters who buys nothing

    Source: Market-Bench (arXiv 2604.05523)
    """
    osi: float = figure("order stability", "share", "higher")
    """1 / (1 + excess); excess by the scenario's osi_mode: abs(CVo − CVs), max(0, CVo − CVs) or CVo, CV of requested
    (o) and sold (s) by round; 1 with one round or none. Flatters inactivity

    Source: Market-Bench (arXiv 2604.05523)
    """
    mms01: float | None = figure("closeness of slogans to buyers, on 0 to 1", "share", short="slogan match, 0 to 1")
    """(1 + mms) / 2

    Null: no round with a slogan
    """
    attempts: int = figure("attempts", "visits")
    """visits of buyers to the seat for an item"""
    directed: int = figure("directed units", "units")
    """units that buyers wanted when they came to this seat"""
    units_won: int = figure("units won", "units")
    """units filled in the pass that settled the round"""
    stockout_in_stock: float = figure("stock-outs of held items", "share", "lower")
    """failed visits / visits, of items that were held when selling began; 0 without any"""
    cash_delta: float = figure("change of cash", "currency units")
    """money after the last close − initial funds; 0 before it"""
    wealth: float = figure("wealth", "currency units", "higher")
    """money and stock at cost after the last close; initial funds before the first"""
    roi: float = figure("return on initial funds", "share", "higher", short="return on funds")
    """(wealth − initial funds) / initial funds; 0 for 0/0"""
    share_fill: float = figure("share of all demand", "share", "higher")
    """units_sold / units wanted by all buyers of all seats; 0 for 0/0"""
    overspends: int = figure("bids above funds", "vectors", "lower")
    """bid vectors refused for want of funds or forfeited"""
    write_off: float = figure("written off", "currency units", "lower")
    """Σ of the cost of stock written off"""
    overpay_regret: float = figure("paid above sure-win prices", "currency units", "lower", short="overpaid")
    """Σ over settled lines of units won · max(0, price − least price that would have won them for sure), rivals' final
    bids fixed
    """
    underbid_regret: float = figure("missed by low bids", "currency units", "lower", short="missed by low bids")
    """Σ over settled lines of units lost · max(0, mean price of the round − sure-win price of all units asked for),
    rivals frozen: lost units would have pressed that price, and may not have sold
    """
    bankrupt_in: int | None = figure("bankruptcy", "round")
    """the round in which the seat went out of business

    Null: it did not
    """
    profits: list[float] = figure("profit by round", "currency units", "higher")
    """by closed round"""
    revenues: list[float] = figure("revenue by round", "currency units")
    """by closed round"""
    wealths: list[float] = figure("wealth by round", "currency units", "higher")
    """by closed round, money and stock at cost after it"""
    sold: list[int] = figure("sold by round", "units")
    """by closed round, all items"""
    requested: list[int] = figure("requested by round", "units")
    """by closed round, units asked for in the settling pass, forfeited vectors too"""
    won: list[int] = figure("won by round", "units")
    """by closed round, units filled in the settling pass"""
    osi_by_round: list[float] = figure("order stability by round", "share", "higher")
    """as osi, over the closed rounds up to this one

    Source: Market-Bench (arXiv 2604.05523)
    """
    mms_by_round: list[float | None] = figure("slogan's closeness to buyers by round", "cosine")
    """as mms, of the round's slogan and buyers

    Null: an entry is null in a round without a slogan
    Source: Market-Bench (arXiv 2604.05523)
    """


class SupplyChainMarket(MarketOutcome):
    """All retailers together after the last round, and by round: inequality, supply and demand, prices, slogans."""

    embedder: str | None = figure("embedder", "name")
    """what measures the similarity of slogans and personas

    Null: the scenario cannot be read
    """
    tau: float | None = figure("temperature", "number")
    """the scenario's temperature: how sharply buyers tell slogans apart

    Null: the scenario cannot be read
    """
    gate: str | None = figure("gate", "name")
    """inert where slogans cannot matter, else active

    Null: the scenario cannot be read
    """
    wealth_gini: float | None = figure("Gini of wealth", "index, 0 to 1 − 1/N", on="compare")
    """Σ_i Σ_j abs(x_i − x_j) / (2 · N · Σ x) after the last close; 0 where the sum is 0

    Null: no round has closed
    """
    wealth_theil: float | None = figure("Theil of wealth", "index, 0 to ln N")
    """mean of r · ln r, r = x / mean; 0 where the sum is 0

    Null: no round has closed
    """
    wealth_cv: float | None = figure("variation of wealth", "index, 0 to sqrt(N − 1)")
    """population deviation / mean; 0 where the sum is 0

    Null: no round has closed
    """
    wealth_hhi: float | None = figure("Herfindahl of wealth", "index, 0 to 1")
    """Σ of squared shares; 1/N is equal

    Null: no round has closed, or the sum is 0
    """
    wealth_cr4: float | None = figure("share of the four wealthiest", "share")
    """Σ of the four largest shares

    Null: no round has closed, or the sum is 0
    """
    wealth_mobility: float | None = figure("mobility of wealth", "ranks")
    """mean over rounds from 2 on of the mean absolute change of rank, equal values at the mean of their ranks

    Null: fewer than two rounds have closed
    """
    revenue_gini: float | None = figure("Gini of revenue", "index, 0 to 1 − 1/N", on="compare")
    """wealth_gini of cumulative revenue

    Null: no round has closed
    """
    revenue_theil: float | None = figure("Theil of revenue", "index, 0 to ln N")
    """wealth_theil of cumulative revenue

    Null: no round has closed
    """
    revenue_cv: float | None = figure("variation of revenue", "index, 0 to sqrt(N − 1)")
    """wealth_cv of cumulative revenue

    Null: no round has closed
    """
    revenue_hhi: float | None = figure("Herfindahl of revenue", "index, 0 to 1")
    """wealth_hhi of cumulative revenue

    Null: no round has closed, or the sum is 0
    """
    revenue_cr4: float | None = figure("revenue share of the four largest", "share")
    """wealth_cr4 of cumulative revenue

    Null: no round has closed, or the sum is 0
    """
    revenue_mobility: float | None = figure("mobility of revenue", "ranks")
    """wealth_mobility of cumulative revenue

    Null: fewer than two rounds have closed
    """
    equal_hhi: float | None = figure("Herfindahl of an equal split", "index")
    """1 / N

    Null: there is no seat
    """
    equal_cr4: float | None = figure("share of four of equals", "share")
    """min(4, N) / N

    Null: there is no seat
    """
    active_ratio: float | None = figure("active seats", "share")
    """mean over rounds of seats that sold / N

    Null: no round has closed
    """
    unmet: float | None = figure("unmet demand", "share", "lower", on="compare")
    """mean over rounds of 1 − units sold / units wanted

    Null: no round in which anything was wanted
    """
    supply_sold: float | None = figure("supply sold", "share", on="compare")
    """mean over rounds of units won in the settling pass / supply

    Null: no round with supply
    """
    mean_markup: float | None = figure("mean markup", "share", on="compare")
    """mean over rounds of Σ revenue / Σ cost of goods sold − 1

    Null: nothing was ever sold
    """
    slogan_convergence: float | None = figure("likeness of slogans", "cosine", on="compare")
    """mean pairwise lexical cosine of the slogans that stand in the last round, whatever the embedder

    Null: fewer than two slogans stand
    Source: Market-Bench (arXiv 2604.05523)
    """
    profit: float = figure("profit of all", "currency units", "higher")
    """Σ of pi"""
    profit_cr4: float | None = figure("four largest profits", "share")
    """profit of the four seats that earned most / profit; above 1 where others lost

    Null: profit is not above 0
    Source: Market-Bench (arXiv 2604.05523)
    """
    wealth_by_round: list[Inequality] = figure("inequality of wealth by round", "record")
    """by closed round, the five indices below"""
    revenue_by_round: list[Inequality] = figure("inequality of revenue by round", "record")
    """by closed round, the five indices below, of cumulative revenue"""
    wealth_mobility_by_round: list[float | None] = figure("mobility of wealth by round", "ranks")
    """mean absolute change of rank since the round before

    Null: the first entry is null
    """
    revenue_mobility_by_round: list[float | None] = figure("mobility of revenue by round", "ranks")
    """the same of cumulative revenue

    Null: the first entry is null
    """
    active_ratio_by_round: list[float | None] = figure("active seats by round", "share")
    """seats that sold / N

    Null: an entry is null without seats
    """
    unmet_by_round: list[float | None] = figure("unmet demand by round", "share", "lower")
    """1 − units sold / units wanted

    Null: an entry is null where nothing was wanted
    """
    supply_sold_by_round: list[float | None] = figure("supply sold by round", "share")
    """units won in the settling pass / supply

    Null: an entry is null without supply
    """
    mean_markup_by_round: list[float | None] = figure("markup by round", "share")
    """Σ revenue / Σ cost of goods sold − 1

    Null: an entry is null where nothing was sold
    """
    slogan_convergence_by_round: list[float | None] = figure("likeness of slogans by round", "cosine")
    """as slogan_convergence, after the round

    Null: an entry is null with fewer than two slogans
    """
    partial: bool = figure("partial", "yes or no")
    """fewer rounds closed than the scenario asks for"""


class SupplyChainBeside(BaseModel):
    """What a seat has beside references, on the same scenario and seed."""

    pi_norm: float | None = figure(
        "normalised profit",
        "share",
        "higher",
        caution="0 is floor_bidder, 1 a reference that knows hidden facts, but is no maximum: 1 can be exceeded",
    )
    """(Π − Π of floor_bidder) / (Π of the reference − Π of floor_bidder), same seat, luck and rivals; the reference is
    the policy oracle, which knows hidden facts and is no maximum: above 1 is possible

    Null: a reference was not played, it earned no more than floor_bidder, or one plays every seat
    """


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


def alone(play: SupplyPlay, place: int) -> dict[SeatId, SupplyChainSeat]:
    """Every retailer over one closed round, the one at `place`; its osi is that of the rounds up to there."""
    whole = play._replace(rounds=play.rounds[: place + 1])
    one = play._replace(rounds=[play.rounds[place]])
    return {
        seat: _seat(one, seat).model_copy(update={"osi": _orders(whole.of(seat), seat, play.scenario)["osi"]})
        for seat in play.seats
    }


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
