"""The diagnosis of a bargaining game: what was said, and the market's failure modes."""

from __future__ import annotations

from tradefair.catalog import market_type
from tradefair.evaluation.diagnostics.bargaining.detectors import detect, what_was_said
from tradefair.evaluation.diagnostics.bargaining.reading import read_game
from tradefair.evaluation.diagnostics.bargaining.rules import diagnostic_rules
from tradefair.evaluation.diagnostics.model import Diagnosis
from tradefair.evaluation.diagnostics.published import map_version
from tradefair.tracestore import Trace

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
