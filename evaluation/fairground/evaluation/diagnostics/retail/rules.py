"""Windows and thresholds of `diagnostics.toml`, and the shape of the market's figures."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from fairground.evaluation.diagnostics.model import Figure, Share
from fairground.evaluation.diagnostics.retail.play import RetailPlay

__all__ = ["PREFIX", "DetectorRules", "DiagnosticRules", "Windows", "diagnostic_rules", "figure"]

PREFIX = "retail."


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Windows(_Record):
    """Days and counts that the stages use."""

    follow_up_days: int
    look_back_days: int
    best_sellers: int
    price_limit_cents: int
    price_tolerance_percent: float


class DetectorRules(BaseModel):
    """A detector's words and thresholds."""

    model_config = ConfigDict(frozen=True, extra="allow")

    formula: str
    raised_when: str

    @property
    def limits(self) -> Mapping[str, float]:
        """Thresholds by name."""
        return {name: float(value) for name, value in (self.model_extra or {}).items()}

    def worded(self, text: str) -> str:
        """A text with its thresholds filled in."""
        return text.format(**(self.model_extra or {}))


class DiagnosticRules(_Record):
    """The whole of `diagnostics.toml`."""

    version: str
    min_days: int
    windows: Windows
    detectors: Mapping[str, DetectorRules]


@cache
def diagnostic_rules() -> DiagnosticRules:
    """The bundled thresholds."""
    text = files("fairground.evaluation.diagnostics.retail").joinpath("diagnostics.toml").read_text(encoding="utf-8")
    return DiagnosticRules.model_validate(tomllib.loads(text))


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
    """A figure of this market."""
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
