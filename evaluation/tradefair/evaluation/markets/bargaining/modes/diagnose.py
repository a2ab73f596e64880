"""The diagnosis of a bargaining game: what was said, and the market's failure modes."""

from __future__ import annotations

from tradefair.evaluation.markets.bargaining.modes.detectors import detect, what_was_said
from tradefair.evaluation.markets.bargaining.modes.reading import read_game
from tradefair.evaluation.markets.bargaining.modes.rules import diagnostic_rules
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.modes.published import map_version
from tradefair.tracestore import Trace


def diagnose_bargaining(trace: Trace) -> Diagnosis:
    """Figures and findings of an opened trace. Total."""
    game, market = read_game(trace), "bargaining"
    return Diagnosis(
        market=market,
        version=diagnostic_rules().version,
        evidence_map=map_version(market),
        stages=what_was_said(game),
        findings=detect(game),
    )
