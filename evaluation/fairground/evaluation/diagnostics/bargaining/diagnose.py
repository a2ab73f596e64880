"""The diagnosis of a bargaining game: what was said, and the market's failure modes."""

from __future__ import annotations

from fairground.catalog import market_type
from fairground.evaluation.diagnostics.bargaining.detectors import detect, what_was_said
from fairground.evaluation.diagnostics.bargaining.reading import read_game
from fairground.evaluation.diagnostics.bargaining.rules import diagnostic_rules
from fairground.evaluation.diagnostics.model import Diagnosis
from fairground.evaluation.diagnostics.published import map_version
from fairground.tracestore import Trace

__all__ = ["diagnose_bargaining"]


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
