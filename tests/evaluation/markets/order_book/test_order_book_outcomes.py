"""Outcomes of the order book: bubbles of hand-made paths, Smith's alpha, a replayed ledger, shares of the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.evaluation.playing import played

from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.order_book.modes.play import Game, read_game
from tradefair.evaluation.markets.order_book.outcomes import (
    Bubble,
    OrderBookOutcome,
    OrderBookSeat,
    bubble,
    ledger_violations,
    relative_to_references,
    smiths_alpha,
)
from tradefair.tracestore import open_trace

# 24 a period over five periods, as of the asset preset's dividends: mean 72.
FALLING = [120.0, 96.0, 72.0, 48.0, 24.0]


def test_prices_at_the_fundamental_value_are_no_bubble() -> None:
    assert bubble(FALLING, FALLING) == Bubble(0.0, 0.0, 0.0, 0, 0)


def test_a_constant_gap_is_its_share_of_the_mean_value_and_neither_rises_nor_spreads() -> None:
    above = bubble([worth + 18 for worth in FALLING], FALLING)
    assert above == Bubble(0.25, 0.25, 0.0, 0, 0)
    assert bubble([worth - 18 for worth in FALLING], FALLING) == above._replace(rd=-0.25)


def test_prices_that_stay_while_the_value_falls_rise_against_it() -> None:
    found = bubble([72.0] * 5, FALLING)
    assert found.rad == pytest.approx((48 + 24 + 0 + 24 + 48) / 5 / 72)
    assert found.rd == pytest.approx(0.0)
    assert (found.amplitude, found.duration) == (96 / 120, 4)


def test_a_silent_period_borrows_no_price() -> None:
    # The last trade was at 96: with it the silent periods would be off by 24 and 48.
    found = bubble([120.0, 96.0, None, None, 24.0], FALLING)
    assert found == Bubble(0.0, 0.0, 0.0, 0, 2)
    assert bubble([None] * 5, FALLING) == Bubble(None, None, None, 0, 5)


def test_an_episode_that_stops_early_is_measured_by_the_values_of_all_periods() -> None:
    assert bubble([138.0, 114.0], FALLING).rad == pytest.approx(18 / 72)


def test_alpha_is_the_root_mean_square_deviation_in_percent_of_the_competitive_price() -> None:
    assert smiths_alpha([97.0, 103.0, 100.0, 104.0], 100.0) == pytest.approx(100 * (34 / 4) ** 0.5 / 100)
    assert smiths_alpha([], 100.0) is None
    assert smiths_alpha([100.0], None) is None


def _played(folder: Path, preset: str, policy: str, **changes: Any) -> Path:
    return played(folder / "game.trace", f"order_book/{preset}", policy, 4, **changes)


def _game(path: Path) -> Game:
    with open_trace(path) as trace:
        return read_game(trace)


def test_the_ledger_of_a_trace_is_that_of_its_replayed_fills(tmp_path: Path) -> None:
    game = _game(_played(tmp_path, "smith", "zi_c", periods=2))
    assert game.fills
    assert ledger_violations(game) == 0
    last = game.periods[-1]
    game.periods[-1] = last._replace(profit={**last.profit, "B1": last.profit["B1"] + 1})
    assert ledger_violations(game) == 1


def test_a_share_or_a_tick_too_many_is_a_violation(tmp_path: Path) -> None:
    game = _game(_played(tmp_path, "asset_short", "zi_c"))
    assert game.fills
    assert ledger_violations(game) == 0
    last = game.periods[-1]
    game.periods[-1] = last._replace(shares={**last.shares, "T1": last.shares["T1"] + 1})
    assert ledger_violations(game) == 1
    game.periods[-1] = last._replace(cash={**last.cash, "T2": last.cash["T2"] - 1})
    assert ledger_violations(game) == 1


def test_what_shares_pay_at_the_end_belongs_to_wealth_and_to_profit(tmp_path: Path) -> None:
    changes = {"final_value": 50, "periods": 2, "sweeps": 3}
    outcome = evaluate_file(_played(tmp_path, "asset_short", "hold", **changes)).outcome
    assert outcome is not None
    own = cast(OrderBookSeat, outcome.seats["T1"])
    paid = sum(row.dividend or 0 for row in _game(tmp_path / "game.trace").periods)
    assert own.gain == 0
    assert own.profit == 3 * (paid + 50)


def _seat(profit: int, competitive: float) -> OrderBookSeat:
    return OrderBookSeat.model_construct(profit=profit, competitive_profit=competitive, gain=None, wealth=None)


class _Only:
    def __init__(self, seat: OrderBookSeat) -> None:
        self.seats = {"B1": seat}


def _shares(profits: dict[str, int], competitive: float = 500.0) -> dict[str, float | None]:
    outcomes = {label: _Only(_seat(profit, competitive)) for label, profit in profits.items()}
    found = relative_to_references("B1", cast("dict[str, OrderBookOutcome]", outcomes))
    return {label: row["share_of_best"] for label, row in found.items()}


def test_the_best_of_all_known_references_is_one_and_the_floor_is_zero() -> None:
    known = {"agent": 250, "policy:truthful": 200, "policy:kaplan": 280, "policy:anchored": 300, "policy:passive": 0}
    shares = _shares(known)
    assert (shares["agent"], shares["policy:anchored"], shares["policy:truthful"]) == (0.5, 1.0, 0.0)


def test_references_that_lie_together_give_no_share() -> None:
    close = {"agent": 250, "policy:truthful": 200, "policy:kaplan": 204}
    assert _shares(close)["agent"] is None
    assert _shares({**close, "policy:kaplan": 205})["agent"] == 10.0
