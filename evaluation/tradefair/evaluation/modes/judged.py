"""From detectors to findings: what was seen of every seat, judged by the mode's row.

A detector is a pure function (seat as its market reads it, params) -> `Seen`: it finds cases. Whether they are enough
is decided here, by the row's terms alone. The seats in which a mode was looked for and not found share one finding, and
so do those in which there was nothing to look for: 400 seats must not make 8,000 findings.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.modes.diagnosis import (
    MAX_BECAUSE,
    MAX_CITED,
    BaseRate,
    Case,
    CaseRecord,
    Finding,
    Seen,
    Status,
    unchecked,
)
from tradefair.evaluation.modes.table import Mode, ModeTable, Term
from tradefair.evaluation.read.arithmetic import ratio, rounded, stretches

_SHOWN = 3
"""Notes, and seats of a note, that a finding of several seats shows at most."""


class Frame(NamedTuple):
    """What the findings of one table share.

    `prefix` begins their ids, `unit` is that of money, `roles` has the role of every seat, `phrases` by role the words
    that its sentences use ({"buyer": {"quote": "bid"}}). `lacking` says by need, or by a mode's name, why
    the trace cannot meet it, as for the looks of an imported log.
    """

    prefix: str
    unit: str
    roles: Mapping[SeatId, str]
    phrases: Mapping[str, Mapping[str, str]] = {}
    lacking: Mapping[str, str] = {}


@dataclass
class Sight:
    """One mode in one seat, on its way from a detector to a finding.

    `also` holds the sentences of merged cases by the place of the case that they were merged into, `gone` the places of
    cases that another finding tells.
    """

    mode: Mode
    frame: Frame
    id: str
    seat: SeatId
    seen: Seen
    status: Status
    note: str | None = None
    also: dict[int, list[str]] = field(default_factory=dict[int, "list[str]"])
    gone: set[int] = field(default_factory=set[int])
    rate: BaseRate | None = None

    @property
    def amount(self) -> float:
        """The weight of all cases: their number, unless they are weighed."""
        return math.fsum(case.amount for case in self.seen.cases)


def is_raised(mode: Mode, seen: Seen) -> Term | None:
    """The first term of the row that the cases meet; the only function that knows thresholds."""
    amount = math.fsum(case.amount for case in seen.cases)
    part = amount / seen.of if seen.of else 0.0
    return next((term for term in mode.raised if _holds(term, seen.cases, amount, part, seen.parts)), None)


def _holds(term: Term, cases: Sequence[Case], amount: float, part: float, parts: Mapping[str, float | None]) -> bool:
    # A hair is allowed for shares of sums: 0.1 + 0.2 is to be at least 0.3.
    return (
        (term.count is None or len(cases) >= term.count)
        and (term.amount is None or amount >= term.amount - 1e-9)
        and (term.share is None or (bool(cases) and part >= term.share - 1e-9))
        and (term.run is None or longest_run(case.round for case in cases) >= term.run)
        and all((parts[name] or 0) >= least for name, least in term.parts.items())
    )


def longest_run(rounds: Iterable[int]) -> int:
    """The length of the longest stretch of consecutive rounds."""
    return max(map(len, stretches(sorted(set(rounds)), int)), default=0)


def look(table: ModeTable, seats: Mapping[SeatId, Any], frame: Frame) -> list[Sight]:
    """Every mode in every seat of the roles that it judges, in the order of the table, then of `seats`."""
    return [
        _judged(mode, frame, name, seat, _seen(table, name, mode, frame, record))
        for name, mode in table.rows.items()
        for seat, record in seats.items()
        if not mode.judged or frame.roles.get(seat) in mode.judged
    ]


def _seen(table: ModeTable, name: str, mode: Mode, frame: Frame, record: object) -> Seen:
    missing = next((frame.lacking[need] for need in (*mode.needs, name) if need in frame.lacking), None)
    if missing is not None:
        return unchecked(missing)
    try:
        return table.detect(name, record)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as fault:
        # A trace may hold notes and facts that no rules have made. One seat's nonsense must not hide the findings of
        # the others. In tests on sound traces the same exception is a fault of ours, and has to be seen.
        if os.environ.get("TRADEFAIR_STRICT"):
            raise
        return unchecked(f"cannot be computed: {fault!r}"[:200])


def _judged(mode: Mode, frame: Frame, name: str, seat: SeatId, seen: Seen) -> Sight:
    """With its status: not judged where nothing or too little could be counted, for a share of two cases is luck."""
    status: Status = "clear"
    note = seen.note
    if seen.unchecked is not None:
        status, note = "unchecked", seen.unchecked
    elif seen.of < mode.least_of or (not seen.of and mode.least_of):
        status, note = "unchecked", f"{seen.of:g} {mode.unit}, {max(mode.least_of, 1):g} needed"
    elif is_raised(mode, seen):
        status = "raised"
    elif seen.unread and not seen.cases:
        # "Not found" is said only where everything could be read.
        status, note = "unchecked", f"{len(seen.unread)} message{'s' * (len(seen.unread) != 1)} not read"
    return Sight(mode, frame, frame.prefix + name, seat, seen, status, note)


def findings_of(sights: Sequence[Sight], tables: Iterable[tuple[ModeTable, Frame]]) -> list[Finding]:
    """One finding per seat in which a mode was found; one for the clear seats of a mode, one for the unchecked ones.

    In the order of the tables. A mode that no seat was judged by has an unchecked finding of no seats, so that every
    mode is named in every diagnosis.
    """
    by_mode = {name: list(same) for name, same in groupby(sights, lambda sight: sight.id)}
    found: list[Finding] = []
    for table, frame in tables:
        for name, mode in table.rows.items():
            found += _of_mode(mode, frame, frame.prefix + name, by_mode.get(frame.prefix + name, []))
    return found


def _of_mode(mode: Mode, frame: Frame, name: str, same: Sequence[Sight]) -> Iterator[Finding]:
    shared: dict[Status, list[Sight]] = {"clear": [], "unchecked": []}
    for sight in same:
        if sight.status in shared:
            shared[sight.status].append(sight)
        else:
            yield _of_one(sight)
    for status, sights in shared.items():
        if sights or (status == "unchecked" and not same):
            yield _of_several(mode, frame, name, status, sights)


def _of_one(sight: Sight) -> Finding:
    """The finding of a mode that one seat raised."""
    seen, mode = sight.seen, sight.mode
    kept = [(place, case) for place, case in enumerate(seen.cases) if place not in sight.gone]
    kept.sort(key=lambda placed: placed[1].seq)
    return Finding(
        id=sight.id,
        seats=[sight.seat],
        status=sight.status,
        says=_sentence(sight),
        counts=_counts(mode),
        threshold=mode.threshold,
        count=len(seen.cases),
        of=rounded(seen.of),
        amount=rounded(sight.amount),
        share=ratio(sight.amount, seen.of),
        cases=[_record(case, sight.also.get(place, [])) for place, case in kept[:MAX_CITED]],
        parts=dict(seen.parts),
        note=sight.note,
        base_rate=sight.rate,
        seqs=tuple(case.seq for _, case in kept),
        protocol=mode.fact == "protocol",
    )


def _of_several(mode: Mode, frame: Frame, name: str, status: Status, sights: Sequence[Sight]) -> Finding:
    """What was looked for in these seats and not found, or not looked for; `parts` has the share of each."""
    of, amount = math.fsum(sight.seen.of for sight in sights), math.fsum(sight.amount for sight in sights)
    cases = [case for sight in sights for case in sight.seen.cases]
    parts = {sight.seat: ratio(sight.amount, sight.seen.of) for sight in sights}
    return Finding(
        id=name,
        seats=[sight.seat for sight in sights],
        status=status,
        says="",
        counts=_counts(mode),
        threshold=mode.threshold,
        count=len(cases),
        of=rounded(of),
        amount=rounded(amount),
        share=ratio(amount, of),
        cases=[_record(case, []) for case in cases[:MAX_CITED]],
        parts=dict(sights[0].seen.parts) if len(sights) == 1 else parts,
        note=_note(sights),
        base_rate=sights[0].rate if sights else None,
    )


def _counts(mode: Mode) -> str:
    return f"{mode.counts} / {mode.of}"


def _sentence(sight: Sight) -> str:
    """The mode's sentence with numbers and the words of the seat's role; an unknown word stays as it is."""
    seen, role = sight.seen, sight.frame.roles.get(sight.seat, "")
    said = {
        "seat": sight.seat,
        "count": f"{len(seen.cases):,}",
        "of": f"{seen.of:,g}",
        "amount": f"{rounded(sight.amount):,g}",
        "share": f"{ratio(sight.amount, seen.of) or 0:.0%}",
        "unit": sight.frame.unit,
        **sight.frame.phrases.get(role, {}),
    }
    return sight.mode.sentence.format_map(_Words(said))


class _Words(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return key


def _record(case: Case, also: list[str]) -> CaseRecord:
    # Sentences hold ids and numbers of the trace, which may be a stranger's: their length is bounded here for all.
    seq, round_, because, shown_by, about, amount, _ = case
    return CaseRecord(
        seq=seq,
        round=round_,
        because=because[:MAX_BECAUSE],
        shown_by=shown_by,
        about=about,
        amount=amount,
        also=also[:_SHOWN],
    )


def _note(sights: Sequence[Sight]) -> str | None:
    """The seats' notes, each once and, where it is not about all of them, with its seats; at most three."""
    seats: dict[str, list[SeatId]] = {}
    for sight in sights:
        if sight.note:
            seats.setdefault(sight.note, []).append(sight.seat)
    notes = [note if len(of) == len(sights) else f"{_named(of)}: {note}" for note, of in seats.items()]
    return "; ".join(notes[:_SHOWN]) + (" …" if len(notes) > _SHOWN else "") if notes else None


def _named(seats: Sequence[SeatId]) -> str:
    return ", ".join(seats[:_SHOWN]) + (" …" if len(seats) > _SHOWN else "")
