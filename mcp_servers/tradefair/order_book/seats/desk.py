"""What a scripted trader decides from.

Rules for goods are written for a buyer: a seller sees everything mirrored, x as P + 1 − x and sides exchanged, and its
bid b is the ask P + 1 − b. Rules for shares see prices as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tradefair.contract import Draw, ToolAnswer, ToolCall, Turns, TurnView
from tradefair.order_book.engine.book import Side, opposite
from tradefair.order_book.rules import OrderBook


class Heard(NamedTuple):
    """An order of anybody; `side` is `buy` where it is on the own side of a mirrored desk."""

    side: Side
    price: int
    accepted: bool
    mine: bool


class Resting(NamedTuple):
    """An own resting order."""

    order: int
    side: Side
    price: int
    quantity: int


class Act(NamedTuple):
    """What a trader does in its step: cancels first, then one order or a pass (`price` None)."""

    price: int | None = None
    side: Side = "buy"
    quantity: int = 1
    cancel: tuple[int, ...] = ()


@dataclass
class Desk:
    """One step. `value` is that of the next unit (None without one), `limit` the highest bid accepted (None: P).

    `passed` is the share of the period that is over, `trades` are all prices so far, `means` those of closed periods
    (None: no trade). What arrived since the last step, and own resting orders, are made for those who ask.
    """

    price_max: int
    draw: Draw
    period: int = 1
    periods: int = 1
    step: int = 0
    passed: float = 0.0
    value: int | None = None
    limit: int | None = None
    best_bid: int | None = None
    best_ask: int | None = None
    trades: list[int] = field(default_factory=list[int])
    means: list[float | None] = field(default_factory=list[float | None])
    cash: int = 0
    shares: int = 0
    worth: float = 0.0
    competitive: tuple[int | None, int | None] = (None, None)
    asset: bool = False
    closed_at: int = 0
    hear: Callable[[], list[Heard]] = list[Heard]
    rest: Callable[[], list[Resting]] = list[Resting]

    @property
    def heard(self) -> list[Heard]:
        """Orders of all seats since the last step, oldest first."""
        return self.hear()

    @property
    def resting(self) -> list[Resting]:
        """Own resting orders, oldest first."""
        return self.rest()


class Trader(Protocol):
    """A rule for orders: asked once per step."""

    def act(self, desk: Desk) -> Act:
        """The act of the step."""
        ...


class Source(NamedTuple):
    """What a step's numbers are taken from: plain data of tool answers, or of the rules."""

    role: str
    period: int
    periods: int
    step: int
    steps: int | None
    value: int | None
    limit: int | None
    cash: int
    shares: int
    worth: float
    best_bid: int | None
    best_ask: int | None
    new_trades: Sequence[tuple[int, int]]


def fill(desk: Desk, source: Source) -> None:
    """Enter one step into a desk, mirrored for a seller."""
    turned, top = source.role == "seller", desk.price_max + 1
    new = source.new_trades
    desk.asset = source.role == "trader"
    if source.period != desk.period:
        # Trades of the last steps of a period arrive with the first step of the next one.
        before = [x for x, period in new if period < source.period]
        closed = [*desk.trades[desk.closed_at :], *(top - x if turned else x for x in before)]
        desk.means += [sum(closed) / len(closed) if closed else None] * (source.period - desk.period)
        desk.closed_at = len(desk.trades) + len(before)
    desk.period, desk.periods, desk.step = source.period, source.periods, source.step
    desk.passed = (source.step - 1) / source.steps if source.steps else 0.0
    value, limit, bid, ask = source.value, source.limit, source.best_bid, source.best_ask
    if turned:
        value, limit = None if value is None else top - value, None if limit is None else top - limit
        bid, ask = None if ask is None else top - ask, None if bid is None else top - bid
    desk.value, desk.limit, desk.best_bid, desk.best_ask = value, limit, bid, ask
    if new:
        desk.trades += [top - x if turned else x for x, _ in new]
    desk.cash, desk.shares, desk.worth = source.cash, source.shares, source.worth


def as_heard(rows: Iterable[tuple[Side, int, bool, bool]], top: int) -> list[Heard]:
    """Orders as side, price, accepted, mine; of a seller's desk mirrored at `top`, which is 0 for others."""
    if top:
        return [Heard(opposite(side), top - price, accepted, mine) for side, price, accepted, mine in rows]
    return [Heard(*row) for row in rows]


def as_resting(orders: Iterable[tuple[int, Side, int, int]], top: int) -> list[Resting]:
    """Own orders as number, side, price, quantity; mirrored likewise."""
    if top:
        return [Resting(number, opposite(side), top - price, left) for number, side, price, left in orders]
    return [Resting(*order) for order in orders]


class DeskPolicy:
    """Plays a rule over tools: account, book and new trades, then its cancels and one order or a pass."""

    def __init__(self, trader: Trader, draw: Draw) -> None:
        self._trader, self._draw = trader, draw
        self._made: Desk | None = None
        self._role = ""
        self._heard = self._traded = 0
        self._truth: OrderBook | None = None

    def see(self, truth: Any) -> None:
        """Take in the market: the competitive interval."""
        self._truth = truth.market

    def _new_trades(self) -> Generator[ToolCall, ToolAnswer, list[tuple[int, int]]]:
        """Price and period of every unit that was traded since the last look."""
        rows = yield ToolCall("view_trades", {"last": 500})
        if rows.error is not None:
            return []
        fresh = [row for row in reversed(rows.data["trades"]) if row["number"] > self._traded]
        self._traded = fresh[-1]["number"] if fresh else self._traded
        return [(row["price"], row["period"]) for row in fresh for _ in range(row["quantity"])]

    def turn(self, now: TurnView) -> Turns:
        """One step."""
        mine = yield ToolCall("view_my_account")
        book = yield ToolCall("view_book", {"levels": 1, "since": self._heard})
        if mine.error is not None or book.error is not None:
            yield ToolCall("pass_turn")
            return
        account, shown = mine.data, book.data
        new = [] if shown["last_price"] is None else (yield from self._new_trades())
        orders = yield ToolCall("view_my_orders")
        resting: list[dict[str, Any]] = [] if orders.error is not None else orders.data["orders"]
        if self._made is None:
            self._made = Desk(account["price_max"], self._draw)
            self._role = account["role"]
        self._heard = max([self._heard, *(row["number"] for row in shown["arrived"])])
        desk = self._made
        if self._truth is not None:
            desk.competitive = (self._truth.benchmarks.p_lo, self._truth.benchmarks.p_hi)
        steps = None if account["steps_left"] is None else account["steps_left"] + shown["step"] - 1
        fill(
            desk,
            Source(
                self._role,
                account["period"],
                account["period"] + account["periods_left"] - 1,
                shown["step"],
                steps,
                account["next_unit_value"],
                account["limit"],
                account["free_cash"] or 0,
                account["free_shares"] or 0,
                account["fundamental_value"] or 0.0,
                shown["best_bid"],
                shown["best_ask"],
                new,
            ),
        )
        top = desk.price_max + 1 if self._role == "seller" else 0
        heard = as_heard(((row["side"], row["price"], row["accepted"], row["mine"]) for row in shown["arrived"]), top)
        own = as_resting(((row["order"], row["side"], row["price"], row["quantity"]) for row in resting), top)
        desk.hear, desk.rest = lambda: heard, lambda: own
        yield from self._carry_out(desk)

    def _carry_out(self, desk: Desk) -> Turns:
        act = self._trader.act(desk)
        for order in act.cancel:
            yield ToolCall("cancel_order", {"order": order})
        if act.price is not None:
            side, price = turned_back(act, self._role, desk.price_max)
            answer = yield ToolCall("submit_order", {"side": side, "price": price, "quantity": act.quantity})
            if answer.error is None:
                return
        # What the rules refuse becomes a pass.
        yield ToolCall("pass_turn")


def turned_back(act: Act, role: str, price_max: int) -> tuple[Side, int]:
    """Side and price of an act in the seat's own terms, within the grid."""
    assert act.price is not None
    price = act.price
    if not 1 <= price <= price_max:
        price = 1 if price < 1 else price_max
    return ("sell", price_max + 1 - price) if role == "seller" else (act.side, price)
