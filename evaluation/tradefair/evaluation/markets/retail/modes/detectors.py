"""The sixteen detectors (retail page, 10): thresholds from `modes.toml`, each raised or "checked, not found"."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.evaluation.arithmetic import ratio, rounded
from tradefair.evaluation.markets.retail.modes.conversion import conversion
from tradefair.evaluation.markets.retail.modes.detect_attention import (
    idle_days,
    missing_evidence,
    narrow_attention,
    no_follow_up,
    rejected_actions,
    unresolved_events,
)
from tradefair.evaluation.markets.retail.modes.detect_sourcing import (
    below_cost,
    ignored_returns,
    price_first_sourcing,
    price_off_optimum,
)
from tradefair.evaluation.markets.retail.modes.detect_stock import (
    empty_shelf,
    illiquid,
    lost_sales,
    news_unread,
    overbuying,
    stranded_stock,
)
from tradefair.evaluation.markets.retail.modes.evidence import evidence
from tradefair.evaluation.markets.retail.modes.follow_up import follow_up
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.modes.rules import PREFIX, diagnostic_rules
from tradefair.evaluation.markets.retail.modes.selection import selection
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.sign import Sign
from tradefair.evaluation.modes.thresholds import DetectorRules
from tradefair.tracestore import Trace

Detector = Callable[[RetailPlay, Mapping[str, float]], Sign]

DETECTORS: Mapping[str, Detector] = {
    "narrow_attention": narrow_attention,
    "missing_evidence": missing_evidence,
    "price_first_sourcing": price_first_sourcing,
    "ignored_returns": ignored_returns,
    "price_off_optimum": price_off_optimum,
    "below_cost": below_cost,
    "no_follow_up": no_follow_up,
    "unresolved_events": unresolved_events,
    "empty_shelf": empty_shelf,
    "lost_sales": lost_sales,
    "overbuying": overbuying,
    "stranded_stock": stranded_stock,
    "illiquid": illiquid,
    "news_unread": news_unread,
    "idle_days": idle_days,
    "rejected_actions": rejected_actions,
}


def diagnose_retail(trace: Trace) -> Diagnosis:
    """Four stages of figures and the findings of an opened trace; neither where its scenario cannot be read."""
    play = read_retail(trace).play
    known = play.scenario is not None
    return Diagnosis(
        market="retail",
        version=diagnostic_rules().version,
        evidence_map=play.evidence_version,
        # Figures need the store's columns; without the scenario they would be nulls of nothing.
        stages=[stage(play) for stage in (selection, evidence, conversion, follow_up)] if known else [],
        findings=detect(play) if known else [],
    )


def detect(play: RetailPlay) -> list[Finding]:
    """Every detector's finding, in the order of the table.

    Each is raised, or checked and not found, or not checked with the reason in its note.
    """
    rules = diagnostic_rules()
    return [_finding(play, name, rules.detectors[name], rules.min_days) for name in DETECTORS]


def _finding(play: RetailPlay, name: str, rules: DetectorRules, least: int) -> Finding:
    """One detector's sign as a finding; not raised, with a note, where the run was too short for the mode."""
    # A mode may need a longer run than the others: `lost_sales` is judged from 30 days on (decision 0018).
    sign, least = DETECTORS[name](play, rules.limits), int(rules.limits.get("min_days", least))
    note, long_enough = sign.note, play.length >= least
    # A note of the detector says more than the length.
    if note is None and not long_enough:
        note = f"too short: T < {least}"
    # A "cost" below 0 would be a gain: the choice was lucky, and nothing was lost.
    severity = None if sign.severity is None else rounded(max(0.0, sign.severity))
    return Finding(
        id=PREFIX + name,
        seats=[play.seat],
        value=ratio(sign.numerator, sign.denominator) if sign.is_ratio else sign.numerator,
        numerator=sign.numerator,
        denominator=sign.denominator if sign.is_ratio else None,
        formula=rules.worded(rules.formula),
        window=f"days 1..{play.length}",
        events=sign.events,
        parts=dict(sign.parts),
        note=note,
        raised=sign.raised and long_enough,
        checked=sign.checked and long_enough,
        threshold=rules.worded(rules.raised_when),
        severity=severity,
        severity_unit="currency",
    )
