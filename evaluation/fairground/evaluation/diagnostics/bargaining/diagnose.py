"""The diagnosis of a bargaining game: what was said, and the market's failure modes."""

from __future__ import annotations

from fairground.bargaining import MARKET
from fairground.evaluation.diagnostics.bargaining.detectors import detect, what_was_said
from fairground.evaluation.diagnostics.bargaining.reading import read_game
from fairground.evaluation.diagnostics.bargaining.rules import diagnostic_rules
from fairground.evaluation.diagnostics.model import Diagnosis
from fairground.evaluation.diagnostics.published import map_version
from fairground.tracestore import Trace

__all__ = ["diagnose_bargaining"]


def diagnose_bargaining(trace: Trace) -> Diagnosis:
    """Figures and findings of an opened trace. Total."""
    game = read_game(trace)
    return Diagnosis(
        market=MARKET.name,
        version=diagnostic_rules().version,
        evidence_map=map_version(MARKET),
        stages=what_was_said(game),
        findings=detect(game),
    )
