"""The failure modes of the order book, in the order of `modes.toml`."""

from __future__ import annotations

from functools import wraps
from typing import Any

from tradefair.evaluation.markets.order_book.modes import quotes, shares, units
from tradefair.evaluation.markets.order_book.modes.play import Trader
from tradefair.evaluation.modes.diagnosis import Detector, Seen, unchecked
from tradefair.evaluation.modes.table import load_modes


def _of_goods(detect: Detector) -> Detector:
    """The detector, unchecked in a market for shares."""
    return _where(detect, asset=False, otherwise="not in a market for shares")


def _of_shares(detect: Detector) -> Detector:
    """The detector, unchecked in a market for goods."""
    return _where(detect, asset=True, otherwise="only in a market for shares")


def _where(detect: Detector, *, asset: bool, otherwise: str) -> Detector:
    @wraps(detect)
    def judged(trader: Trader, **thresholds: Any) -> Seen:
        return detect(trader, **thresholds) if trader.game.asset == asset else unchecked(otherwise)

    return judged


MODES = load_modes(
    "tradefair.evaluation.markets.order_book.modes",
    {
        "loss_trade": _of_goods(units.loss_trade),
        "bubble_buy": _of_shares(shares.bubble_buy),
        "late_hold": _of_shares(shares.late_hold),
        "missed_take": _of_goods(units.missed_take),
        "unit_lost_late": _of_goods(units.unit_lost_late),
        "contradicted_analysis": _of_goods(units.contradicted_analysis),
        "paid_up": quotes.paid_up,
        "dead_quote": quotes.dead_quote,
        "churn": quotes.churn,
    },
    problem=lambda trader: trader.game.problem,
)
"""Every failure mode of the market."""
