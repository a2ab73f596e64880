"""The book trades as a list that is scanned for the best order would: in random streams and the sample sequences."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from tradefair.order_book.engine.book import Book, Fill, Side


class Scanned:
    """The same rules over a plain list: every order is looked at for every message."""

    def __init__(self) -> None:
        self.count = 0
        self.orders: list[list[object]] = []

    def submit(self, owner: str, side: Side, price: int, quantity: int, *, rest: bool = True) -> list[Fill]:
        self.count += 1
        fills: list[Fill] = []
        sign = 1 if side == "buy" else -1
        while quantity:
            meets = [row for row in self.orders if row[2] != side and sign * (price - int(str(row[3]))) >= 0]
            if not meets:
                break
            front = min(meets, key=lambda row: (sign * int(str(row[3])), row[0]))
            traded = min(quantity, int(str(front[4])))
            fills.append(Fill(int(str(front[0])), str(front[1]), int(str(front[3])), traded))
            quantity -= traded
            front[4] = int(str(front[4])) - traded
            self.orders = [row for row in self.orders if row[4]]
        if quantity and rest:
            self.orders.append([self.count, owner, side, price, quantity])
        return fills

    def cancel(self, order: int) -> int:
        gone = [int(str(row[4])) for row in self.orders if row[0] == order]
        self.orders = [row for row in self.orders if row[0] != order]
        return sum(gone)


def test_the_example_of_the_page() -> None:
    book = Book()
    book.submit("S1", "sell", 101, 2)
    book.submit("S2", "sell", 101, 1)
    book.submit("S3", "sell", 103, 4)
    number, fills = book.submit("B1", "buy", 102, 5)
    assert (number, fills) == (4, [Fill(1, "S1", 101, 2), Fill(2, "S2", 101, 1)])
    assert (book.best("buy"), book.best("sell")) == (102, 103)
    assert book.depth("buy", 5) == [(102, 2)]


@pytest.mark.parametrize("seed", range(20))
def test_it_trades_as_a_scanned_list_does(seed: int) -> None:
    draw, book, naive = random.Random(seed), Book(), Scanned()
    for _ in range(3_000):
        if draw.random() < 0.2 and book.count:
            order = draw.randint(1, book.count)
            assert book.cancel(order) == naive.cancel(order)
            assert book.cancel(order) == 0
            continue
        side: Side = "buy" if draw.random() < 0.5 else "sell"
        price, quantity, rest = draw.randint(80, 120), draw.randint(1, 9), draw.random() < 0.8
        owner = draw.choice("ABCDE")
        assert book.submit(owner, side, price, quantity, rest=rest)[1] == naive.submit(
            owner, side, price, quantity, rest=rest
        )
        bid, ask = book.best("buy"), book.best("sell")
        assert bid is None or ask is None or bid < ask
    left = [[order.number, order.owner, order.side, order.price, order.quantity] for order in book.orders()]
    assert sorted(map(str, left)) == sorted(map(str, naive.orders))


def test_a_smaller_quantity_keeps_its_place() -> None:
    book = Book()
    book.submit("A", "sell", 100, 5)
    book.submit("B", "sell", 100, 5)
    assert book.reduce(1, 2)
    assert not book.reduce(1, 2)
    assert book.ahead(2) == 2
    assert book.submit("C", "buy", 100, 3)[1] == [Fill(1, "A", 100, 2), Fill(2, "B", 100, 1)]


@pytest.mark.skipif("TRADEFAIR_DATA" not in os.environ, reason="TRADEFAIR_DATA names no sample data")
def test_the_sample_sequences_to_the_last_fill() -> None:
    found = json.loads((Path(os.environ["TRADEFAIR_DATA"]) / "order_book" / "sequences.json").read_text())
    assert len(found["sequences"]) == 4
    for sequence in found["sequences"]:
        book, position, cash = Book(), dict[str, int](), dict[str, int]()
        for kind, *rest in sequence["events"]:
            if kind == "cancel":
                assert book.cancel(rest[0]) == rest[1]
                continue
            seat, price, quantity, wanted = rest
            _, fills = book.submit(seat, kind, price, quantity)
            assert [[fill.order, fill.price, fill.quantity] for fill in fills] == wanted
            for fill in fills:
                sign = 1 if kind == "buy" else -1
                for owner, turned in ((seat, sign), (fill.owner, -sign)):
                    position[owner] = position.get(owner, 0) + turned * fill.quantity
                    cash[owner] = cash.get(owner, 0) - turned * fill.quantity * fill.price
        assert [[*level] for level in book.depth("buy", 100)] == sequence["bids"]
        assert [[*level] for level in book.depth("sell", 100)] == sequence["asks"]
        assert {seat: position.get(seat, 0) for seat in sequence["position"]} == sequence["position"]
        assert {seat: cash.get(seat, 0) for seat in sequence["cash"]} == sequence["cash"]
