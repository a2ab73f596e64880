"""The failure modes of the order book, in the order of `modes.toml`, and how a replay amends what they cite."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from tradefair.evaluation.markets.order_book.modes import quotes, shares, units
from tradefair.evaluation.markets.order_book.modes.play import Trader
from tradefair.evaluation.modes.diagnosis import Amend, CaseRecord, Detector, Seen, unchecked
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


# The words of the general mode `unit_mistake`: of a case it is all that has the number.
_IN_SIGHT = re.compile(r"where (?P<number>\d{1,6}) was in sight")


def _number_in_sight(
    case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """An order that was off by a power of ten at the number that the seat could see."""
    found = _IN_SIGHT.search(case.because)
    return {**arguments, "price": int(found["number"])} if found else None


MODES = load_modes(
    "tradefair.evaluation.markets.order_book.modes",
    {
        "loss_trade": _known(units.loss_trade, asset=False),
        "bubble_buy": _known(shares.bubble_buy, asset=True),
        "late_hold": _known(shares.late_hold, asset=True),
        "missed_take": _known(units.missed_take, asset=False),
        "idle_steps": _known(units.idle_steps, asset=False),
        "unit_lost_late": _known(units.unit_lost_late, asset=False),
        "left_units": _known(units.left_units, asset=False),
        "contradicted_analysis": _known(units.contradicted_analysis, asset=False),
        "paid_up": _known(quotes.paid_up),
        "picked_off": _known(quotes.picked_off),
        "dead_quote": _known(quotes.dead_quote),
        "churn": _known(quotes.churn),
    },
)
"""Every failure mode of the market."""

REPAIRS: dict[str, Amend] = {"unit_mistake": _number_in_sight}
"""How a cited order is amended in a replay."""
