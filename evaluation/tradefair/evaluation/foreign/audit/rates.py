"""How often a rule is raised in runs that failed and in runs that passed: the negative control of every audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.audit.references import Divergence
from tradefair.evaluation.foreign.audit.run import RuleCase
from tradefair.evaluation.foreign.interchange.shapes import text
from tradefair.evaluation.modes.base_rates import wilson
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.statistics import fisher_p, holm
from tradefair.files.user_files import MIB, read_regular

T = TypeVar("T")

REFERENCE = "reference"
"""What a divergence is called among the rules."""
ANY = "any"
_MAX_FILE = 256 * MIB
"""Bytes of a file of labels or references."""
NEAR, WITHIN = 1, 3
"""Steps between what was raised and what a person labelled."""
MECHANICAL = frozenset({
    "invalid invocation", "instruction adherence", "intent not supported", "system",
})  # fmt: skip
"""Categories of AgentRx (arXiv 2602.02475) that rules claim to find, without "failure"; the others need a reader."""


class Failure(NamedTuple):
    """A failure that a person labelled: the step, from 1, and what kind it is."""

    step: int
    category: str

    @property
    def mechanical(self) -> bool:
        """Whether rules claim to find it."""
        return self.category.lower().removesuffix("failure").strip() in MECHANICAL


class Label(NamedTuple):
    """What a person said of a run; `root_step` is where it went wrong first."""

    id: str
    passed: bool
    failures: tuple[Failure, ...] = ()
    root_step: int | None = None


class Raised(NamedTuple):
    """What an audit found in one run: cases of rules, and where it left its reference."""

    id: str
    cases: Sequence[RuleCase]
    divergence: Divergence | None = None

    @property
    def rules(self) -> frozenset[str]:
        """The rules that were raised, the reference among them."""
        return frozenset({*(case.rule for case in self.cases), *([REFERENCE] if self.divergence else [])})


class Share(NamedTuple):
    """`raised` of `of` runs."""

    raised: int
    of: int

    def to_json(self) -> dict[str, Any]:
        """With Wilson's 95 % interval; without one where there is no run."""
        low, high = wilson(self.raised, self.of) if self.of else (None, None)
        return {**self._asdict(), "low": low, "high": high}


class RuleRate(NamedTuple):
    """A rule over failed and passed runs; `p` is Fisher's, two-sided, `p_holm` corrected for the number of rules."""

    rule: str
    failed: Share
    passed: Share
    p: float | None
    p_holm: float | None = None

    @property
    def no_better(self) -> bool:
        """Whether it is raised in passed runs at least as often as in failed ones."""
        failed, passed = self.failed, self.passed
        return passed.raised > 0 and passed.raised * failed.of >= failed.raised * passed.of

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        shares = {"failed": self.failed.to_json(), "passed": self.passed.to_json()}
        return {**self._asdict(), **shares, "no_better_than_chance": self.no_better}


@dataclass
class Located:
    """How many labelled failures are within 1 and within 3 steps of what was raised."""

    within_1: int = 0
    within_3: int = 0
    of: int = 0

    def take(self, step: int, near: Iterable[int | None]) -> None:
        """One labelled failure, and the steps that were raised."""
        distance = min((abs(step - other) for other in near if other is not None), default=None)
        self.of += 1
        self.within_1 += distance is not None and distance <= NEAR
        self.within_3 += distance is not None and distance <= WITHIN

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {"within_1": self.within_1, "within_3": self.within_3, "of": self.of}


@dataclass
class Rates:
    """The tables of an audit. `failures` and by category: cases against labels; `roots`: divergences."""

    rules: list[RuleRate] = field(default_factory=list[RuleRate])
    failures: Located = field(default_factory=Located)
    mechanical: Located = field(default_factory=Located)
    roots: Located = field(default_factory=Located)
    by_category: dict[str, Located] = field(default_factory=dict[str, Located])
    roots_by_category: dict[str, Located] = field(default_factory=dict[str, Located])

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`: rules, and what was located of what people labelled."""
        located = {
            **self.failures.to_json(),
            "mechanical": self.mechanical.to_json(),
            "root": self.roots.to_json(),
            "by_category": {name: found.to_json() for name, found in sorted(self.by_category.items())},
        }
        return {"rules": [rule.to_json() for rule in self.rules], "located": located}


def read_lines(
    raw: bytes, what: str, read: Callable[[bytes], tuple[str, T] | str], place: str = ""
) -> tuple[dict[str, T], list[str]]:
    """What JSONL says of runs, by their ids; and what could not be used of it, by line. `read` may say why."""
    found: dict[str, T] = {}
    problems: list[str] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        made = read(line) if line.strip() else None
        if isinstance(made, str):
            problems.append(f"{place}{number}: {made}")
        elif made is not None and made[0] in found:
            problems.append(f"{place}{number}: a second {what} of {made[0][:80]}")
        elif made is not None:
            found[made[0]] = made[1]
    return found, problems


def lines_in(path: Path, what: str, read: Callable[[bytes], tuple[str, T] | str]) -> tuple[dict[str, T], list[str]]:
    """As `read_lines`, of a file of labels or references. Raises ScenarioError."""
    try:
        return read_lines(read_regular(path, _MAX_FILE), what, read, f"{path}:")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


def labels_in(path: Path) -> tuple[dict[str, Label], list[str]]:
    """The labels of a file by run id, and what could not be used of it. Raises ScenarioError."""
    return lines_in(path, "label", label_of)


def rates_of(
    raised: Sequence[Raised], labels: Mapping[str, Label], checked: Collection[str], *, references: bool = False
) -> Rates:
    """The rates of all rules that were checked, then of any, over the runs that have a label.

    `checked` are rules that had something to look at in some run; `references`: whether runs were compared with one.
    """
    found = Rates()
    labelled = [(audit, labels[audit.id]) for audit in raised if audit.id in labels]
    names = sorted({*checked, *(case.rule for audit in raised for case in audit.cases)})
    names += [REFERENCE] if references else []
    rows = [_rate(name, [(name in audit.rules, label.passed) for audit, label in labelled]) for name in names]
    # A rule that is raised nowhere cannot tell the two apart, whatever the labels: it is no hypothesis (Tarone 1990).
    tested = [row for row in rows if row.p is not None and row.failed.raised + row.passed.raised]
    adjusted = dict(zip((row.rule for row in tested), holm([row.p or 0.0 for row in tested]), strict=True))
    found.rules = [row._replace(p_holm=adjusted.get(row.rule)) for row in rows]
    found.rules.append(_rate(ANY, [(bool(audit.rules), label.passed) for audit, label in labelled]))
    for audit, label in labelled:
        _locate_failures(found, audit, label)
        if references:
            _locate_root(found, audit, label)
    return found


def _locate_failures(found: Rates, audit: Raised, label: Label) -> None:
    """Count how near to each labelled failure a case was raised."""
    steps = [case.step for case in audit.cases]
    for failure in label.failures:
        category = found.by_category.setdefault(failure.category, Located())
        for counted in (found.failures, category, *([found.mechanical] if failure.mechanical else [])):
            counted.take(failure.step, steps)


def _locate_root(found: Rates, audit: Raised, label: Label) -> None:
    """Count how near to where a failed run went wrong first it left its reference."""
    if label.passed or label.root_step is None:
        return
    left = [audit.divergence.step] if audit.divergence else []
    root = next((failure.category for failure in label.failures if failure.step == label.root_step), "not named")
    for counted in (found.roots, found.roots_by_category.setdefault(root, Located())):
        counted.take(label.root_step, left)


def _rate(name: str, runs: Sequence[tuple[bool, bool]]) -> RuleRate:
    counts = Counter(runs)
    failed = Share(counts[True, False], counts[True, False] + counts[False, False])
    passed = Share(counts[True, True], counts[True, True] + counts[False, True])
    # Without both kinds there is nothing to compare.
    p = fisher_p(*failed, *passed) if failed.of and passed.of else None
    return RuleRate(name, failed, passed, p)


def label_of(line: bytes) -> tuple[str, Label] | str:
    """The run and the label on a line, or why there is none."""
    try:
        fields = mapping(orjson.loads(line))
    except orjson.JSONDecodeError:
        return "no JSON object"
    passed, root = fields.get("passed"), _step(fields.get("root_step"))
    if not text(fields.get("id")) or not isinstance(passed, bool):
        return 'a label is {"id": "…", "passed": true or false, "failures": [{"step", "category"}], "root_step"}'
    failures: list[Failure] = []
    for failure in map(mapping, sequence(fields.get("failures"))):
        step = _step(failure.get("step"))
        if step is None:
            return "failures: step: a whole number from 1"
        failures.append(Failure(step, text(failure.get("category")) or "not named"))
    if root is None and fields.get("root_step") is not None:
        return "root_step: a whole number from 1"
    return text(fields["id"]), Label(text(fields["id"]), passed, tuple(failures), root)


def _step(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
