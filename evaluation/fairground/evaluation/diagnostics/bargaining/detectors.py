"""The failure modes of bargaining (page 10.2): the table, and a finding per seat and mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from fairground.evaluation.arithmetic import ratio, rounded
from fairground.evaluation.diagnostics.bargaining import (
    anchor_acceptance,
    endgame_defection,
    injection,
    losses,
    midpoint_gift,
    no_trade,
    one_sided_concession,
    promise_break,
    threat_without_follow_through,
    value_leak,
)
from fairground.evaluation.diagnostics.bargaining.play import Game, Side
from fairground.evaluation.diagnostics.bargaining.rules import PREFIX, BargainingDetectorRules, diagnostic_rules
from fairground.evaluation.diagnostics.bargaining.verdict import Verdict
from fairground.evaluation.diagnostics.model import Figure, Finding, Stage, share

__all__ = ["DETECTORS", "detect", "what_was_said"]

Detector = Callable[[Side, Mapping[str, float]], Verdict]

DETECTORS: Mapping[str, Detector] = {
    "value_leak": value_leak.detect,
    "false_limit_claim": value_leak.detect_false_claims,
    "promise_break": promise_break.detect,
    "threat_without_follow_through": threat_without_follow_through.detect,
    "one_sided_concession": one_sided_concession.detect,
    "anchor_acceptance": anchor_acceptance.detect,
    "loss_making_quote": losses.detect_quotes,
    "loss_making_trade": losses.detect_trades,
    "endgame_defection": endgame_defection.detect,
    "deadlock": no_trade.detect_deadlock,
    "persistent_no_trade": no_trade.detect_persistent,
    "midpoint_gift": midpoint_gift.detect,
    "injection_attempt": injection.detect,
}
"""Every failure mode of the market, in the order in which findings are listed."""


def detect(game: Game) -> list[Finding]:
    """Every mode of every seat. Total: what a trace does not tell is not checked."""
    rules = diagnostic_rules().detectors
    sides = [game.side(seat) for seat in game.seats]
    return [_finding(side, name, rules[name]) for name in DETECTORS for side in sides]


def what_was_said(game: Game) -> list[Stage]:
    """How much of the numbers in messages was read, by seat and kind; nothing where nobody spoke."""
    figures = [figure for seat in game.seats if (figure := _read(game.side(seat))) is not None]
    return [Stage(name="what was said", figures=figures)] if figures else []


def _read(side: Side) -> Figure | None:
    kinds = Counter(said.statement.kind for said in side.said)
    if not side.own_messages:
        return None
    counted = share(kinds.total() - kinds["unknown"], kinds.total(), (said.seq for said in side.said))
    return Figure(
        id=PREFIX + "numbers_read",
        seats=[side.seat],
        value=counted.value,
        numerator=counted.numerator,
        denominator=counted.denominator,
        formula="numbers in own messages whose kind was read / numbers in own messages",
        window=_window(side),
        events=counted.events,
        parts=dict(sorted(kinds.items())),
        note=diagnostic_rules().reading_limits,
    )


def _finding(side: Side, name: str, rules: BargainingDetectorRules) -> Finding:
    verdict = _verdict(side, name, rules)
    found, cost = len(verdict.troubles), verdict.cost
    checked = verdict.unchecked is None
    limits = diagnostic_rules().reading_limits if rules.reads_talk and found else None
    notes = [note for note in (verdict.unchecked, verdict.words, limits) if note]
    return Finding(
        id=PREFIX + name,
        seats=[side.seat],
        value=ratio(found, verdict.of),
        numerator=found,
        denominator=verdict.of,
        formula=rules.worded(rules.formula),
        window=verdict.window or _window(side),
        events=verdict.events,
        parts=dict(verdict.parts),
        note="; ".join(notes) or None,
        raised=checked and found > 0,
        checked=checked,
        threshold=rules.worded(rules.raised_when),
        severity=None if cost is None else rounded(cost),
        severity_unit="ticks",
    )


def _verdict(side: Side, name: str, rules: BargainingDetectorRules) -> Verdict:
    """What the detector saw; nothing where the facts fit no formula or there was nothing to look at."""
    if side.game.problem is not None:
        return Verdict((), 0, unchecked=f"could not be computed: {side.game.problem}")
    try:
        verdict = DETECTORS[name](side, rules.limits)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as odd:
        return Verdict((), 0, unchecked=f"cannot be computed: {odd!r}"[:200])
    if verdict.unchecked is None and not verdict.of and not verdict.troubles:
        return Verdict((), 0, verdict.parts, unchecked=rules.worded(rules.undefined))
    return verdict


def _window(side: Side) -> str | None:
    return f"rounds 1..{side.game.last_round}" if side.game.last_round else None
