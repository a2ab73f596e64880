"""What the order book's tools answer, and what closures tell. Prices and money are in ticks."""

from __future__ import annotations

from typing import Literal

from tradefair.contract import Result, SeatId

# Class docstrings and field names are part of the published tool schemas: another wording is another schema, and makes
# earlier traces foreign. Notes for developers are comments therefore.

Warning_ = Literal["through_value"]


class RulesView(Result):
    """The rules of this market."""

    kind: str
    periods: int
    price_max: int
    max_quantity: int
    turns: str
    orders: str
    prices: str
    money: str
    shown: str
    dividends: list[int] | None
    final_value: int | None


class TurnPart(Result):
    """The market's part of `view_turn`: period, own step, best quotes and the last price."""

    periods: int
    step: int
    best_bid: int | None
    best_ask: int | None
    last_price: int | None


class MyAccount(Result):
    """The own account; schedules: unit values or costs that are left, asset: cash, shares, what is free of them.

    `limit` is the worst price that is accepted; null where there is none.
    """

    role: str
    next_unit_value: int | None
    limit: int | None
    remaining: list[int]
    cash: int | None
    free_cash: int | None
    shares: int | None
    free_shares: int | None
    fundamental_value: float | None
    profit_so_far: int
    price_max: int
    period: int
    periods_left: int
    steps_left: int | None


class Level(Result):
    """Total quantity at one price."""

    price: int
    quantity: int


class ShoutRow(Result):
    """An order as it arrived; `accepted`: it traded at once."""

    number: int
    side: str
    price: int
    accepted: bool
    mine: bool


class BookView(Result):
    """Resting orders by price, best first, without names; `arrived`: the latest orders of all seats, oldest first."""

    best_bid: int | None
    best_ask: int | None
    spread: int | None
    last_price: int | None
    bids: list[Level]
    asks: list[Level]
    arrived: list[ShoutRow]
    period: int
    step: int


class TradeRow(Result):
    """A trade; `aggressor` is the side of the order that came last, `mine` whether the own seat traded."""

    number: int
    period: int
    step: int
    price: int
    quantity: int
    aggressor: str
    mine: bool
    buyer: SeatId | None
    seller: SeatId | None


class Trades(Result):
    """Trades, newest first; pass `next_cursor` as `cursor` to go on."""

    trades: list[TradeRow]
    total: int
    next_cursor: int | None


class OrderRow(Result):
    """An own resting order; `ahead` trades before it at its price or a better one."""

    order: int
    side: str
    price: int
    quantity: int
    ahead: int


class MyOrders(Result):
    """Own resting orders, oldest first."""

    orders: list[OrderRow]


class FillRow(Result):
    """Belief that an order at this price would trade at once or soon; null where nothing was counted."""

    price: int
    probability: float | None
    supporting: int
    opposing: int


class FillEstimate(Result):
    """Counts over the last shouts of all seats (Gjerstad & Dickhaut 1998)."""

    side: str
    shouts: int
    rows: list[FillRow]


class ValueOf(Result):
    """What trading the next units at this price would earn; asset: the change of cash and shares at FV, buying."""

    price: int
    quantity: int
    profit: float | None


class PeriodRow(Result):
    """One period's trades; null without a trade. `fundamental_value` is of its beginning."""

    period: int
    volume: int
    mean: float | None
    first: int | None
    last: int | None
    high: int | None
    low: int | None
    dividend: int | None
    fundamental_value: float | None


class Periods(Result):
    """Periods, newest first, the open one among them."""

    periods: list[PeriodRow]


class Filled(Result):
    """One trade of the own order, at the resting order's price."""

    price: int
    quantity: int


class OrderReceipt(Result):
    """What became of the order: fills, what rests under which number (null: nothing), the profit of the fills."""

    order: int | None
    fills: list[Filled]
    resting: int
    profit: int
    warning: Warning_ | None


class CancelReceipt(Result):
    """What was taken off the book."""

    order: int
    quantity: int


class PassReceipt(Result):
    """The step is over."""

    period: int
    step: int


# --- events -----------------------------------------------------------------------------------------------------------


class Placed(Result):
    """A quantity that came to or left a price."""

    side: str
    price: int
    quantity: int


class PublicTrade(Result):
    """A trade as all see it; seats only where the scenario names them."""

    price: int
    quantity: int
    aggressor: str
    buyer: SeatId | None
    seller: SeatId | None


class StepClosed(Result):
    """What a step changed; nothing for a pass."""

    period: int
    step: int
    trades: list[PublicTrade]
    placed: list[Placed]
    cancelled: list[Placed]
    best_bid: int | None
    best_ask: int | None


class PeriodClosed(Result):
    """The last step of a period, and the period as a whole."""

    last_step: StepClosed
    summary: PeriodRow


class OrderFact(Result):
    """One message to the book, with its seat."""

    step: int
    seat: SeatId
    act: str
    order: int
    side: str
    price: int
    quantity: int
    rest: bool
    fills: list[tuple[int, int, int]]


class OpeningFacts(Result):
    """Schedules, or endowments as (cash, shares); benchmarks of one period, zero for an asset."""

    values: dict[SeatId, list[int]]
    endowments: dict[SeatId, tuple[int, int]]
    max_surplus: int
    q_star: int
    p_lo: int | None
    p_hi: int | None
    attempts: int


class PeriodFacts(Result):
    """The truth of a period; profit, cash and shares are those after it, `asked` is who was asked in each step."""

    period: int
    messages: list[OrderFact]
    steps: int
    asked: list[SeatId | None]
    dividend: int | None
    profit: dict[SeatId, int]
    cash: dict[SeatId, int]
    shares: dict[SeatId, int]
    opening: OpeningFacts | None


class EndingFacts(Result):
    """Totals at the end."""

    periods_closed: int
    profit: dict[SeatId, int]
    cash: dict[SeatId, int]
    shares: dict[SeatId, int]
    opening: OpeningFacts
