"""What a trader may see: its own account and orders, the book without names, trades. Nothing else enters any answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean

from tradefair.contract import Brief, IllegalAction, SeatId
from tradefair.contract.tool import built
from tradefair.order_book.answers.results import (
    BookView,
    FillEstimate,
    FillRow,
    Level,
    MyAccount,
    MyOrders,
    OrderRow,
    PeriodRow,
    Periods,
    Placed,
    PublicTrade,
    RulesView,
    ShoutRow,
    StepClosed,
    TradeRow,
    Trades,
    TurnPart,
    ValueOf,
)
from tradefair.order_book.engine.book import Side
from tradefair.order_book.model import OrderBookScenario, Shout, Trade
from tradefair.order_book.state import State
from tradefair.trading.answers import rows_fitting

_DEFAULT_TRADES, _DEFAULT_SHOUTS = 20, 20
_MOST_SHOUTS = 500
_DECIMALS = 3


def rules(scenario: OrderBookScenario) -> RulesView:
    """The public rules."""
    asset = scenario.kind == "asset"
    return RulesView(
        kind=scenario.kind,
        periods=scenario.periods,
        price_max=scenario.price_max,
        max_quantity=scenario.max_quantity,
        turns=_TURNS[scenario.arrival].format(sweeps=scenario.sweeps),
        orders=(
            "An order trades at once with the other side of the book while prices meet; what is left rests, unless "
            "rest = false. "
            + ("A new order replaces your resting one. " if scenario.one_order else "")
            + ("After a trade all orders lapse. " if scenario.after_trade == "clear" else "")
            + "All orders lapse at the end of a period."
        ),
        prices="Best price first, at one price the oldest order first. A trade has the resting order's price.",
        money=_ASSET if asset else _SCHEDULES.format(rule=_THROUGH[scenario.budget_constraint]),
        shown="All see prices and quantities of the book and of trades"
        + (", and who traded." if scenario.identities else ", never whose they are."),
        dividends=list(scenario.dividends) if asset else None,
        final_value=scenario.final_value if asset else None,
    )


_TURNS = {
    "sweeps": "In each of {sweeps} sweeps of a period every seat has one step, in an order drawn afresh each sweep.",
    "rotation": "In each of {sweeps} sweeps of a period every seat has one step; the first seat moves on each sweep.",
    "random": "In each step a seat drawn at random may act.",
    "ticks": "All may act at any time; {sweeps} ticks of a clock end a period.",
}
_SCHEDULES = (
    "A buyer earns value - price, a seller price - cost, for the next unit of its schedule; schedules begin afresh "
    "each period. A trade through the own value {rule}."
)
_THROUGH = {True: "is refused", False: "is accepted and loses"}
_ASSET = (
    "Bids are backed by cash, asks by shares. At the end of a period each share pays a dividend, each of the listed "
    "ones equally likely; after the last period it pays final_value and is void."
)


def brief(scenario: OrderBookScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics."""
    role = scenario.roster[seat]
    if scenario.kind == "asset":
        return Brief(
            role=f"You are {seat}, one of {scenario.traders} traders in a market for shares.",
            objective="End with as much cash as you can: trades, dividends and what a share pays at the end.",
            round_semantics=f"There are {scenario.periods} periods. {rules(scenario).turns} "
            "Dividends are paid after each.",
        )
    unit = "value" if role == "buyer" else "cost"
    return Brief(
        role=(
            f"You are {seat}, a {role} among {scenario.buyers} buyers and {scenario.sellers} sellers. You have a "
            f"private {unit} for each unit that you may {'buy' if role == 'buyer' else 'sell'} in a period."
        ),
        objective="Earn as much as you can over all periods together.",
        round_semantics=f"There are {scenario.periods} periods. {rules(scenario).turns}",
    )


def turn_part(state: State) -> TurnPart:
    """Step, best quotes and the last price."""
    return built(
        TurnPart,
        periods=state.scenario.periods,
        step=state.step,
        best_bid=state.book.best("buy"),
        best_ask=state.book.best("sell"),
        last_price=state.trades[-1].price if state.trades else None,
    )


def my_account(state: State, seat: SeatId) -> MyAccount:
    """The seat's own data."""
    asset, scenario = state.asset, state.scenario
    units = [] if asset else list(state.values[seat][state.used[seat] :])
    return built(
        MyAccount,
        role=state.roles[seat],
        next_unit_value=units[0] if units else None,
        limit=units[0] if units and scenario.budget_constraint else None,
        remaining=units,
        cash=state.cash[seat] if asset else None,
        free_cash=state.free_cash(seat) if asset else None,
        shares=state.shares[seat] if asset else None,
        free_shares=state.free_shares(seat) if asset else None,
        fundamental_value=scenario.fundamental(state.period) if asset else None,
        profit_so_far=gained(state, seat),
        price_max=scenario.price_max,
        period=state.period,
        periods_left=scenario.periods - state.period + 1,
        steps_left=None if scenario.arrival == "ticks" else state.steps - state.step + 1,
    )


def gained(state: State, seat: SeatId) -> int:
    """Ticks earned by trades; of an asset the change of cash since the endowment."""
    return state.cash[seat] - state.endowed[seat][0] if state.asset else state.profit[seat]


def book_view(state: State, seat: SeatId, levels: int, since: int | None) -> BookView:
    """Prices and quantities of both sides, and the orders numbered above `since`. IllegalAction: too_many_rows."""
    # Rows are made once for all seats: everybody looks at the same orders again and again.
    state.shown += [_shout_row(shout, mine=False) for shout in state.shouts[len(state.shown) :]]
    first = max(0, len(state.shouts) - _DEFAULT_SHOUTS) if since is None else since
    last = first + (_DEFAULT_SHOUTS if since is None else _MOST_SHOUTS)
    arrived = state.shown[first:last]
    for place, shout in enumerate(state.shouts[first:last]):
        if shout.seat == seat:
            arrived[place] = _shout_row(shout, mine=True)
    bid, ask = state.book.best("buy"), state.book.best("sell")
    return built(
        BookView,
        best_bid=bid,
        best_ask=ask,
        spread=None if bid is None or ask is None else ask - bid,
        last_price=state.trades[-1].price if state.trades else None,
        bids=[built(Level, price=price, quantity=quantity) for price, quantity in state.book.depth("buy", levels)],
        asks=[built(Level, price=price, quantity=quantity) for price, quantity in state.book.depth("sell", levels)],
        arrived=arrived,
        period=state.period,
        step=state.step,
    )


def _shout_row(shout: Shout, *, mine: bool) -> ShoutRow:
    return built(ShoutRow, number=shout.number, side=shout.side, price=shout.price, accepted=shout.accepted, mine=mine)


def trades(state: State, seat: SeatId, last: int | None, period: int | None, cursor: int | None) -> Trades:
    """Trades, newest first; `cursor` is the number to go on from. IllegalAction: too_many_rows."""
    found = state.trades if period is None else [trade for trade in state.trades if trade.period == period]
    if cursor is not None:
        found = [trade for trade in found if trade.number <= cursor]
    asked = found[-(last or _DEFAULT_TRADES) :][::-1]
    named = state.scenario.identities
    rows = rows_fitting([_trade_row(trade, seat in _parties(trade), named) for trade in asked], last, "last or period")
    older = found[: len(found) - len(rows)]
    return built(Trades, trades=rows, total=len(found), next_cursor=older[-1].number if older else None)


@lru_cache(4_096)
def _trade_row(trade: Trade, mine: bool, named: bool) -> TradeRow:
    # Every scripted trader asks for all trades at every step.
    buyer, seller = _parties(trade) if named else (None, None)
    return built(
        TradeRow,
        number=trade.number,
        period=trade.period,
        step=trade.step,
        price=trade.price,
        quantity=trade.quantity,
        aggressor=trade.aggressor,
        mine=mine,
        buyer=buyer,
        seller=seller,
    )


def _parties(trade: Trade) -> tuple[SeatId, SeatId]:
    """Buyer and seller."""
    return (trade.taker, trade.maker) if trade.aggressor == "buy" else (trade.maker, trade.taker)


def my_orders(state: State, seat: SeatId) -> MyOrders:
    """Own resting orders with their place."""
    return built(
        MyOrders,
        orders=[
            built(
                OrderRow,
                order=order.number,
                side=order.side,
                price=order.price,
                quantity=order.quantity,
                ahead=state.book.ahead(order.number),
            )
            for order in state.book.of(seat)
        ],
    )


def estimate_fill(state: State, side: Side, prices: Sequence[int], window: int) -> FillEstimate:
    """The belief of Gjerstad & Dickhaut (1998) over the last shouts, per price. IllegalAction: price_off_grid."""
    if (highest := max(prices)) > state.scenario.price_max:
        most = state.scenario.price_max
        raise IllegalAction("price_off_grid", f"{highest} is above price_max, {most}", hint=f"1 to {most}")
    shouts = state.shouts[-window:]
    rows: list[FillRow] = []
    for price in prices:
        supporting, opposing = counts(shouts, side, price)
        known = supporting + opposing
        rows.append(
            FillRow(
                price=price,
                probability=round(supporting / known, 6) if known else None,
                supporting=supporting,
                opposing=opposing,
            )
        )
    return FillEstimate(side=side, shouts=len(shouts), rows=rows)


def counts(shouts: Sequence[Shout], side: Side, price: int) -> tuple[int, int]:
    """Shouts that speak for and against a trade at `price`.

    For a bid: accepted bids and all asks at or below it; rejected bids at or above it. Asks mirrored.
    """
    sign = 1 if side == "buy" else -1
    supporting = opposing = 0
    for shout in shouts:
        better = sign * (price - shout.price)
        if shout.side != side or shout.accepted:
            supporting += better >= 0
        else:
            opposing += better <= 0
    return supporting, opposing


def value_of(state: State, seat: SeatId, price: int, quantity: int) -> ValueOf:
    """What the next units would earn at a price; null beyond the schedule."""
    if state.asset:
        worth = state.scenario.fundamental(state.period)
        return ValueOf(price=price, quantity=quantity, profit=round(quantity * (worth - price), _DECIMALS))
    side = state.side_of(seat)
    known = side is not None and quantity <= state.left(seat)
    return ValueOf(price=price, quantity=quantity, profit=state.gain(seat, side, price, quantity) if known else None)  # pyright: ignore[reportArgumentType]


def periods(state: State, last: int) -> Periods:
    """Trades by period, newest first."""
    first = max(1, state.period - last + 1)
    return Periods(periods=[period_row(state, number) for number in range(state.period, first - 1, -1)])


def period_row(state: State, number: int) -> PeriodRow:
    """One period's trades."""
    found = [trade for trade in state.trades if trade.period == number]
    volume = sum(trade.quantity for trade in found)
    prices = [trade.price for trade in found]
    asset = state.asset
    return PeriodRow(
        period=number,
        volume=volume,
        mean=round(fmean(price for trade in found for price in [trade.price] * trade.quantity), _DECIMALS)
        if found
        else None,
        first=prices[0] if prices else None,
        last=prices[-1] if prices else None,
        high=max(prices, default=None),
        low=min(prices, default=None),
        dividend=state.dividends[number - 1] if asset and number <= len(state.dividends) else None,
        fundamental_value=state.scenario.fundamental(number) if asset else None,
    )


def step_closed(state: State) -> StepClosed:
    """What the step that ends now has changed, as all see it."""
    named = state.scenario.identities
    placed: list[Placed] = []
    cancelled: list[Placed] = []
    for message in state.messages[state.said :]:
        met = sum(quantity for _, _, quantity in message.fills)
        row = built(Placed, side=message.side, price=message.price, quantity=message.quantity - met)
        if message.fills and state.scenario.after_trade == "clear":
            placed.clear()
        elif message.act != "order":
            # An order that is given again as it is takes nothing off the book.
            cancelled += [row] * (row.quantity > 0)
        elif message.rest and row.quantity:
            placed.append(row)
    shown: list[PublicTrade] = []
    for trade in state.trades[state.told :]:
        buyer, seller = _parties(trade)
        shown.append(
            built(
                PublicTrade,
                price=trade.price,
                quantity=trade.quantity,
                aggressor=trade.aggressor,
                buyer=buyer if named else None,
                seller=seller if named else None,
            )
        )
    return built(
        StepClosed,
        period=state.period,
        step=state.step,
        trades=shown,
        placed=placed,
        cancelled=cancelled,
        best_bid=state.book.best("buy"),
        best_ask=state.book.best("sell"),
    )
