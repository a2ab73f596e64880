"""The shape of the market's figures, and the windows that they count over."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.modes.diagnosis import Figure, Share

PREFIX = "retail."
"""Begins the ids of this market's figures."""

FOLLOW_UP_DAYS = 7
"""Days after an action or an event in which attention counts as coming back."""
LOOK_BACK_DAYS = 3
"""Days before a wanted product's day in which an action on it still counts."""
BEST_SELLERS = 10
"""Products with most units that count as wanted on a day."""
PRICE_LIMIT_CENTS = 5000
"""Dearer products are left out of the distance from p*, as in the source."""
PRICE_TOLERANCE_PERCENT = 10
"""Distance from p* up to which a price is correct."""


def figure(
    play: RetailPlay,
    name: str,
    counted: Share,
    formula: str,
    *,
    window: str | None = None,
    parts: Mapping[str, float | None] | None = None,
    note: str | None = None,
) -> Figure:
    """A figure of this market, from a share and the words that explain it.

    `name` comes without the market's prefix; `window` and `formula` are shown to people as they are.
    """
    return Figure(
        id=PREFIX + name,
        seats=[play.seat],
        value=counted.value,
        numerator=counted.numerator,
        denominator=counted.denominator,
        formula=formula,
        window=window,
        events=counted.events,
        parts=dict(parts or {}),
        note=note,
    )
