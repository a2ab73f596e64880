"""What a diagnosis is made of: cases that a detector saw, the findings that they become, and figures by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, Field

from tradefair.contract import SeatId
from tradefair.evaluation.read.arithmetic import ratio
from tradefair.evaluation.record import Record

MAX_CITED = 50
"""Cases of a finding, and event numbers of a figure, that are kept at most."""
MAX_BECAUSE = 160
"""Characters of a case's sentence: it stands on one line of a terminal and in one cell of a table."""

Status = Literal["raised", "condition", "clear", "unchecked", "merged"]


class Case(NamedTuple):
    """One time that something went wrong.

    `seq` is the call or lapse of the seat that caused it, `shown_by` the closure or answer whose facts prove it, where
    that is another event. `because` says in one sentence of at most 160 characters, from facts and arguments alone,
    what was done, what stood open and what the better thing would have earned. `about` names the product, item or
    counterpart; `amount` is what the case weighs (units, money) where cases are weighed. `fact` is the decision that
    this case judges, where it is not the one of the mode's row: a mode of every market learns from the tool what was
    decided.
    """

    seq: int
    round: int
    because: str
    shown_by: int | None = None
    about: str | None = None
    amount: float = 1.0
    fact: str | None = None


class Seen(NamedTuple):
    """What a detector saw of one seat: cases, out of how many (`of`); whether they are enough is for the mode's row.

    `parts` splits the number, by kind of call for instance; `note` says what limits it. `unchecked`: why nothing could
    be looked for. `unread`: messages with a private number that could not be classified; with one of them "not found"
    would be a claim.
    """

    cases: Sequence[Case]
    of: float
    parts: Mapping[str, float | None] = {}
    unchecked: str | None = None
    note: str | None = None
    unread: Sequence[Case] = ()


Detector = Callable[..., Seen]
"""(seat as its market reads it, *, thresholds of its row by name) -> Seen."""

Part: TypeAlias = Annotated[float, Field(ge=0, le=1)]
"""The type of a threshold that is a share of something, from 0 to 1."""


def unchecked(reason: str) -> Seen:
    """The sight of a mode that could not be looked for, with the reason."""
    return Seen((), 0, unchecked=reason)


class CaseRecord(Record):
    """A case in a finding: the fields of `Case`; the sentences of cases that were merged into it follow in `also`."""

    seq: int
    round: int
    because: str
    shown_by: int | None = None
    about: str | None = None
    amount: float = 1.0
    also: list[str] = Field(default=[])


class BaseRate(Record):
    """How many competent reference seats of this preset raised the same mode; `low` and `high`: Wilson 95 %."""

    raised: int
    of: int
    low: float
    high: float


class Finding(Record):
    """A failure mode that was looked for in some seats.

    `status`: raised; condition (competent policies raise it too: it says more of the market than of the agent); clear;
    unchecked (`note` says why nothing could be looked for); merged (`note` names the finding that tells the fact). A
    raised, condition or merged finding is about one seat. `says` is the mode's sentence, filled in; `counts` says what
    `count` and `of` are. `count` is the number of cases and `amount` their weight, all of before merging; `share` is
    amount/of, null where `of` is 0. `cases` are the first, at most 50. `turns` are the seat's turns in which they
    stand, by number in its ledger, and `lost` is what these lost together (null: there is no ledger); findings of
    disjoint turns may be added. `rank` is 1 for the finding to read first.
    """

    id: str
    seats: list[SeatId]
    status: Status
    says: str
    counts: str
    threshold: str
    count: int
    of: float
    amount: float
    share: float | None
    cases: list[CaseRecord] = Field(default=[])
    parts: dict[str, float | None] = Field(default={})
    note: str | None = None
    turns: list[int] = Field(default=[])
    lost: float | None = None
    base_rate: BaseRate | None = None
    rank: int | None = None
    seqs: tuple[int, ...] = Field(default=(), exclude=True)
    """The events of all its cases, also of those that are not cited."""
    protocol: bool = Field(default=False, exclude=True)
    """Whether it is about calls that failed or were never made: it is read first, whatever it lost."""

    @property
    def raised(self) -> bool:
        """Whether it was found, and is no condition of the market and no part of another finding."""
        return self.status == "raised"

    @property
    def checked(self) -> bool:
        """Whether there was something to look at."""
        return self.status != "unchecked"

    @property
    def events(self) -> list[int]:
        """The events of the cases, causes before what shows them, each once."""
        return cited(seq for case in self.cases for seq in (case.seq, case.shown_by) if seq is not None)


class Figure(Record):
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
    events: list[int] = Field(default=[])
    parts: dict[str, float | None] = Field(default={})
    note: str | None = None


class Stage(Record):
    """A group of figures, in the order in which they are shown."""

    name: str
    figures: list[Figure]


class NotRead(Record):
    """A message with a number near a private one of its sender that the reader of talk could not classify."""

    seq: int
    seat: SeatId
    round: int
    because: str


class Diagnosis(Record):
    """All that was measured and looked for.

    `modes_version` is the digest of both tables of modes, the market's and the general one; `evidence_map` names the
    version of what actions should rest on. Findings stand in the order of the tables, the market's first, which carry
    its name as a prefix; `raised` gives them in the order in which to read them. `not_read` are messages that no mode
    of talk could read, `reading` recall and precision of that reading per class of statement, where such a mode exists.
    `rates`: whether base rates are shipped for this scenario; `played` are the policies that were played on its seed in
    place of them.
    """

    market: str
    modes_version: str
    evidence_map: str | None
    stages: list[Stage]
    findings: list[Finding]
    not_read: list[NotRead] = Field(default=[])
    reading: dict[str, dict[str, float]] = Field(default={})
    rates: bool = False
    played: list[str] = Field(default=[], exclude_if=lambda policies: not policies)

    @property
    def raised(self) -> list[Finding]:
        """What was found, in the order of `rank`."""
        found = [finding for finding in self.findings if finding.raised]
        return sorted(found, key=lambda finding: finding.rank or len(found))

    @property
    def conditions(self) -> list[Finding]:
        """What competent policies raise in this preset too."""
        return [finding for finding in self.findings if finding.status == "condition"]

    @property
    def not_found(self) -> list[Finding]:
        """What was looked for and is no finding: clear, unchecked, or told by another finding."""
        return [finding for finding in self.findings if finding.status in ("clear", "unchecked", "merged")]

    def of_seat(self, seat: SeatId) -> dict[str, Finding]:
        """The finding of each mode that is about this seat, by id; in a trace of one seat all there are."""
        return {finding.id: finding for finding in self.findings if seat in finding.seats}

    def names(self, seat: SeatId) -> dict[int, list[str]]:
        """The ids of what was found in a seat, by the events of its cases, in the order of `rank`."""
        found: dict[int, list[str]] = {}
        for finding in self.raised:
            for seq in finding.seqs if seat in finding.seats else ():
                found.setdefault(seq, []).append(finding.id)
        return found

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
        # `below_cost` may be a general id and also the end of a market's own one: the exact id wins.
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
