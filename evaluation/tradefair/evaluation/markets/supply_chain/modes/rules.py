"""Words and thresholds of `modes.toml`."""

from __future__ import annotations

from functools import cache

from tradefair.evaluation.modes.thresholds import RuleBook, bundled_rules

# Begins the ids of this market's findings: general ones have bare names.
PREFIX = "supply_chain."


@cache
def diagnostic_rules() -> RuleBook:
    """The bundled thresholds."""
    return bundled_rules("tradefair.evaluation.markets.supply_chain.modes", "modes.toml", RuleBook)
