"""Windows and thresholds of `modes.toml`, and the shape of the market's figures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel, ConfigDict

from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.modes.diagnosis import Figure, Share
from tradefair.evaluation.modes.thresholds import DetectorRules, bundled_rules

# Begins the ids of this market's figures and findings: general ones have bare names.
PREFIX = "retail."


class _Record(BaseModel):
    """A frozen record; an unknown key in `modes.toml` is an error and not a threshold that has no effect."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Windows(_Record):
    """Days and counts that the stages use."""

    follow_up_days: int
    look_back_days: int
    best_sellers: int
    price_limit_cents: int
    price_tolerance_percent: float


class DiagnosticRules(_Record):
    """The whole of `modes.toml`."""

    version: str
    min_days: int
    windows: Windows
    detectors: Mapping[str, DetectorRules]


@cache
def diagnostic_rules() -> DiagnosticRules:
    """The bundled thresholds."""
    return bundled_rules("tradefair.evaluation.markets.retail.modes", "modes.toml", DiagnosticRules)


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
