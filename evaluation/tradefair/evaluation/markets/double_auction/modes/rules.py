"""Words and thresholds of `modes.toml`."""

from __future__ import annotations

from functools import cache

from tradefair.evaluation.modes.thresholds import RuleBook, bundled_rules

PREFIX = "double_auction."


@cache
def diagnostic_rules() -> RuleBook:
    """The bundled thresholds."""
    return bundled_rules("tradefair.evaluation.markets.double_auction.modes", "modes.toml", RuleBook)
