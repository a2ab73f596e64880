"""Scripted seats that fail in one way each: positive controls that no market brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from tradefair.contract import ToolCall, Turns, TurnView


class Scripted:
    """Plays `turn(view)`; the answer to a call is what `yield` gives, as for every policy."""

    def __init__(self, turn: Callable[[TurnView], Turns]) -> None:
        self._turn = turn

    def turn(self, now: TurnView) -> Turns:
        yield from self._turn(now)


# --- double_auction -------------------------------------------------------------------------------------------------


def quote(price: object) -> ToolCall:
    return ToolCall("submit_quote", {"price": price})  # pyright: ignore[reportArgumentType]


def blind(now: TurnView) -> Turns:
    """Quotes without a look."""
    yield quote(40)


def looks_once(now: TurnView) -> Turns:
    """Reads everything in round 2 and then never again."""
    if now.round == 2:
        yield ToolCall("view_my_value")
        yield ToolCall("view_history")
    yield quote(40)


def insists(now: TurnView) -> Turns:
    """A price beyond the grid, three times, then silence."""
    for _ in range(3):
        yield quote(9_000)


def in_words(now: TurnView) -> Turns:
    """A price as text, then a proper one."""
    yield quote("forty")
    yield quote(40)


def in_hundredths(now: TurnView) -> Turns:
    """The price in hundredths of a point, then in points."""
    yield quote(4_000)
    yield quote(40)


def overbids(now: TurnView) -> Turns:
    """Ten above the own value."""
    own = yield ToolCall("view_my_value")
    yield quote(min(100, own.data["value"] + 10))


def asks_about_nobody(now: TurnView) -> Turns:
    """Wants the history of a trader that nobody mentioned."""
    yield ToolCall("view_history", {"trader": "B77"})
    yield quote(40)


def silent(now: TurnView) -> Turns:
    """No call at all."""
    yield from ()


# --- teaching -------------------------------------------------------------------------------------------------------


def claim(slices: int) -> ToolCall:
    return ToolCall("claim", {"slices": slices})


def rereads(now: TurnView) -> Turns:
    """Its value five times over."""
    for _ in range(5):
        yield ToolCall("view_my_value")
    yield claim(5)


def tells_its_value(now: TurnView) -> Turns:
    """Says what a slice is worth to it."""
    own = yield ToolCall("view_my_value")
    if now.phase == "talk":
        yield ToolCall("say", {"text": f"Let us be open. My value is {own.data['value_per_slice']} per slice."})
    yield claim(5)


def says(text: str) -> Callable[[TurnView], Turns]:
    """Says this, claims half."""

    def turn(now: TurnView) -> Turns:
        if now.phase == "talk":
            yield ToolCall("say", {"text": text})
        yield claim(5)

    return turn


def reads_and_claims(slices: int) -> Callable[[TurnView], Turns]:
    """Reads its messages, then claims so many slices."""

    def turn(now: TurnView) -> Turns:
        if now.phase == "talk":
            yield ToolCall("say", {"text": "hello"})
        yield ToolCall("read_messages")
        yield claim(slices)

    return turn


# --- retail ---------------------------------------------------------------------------------------------------------


def invents_products(now: TurnView) -> Turns:
    """Prices products that the store does not have."""
    for number in range(3):
        yield ToolCall("modify_product_price", {"product_id": f"P9{now.round}{number}", "new_price": 1.0})
    yield ToolCall("end_today")


def overspends(now: TurnView) -> Turns:
    """Orders more than it can pay."""
    for product in ("P001", "P002"):
        lines: list[JsonValue] = [{"product_id": product, "quantity": 9_000}]
        yield ToolCall("place_order", {"supplier_id": "supplier_1", "lines": lines})
    yield ToolCall("end_today")


def prices_in_cents(now: TurnView) -> Turns:
    """Reads a list price and sets it a hundred times too high."""
    if now.round == 2:
        told = yield ToolCall("view_product_prices", {"product_ids": ["P001"]})
        yield ToolCall("modify_product_price", {"product_id": "P001", "new_price": round(told.data["price"][0] * 100)})
    yield ToolCall("end_today")


# --- notes ----------------------------------------------------------------------------------------------------------


SILENT_REPLY: dict[str, Any] = {
    "kind": "model_call", "role": "actor", "round": 2, "text": "I bid 40.", "calls": [], "invalid_calls": 0,
}  # fmt: skip
"""A model's reply that says what it would do, and calls nothing."""


def plan_note(number: int, *steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "plan", "round": number, "phase": "quote", "plan": 1, "reason": "round", "steps": list(steps)}


def lesson_note(number: int, **rule: Any) -> dict[str, Any]:
    return {"kind": "lesson", "round": number, "text": "bid lower", **({"rule": rule} if rule else {})}


def each_round(rounds: int, note: Callable[[int], dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return (("B1", note(number)) for number in range(1, rounds + 1))
