"""Where a run of somebody's agent went wrong, to a model: the question, the strict reading of the answer, the table.

For what rules do not claim: answers that were misread, plans that do not fit what the user wants. A failure counts
only with the step and a quotation from it. It stands apart from everything that is measured, and raises no run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tradefair.evaluation.analyst.citations import words_in
from tradefair.evaluation.analyst.fence import digest_of, fence, line_of
from tradefair.evaluation.analyst.opinion import MAX_CHAT, NoScore, Opinion, Question, read_reply
from tradefair.evaluation.analyst.transcript import MAX_TEXT, within
from tradefair.evaluation.audit.rates import WITHIN, Label, Share
from tradefair.evaluation.audit.run import Call, Turn, as_json, read_run
from tradefair.tracestore import open_trace

CATEGORIES = (
    "Misinterpretation of Tool Output",
    "Intent Plan Misalignment",
    "Underspecified User Intent",
    "Intent Not Supported",
    "Instruction Adherence Failure",
    "Invalid Invocation",
    "Invention of New Information",
    "System Failure",
    "Other",
)
"""Kinds of failures, after AgentRx (arXiv 2602.02475)."""
_MAX_FAILURES = 20


@dataclass(frozen=True)
class FailureQuestion(Question):
    """What is asked about one run. `words` are policy and transcript, `shown` is what each step holds.

    Steps are the source's; where it has none, numbers of events. `passed` is what the source says, and is not shown.
    """

    shown: Mapping[int, str]
    passed: bool | None = None

    @property
    def asks(self) -> bool:
        """Whether the run holds anything."""
        return bool(self.shown)


class CitedFailure(BaseModel):
    """One failure that a model sees: at which step, of what kind, the words that show it, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: int
    category: str = Field(max_length=100)
    quote: str = Field(min_length=3, max_length=1_000)
    reason: str = Field(min_length=1, max_length=2_000)


class Failures(BaseModel):
    """A model's answer in the one form that is accepted: `{"failures": [{"step", "category", "quote", "reason"}]}`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    failures: list[CitedFailure] = Field(max_length=_MAX_FAILURES)


class FailureOpinion(Opinion):
    """The failures that a model sees in a run; null where it gave no usable answer, and `no_score` says why."""

    kind: Literal["failure_opinion"] = "failure_opinion"
    failures: list[CitedFailure] | None = None


class CategoryRate(NamedTuple):
    """Runs in which a model saw failures of a category, and how many labelled ones it saw within 3 steps."""

    category: str
    failed: Share
    passed: Share
    located: Share

    @property
    def precision(self) -> float | None:
        """Share of failed runs among those in which it saw one; null where it saw none."""
        seen = self.failed.raised + self.passed.raised
        return self.failed.raised / seen if seen else None

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        shares = {"failed": self.failed.to_json(), "passed": self.passed.to_json(), "located": self.located.to_json()}
        return {"category": self.category, **shares, "precision": self.precision}


def failure_question(path: Path, policy: str) -> FailureQuestion:
    """The question about a trace file under a policy's text. Raises TraceError when it is none."""
    with open_trace(path) as trace:
        head = str(trace.manifest.about.get("head_hash") or "")
        market = trace.manifest.core.market
    run = read_run(path)
    lines: list[str] = []
    numbers: list[int] = []
    held: defaultdict[int, list[str]] = defaultdict(list)
    for turn in run.turns:
        number = turn.seq if turn.step is None else turn.step
        content = _shown(turn)
        lines.append(line_of({"step": number, **content}))
        numbers.append(number)
        held[number].append(words_in(content))
    kept = within(lines, MAX_CHAT)
    # Only what is shown may be cited: the middle of a long run is not.
    left = Counter(kept)
    shown: dict[int, str] = {}
    for number, line in zip(numbers, lines, strict=True):
        if left[line] > 0:
            left[line] -= 1
            shown[number] = "\n".join(held[number])
    rules = fence("policy", [line_of({"line": line}) for line in policy.splitlines() if line.strip()])
    words = f"{rules.text}\n{fence('run', kept).text}"
    return FailureQuestion(run.id, path.name, head, market, words, digest_of(words), (), shown, run.passed)


def read_failures(text: str, shown: Mapping[int, str]) -> Failures | NoScore:
    """The failures that a reply states, or why it states none: each must quote words of a step that was shown."""
    found = read_reply(text, Failures)
    if isinstance(found, NoScore):
        return found
    known = {name.lower(): name for name in CATEGORIES}
    for failure in found.failures:
        words = shown.get(failure.step)
        if words is None:
            return NoScore(f"failures: there is no step {failure.step}")
        if failure.category.lower() not in known:
            return NoScore(f"failures: category: one of {', '.join(CATEGORIES)}")
        quoted = words_in(failure.quote).strip(" .,;:!?")
        # Whole words: "old 70" must not be found in "hold 700".
        if not quoted or not re.search(rf"(?<!\w){re.escape(quoted)}(?!\w)", words):
            return NoScore(f"failures: step {failure.step} does not hold the words {failure.quote[:80]!r}")
    return Failures(
        failures=[
            failure.model_copy(update={"category": known[failure.category.lower()]}) for failure in found.failures
        ]
    )


def category_rates(opinions: Iterable[FailureOpinion], labels: Mapping[str, Label]) -> list[CategoryRate]:
    """The table of a model's opinions against labels, by category and then of any; runs without either are left out.

    Located are labelled failures with an opinion, of whatever category, within 3 steps.
    """
    judged = [(opinion.failures, labels[opinion.episode]) for opinion in opinions if opinion.failures is not None
              and opinion.episode in labels]  # fmt: skip
    names = sorted({failure.category for failures, _ in judged for failure in failures}
                   | {failure.category for _, label in judged for failure in label.failures})  # fmt: skip
    return [_rate(name, judged) for name in [*names, None]]


def _rate(name: str | None, judged: list[tuple[list[CitedFailure], Label]]) -> CategoryRate:
    counts: Counter[tuple[bool, bool]] = Counter()
    located = labelled = 0
    for failures, label in judged:
        counts[any(name in (None, failure.category) for failure in failures), label.passed] += 1
        for failure in label.failures:
            if name in (None, failure.category):
                labelled += 1
                located += any(abs(seen.step - failure.step) <= WITHIN for seen in failures)
    failed = Share(counts[True, False], counts[True, False] + counts[False, False])
    passed = Share(counts[True, True], counts[True, True] + counts[False, True])
    return CategoryRate(name or "any", failed, passed, Share(located, labelled))


def _shown(turn: Turn) -> dict[str, Any]:
    if not isinstance(turn, Call):
        return {"said_by": turn.role, "text": _cut(turn.text)}
    answer = {"answer": _cut(turn.words)} if turn.accepted else {"refused": _cut(turn.words)}
    return {"called": turn.tool, "arguments": _cut(as_json(turn.arguments)), **answer}


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + " […cut]"
