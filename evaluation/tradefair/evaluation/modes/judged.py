"""From detectors to findings: what was seen of every seat, judged by the mode's row and put together.

A detector is a pure function (seat as its market reads it, thresholds) -> `Sign`. It counts cases and says whether they
are enough; this module decides whether there was enough to count at all, and makes one finding per raised seat. The
seats in which a mode was looked for and not found share one finding, and so do those in which there was nothing to look
for: 400 seats must not make 8,000 findings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from tradefair.contract import SeatId
from tradefair.evaluation.arithmetic import ratio, rounded
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding, cited
from tradefair.evaluation.modes.published import map_version
from tradefair.evaluation.modes.sign import Sign
from tradefair.evaluation.modes.thresholds import ModeRules, RuleBook
from tradefair.tracestore import Trace

S = TypeVar("S")

_SHOWN = 3
"""Notes, and seats of a note, that a finding of several seats shows at most."""


class Judged(NamedTuple):
    """One seat, and what is left of a detector's sign after judgement."""

    seat: SeatId
    sign: Sign


class Frame(NamedTuple):
    """What all findings of a trace share: the rounds that were looked at, in words, and the unit of costs."""

    window: str | None
    unit: str


def diagnosis_of(trace: Trace, book: RuleBook, findings: Sequence[Finding]) -> Diagnosis:
    """The diagnosis of a market that has findings and no stages of figures; `book` gives the version.

    Raises TraceError when the manifest cannot be read.
    """
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
    """Findings of every failure mode, in the order of `detectors`, whose keys are those of `book`.

    `seats` holds what the detectors read of a seat, `prefix` is put before the mode's name in the finding's id. Raises
    KeyError for a detector without a row.
    """
    # The order is that of the table, so a diagnosis reads the same for every trace of a market.
    found: list[Finding] = []
    for name, detector in detectors.items():
        rules = book.detectors[name]
        judged = [judge(seat, rules, partial(detector, played, rules.limits)) for seat, played in seats.items()]
        found += findings_of(prefix + name, rules, judged, frame)
    return found


def judge(seat: SeatId, rules: ModeRules, detect: Callable[[], Sign]) -> Judged:
    """What the detector saw, unless there were too few cases; unchecked, with the fault as note, where it failed."""
    try:
        sign = detect()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as fault:
        # A trace may hold notes and facts that no rules have made. One seat's nonsense must not hide the findings of
        # the others, and an auditor has to learn that this mode was not looked for.
        return Judged(seat, Sign(False, 0, note=f"cannot be computed: {fault!r}"[:200], checked=False))
    return Judged(seat, _weighed(sign, rules))


def _weighed(sign: Sign, rules: ModeRules) -> Sign:
    """The sign, not raised where nothing or too little could be counted: a share of one or two cases is luck."""
    if not sign.checked:
        return replace(sign, raised=False, severity=None)
    least = rules.limits.get("min_cases", 1)
    if not sign.denominator:
        # With min_cases = 0 an empty denominator is good news (no call was refused), else there was nothing to judge.
        return replace(sign, raised=False, note=sign.note or rules.worded(rules.undefined), checked=not least)
    if sign.denominator < least:
        note = f"too few {rules.worded(rules.unit)}: {sign.denominator:g} < {least:g}"
        return replace(sign, raised=False, severity=None, note=note, checked=False)
    return sign


def findings_of(name: str, rules: ModeRules, judged: Sequence[Judged], frame: Frame) -> Iterator[Finding]:
    """One finding per raised seat, in the order given; then one for the clear seats, one for the unchecked ones.

    Without any seat there is an unchecked finding of none, so that every mode is named in every diagnosis.
    """
    for seen in judged:
        if seen.sign.raised:
            yield _finding(name, rules, [seen], frame)
    clear = [seen for seen in judged if not seen.sign.raised and seen.sign.checked]
    if clear:
        yield _finding(name, rules, clear, frame)
    unchecked = [seen for seen in judged if not seen.sign.checked]
    if unchecked or not judged:
        yield _finding(name, rules, unchecked, frame)


def _finding(name: str, rules: ModeRules, judged: Sequence[Judged], frame: Frame) -> Finding:
    """Cases and opportunities of these seats added up; of several seats, the value of each is a part."""
    signs = [seen.sign for seen in judged]
    top, bottom = math.fsum(sign.numerator for sign in signs), math.fsum(sign.denominator for sign in signs)
    return Finding(
        id=name,
        seats=[seen.seat for seen in judged],
        value=ratio(top, bottom),
        numerator=rounded(top),
        denominator=rounded(bottom),
        formula=rules.worded(rules.formula),
        window=frame.window,
        events=cited(seq for sign in signs for seq in sign.events),
        parts=_parts(judged),
        note=_note(judged),
        raised=any(sign.raised for sign in signs),
        checked=bool(signs) and all(sign.checked for sign in signs),
        threshold=rules.worded(rules.raised_when),
        severity=_severity(signs),
        severity_unit=frame.unit,
    )


def _parts(judged: Sequence[Judged]) -> dict[str, float | None]:
    # One seat keeps the detector's own split.
    if len(judged) == 1:
        return dict(judged[0].sign.parts)
    # What a detector splits by (kinds of calls, say) is lost here: seats matter more, and both would not fit.
    return {seen.seat: ratio(seen.sign.numerator, seen.sign.denominator) for seen in judged}


def _severity(signs: Sequence[Sign]) -> float | None:
    """Costs added up, in the unit of the frame; null where no detector knows any, which is not the same as 0."""
    # Unknown costs are left out, so the sum may be too low.
    costs = [sign.severity for sign in signs if sign.severity is not None]
    # A sum of gains is no harm: a mode that paid in this trace is shown without a cost.
    return rounded(max(0.0, math.fsum(costs))) if costs else None


def _note(judged: Sequence[Judged]) -> str | None:
    """The seats' notes, each once and, where it is not about all of them, with its seats; at most three."""
    seats: dict[str, list[SeatId]] = {}
    for seen in judged:
        if seen.sign.note:
            seats.setdefault(seen.sign.note, []).append(seen.seat)
    notes = [note if len(of) == len(judged) else f"{_named(of)}: {note}" for note, of in seats.items()]
    return "; ".join(notes[:_SHOWN]) + (" …" if len(notes) > _SHOWN else "") if notes else None


def _named(seats: Sequence[SeatId]) -> str:
    return ", ".join(seats[:_SHOWN]) + (" …" if len(seats) > _SHOWN else "")
