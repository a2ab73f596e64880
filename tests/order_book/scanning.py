"""An order book market over a plain list that is scanned for every message: what the rules must agree with.

It knows the page's rules for orders, reserves and money, and shares no code with the market.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tradefair.order_book.model import OrderBookScenario


@dataclass
class Row:
    """A resting order."""

    number: int
    seat: str
    side: str
    price: int
    left: int


Fill = tuple[int, int, int]


class Scanning:
    """One seat's message at a time; fills as (order, price, quantity), or the code of a refusal."""

    def __init__(
        self, scenario: OrderBookScenario, values: Mapping[str, Sequence[int]], endowed: Mapping[str, tuple[int, int]]
    ) -> None:
        self._scenario, self._values = scenario, values
        self._asset = scenario.kind == "asset"
        self._numbers = 0
        self.rows: list[Row] = []
        seats = list(scenario.roster)
        self.cash = {seat: cash for seat, (cash, _) in endowed.items()}
        self.shares = {seat: shares for seat, (_, shares) in endowed.items()}
        self.used = dict.fromkeys(seats, 0)
        self.profit = dict.fromkeys(seats, 0)

    def submit(self, seat: str, side: str, price: int, quantity: int, *, rest: bool) -> list[Fill] | str:
        own = [row for row in self.rows if row.seat == seat]
        if code := self._refused(seat, side, price, quantity):
            return code
        if self._scenario.one_order:
            for row in own:
                if (row.side, row.price) == (side, price) and rest and quantity <= row.left:
                    row.left = quantity
                    return []
        staying = [] if self._scenario.one_order else own
        if code := self._unbacked(seat, side, price, quantity, staying):
            return code
        self.rows = [row for row in self.rows if row.seat != seat or row in staying]
        return self._traded(seat, side, price, quantity, rest=rest)

    def cancel(self, seat: str, number: int) -> int | str:
        for row in self.rows:
            if (row.number, row.seat) == (number, seat):
                self.rows.remove(row)
                return row.left
        return "unknown_id"

    def close(self, dividend: int | None) -> None:
        """The end of a period."""
        self.rows = []
        self.used = dict.fromkeys(self.used, 0)
        for seat in self.cash:
            self.cash[seat] += (dividend or 0) * self.shares[seat]

    def can_act(self, seat: str) -> bool:
        if any(row.seat == seat for row in self.rows):
            return True
        if self._asset:
            return self.cash[seat] + self.shares[seat] > 0
        return self.used[seat] < len(self._values[seat])

    def _refused(self, seat: str, side: str, price: int, quantity: int) -> str:
        allowed = {"B": ("buy",), "S": ("sell",), "T": ("buy", "sell")}[seat[0]]
        if side not in allowed:
            return "wrong_side"
        if price > self._scenario.price_max:
            return "price_off_grid"
        return "quantity_above_max" if quantity > self._scenario.max_quantity else ""

    def _unbacked(self, seat: str, side: str, price: int, quantity: int, staying: Sequence[Row]) -> str:
        if len(staying) >= self._scenario.max_orders:
            return "too_many_orders"
        same = [row for row in staying if row.side == side]
        if not self._asset:
            units = self._values[seat][self.used[seat] :]
            count = sum(row.left for row in same) + quantity
            if count > len(units):
                return "no_units"
            losing = price > units[count - 1] if side == "buy" else price < units[count - 1]
            if self._scenario.budget_constraint and losing:
                return "through_value"
        elif side == "buy":
            if price * quantity + sum(row.price * row.left for row in same) > self.cash[seat]:
                return "insufficient_funds"
        elif quantity + sum(row.left for row in same) > self.shares[seat]:
            return "insufficient_shares"
        return "own_order" if self._meets_own(seat, side, price, quantity, staying) else ""

    def _meets_own(self, seat: str, side: str, price: int, quantity: int, staying: Sequence[Row]) -> bool:
        # Played through on a copy: does any unit of it meet an own order?
        left = quantity
        leaving = [row for row in self.rows if row.seat == seat and row not in staying]
        for row in self._met(side, price):
            if row in leaving:
                continue
            if left <= 0:
                break
            if row.seat == seat:
                return True
            left -= row.left
        return False

    def _met(self, side: str, price: int) -> list[Row]:
        """What an order may trade with, best price first, then oldest first."""
        if side == "buy":
            found = [row for row in self.rows if row.side == "sell" and row.price <= price]
            return sorted(found, key=lambda row: (row.price, row.number))
        found = [row for row in self.rows if row.side == "buy" and row.price >= price]
        return sorted(found, key=lambda row: (-row.price, row.number))

    def _traded(self, seat: str, side: str, price: int, quantity: int, *, rest: bool) -> list[Fill]:
        self._numbers += 1
        fills: list[Fill] = []
        for row in self._met(side, price):
            traded = min(quantity, row.left)
            if not traded:
                break
            buyer, seller = (seat, row.seat) if side == "buy" else (row.seat, seat)
            self._paid(buyer, seller, row.price, traded)
            fills.append((row.number, row.price, traded))
            row.left -= traded
            quantity -= traded
        self.rows = [row for row in self.rows if row.left]
        if fills and self._scenario.after_trade == "clear":
            self.rows = []
        elif quantity and rest:
            self.rows.append(Row(self._numbers, seat, side, price, quantity))
        return fills

    def _paid(self, buyer: str, seller: str, price: int, quantity: int) -> None:
        for seat, sign in ((buyer, 1), (seller, -1)):
            if self._asset:
                self.cash[seat] -= sign * price * quantity
                self.shares[seat] += sign * quantity
                continue
            units = self._values[seat][self.used[seat] : self.used[seat] + quantity]
            self.profit[seat] += sum(sign * (unit - price) for unit in units)
            self.used[seat] += quantity
