"""What a failure mode came to for one seat, before it becomes a finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tradefair.evaluation.modes.diagnosis import cited
from tradefair.evaluation.modes.sign import Sign

# A note is one line of a report; the events of all cases are cited anyway.
_SHOWN = 3


class Trouble(NamedTuple):
    """One case: the rounds that it is about, what it cost in ticks (null: not known), its events, and in words."""

    first: int
    last: int
    cost: float | None
    events: tuple[int, ...]
    words: str


@dataclass(frozen=True)
class Verdict:
    """Cases out of `of` that were looked at; `parts` count what became of them. `unchecked` says why nothing was."""

    troubles: Sequence[Trouble]
    of: int
    parts: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    note: str | None = None
    unchecked: str | None = None

    @property
    def sign(self) -> Sign:
        """As what every market's findings are made of; the costliest case is cited first, so that no limit cuts it."""
        # Null only where no case has a cost: one unknown case should not hide what the others cost.
        known = [trouble.cost for trouble in self.troubles if trouble.cost is not None]
        checked = self.unchecked is None
        return Sign(
            raised=checked and bool(self.troubles),
            numerator=len(self.troubles),
            denominator=self.of,
            events=cited(seq for trouble in self._by_cost() for seq in trouble.events),
            parts=self.parts,
            severity=math.fsum(known) if known else None,
            note=self.unchecked or self.words,
            checked=checked,
        )

    @property
    def window(self) -> str | None:
        """The rounds of the cases, in order."""
        # A set: two cases can be about the same rounds.
        spans = sorted({(trouble.first, trouble.last) for trouble in self.troubles})
        return f"rounds {_spans(spans)}" if spans else None

    @property
    def words(self) -> str | None:
        """The costliest cases as text, and how many more there are; then the note."""
        told = [trouble.words for trouble in self._by_cost()[:_SHOWN]]
        if len(self.troubles) > len(told):
            told.append(f"and {len(self.troubles) - len(told)} more")
        return "; ".join([*told, *([self.note] if self.note else [])]) or None

    def _by_cost(self) -> list[Trouble]:
        # Sorting is stable: cases of equal cost stay in the order of the rounds.
        return sorted(self.troubles, key=lambda trouble: -(trouble.cost or 0))


def spelled(number: float) -> str:
    """A number of ticks without a needless fraction."""
    return f"{number:g}"


def _spans(spans: Iterable[tuple[int, int]]) -> str:
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in spans)
