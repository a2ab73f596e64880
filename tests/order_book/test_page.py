"""The worked example of the page, to the digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.evaluation.playing import played_by

from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.order_book.modes.play import read_game
from tradefair.evaluation.markets.order_book.outcomes import OrderBookMarket, OrderBookSeat
from tradefair.tracestore import open_trace


def _outcome(path: Path) -> tuple[dict[str, OrderBookSeat], OrderBookMarket]:
    outcome: Any = evaluate_file(path).outcome
    return outcome.seats, cast(OrderBookMarket, outcome.market_outcome)


def test_one_period_is_that_of_the_page(tmp_path: Path) -> None:
    path = played_by(tmp_path / "own.trace", "order_book/smoke", {}, 7, "truthful")
    seats, market = _outcome(path)
    with open_trace(path) as trace:
        fills = read_game(trace).fills
    assert [(fill.buyer, fill.seller, fill.taker, fill.price) for fill in fills] == [
        ("B2", "S2", "S2", 110),
        ("B1", "S1", "S1", 140),
    ]
    assert (market.max_surplus, market.q_star, market.p_lo, market.p_hi) == (100, 2, 90, 110)
    assert market.efficiency == 1
    assert market.alpha == pytest.approx(29.15, abs=0.005)
    assert {seat: own.profit for seat, own in seats.items()} == {"B1": 0, "B2": 0, "S1": 80, "S2": 20}
    assert [seats[seat].competitive_profit for seat in ("B1", "B2")] == [40, 10]
    assert [seats[seat].ceiling for seat in ("B1", "B2")] == [80, 50]


def test_a_sniper_in_the_same_seat_takes_its_ceiling(tmp_path: Path) -> None:
    path = played_by(tmp_path / "own.trace", "order_book/smoke", {"B1": "kaplan"}, 7, "truthful")
    own = _outcome(path)[0]["B1"]
    assert (own.profit, own.ceiling_share, own.taken, own.made) == (80, 1.0, 1, 0)
