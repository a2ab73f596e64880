"""The diagnosis of a bargaining game: what was said, and the market's failure modes."""

from __future__ import annotations

from tradefair.catalog import market_type
from tradefair.evaluation.markets.bargaining.modes.detectors import detect, what_was_said
from tradefair.evaluation.markets.bargaining.modes.reading import read_game
from tradefair.evaluation.markets.bargaining.modes.rules import diagnostic_rules
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.modes.published import map_version
from tradefair.tracestore import Trace


def diagnose_bargaining(trace: Trace) -> Diagnosis:
    """Figures and findings of an opened trace. Total."""
    game, kind = read_game(trace), market_type("bargaining")
    return Diagnosis(
        market=kind.name,
        version=diagnostic_rules().version,
        evidence_map=map_version(kind),
        stages=what_was_said(game),
        findings=detect(game),
    )
