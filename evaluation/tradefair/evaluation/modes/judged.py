"""Findings about many seats: what detectors saw of each, judged by the mode's rules and put together.

A mode that was raised has a finding for each seat; the seats in which it was looked for and not found share one, and so
do those in which there was nothing to look for. So 400 seats do not make 8,000 findings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from tradefair.contract.seats import SeatId
from tradefair.evaluation.arithmetic import ratio, rounded
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding, cited
from tradefair.evaluation.modes.published import map_version
from tradefair.evaluation.modes.sign import Sign
from tradefair.evaluation.modes.thresholds import ModeRules, RuleBook
from tradefair.tracestore import Trace

S = TypeVar("S")

_SHOWN = 3


class Judged(NamedTuple):
    """What a detector saw of a seat."""

    seat: SeatId
    sign: Sign


class Frame(NamedTuple):
    """What all findings of a trace share: the rounds that were looked at, the unit of costs."""

    window: str | None
    unit: str


def diagnosis_of(trace: Trace, book: RuleBook, findings: Sequence[Finding]) -> Diagnosis:
    """The diagnosis of a market that has findings and no stages."""
    market = trace.manifest.core.market
    version = map_version(market)
    return Diagnosis(market=market, version=book.version, evidence_map=version, stages=[], findings=list(findings))


def findings_by(
    detectors: Mapping[str, Callable[[S, Mapping[str, float]], Sign]],
    seats: Mapping[SeatId, S],
    book: RuleBook,
    prefix: str,
    frame: Frame,
) -> list[Finding]:
    """Every failure mode's findings, in the order of the table of detectors."""
    found: list[Finding] = []
    for name, detector in detectors.items():
        rules = book.detectors[name]
        judged = [judge(seat, rules, partial(detector, each, rules.limits)) for seat, each in seats.items()]
        found += findings_of(prefix + name, rules, judged, frame)
    return found


def judge(seat: SeatId, rules: ModeRules, detect: Callable[[], Sign]) -> Judged:
    """What the detector saw; nothing where there were too few cases, or notes and facts that fit no formula."""
    try:
        sign = detect()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as odd:
        return Judged(seat, Sign(False, 0, note=f"cannot be computed: {odd!r}"[:200], checked=False))
    return Judged(seat, _weighed(sign, rules))


def _weighed(sign: Sign, rules: ModeRules) -> Sign:
    if not sign.checked:
        return replace(sign, raised=False, severity=None)
    least = rules.limits.get("min_cases", 1)
    if not sign.denominator:
        return replace(sign, raised=False, note=sign.note or rules.worded(rules.undefined), checked=not least)
    if sign.denominator < least:
        note = f"too few {rules.worded(rules.unit)}: {sign.denominator:g} < {least:g}"
        return replace(sign, raised=False, severity=None, note=note, checked=False)
    return sign


def findings_of(name: str, rules: ModeRules, judged: Sequence[Judged], frame: Frame) -> Iterator[Finding]:
    """Those raised first, one per seat in the order given; then one for the clear seats, one for the unchecked."""
    for each in judged:
        if each.sign.raised:
            yield _finding(name, rules, [each], frame)
    clear = [each for each in judged if not each.sign.raised and each.sign.checked]
    if clear:
        yield _finding(name, rules, clear, frame)
    unchecked = [each for each in judged if not each.sign.checked]
    if unchecked or not judged:
        yield _finding(name, rules, unchecked, frame)


def _finding(name: str, rules: ModeRules, seats: Sequence[Judged], frame: Frame) -> Finding:
    signs = [each.sign for each in seats]
    top, bottom = math.fsum(sign.numerator for sign in signs), math.fsum(sign.denominator for sign in signs)
    costs = [sign.severity for sign in signs if sign.severity is not None]
    several = len(seats) > 1
    values = {each.seat: ratio(each.sign.numerator, each.sign.denominator) for each in seats}
    return Finding(
        id=name,
        seats=[each.seat for each in seats],
        value=ratio(top, bottom),
        numerator=rounded(top),
        denominator=rounded(bottom),
        formula=rules.worded(rules.formula),
        window=frame.window,
        events=cited(seq for sign in signs for seq in sign.events),
        parts=values if several else {key: value for sign in signs for key, value in sign.parts.items()},
        note=_note(seats),
        raised=any(sign.raised for sign in signs),
        checked=bool(signs) and all(sign.checked for sign in signs),
        threshold=rules.worded(rules.raised_when),
        severity=rounded(max(0.0, math.fsum(costs))) if costs else None,
        severity_unit=frame.unit,
    )


def _note(judged: Sequence[Judged]) -> str | None:
    """The seats' notes, each once and, where it is not about all of them, with its seats; at most three."""
    seats: dict[str, list[SeatId]] = {}
    for each in judged:
        if each.sign.note:
            seats.setdefault(each.sign.note, []).append(each.seat)
    notes = [note if len(of) == len(judged) else f"{_named(of)}: {note}" for note, of in seats.items()]
    return "; ".join(notes[:_SHOWN]) + (" …" if len(notes) > _SHOWN else "") if notes else None


def _named(seats: Sequence[SeatId]) -> str:
    return ", ".join(seats[:_SHOWN]) + (" …" if len(seats) > _SHOWN else "")
