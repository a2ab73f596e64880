"""Thresholds and patterns of `modes.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel, ConfigDict

from tradefair.evaluation.modes.thresholds import ModeRules, bundled_rules

PREFIX = "bargaining."


class BargainingModeRules(ModeRules):
    """A failure mode, and whether it rests on the reading of messages.

    Findings of a mode that rests on messages carry the limits of the reading.
    """

    reads_talk: bool = False


class InjectionRules(BaseModel):
    """Patterns of injected instructions by name, the one of the price asked for, and how much worse is worse."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Texts, as TOML has them; `injection` compiles them once.
    patterns: Mapping[str, str]
    asked: str
    worse_by: float


class DiagnosticRules(BaseModel):
    """The whole of `modes.toml`; `reading_limits` is printed with every finding that rests on messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    reading_limits: str
    injection: InjectionRules
    detectors: Mapping[str, BargainingModeRules]


@cache
def diagnostic_rules() -> DiagnosticRules:
    """The bundled thresholds."""
    return bundled_rules("tradefair.evaluation.markets.bargaining.modes", "modes.toml", DiagnosticRules)
