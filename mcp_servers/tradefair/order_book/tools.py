"""The order book's tools, thin handlers over views and rules, and its market type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from tradefair.contract import Bounds, Brief, EvidenceMap, InputRequest, Need, SeatId, ToolTable, tool
from tradefair.contract.policy import check_occupants
from tradefair.order_book import views
from tradefair.order_book.answers.results import (
    BookView,
    CancelReceipt,
    FillEstimate,
    MyAccount,
    MyOrders,
    OrderReceipt,
    PassReceipt,
    Periods,
    Trades,
    ValueOf,
)
from tradefair.order_book.model import MAX_PRICE, OrderBookScenario, Streams
from tradefair.order_book.policies import POLICIES
from tradefair.order_book.rules import OrderBook

_Price = Annotated[int, Field(ge=1, le=MAX_PRICE, description="whole ticks")]
_Quantity = Annotated[int, Field(ge=1, le=1_000, description="whole units")]
_Period = Annotated[int, Field(ge=1, le=100)]
_Side = Annotated[Literal["buy", "sell"], Field(description="what the order does")]
_Order = Annotated[int, Field(ge=1, le=10_000_000, description="number of an own resting order")]


def _distinct(prices: list[int]) -> list[int]:
    if len(set(prices)) != len(prices):
        raise ValueError("prices must be distinct")
    return prices


_Prices = Annotated[
    list[_Price], Field(min_length=1, max_length=25, description="distinct prices to try"), AfterValidator(_distinct)
]


def _orders(scenario: OrderBookScenario) -> Mapping[str, Bounds]:
    return {
        "price": Bounds(maximum=scenario.price_max),
        "quantity": Bounds(maximum=scenario.max_quantity),
        "period": Bounds(maximum=scenario.periods),
    }


def _asked(scenario: OrderBookScenario) -> Mapping[str, Bounds]:
    return {"prices.*": Bounds(maximum=scenario.price_max)}


def _may_act(market: OrderBook, seat: SeatId) -> bool:
    return market.may_act(seat)


@tool("read", title="Own account", evidence=("own_account",), main=True)
def view_my_account(market: OrderBook, seat: SeatId) -> MyAccount:
    """Your unit values or costs that are left in this period, or your cash and shares; profit so far, steps left."""
    return views.my_account(market.state, seat)


@tool("read", title="Order book", evidence=("book",))
def view_book(
    market: OrderBook,
    seat: SeatId,
    *,
    levels: Annotated[int, Field(ge=1, le=50, description="prices per side")] = 10,
    since: Annotated[int, Field(ge=0, le=10_000_000, description="show orders that arrived after this number")]
    | None = None,
) -> BookView:
    """Best bid and ask, the last price, the quantity at each price, and the latest orders of all seats; no names.

    Without `since` the last 20 orders, else up to 500 of those after it.
    """
    return views.book_view(market.state, seat, levels, since)


@tool("read", title="Trades", evidence=("trades",))
def view_trades(
    market: OrderBook,
    seat: SeatId,
    *,
    last: Annotated[int, Field(ge=1, le=500, description="trades at most; left out: 20")] | None = None,
    period: Annotated[_Period, Field(description="of this period only")] | None = None,
    cursor: Annotated[int, Field(ge=1, le=10_000_000, description="next_cursor of the last answer")] | None = None,
) -> Trades:
    """Trades, newest first: price, quantity, which side came last, whether it was yours. `next_cursor` goes on."""
    return views.trades(market.state, seat, last, period, cursor)


@tool("read", title="Own orders", evidence=("own_orders",))
def view_my_orders(market: OrderBook, seat: SeatId) -> MyOrders:
    """Your resting orders with their numbers, and how much trades before each of them."""
    return views.my_orders(market.state, seat)


@tool("analysis", title="Chance of a trade", evidence=("fill_belief",), bounds=_asked)
def estimate_fill(
    market: OrderBook,
    seat: SeatId,
    *,
    side: _Side,
    prices: _Prices,
    window: Annotated[int, Field(ge=5, le=500, description="orders of all seats to look back")] = 100,
) -> FillEstimate:
    """Belief, from counts of past orders, that an order at each price would trade (Gjerstad & Dickhaut 1998)."""
    return views.estimate_fill(market.state, side, prices, window)


@tool("analysis", title="Worth of a trade", evidence=("value",))
def value_of(market: OrderBook, seat: SeatId, *, price: _Price, quantity: _Quantity = 1) -> ValueOf:
    """What your next units would earn at this price; of a share the fundamental value less the price."""
    return views.value_of(market.state, seat, price, quantity)


@tool("analysis", title="Periods", evidence=("trades",), observer=True)
def summarize_periods(
    market: OrderBook, seat: SeatId, *, last: Annotated[int, Field(ge=1, le=50, description="periods at most")] = 5
) -> Periods:
    """Per period, the open one first: volume, mean, first, last, high and low price; dividend and fundamental value."""
    return views.periods(market.state, last)


@tool("action", title="Submit an order", destructive=True, bounds=_orders, open=_may_act)
def submit_order(
    market: OrderBook,
    seat: SeatId,
    *,
    side: _Side,
    price: _Price,
    quantity: _Quantity = 1,
    rest: Annotated[bool, Field(description="what does not trade at once rests in the book")] = True,
    period: Annotated[_Period, Field(description="the period that you mean; refused in any other")] | None = None,
) -> OrderReceipt:
    """Submit a limit order; it trades at once at resting prices up to your limit, and ends your step. No undo.

    A trade through your own value is accepted with a warning and loses, unless view_rules says that it is refused.
    """
    return market.submit(seat, side, price, quantity, rest=rest, guard=period)


@tool("action", title="Cancel an order", destructive=True, open=_may_act)
def cancel_order(market: OrderBook, seat: SeatId, *, order: _Order) -> CancelReceipt:
    """Take one of your resting orders off the book; your step goes on."""
    return market.cancel(seat, order)


@tool("action", title="Pass", destructive=True, open=_may_act)
def pass_turn(market: OrderBook, seat: SeatId) -> PassReceipt:
    """End your step without an order."""
    return market.end_step(seat)


# The account once; of the book a look since the last step, since every step may change it.
_EVIDENCE: EvidenceMap = {"submit_order": (Need(("own_account",), "episode"), Need(("book",), "since_close"))}


class _OrderBookType:
    name = "order_book"
    version = "1"
    default_scenario = "order_book/smith"
    title = "a continuous double auction with a limit order book, of goods or of shares"
    scenario_model = OrderBookScenario
    tools = ToolTable(
        view_my_account,
        view_book,
        view_trades,
        view_my_orders,
        estimate_fill,
        value_of,
        summarize_periods,
        submit_order,
        cancel_order,
        pass_turn,
    )
    evidence_map = _EVIDENCE
    policies = POLICIES
    streams = Streams
    errors = {  # noqa: RUF012 - a constant table
        "price_off_grid": "a price above the scenario's price_max",
        "quantity_above_max": "more units than one order may have",
        "wrong_side": "a buyer that sells, or a seller that buys",
        "no_units": "more units than the schedule has left in this period",
        "insufficient_shares": "more shares than are free",
        "through_value": "an order through the own value, where the scenario refuses them",
        "too_many_orders": "as many resting orders as a seat may have",
        "own_order": "an order that would meet one's own",
        "wrong_input": "an external input that the scenario does not take",
    }

    def create(self, scenario: OrderBookScenario, seed: int) -> OrderBook:
        """A fresh episode. ScenarioError: no schedules are accepted, or a seat's policy does not exist."""
        check_occupants(self.name, scenario.seats, POLICIES)
        return OrderBook(scenario, seed)

    def brief(self, scenario: OrderBookScenario, seat: SeatId) -> Brief:
        """What the seat is told."""
        return views.brief(scenario, seat)

    def request(self, market: Any, seat: SeatId, tool: str, arguments: BaseModel) -> InputRequest | None:
        """No tool needs anything from outside."""
        return None

    def perturb_private(self, market: OrderBook, seat: SeatId, salt: int) -> OrderBook:
        """The same to `seat`, with other private data of all other seats."""
        return market.perturbed(seat, salt)

    def check(self, market: OrderBook) -> None:
        """The conservation laws of section 6."""
        market.check()


MARKET = _OrderBookType()
