"""The report of an import: per file what was read, what of it was of use, and the runs that became traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tradefair.evaluation.foreign.importers.foreign import Intake
from tradefair.evaluation.foreign.importers.items import Odd, Taken


class RunWritten(NamedTuple):
    """A run that was written."""

    run: str
    trace: str
    seats: int
    calls: int
    answered: int
    errors: int
    messages: int
    passed: bool | None


MAX_ODD = 1_000
"""Findings of a file that are kept; all are counted."""


@dataclass
class FileReport:
    """One file. `understood` of `records` were of use; `faults` counts what was not, `waiting` calls without answer."""

    file: str
    named: bool = True
    """Whether somebody named it; else it was found in a folder."""
    format: str | None = None
    reader_version: int | None = None
    unit: str = ""
    records: int = 0
    understood: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])
    runs: list[RunWritten] = field(default_factory=list[RunWritten])
    found: list[Odd] = field(default_factory=list[Odd])
    faults: int = 0
    waiting: int = 0
    game: dict[str, Any] | None = None
    trace: str | None = None
    no_log: bool = False
    """Whether it only lies in a folder of logs, and nothing in it looks like one."""
    held: int | None = None
    """Calls that the file holds by its own count, as near to those that were used as it allows; None: not counted."""
    differences: Sequence[str] = ()
    """What does not add up, the first three of it."""
    parts: int = 0
    """Runs of other files that go on in this one; their figures are counted there."""

    def odd(self, odd: Odd) -> None:
        """Something that could not be used."""
        self.faults += 1
        self._keep(odd)

    def empty(self, other: str, fields: str) -> None:
        """It was recognised, and no run came of it: nothing in it was of use. `other` is the next surest reader,
        `fields` are those that were looked for."""
        self.understood = 0
        sought = f" (looked for {fields})" if fields else ""
        second = f"; the next surest reader is {other}: --format {other}" if other else ""
        self.odd(Odd(0, "", f"looks like {self.format}, but holds no call and no message of it{sought}{second}"))

    def reconcile(self, taken: Intake, calls: Mapping[str, tuple[int, int]], answers: tuple[int, int]) -> None:
        """Compare what was taken with what the file holds by its own count, at least and at most.

        A record that could not be used is named already, and each may have held a call.
        """
        used = taken.calls.total()
        least, most = (sum(bounds[end] for bounds in calls.values()) for end in (0, 1))
        self.held = min(max(used, least), max(most, least))
        if not least - taken.odds <= used <= max(most, least):
            differ = [(tool, *calls.get(tool, (0, 0)), taken.calls[tool]) for tool in {**calls, **taken.calls}]
            told = [
                f"{tool or 'all tools'}: {number:,} used, {low if number < low else high:,} in the file"
                for tool, low, high, number in differ
                if not low <= number <= high
            ]
            self.differences = told[:3] or [f"{used:,} calls used, {self.held:,} in the file"]
        elif min(answers[1], used) - taken.answers - taken.odds > used / 10:
            self.differences = [f"{taken.answers:,} answers used, {answers[1]:,} in the file"]
        for told in self.differences:
            self.odd(Odd(0, "", f"does not add up: {told}"))

    def unanswered(self, odd: Odd) -> None:
        """A call without an answer: named, but everything that the file holds was used."""
        self.waiting += 1
        self._keep(odd)

    def _keep(self, odd: Odd) -> None:
        if len(self.found) < MAX_ODD:
            self.found.append(odd)

    def whole(self, taken: Taken) -> None:
        """What a reader that writes its traces itself made of the file."""
        self.game, self.trace = taken.report, taken.trace
        for odd in taken.findings:
            self.odd(odd)

    @property
    def warnings(self) -> Sequence[str]:
        """What of a game differs from samples of its source only: sentences, nothing that could not be used."""
        return (self.game or {}).get("warnings", ())

    @property
    def reconciled(self) -> bool:
        """Whether as many calls were used as the file holds; no finding about calls rests on one that was not."""
        return not self.differences

    @property
    def used(self) -> bool:
        """Whether a trace came of it, or holds it."""
        return bool(self.runs) or self.parts > 0 or self.trace is not None

    def total(self, name: str) -> int:
        """The sum of a count over the runs."""
        return sum(getattr(run, name) for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as docs/how-to/importing.md has it."""
        return {
            "file": self.file,
            "format": self.format,
            "reader_version": self.reader_version,
            "runs": [run._asdict() for run in self.runs],
            **{name: self.total(name) for name in ("calls", "answered", "errors")},
            "calls_in_file": self.held,
            "reconciled": self.reconciled,
            "records": self.records,
            "understood": self.understood,
            "left_out": dict(self.left_out),
            "odd": [odd._asdict() for odd in self.found],
            "no_log": self.no_log,
            "odd_in_all": self.faults + self.waiting,
            **({} if self.game is None else {"game": self.game}),
            **({} if self.trace is None else {"trace": self.trace}),
        }


@dataclass
class Imported:
    """A whole import, in the order of the files."""

    files: Sequence[FileReport]

    @property
    def exit_code(self) -> int:
        """0: everything was used; 1: some of it was not; 2: nothing could be read."""
        if not any(file.used for file in self.files):
            return 2
        return int(any(file.faults or not (file.used or file.no_log) for file in self.files))

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        sums = {name: sum(file.total(name) for file in self.files) for name in ("calls", "answered")}
        return {"files": [file.to_json() for file in self.files], **sums}
