"""Findings in words for people: the same sentences on a terminal and in a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.contract.text import clean_line
from tradefair.evaluation.modes.diagnosis import CaseRecord, Diagnosis, Finding
from tradefair.evaluation.table import number_text

_MAX_SEATS = 8
_SHOWN_ALIKE = 3
"""Cases of a finding that differ in numbers alone."""


class Said(NamedTuple):
    """A line, and what kind of line it is: head, finding, detail or aside."""

    kind: str
    text: str


def findings_text(diagnosis: Diagnosis) -> Iterator[Said]:
    """What was found in the order in which to read it, conditions of the market, what could not be read, what is clear.

    Of cases that differ in numbers alone three are shown.
    """
    raised = diagnosis.raised
    # Ids, not findings: a mode that is looked for in every seat counts once.
    found, looked_for = ({finding.id for finding in some} for some in (raised, diagnosis.findings))
    checked = {finding.id for finding in diagnosis.findings if finding.checked}
    # Several seats may have findings of one mode: what is numbered below is counted too.
    times = f"{len(raised)} findings in " if len(raised) > len(found) else ""
    head = f"found: {times}{len(found)} of {len(looked_for)} failure modes"
    yield Said("head", f"{head}, {len(looked_for - checked)} with nothing to check")
    for finding in raised:
        yield from _finding(finding)
    yield from (Said("aside", text) for text in asides_text(diagnosis))
    yield from _not_found(diagnosis, found)


def _finding(finding: Finding) -> Iterator[Said]:
    yield Said("finding", f"{finding.rank or 0:2}  {finding.id}  {finding.says}")
    figures = [*told_text(finding), *([finding.note] if finding.note else [])]
    if figures:
        yield Said("detail", "      " + "   ".join(figures))
    alike: dict[str, list[CaseRecord]] = {}
    for case in finding.cases:
        alike.setdefault(re.sub(r"[\d,.]+", "", case_text(case)), []).append(case)
    for cases in alike.values():
        yield from (Said("detail", "      " + case_text(case)) for case in cases[:_SHOWN_ALIKE])
        if len(cases) > _SHOWN_ALIKE:
            first, last = min(case.round for case in cases), max(case.round for case in cases)
            rounds = f"round {first}" if first == last else f"rounds {first}–{last}"
            yield Said("detail", f"      {rounds}, {len(cases)} times, {_SHOWN_ALIKE} shown")


def told_text(finding: Finding) -> Iterator[str]:
    """What its turns lost, and how many competent seats do the same; what is known."""
    return filter(None, (lost_text(finding), base_rate_text(finding)))


def case_text(case: CaseRecord) -> str:
    """The event of a case and its sentence, then those of the modes that were merged into it."""
    return f"#{case.seq} {'; '.join([case.because, *case.also])}"


def lost_text(finding: Finding) -> str | None:
    """What the turns of its cases lost by the ledger; None without one."""
    if finding.lost is None:
        return None
    number = number_text(abs(finding.lost))
    turns = f"{len(finding.turns)} turn{'s' * (len(finding.turns) != 1)}"
    return f"{'gained' if finding.lost < 0 else 'lost'} {number} in {turns}"


def base_rate_text(finding: Finding) -> str | None:
    """How many competent seats do the same; None where that is not known."""
    rate = finding.base_rate
    return None if rate is None else f"competent seats: {rate.raised} of {rate.of}"


def _instead_of_rates(played: Sequence[str]) -> str:
    if not played:
        return "competent seats: no base rate is shipped for this scenario"
    were, they = ("were", "they do") if len(played) > 1 else ("was", "it does")
    names = " and ".join(map(clean_line, played))
    said = f"no base rates for this scenario: {names} {were} played on the same seed"
    return f"{said}; what {they} too is not held against the agent"


def asides_text(diagnosis: Diagnosis) -> Iterator[str]:
    """Lines about all findings: missing base rates, conditions of the market, messages that could not be read."""
    if not diagnosis.rates and (diagnosis.raised or diagnosis.conditions):
        yield _instead_of_rates(diagnosis.played)
    conditions: dict[str, Finding] = {finding.id: finding for finding in diagnosis.conditions}
    if conditions:
        rates = (f"{name} ({base_rate_text(finding)})" for name, finding in conditions.items())
        yield f"market condition: {', '.join(rates)}"
    if diagnosis.not_read:
        where = ", ".join(f"#{message.seq}" for message in diagnosis.not_read[:_MAX_SEATS])
        more = " …" * (len(diagnosis.not_read) > _MAX_SEATS)
        count = len(diagnosis.not_read)
        words = f"{count} message{'s hold' if count != 1 else ' holds'} a number near a private one"
        yield f"not read: {words} of the sender and could not be classified: {where}{more}"


def _not_found(diagnosis: Diagnosis, found: set[str]) -> Iterator[Said]:
    """Notes of what was not found or not looked for, then the modes that are clear in every seat."""
    everybody = {seat for finding in diagnosis.findings for seat in finding.seats}
    # One line for all seats that a note is about: seats whose finding another one tells have a finding each.
    about: dict[tuple[str, str], list[SeatId]] = {}
    for finding in diagnosis.not_found:
        if finding.note and finding.status != "clear":
            about.setdefault((finding.id, finding.note), []).extend(finding.seats)
    for (name, note), seats in about.items():
        yield Said("aside", f"{name}{'' if everybody == set(seats) else f' of {some(seats)}'}: {note}")
    clear = dict.fromkeys(
        finding.id for finding in diagnosis.not_found if finding.status == "clear" and finding.id not in found
    )
    if clear:
        yield Said("detail", f"checked, not found: {', '.join(clear)}")


def some(seats: Sequence[SeatId]) -> str:
    """The first seats by name, and how many more there are."""
    more = f" and {len(seats) - _MAX_SEATS} more" if len(seats) > _MAX_SEATS else ""
    return f"{', '.join(seats[:_MAX_SEATS])}{more}"
