"""Random streams of orders, cancels and passes, under both clocks: the market is the scanned list, after every message.

A stream is twelve messages of drawn seats (under turns: of whoever is asked) to one of ten small markets, some of them
wrong on purpose, with a change of periods in between. After each, fills, refusals, the book in its order, cash, shares,
units used and profits are those of the list, best bid and ask do not cross, and the invariants of the market hold.

Also here:
- Other seats' values, cash, passes and refused orders leave every byte that a seat can get unchanged.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.calling import obtainable
from tests.order_book.scanning import Scanning

from tradefair.catalog import load_scenario
from tradefair.contract import IllegalAction
from tradefair.contract.scenario import build_scenario
from tradefair.order_book import MARKET
from tradefair.order_book.engine.book import Side
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.rules import CLOCK_TICK, OrderBook

MESSAGES, TICKED = 12, 0.15
_GOODS: dict[str, Any] = {
    **{"buyers": 2, "sellers": 2, "units": 6, "periods": 3, "sweeps": 2, "price_max": 40, "max_quantity": 3},
    **{"value_range": [15, 40], "cost_range": [1, 22], "min_trades": 0, "min_potential": 0},
}
_SHARES: dict[str, Any] = {
    **{"kind": "asset", "traders": 3, "periods": 3, "sweeps": 2, "price_max": 40, "max_quantity": 3, "max_orders": 3},
    **{"endowments": [[90, 5], [40, 8]], "dividends": [0, 5]},
}
_FREE: dict[str, Any] = {"clock": "free", "arrival": "ticks"}
MARKETS = [
    build_scenario(OrderBookScenario, {"id": "order_book/stream", **content}, source="stream")
    for content in (
        _GOODS,
        {**_GOODS, "arrival": "random", "steps": 7, "one_order": False},
        {**_GOODS, "arrival": "rotation", "after_trade": "clear"},
        {**_GOODS, "one_order": False, "budget_constraint": True},
        {**_GOODS, **_FREE},
        {**_GOODS, **_FREE, "one_order": False, "after_trade": "clear"},
        _SHARES,
        {**_SHARES, "one_order": True, "arrival": "random", "steps": 5},
        {**_SHARES, **_FREE},
        {**_SHARES, **_FREE, "one_order": True},
    )
]


class Stream:
    """One market and its list, told the same."""

    def __init__(self, key: int) -> None:
        self._draw = random.Random(key)
        scenario = MARKETS[key % len(MARKETS)]
        self._free = scenario.clock == "free"
        self.market = OrderBook(scenario, key)
        self.scanned = Scanning(scenario, self.market.state.values, self.market.state.endowed)
        self.fills = self.refused = 0

    def run(self) -> None:
        for _ in range(MESSAGES):
            if self._free and self._draw.random() < TICKED:
                self.market.feed(CLOCK_TICK, None)
                self._close()
            self._settle()
            if self.market.terminated is not None:
                return
            seat = self._draw.choice(list(self.market.seats)) if self._free else next(iter(self.market.awaited()))
            assert self._free or self.scanned.can_act(seat)
            self._message(seat)
            self._compare()

    def _settle(self) -> None:
        while not self._free and self.market.terminated is None and not self.market.awaited():
            self._close()

    def _close(self) -> None:
        period = self.market.state.period
        self.market.close_step()
        if self.market.state.period != period or self.market.terminated is not None:
            used = dict(self.scanned.used)
            self.scanned.close(self.market.state.dividends[-1] if self.market.state.dividends else None)
            if self.market.terminated is not None:
                # No period follows in which schedules would begin afresh.
                self.scanned.used = used
            self._compare()

    def _message(self, seat: str) -> None:
        kind = self._draw.random()
        if kind < 0.12:
            self._cancel(seat)
        elif kind < 0.15:
            self.market.end_step(seat)
        else:
            self._submit(seat)

    def _cancel(self, seat: str) -> None:
        # Of an own order, of somebody else's, or of none.
        own = [row.number for row in self.scanned.rows if row.seat == seat]
        known = [row.number for row in self.scanned.rows] if self._draw.random() < 0.3 else own
        number = self._draw.choice([*known, 1 + self.market.state.book.count])
        expected = self.scanned.cancel(seat, number)
        if isinstance(expected, str):
            self._refuses(expected, lambda: self.market.cancel(seat, number))
            return
        assert self.market.cancel(seat, number).quantity == expected
        # Twice gives nothing back.
        assert self.market.state.book.cancel(number) == 0
        self._refuses("unknown_id", lambda: self.market.cancel(seat, number))

    def _submit(self, seat: str) -> None:
        draw = self._draw
        right: Side = "buy" if seat[0] == "B" or (seat[0] == "T" and draw.random() < 0.5) else "sell"
        wrong: Side = "sell" if right == "buy" else "buy"
        side = wrong if draw.random() < 0.02 else right
        # Few prices, so that orders queue up behind each other.
        price = draw.randint(15, 20) if draw.random() < 0.95 else draw.randint(1, 41)
        quantity, rest = draw.randint(1, 3) if draw.random() < 0.97 else 4, draw.random() < 0.9
        own = next((row for row in self.scanned.rows if row.seat == seat), None)
        if own is not None and draw.random() < 0.25:
            # The same order, with as many units or fewer.
            price, quantity = own.price, draw.randint(1, own.left)
        before, expected = (len(self.market.state.trades), self.scanned.submit(seat, side, price, quantity, rest=rest))
        if isinstance(expected, str):
            self._refuses(expected, lambda: self.market.submit(seat, side, price, quantity, rest=rest))
            return
        receipt = self.market.submit(seat, side, price, quantity, rest=rest)
        trades = self.market.state.trades[before:]
        assert [(trade.order, trade.price, trade.quantity) for trade in trades] == expected
        assert [(fill.price, fill.quantity) for fill in receipt.fills] == [fill[1:] for fill in expected]
        self.fills += len(expected)

    def _refuses(self, code: str, act: Any) -> None:
        found = ""
        try:
            act()
        except IllegalAction as refusal:
            found = refusal.info.code
        assert found == code
        self.refused += 1

    def _compare(self) -> None:
        state, scanned = self.market.state, self.scanned
        bid, ask = state.book.best("buy"), state.book.best("sell")
        assert bid is None or ask is None or bid < ask
        book = [(order.number, order.owner, order.side, order.price, order.quantity) for order in state.book.orders()]
        rows = sorted(
            scanned.rows, key=lambda row: (row.side, row.price * (1 if row.side == "sell" else -1), row.number)
        )
        assert book == [(row.number, row.seat, row.side, row.price, row.left) for row in rows]
        assert (state.cash, state.shares) == (scanned.cash, scanned.shares)
        assert (state.used, state.profit) == (scanned.used, scanned.profit)
        self.market.check()


def _streams(first: int, count: int) -> tuple[int, int]:
    """Fills and refusals of that many streams."""
    fills = refused = 0
    for key in range(first, first + count):
        stream = Stream(key)
        stream.run()
        fills, refused = fills + stream.fills, refused + stream.refused
    return fills, refused


def test_every_message_of_random_streams_does_what_the_scanned_list_does() -> None:
    fills, refused = _streams(0, 1_000)
    # The streams trade, and are wrong, often enough to find something.
    assert fills > 1_000
    assert refused > 1_000


@pytest.mark.many
@pytest.mark.parametrize("tenth", range(10))
def test_a_hundred_thousand_streams(tenth: int) -> None:
    fills, _ = _streams(10_000 * tenth, 10_000)
    assert fills > 10_000


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("view_my_account", {}),
    ("view_book", {}),
    ("view_book", {"levels": 1, "since": 3}),
    ("view_trades", {}),
    ("view_trades", {"last": 1, "cursor": 2}),
    ("view_trades", {"period": 1}),
    ("view_my_orders", {}),
    ("estimate_fill", {"side": "buy", "prices": [60, 100], "window": 5}),
    ("value_of", {"price": 70, "quantity": 2}),
    ("summarize_periods", {}),
    ("cancel_order", {"order": 1}),
    ("submit_order", {"side": "buy", "price": 99_999}),
    ("submit_order", {"side": "buy", "price": 90, "period": 99}),
]
_FIXED = {"buyers": 2, "sellers": 2, "periods": 2, "sweeps": 5, "max_quantity": 2}
_VALUES = {"B1": [140, 120, 90], "B2": [130, 110, 100], "S1": [40, 60, 80], "S2": [50, 70, 95]}


def _everything(market: OrderBook, seat: str) -> list[str]:
    # An own cancel would change the book.
    can_cancel = any(order.number == 1 for order in market.state.book.of(seat))
    asked = [question for question in QUESTIONS if question[0] != "cancel_order" or not can_cancel]
    return obtainable(MARKET.tools, asked, market, seat)


def _quiet(market: OrderBook, seat: str, how: int) -> None:
    """A step without an order: passed, lapsed, or passed after a refused order and a cancel of nothing."""
    if how == 1:
        market.lapse(seat, "agent_limit")
        return
    if how == 2:
        with pytest.raises(IllegalAction):
            market.submit(seat, "buy" if seat[0] == "S" else "sell", 80, 99)
        with pytest.raises(IllegalAction):
            market.cancel(seat, 10_000)
    market.end_step(seat)


def _seen(scenario: OrderBookScenario, seat: str, key: int, quiet: int) -> list[str]:
    """What the seat sees of an episode of drawn orders and passes; `quiet`: how others do not trade."""
    market, draw = OrderBook(scenario, 11), random.Random(key)
    seen: list[str] = []
    while market.terminated is None:
        (asked,) = market.awaited()
        seen += _everything(market, seat)
        price, quantity, side, passes = draw.randint(60, 110), draw.randint(1, 2), draw.random(), draw.random() < 0.4
        turned = {"B": "buy", "S": "sell"}.get(asked[0], "buy" if side < 0.5 else "sell")
        try:
            if passes:
                _quiet(market, asked, 0 if asked == seat else quiet)
            else:
                market.submit(asked, turned, price, quantity)  # pyright: ignore[reportArgumentType]
        except IllegalAction:
            # Of the other seats: all units are in orders. In all worlds alike.
            market.end_step(asked)
        while market.terminated is None and not market.awaited():
            seen.append(market.advance().public.model_dump_json())
    return [*seen, *_everything(market, seat)]


def _goods(seat: str, shift: int) -> OrderBookScenario:
    """The same values of the seat; those of others moved."""
    moved = {name: [unit + (0 if name == seat else shift) for unit in units] for name, units in _VALUES.items()}
    values, costs = [moved["B1"], moved["B2"]], [moved["S1"], moved["S2"]]
    content: dict[str, Any] = {**_FIXED, "values": values, "costs": costs, "seats": {}}
    found = load_scenario("order_book", "smith", content)
    assert isinstance(found, OrderBookScenario)
    return found


@pytest.mark.parametrize("seat", ["B1", "S2"])
@pytest.mark.parametrize("key", range(4))
def test_nothing_depends_on_values_of_others_or_on_how_they_do_not_trade(seat: str, key: int) -> None:
    expected = _seen(_goods(seat, 0), seat, key, 0)
    assert len(expected) > 100
    for shift, quiet in ((37, 1), (-39, 2), (5, 0)):
        assert _seen(_goods(seat, shift), seat, key, quiet) == expected
    # It can see its own values.
    assert _seen(_goods("B2", 1), seat, key, 0) != expected


def _shares(seat: str, more: int) -> OrderBookScenario:
    """The same endowment of the seat; others have more."""
    endowments = [(9_000, 40) if f"T{n}" == seat else (9_000 + more, 40 + more // 100) for n in range(1, 5)]
    content: dict[str, Any] = {"traders": 4, "periods": 2, "sweeps": 4, "endowments": endowments, "seats": {}}
    found = load_scenario("order_book", "asset_short", content)
    assert isinstance(found, OrderBookScenario)
    return found


@pytest.mark.parametrize("key", range(4))
def test_nothing_depends_on_cash_and_shares_of_others(key: int) -> None:
    expected = _seen(_shares("T2", 0), "T2", key, 0)
    for more, quiet in ((100, 1), (5_000, 2)):
        assert _seen(_shares("T2", more), "T2", key, quiet) == expected


@pytest.mark.parametrize("preset", ["smith", "asset_short", "zi"])
@pytest.mark.parametrize("steps", [3, 20, 41])
def test_a_perturbed_twin_shows_the_same_to_the_seat(preset: str, steps: int) -> None:
    scenario = load_scenario("order_book", preset, {"seats": {}})
    assert isinstance(scenario, OrderBookScenario)
    market, draw = OrderBook(scenario, 5), random.Random(steps)
    seat = next(iter(market.seats))
    for _ in range(steps):
        (asked,) = market.awaited()
        limit = market.state.unit_value(asked) or 20
        side = market.state.side_of(asked) or ("buy" if draw.random() < 0.5 else "sell")
        price = draw.randint(1, limit) if side == "buy" else draw.randint(limit, limit + 60)
        try:
            market.submit(asked, side, price)
        except IllegalAction:
            market.end_step(asked)
        market.close_step()
    for salt in range(3):
        twin = MARKET.perturb_private(market, seat, salt)
        MARKET.check(twin)
        assert twin.digest() != market.digest()
        assert _everything(twin, seat) == _everything(market, seat)
