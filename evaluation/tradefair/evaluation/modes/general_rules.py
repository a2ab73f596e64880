"""Words and thresholds of `modes.toml`."""

from __future__ import annotations

from functools import cache

from tradefair.evaluation.modes.thresholds import RuleBook, bundled_rules


@cache
def general_rules() -> RuleBook:
    """The bundled thresholds."""
    return bundled_rules("tradefair.evaluation.modes", "modes.toml", RuleBook)
