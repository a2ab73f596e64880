"""What a diagnosis is made of: figures by stage, and findings: failure modes that were looked for, found or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from tradefair.contract import SeatId
from tradefair.evaluation.arithmetic import ratio

MAX_CITED = 50
"""Event numbers that a figure or finding cites at most."""


class _Record(BaseModel):
    """A frozen record that refuses unknown keys, also when a report reads JSON back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Figure(_Record):
    """One number about conduct. `value` is null where the denominator is 0.

    `formula` says in words what is divided by what; `events` are numbers of up to 50 events behind the numerator, or,
    where `formula` names a shortfall, behind what is missing. `parts` splits the value, by kind of action for instance.
    `note` says what limits the number: "privileged", "too short: T < 10", how many cases were left out.
    """

    id: str
    seats: list[SeatId]
    value: float | None
    numerator: float | None = None
    denominator: float | None = None
    formula: str
    window: str | None = None
    events: list[int] = []
    parts: dict[str, float | None] = {}
    note: str | None = None


class Finding(Figure):
    """A failure mode that was looked for. Neither raised nor `checked`: `note` says why nothing could be looked for.

    `severity` estimates what it cost, in `severity_unit`; null where the trace does not tell. A finding of several
    seats has the value of each in `parts`. `counted_by` names the finding of the market that counts it.
    """

    raised: bool
    checked: bool = True
    threshold: str
    severity: float | None = None
    severity_unit: str
    counted_by: str | None = None


class Stage(_Record):
    """A group of figures, in the order in which they are shown."""

    name: str
    figures: list[Figure]


class Diagnosis(_Record):
    """All that was measured and looked for. `evidence_map` names the version of what actions should rest on.

    `version` is that of the market's own diagnostics ("" where it has none), `general_version` that of those which
    every market has. Findings of the market come first and carry its name as a prefix; general ones have bare names.
    A general diagnostic that was raised has one finding per seat, and one for all seats in which it was not.
    """

    market: str
    version: str
    evidence_map: str | None
    stages: list[Stage]
    findings: list[Finding]
    general_version: str | None = None

    @property
    def raised(self) -> list[Finding]:
        """What was found, the costliest first."""
        found = [finding for finding in self.findings if finding.raised]
        # Unknown severities come last; one diagnosis has one unit of costs.
        return sorted(found, key=lambda finding: -(finding.severity or 0))

    @property
    def not_found(self) -> list[Finding]:
        """What was looked for and not found, and what could not be looked for."""
        return [finding for finding in self.findings if not finding.raised]

    def of_seat(self, seat: SeatId) -> dict[str, Finding]:
        """The finding of each diagnostic that is about this seat, by id; in a trace of one seat all there are."""
        return {finding.id: finding for finding in self.findings if seat in finding.seats}

    def figure(self, name: str) -> Figure:
        """A figure by its id, with or without the market's prefix. Raises KeyError."""
        for stage in self.stages:
            for figure in stage.figures:
                if name in (figure.id, figure.id.partition(".")[2]):
                    return figure
        raise KeyError(name)

    def finding(self, name: str) -> Finding:
        """A finding by its id; else by the id without the market's prefix. Raises KeyError.

        Where several seats have one, those that were raised come first.
        """
        # `below_cost` is a general id and also the end of a market's own one: the exact id wins.
        exact = [finding for finding in self.findings if finding.id == name]
        for finding in exact or self.findings:
            if name in (finding.id, finding.id.partition(".")[2]):
                return finding
        raise KeyError(name)


class Share(BaseModel):
    """numerator/denominator with the events behind it, before it becomes a figure."""

    numerator: float
    denominator: float
    events: list[int] = []

    @property
    def value(self) -> float | None:
        """The quotient, null when nothing was counted."""
        return ratio(self.numerator, self.denominator)


def share(numerator: float, denominator: float, events: Iterable[int] = ()) -> Share:
    """numerator/denominator with up to 50 events."""
    return Share(numerator=numerator, denominator=denominator, events=cited(events))


def cited(events: Iterable[int] | Sequence[int]) -> list[int]:
    """The first 50 distinct event numbers."""
    found: dict[int, None] = {}
    # A dictionary keeps the order of citation, which detectors choose: costliest first, or in time.
    for seq in events:
        found[seq] = None
        # Stops here: the events may be a generator over a whole episode.
        if len(found) == MAX_CITED:
            break
    return list(found)
