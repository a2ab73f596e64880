"""What a detector saw, before it becomes a finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tradefair.evaluation.modes.diagnosis import Share, cited


@dataclass(frozen=True)
class Sign:
    """numerator/denominator, or just a number where `is_ratio` is false; `severity` in the market's unit.

    `checked` is false, and `note` says why, where there was nothing that could have been looked for.
    """

    raised: bool
    numerator: float
    denominator: float = 0
    is_ratio: bool = True
    events: list[int] = field(default_factory=list[int])
    parts: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    severity: float | None = None
    note: str | None = None
    checked: bool = True


def sign_of(
    raised: bool,
    counted: Share,
    *,
    parts: Mapping[str, float | None] | None = None,
    severity: float | None = None,
    note: str | None = None,
    checked: bool = True,
) -> Sign:
    """A sign from a share; it cites what the share cites."""
    return Sign(
        raised, counted.numerator, counted.denominator, True, counted.events, parts or {}, severity, note, checked
    )


def longest_run(days: Iterable[tuple[int, bool]]) -> list[int]:
    """Events of the longest run of consecutive days on which something held (the first of equal ones)."""
    best: list[int] = []
    run: list[int] = []
    for seq, holds in days:
        # A day that breaks the run starts an empty one.
        run = [*run, seq] if holds else []
        # Longer, not as long: of equal runs the first is cited.
        if len(run) > len(best):
            best = run
    return best


def run_sign(days: Iterable[tuple[int, bool]], least: float, severity: float | None = None) -> Sign:
    """A sign that is raised by a run of at least `least` days."""
    run = longest_run(days)
    return Sign(len(run) >= least, len(run), is_ratio=False, events=cited(run), severity=severity)
