"""The failure modes of the order book, in the order of `modes.toml`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from tradefair.evaluation.markets.order_book.modes import quotes, shares, units
from tradefair.evaluation.markets.order_book.modes.play import Trader
from tradefair.evaluation.modes.diagnosis import Detector, Seen, unchecked
from tradefair.evaluation.modes.table import load_modes

_P = ParamSpec("_P")


def _known(detect: Callable[Concatenate[Trader, _P], Seen], *, asset: bool | None = None) -> Detector:
    """The detector, unchecked where nothing is known, and in the other kind of market."""

    @wraps(detect)
    def judged(trader: Trader, *args: _P.args, **kwargs: _P.kwargs) -> Seen:
        game = trader.game
        if game.problem is not None:
            return unchecked(f"could not be computed: {game.problem}")
        if asset is not None and asset != game.asset:
            return unchecked("only in a market for shares" if asset else "not in a market for shares")
        return detect(trader, *args, **kwargs)

    return judged


MODES = load_modes(
    "tradefair.evaluation.markets.order_book.modes",
    {
        "loss_trade": _known(units.loss_trade, asset=False),
        "bubble_buy": _known(shares.bubble_buy, asset=True),
        "late_hold": _known(shares.late_hold, asset=True),
        "missed_take": _known(units.missed_take, asset=False),
        "unit_lost_late": _known(units.unit_lost_late, asset=False),
        "contradicted_analysis": _known(units.contradicted_analysis, asset=False),
        "paid_up": _known(quotes.paid_up),
        "dead_quote": _known(quotes.dead_quote),
        "churn": _known(quotes.churn),
    },
)
"""Every failure mode of the market."""
