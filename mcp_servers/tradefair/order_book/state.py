"""The one mutable record of an episode: book, schedules or cash and shares, ledger, trades, and whose step it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradefair.contract import SeatId
from tradefair.order_book.answers.results import ShoutRow
from tradefair.order_book.engine.book import Book, Side
from tradefair.order_book.model import Message, OrderBookScenario, Role, Shout, Trade

_SIDES: Mapping[Role, Side] = {"buyer": "buy", "seller": "sell"}


@dataclass
class State:
    """Read by the views, changed by the rules only; mappings have the order of the seats.

    `values` are unit values (buyers) or costs (sellers) per period, empty in an asset market. `used` counts units
    traded in the open period, `profit` ticks earned so far; `cash` and `shares` are those of an asset market.
    """

    scenario: OrderBookScenario
    roles: dict[SeatId, Role]
    values: dict[SeatId, tuple[int, ...]]
    cash: dict[SeatId, int]
    shares: dict[SeatId, int]
    endowed: dict[SeatId, tuple[int, int]]
    book: Book = field(default_factory=Book)
    used: dict[SeatId, int] = field(default_factory=dict[SeatId, int])
    profit: dict[SeatId, int] = field(default_factory=dict[SeatId, int])
    trades: list[Trade] = field(default_factory=list[Trade])
    shouts: list[Shout] = field(default_factory=list[Shout])
    shown: list[ShoutRow] = field(default_factory=list[ShoutRow])
    """Orders as seats that did not give them are told of them; made when they are first asked for."""
    messages: list[Message] = field(default_factory=list[Message])
    """Of the open period."""
    said: int = 0
    """Messages of the period that earlier steps have told."""
    told: int = 0
    """Trades that earlier steps have told."""
    dividends: list[int] = field(default_factory=list[int])
    period: int = 1
    step: int = 0
    """Of the period, from 1; 0 before its first."""
    steps: int = 0
    asked: list[SeatId | None] = field(default_factory=list[SeatId | None])
    """Who was asked in each step of the period, in order; None: a seat that could do nothing."""
    turn: SeatId | None = None
    """Whose step it is; None once that seat has ended it, under ticks, and after the end."""

    asset: bool = field(init=False)
    """Whether shares are traded, not schedules."""

    def __post_init__(self) -> None:
        self.asset = self.scenario.kind == "asset"

    def side_of(self, seat: SeatId) -> Side | None:
        """The side that a role may take; None: both."""
        return _SIDES.get(self.roles[seat])

    def unit_value(self, seat: SeatId, ahead: int = 0) -> int | None:
        """The value or cost of the next unit, or of the one `ahead` units on; None behind the last, or for shares."""
        if self.asset:
            return None
        units, place = self.values[seat], self.used[seat] + ahead
        return units[place] if place < len(units) else None

    def left(self, seat: SeatId) -> int:
        """Units that the seat's schedule still holds in this period."""
        return len(self.values[seat]) - self.used[seat]

    def gain(self, seat: SeatId, side: Side, price: int, quantity: int) -> int:
        """What trading at `price` would earn: value less price of the next units, sellers mirrored; 0 for an asset."""
        if self.asset:
            return 0
        sign = 1 if side == "buy" else -1
        units = self.values[seat][self.used[seat] : self.used[seat] + quantity]
        return sum(sign * (unit - price) for unit in units)

    def reserved(self, seat: SeatId, side: Side) -> int:
        """Cash that resting bids reserve (buy), or shares or units that resting asks do (sell)."""
        own = [order for order in self.book.of(seat) if order.side == side]
        priced = self.asset and side == "buy"
        return sum(order.quantity * (order.price if priced else 1) for order in own)

    def free_cash(self, seat: SeatId) -> int:
        """Cash that no resting bid reserves."""
        return self.cash[seat] - self.reserved(seat, "buy")

    def free_shares(self, seat: SeatId) -> int:
        """Shares that no resting ask reserves."""
        return self.shares[seat] - self.reserved(seat, "sell")

    def can_act(self, seat: SeatId) -> bool:
        """Whether the seat has anything to trade with, or an order to take back."""
        if self.asset:
            return self.cash[seat] > 0 or self.shares[seat] > 0
        # An order of goods is backed by a unit that is left, so that there is no order without one.
        return self.used[seat] < len(self.values[seat])
