"""Other seats' values, cash, passes and refused orders leave every byte that a seat can get unchanged."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.calling import Caller

from tradefair.catalog import load_scenario
from tradefair.contract import IllegalAction
from tradefair.contract.kernel.turns import open_actions
from tradefair.order_book import MARKET
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.rules import OrderBook

ASK = Caller(MARKET.tools).ask
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
_GOODS = {"buyers": 2, "sellers": 2, "periods": 2, "sweeps": 5, "max_quantity": 2}
_VALUES = {"B1": [140, 120, 90], "B2": [130, 110, 100], "S1": [40, 60, 80], "S2": [50, 70, 95]}


def _everything(market: OrderBook, seat: str) -> list[str]:
    """Every byte that the seat can get now, without changing anything that others see."""
    seen = [
        market.rules_view(seat).model_dump_json(),
        market.turn_view(seat).model_dump_json(),
        repr(market.code_constants(seat)),
        repr((market.clock, market.news_mark(seat), seat in market.awaited())),
        repr(open_actions([tool for tool in MARKET.tools.values() if tool.kind == "action"], market, seat)),
    ]
    for tool, arguments in QUESTIONS:
        # An own cancel would change the book.
        if tool == "cancel_order" and any(order.number == 1 for order in market.state.book.of(seat)):
            continue
        try:
            seen.append(ASK(market, seat, tool, **arguments).model_dump_json())
        except IllegalAction as refusal:
            seen.append(repr(refusal.info))
    return seen


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
    content: dict[str, Any] = {**_GOODS, "values": values, "costs": costs, "seats": {}}
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
