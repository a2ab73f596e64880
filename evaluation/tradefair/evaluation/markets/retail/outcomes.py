"""Outcomes of the retail market from the facts of a trace. T = closed days.

Each small function makes one group of figures; the models put the groups together, so that a missing or a misspelt
figure is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tradefair.contract import SeatId, TraceError
from tradefair.contract.money import currency
from tradefair.evaluation.figure import figure
from tradefair.evaluation.figures import heading_of
from tradefair.evaluation.markets.retail.modes.conversion import judged_prices
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.profit import GoodsProfit, ProfitDecomposition, decompose
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome, common_seat
from tradefair.evaluation.read.arithmetic import mean, ratio, rounded
from tradefair.evaluation.reading import TraceReading
from tradefair.evaluation.table import Table, number_text
from tradefair.retail.model import DayFacts
from tradefair.tracestore import Trace


class RetailSeat(SeatOutcome):
    """The manager's result: worth in currency units, sales, empty shelves, calls, parts of the gain.

    Letters: T is the number of closed days; sums run over them.
    """

    survival_days: int = figure("days survived", "days", "higher", on="table compare")
    """T

    Source: RetailBench
    """
    net_worth_final: float | None = figure("final net worth", "currency units", "higher", on="table compare")
    """funds at the start + gain: cash, stock at its aged cost, open orders at cost

    Null: no day has closed
    Source: RetailBench
    """
    gain: float | None = figure("gain", "currency units", "higher", over="total", on="table compare")
    """net worth at the end (at the last close of an open episode) − funds at the start

    Null: no day has closed
    """
    lowest_funds: float | None = figure("lowest cash", "currency units", "higher")
    """least cash after a close

    Null: no day has closed
    """
    lowest_funds_day: int | None = figure("day of the lowest cash", "day")
    """the first day of lowest_funds, from 1

    Null: no day has closed
    """
    units_sold: int = figure("units sold", "units", on="table compare")
    """Σ of units sold"""
    sold_products_per_day: float | None = figure("products sold a day", "products")
    """mean over days of the products with a sale

    Null: no day has closed
    Source: RetailBench
    """
    return_ratio: float | None = figure("return ratio", "share", "lower", over="share", on="table compare")
    """units returned / units sold

    Null: nothing was sold
    Source: RetailBench
    """
    expired_ratio: float | None = figure("expired ratio", "share", "lower")
    """units expired / (units sold + units expired)

    Null: nothing was sold and nothing expired
    Source: RetailBench
    """
    stockout_days: int = figure("stock-out days", "days", "lower")
    """days on which a product ran out; an empty shelf cannot, so read it with empty_shelf_rate"""
    empty_shelf_rate: float | None = figure("empty shelf rate", "share", "lower")
    """product-days on the shelf without stock in the morning / product-days on the shelf

    Null: nothing was on the shelf
    """
    short_units: int = figure("short units", "units", "lower")
    """Σ of demand above the opening stock, of products that had some"""
    empty_demand: float = figure(
        "demand of empty shelves",
        "units",
        "lower",
        caution="latent demand of empty shelves, expected: no customer was there to be counted",
    )
    """Σ of the expected demand of shelf products without stock: no customer was there to be counted"""
    net_lost_units: float = figure(
        "net lost units",
        "units",
        "lower",
        caution="demand beyond the day's stock, and the expected sales that categories lost by empty shelves",
    )
    """short_units + the expected sales that categories lost by empty shelves"""
    lost_sales_rate: float | None = figure("lost sales rate", "share", "lower")
    """net_lost_units / (units_sold + net_lost_units)

    Null: nothing was sold or lost
    """
    order_lines: int = figure("order lines", "lines")
    """executed lines of place_order, each of one product"""
    price_distance: float | None = figure(
        "distance from the best price in sight", "per cent", "lower", short="price distance"
    )
    """mean of 100·|p − p*| / p* over price changes up to 50.00, p* the most profitable list price of the last 30 days

    Null: no price was set, or none of these has a p*
    """
    price_close: float | None = figure(
        "price closeness",
        "share",
        "higher",
        caution="relative to the runs that it stands next to: other runs, other numbers",
        scales="price_distance",
    )
    """1 − price_distance / its largest of the compared runs

    Null: a trace by itself: only a comparison or a leaderboard has several runs
    Source: RetailBench (PriceClose)
    """
    direct_calls_per_day: float | None = figure("direct calls a day", "calls a day")
    """calls of the agent itself / T, execute_code as one

    Null: no day has closed
    Source: RetailBench
    """
    total_calls_per_day: float | None = figure("all calls a day", "calls a day")
    """direct calls and those inside programs / T

    Null: no day has closed
    """
    note_calls: int = figure("note calls", "calls")
    """calls that wrote or read notes"""
    rejected_actions: int = figure("rejected actions", "calls", "lower")
    """actions that the rules refused"""
    invalid_actions: int = figure("invalid actions", "calls", "lower")
    """actions whose arguments were invalid"""
    lapsed_days: int = figure("lapsed days", "days", "lower")
    """Σ of lapses"""
    input_tokens: int | None = figure("input tokens", "tokens")
    """Σ over the model calls that the runner noted

    Null: no model was called, or one call does not say
    """
    output_tokens: int | None = figure("output tokens", "tokens")
    """as input_tokens, of replies

    Null: no model was called, or one call does not say
    """
    tokens_per_day: float | None = figure("tokens a day", "tokens a day")
    """(input_tokens + output_tokens) / T

    Null: no model was called, one call does not say, or no day has closed
    """
    profit: ProfitDecomposition | None = figure("parts of the gain", "record")
    """the fields below; they sum to the gain

    Null: no day has closed, or the scenario cannot be read
    """


class RetailMarket(MarketOutcome):
    """The store and its customers over the closed days."""

    products: int | None = figure("products", "products")
    """products of the store

    Null: the books cannot be read
    """
    shelf_places: int | None = figure("shelf places", "places")
    """places that the scenario gives

    Null: the scenario cannot be read
    """
    customers: int = figure("customers", "customers")
    """Σ of visitors by day"""
    demand_units: int = figure("demand", "units")
    """Σ of the drawn demand, of products with stock in the morning"""
    mean_shelf_products: float | None = figure("products on the shelf", "products")
    """mean over days

    Null: no day has closed
    """
    mean_waiting_units: float | None = figure("units waiting", "units")
    """mean over days of units that wait for a shelf place

    Null: no day has closed
    """
    net_worth_path: list[int] = figure("net worth by day", "cents", "higher")
    """after each close"""
    funds_path: list[int] = figure("cash by day", "cents")
    """after each close"""


class RetailBeside(BaseModel):
    """What a seat has beside references, on the same scenario and seed."""

    share_of_oracle: float | None = figure(
        "share of the reference",
        "share",
        "higher",
        short="share of oracle",
        caution="0 is passive, 1 a reference that knows hidden facts and is no maximum: more than 1 is possible",
    )
    """(gain − gain of passive) / (gain of the reference − gain of passive), same scenario and seed; the reference is
    the policy oracle, which knows hidden facts and is no maximum: above 1 is possible

    Null: a reference was not played, or it earned no more than passive
    """


RetailOutcome = Outcome[RetailSeat, RetailMarket]


def retail_outcome(trace: Trace, version: str) -> RetailOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    reading, play = read_retail(trace)
    tokens = _tokens(trace, reading)
    seats = {seat: _seat(reading, play, seat, tokens.get(seat)) for seat in reading.conduct}
    # A sound trace explains its gain to the cent, so any rest is a finding about the trace.
    for outcome in seats.values():
        if outcome.profit is not None and outcome.profit.unexplained_cents:
            reading.found(None, f"{outcome.profit.unexplained_cents} cents of the gain are not explained by the books")
    return RetailOutcome.of(reading, version, seats, _market(play))


def relative_to_references(seat: SeatId, outcomes: Mapping[str, RetailOutcome]) -> dict[str, dict[str, float | None]]:
    """share_of_oracle of every labelled outcome of the same scenario and seed: 0 = passive, 1 = the policy oracle."""
    gains = {label: outcome.seats[seat].gain for label, outcome in outcomes.items()}
    # The labels under which references are played.
    low, high = gains.get("policy:passive"), gains.get("policy:oracle")
    return {label: {"share_of_oracle": share_of_oracle(gain, low, high)} for label, gain in gains.items()}


def share_of_oracle(gain: float | None, passive: float | None, oracle: float | None) -> float | None:
    """(gain − gain_passive)/(gain_oracle − gain_passive); null if the denominator is not positive.

    All three in currency units; below 0 is worse than doing nothing, above 1 better than that reference.
    """
    # A reference that earns no more than passive gives no scale: the quotient would explode or change its sign.
    if gain is None or passive is None or oracle is None or oracle <= passive:
        return None
    return ratio(gain - passive, oracle - passive)


# --- the manager ----------------------------------------------------------------------------------------------------


def _seat(reading: TraceReading, play: RetailPlay, seat: SeatId, tokens: tuple[int, int] | None) -> RetailSeat:
    """The manager's result from the closed days."""
    facts = [day.facts for day in play.days]
    profit = decompose(play)
    return RetailSeat(
        **common_seat(reading, seat),
        **_money_of(play, facts, profit),
        **_sales(facts),
        **_shelf(facts),
        **_decisions(play, facts),
        **_calls(play),
        survival_days=play.length,
        lapsed_days=sum(reading.conduct[seat].lapses.values()),
        input_tokens=tokens[0] if tokens else None,
        output_tokens=tokens[1] if tokens else None,
        tokens_per_day=ratio(sum(tokens), play.length) if tokens else None,
        profit=profit,
    )


def _money_of(play: RetailPlay, facts: Sequence[DayFacts], profit: ProfitDecomposition | None) -> dict[str, Any]:
    """Worth and cash in currency units; null before the first day closed."""
    # Without the books there is no gain, yet funds of each close may still be known.
    if profit is None or play.scenario is None:
        gain = worth = None
    else:
        gain, worth = currency(profit.gain_cents), currency(profit.gain_cents + play.scenario.funds_start_cents)
    funds = [day.funds_cents for day in facts]
    return {
        "net_worth_final": worth,
        "gain": gain,
        "lowest_funds": currency(min(funds)) if funds else None,
        # Days count from 1.
        "lowest_funds_day": funds.index(min(funds)) + 1 if funds else None,
    }


def _sales(facts: Sequence[DayFacts]) -> dict[str, Any]:
    """Units sold, returned and expired, as shares and per day."""
    units = sum(sum(day.product.units) for day in facts)
    expired = sum(sum(day.product.expired) for day in facts)
    return {
        "units_sold": units,
        "sold_products_per_day": mean(sum(sold > 0 for sold in day.product.units) for day in facts),
        "return_ratio": ratio(sum(sum(day.product.returned) for day in facts), units),
        "expired_ratio": ratio(expired, units + expired),
    }


def _shelf(facts: Sequence[DayFacts]) -> dict[str, Any]:
    """What empty shelves cost in sales, in units."""
    units = sum(sum(day.product.units) for day in facts)
    lost = sum(day.net_lost_units for day in facts)
    empty = sum(len(day.empty_shelf) for day in facts)
    return {
        "stockout_days": sum(bool(day.stock_outs) for day in facts),
        "empty_shelf_rate": ratio(empty, sum(sum(day.product.on_shelf) for day in facts)),
        "short_units": sum(day.short_units for day in facts),
        "empty_demand": rounded(sum(day.empty_demand for day in facts)),
        "net_lost_units": rounded(lost),
        "lost_sales_rate": ratio(lost, units + lost),
    }


def _decisions(play: RetailPlay, facts: Sequence[DayFacts]) -> dict[str, Any]:
    """Executed order lines, and how far list prices lay from the best one in sight, in per cent of it."""
    distances = [choice.distance or 0.0 for choice in judged_prices(play)]
    return {
        "order_lines": sum(len(day.orders) for day in facts),
        "price_distance": None if play.unseen else mean(distances),
        # Of several runs together only: their comparison, or their leaderboard, fills it in.
        "price_close": None,
    }


def _calls(play: RetailPlay) -> dict[str, Any]:
    """Calls per day and refusals; days are the closed ones."""
    conduct = [day.conduct for day in play.days]
    direct = sum(day.calls for day in conduct)
    return {
        "direct_calls_per_day": ratio(direct, len(conduct)),
        "total_calls_per_day": ratio(direct + sum(day.inner_calls for day in conduct), len(conduct)),
        "note_calls": sum(day.notes for day in conduct),
        "rejected_actions": sum(day.rejected_actions for day in conduct),
        "invalid_actions": sum(day.invalid_actions for day in conduct),
    }


def _tokens(trace: Trace, reading: TraceReading) -> dict[SeatId, tuple[int, int] | None]:
    """Tokens in and out by seat, where the runner noted model calls; null where one of them does not say.

    A sum over the others would look like a cheap agent.
    """
    spent: dict[SeatId, tuple[int, int] | None] = {}
    try:
        for event in trace.agent_events():
            if event.get("kind") == "model_call":
                known, used = spent.get(event["seat"], (0, 0)), (event["input_tokens"], event["output_tokens"])
                if not all(amount is None or 0 <= amount < 2**53 for amount in used):
                    raise ValueError(f"a model call of {event['seat']} notes no number of tokens")
                # Once unknown for a seat, unknown for good.
                if known is not None:
                    spent[event["seat"]] = None if None in used else (known[0] + used[0], known[1] + used[1])
    except (TraceError, KeyError, TypeError, ValueError) as error:
        reading.found(None, f"the notes of the runner cannot be read: {error!r}"[:300])
    return spent


def _market(play: RetailPlay) -> RetailMarket:
    """The store and its customers over the closed days."""
    facts = [day.facts for day in play.days]
    return RetailMarket(
        products=len(play.categories) or None,
        shelf_places=play.scenario.shelf_places if play.scenario else None,
        customers=sum(day.customers for day in facts),
        demand_units=sum(sum(day.product.demand) for day in facts),
        mean_shelf_products=mean(sum(day.product.on_shelf) for day in facts),
        mean_waiting_units=mean(day.waiting_units for day in facts),
        net_worth_path=[day.net_worth_cents for day in facts],
        funds_path=[day.funds_cents for day in facts],
    )


# --- tables ---------------------------------------------------------------------------------------------------------


def retail_tables(outcome: RetailOutcome) -> list[Table]:
    """Figures that the seat's row leaves out, and the parts of the gain, whole and by category.

    The last two only where a day was closed under a scenario that can be read.
    """
    tables: list[Table] = []
    for seat in outcome.seats.values():
        tables.append(Table("stock, service and calls", ("outcome", "value"), _more(seat), _MORE))
        if seat.profit is not None:
            tables += [_waterfall(seat.profit), _categories(seat.profit)]
    return tables


_MORE = (
    "lowest_funds",
    "lowest_funds_day",
    "sold_products_per_day",
    "expired_ratio",
    "stockout_days",
    "empty_shelf_rate",
    "short_units",
    "empty_demand",
    "net_lost_units",
    "lost_sales_rate",
    "order_lines",
    "price_distance",
    "direct_calls_per_day",
    "total_calls_per_day",
    "note_calls",
    "rejected_actions",
    "invalid_actions",
    "lapsed_days",
    "input_tokens",
    "output_tokens",
    "tokens_per_day",
)


def _more(seat: RetailSeat) -> list[tuple[str, str]]:
    """The figures of `_MORE` as rows of text."""
    return [(heading_of("retail", name), number_text(getattr(seat, name))) for name in _MORE]


def _waterfall(profit: ProfitDecomposition) -> Table:
    """The parts of the gain in currency units, in the order of the formula."""
    rows: Sequence[tuple[str, int]] = (
        ("revenue", profit.revenue_cents),
        ("− refunds", profit.refunds_cents),
        ("− cost of goods sold", profit.cost_of_goods_cents),
        ("− cost of expired", profit.expiry_cost_cents),
        ("− rent", profit.rent_cents),
        ("− ageing allowance", profit.ageing_allowance_cents),
        ("= gain", profit.gain_cents),
    )
    return Table("profit decomposition", ("part", "amount"), [(name, _money(cents)) for name, cents in rows])


def _categories(profit: ProfitDecomposition) -> Table:
    """A row per category with trade, the most profitable first; profit before rent."""
    columns = ("category", "units", "revenue", "refunds", "cost of goods", "expired", "ageing", "profit")
    ranked = sorted(profit.by_category.items(), key=lambda item: (-(item[1].profit_cents or 0), item[0]))
    # A category that was never bought has a row of zeros.
    rows = [_goods_row(name, goods) for name, goods in ranked if goods.units or goods.expired or goods.profit_cents]
    return Table("profit by category, before rent", columns, rows)


def _goods_row(name: str, goods: GoodsProfit) -> tuple[str, ...]:
    """Amounts of one category in currency units; a dash where the trace does not tell."""
    amounts = (
        goods.revenue_cents,
        goods.refunds_cents,
        goods.cost_of_goods_cents,
        goods.expiry_cost_cents,
        goods.ageing_allowance_cents,
        goods.profit_cents,
    )
    return name, str(goods.units), *("–" if cents is None else f"{currency(cents):.2f}" for cents in amounts)


def _money(cents: int) -> str:
    """An amount in cents as currency units, with two decimals."""
    return f"{currency(cents):,.2f}"
