"""An audit of traces: what a map asks of each run, where it left its reference, and rates in failed and passed runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import ScenarioError, TraceError
from tradefair.evaluation.foreign.audit.judging import judge, read_with
from tradefair.evaluation.foreign.audit.map_file import Map
from tradefair.evaluation.foreign.audit.rates import Label, Raised, Rates, lines_in, rates_of
from tradefair.evaluation.foreign.audit.references import Reference, divergence, read_reference, reference_of
from tradefair.evaluation.foreign.audit.run import RuleCase, Run, guessed_kind

MAX_PROBLEMS = 100
_CASE = ("rule", "step", "seq", "seat", "tool", "why", "shown_by")


@dataclass(frozen=True)
class Asked:
    """What runs are held against. `reference` is one for all of them, `references` one by run id."""

    map: Map | None = None
    labels: Mapping[str, Label] | None = None
    references: Mapping[str, Any] | None = None
    reference: Run | None = None


class Audited(NamedTuple):
    """One run, audited. `passed` is what its label says, else its source; null where neither does."""

    path: Path
    passed: bool | None
    raised: Raised
    reconciled: bool = True

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {
            "id": self.raised.id,
            "trace": str(self.path),
            "passed": self.passed,
            "reconciled": self.reconciled,
            "raised": bool(self.raised.rules),
            "cases": [{name: getattr(case, name) for name in _CASE} for case in self.raised.cases],
            "divergence": self.raised.divergence and self.raised.divergence._asdict(),
        }


@dataclass
class Audit:
    """What an audit found. `problems` are traces, lines and ids that could not be used."""

    runs: list[Audited] = field(default_factory=list[Audited])
    rates: Rates = field(default_factory=Rates)
    labelled: bool = False
    problems: list[str] = field(default_factory=list[str])

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {"runs": [run.to_json() for run in self.runs], **self.rates.to_json(), "problems": self.problems}


def audit_traces(files: Sequence[Path], asked: Asked, problems: Sequence[str] = ()) -> Audit:
    """Audit trace files one after another; what is no trace is a problem. ScenarioError where nothing can be asked.

    `problems` are those of the files of labels and references. Ids without a trace are problems, too.
    """
    found = Audit(problems=list(problems))
    checked: set[str] = set()
    compared = False
    for path in files:
        try:
            run = read_with(path, asked.map or Map(version=1))
        except TraceError as error:
            found.problems.append(str(error))
            continue
        wanted = _reference(run, asked)
        compared = compared or wanted is not None
        cases: Sequence[RuleCase] = ()
        if asked.map is not None:
            judged = judge(run, asked.map)
            cases = judged.cases
            checked.update(rule for rule, of in judged.of.items() if of.total() and rule not in judged.silent)
        raised = Raised(run.id, cases, None if wanted is None else divergence(run, wanted))
        found.runs.append(Audited(path, run.passed, raised, run.reconciled))
    if asked.map is None and asked.references is None and not compared and found.runs:
        raise ScenarioError(
            "nothing to hold these runs against: name --map, --references or --reference-run; "
            "`tradefair audit --init` drafts a map"
        )
    labels = _labelled(found, asked.labels)
    found.problems += _without_trace(found, "label", asked.labels or {})
    found.problems += _without_trace(found, "reference", asked.references or {})
    # Names may repeat over files: what counts is the run.
    by_place = [run.raised._replace(id=str(at)) for at, run in enumerate(found.runs)]
    found.rates = rates_of(by_place, labels, checked, references=compared)
    found.labelled = bool(labels)
    return found


def references_in(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The references of a file by run id, as they stand there, and what could not be used of it. ScenarioError."""
    return lines_in(path, "reference", _reference_on)


def _reference_on(line: bytes) -> tuple[str, Any] | str:
    value: Any = None
    with suppress(orjson.JSONDecodeError):
        value = orjson.loads(line)
    reference = read_reference(value, lambda tool: True)
    shape = 'a reference is {"id": "…", "actions": [{"tool", "arguments"}], "outputs": ["…"]}'
    return (reference.id, value) if reference is not None and reference.id else shape


def _reference(run: Run, asked: Asked) -> Reference | None:
    """The run's reference: the one of all, that of its id, or what its source offers."""
    if asked.reference is not None:
        return reference_of(asked.reference, run.id)
    kinds = {call.tool: call.kind for call in run.calls}
    return read_reference((asked.references or {}).get(run.id, run.reference), _action_of(kinds, asked.map), run.id)


def _action_of(kinds: Mapping[str, str], map_: Map | None) -> Callable[[str], bool]:
    """Whether a tool acts: what the run itself says, else the map, else its name."""

    def acts(tool: str) -> bool:
        kind = kinds.get(tool) or guessed_kind(tool)
        return (kind if map_ is None else map_.kind_of(tool, kind)) == "action"

    return acts


def _labelled(found: Audit, labels: Mapping[str, Label] | None) -> dict[str, Label]:
    """The label of each run by its place: what its source says where there are no labels, else that of its id.

    An id of several runs says nothing: it is a problem.
    """
    if labels is None:
        return {str(at): Label("", run.passed) for at, run in enumerate(found.runs) if run.passed is not None}
    named = Counter(run.raised.id for run in found.runs)
    several = [name for name in labels if named[name] > 1]
    found.problems += [
        f"label {name[:80]}: {named[name]} runs have this id, so it is of none of them"
        for name in several[:MAX_PROBLEMS]
    ]
    kept: dict[str, Label] = {}
    for at, run in enumerate(found.runs):
        label = labels.get(run.raised.id)
        if label is not None and named[run.raised.id] == 1:
            kept[str(at)] = label
            found.runs[at] = run._replace(passed=label.passed)
    return kept


def _without_trace(found: Audit, what: str, ids: Mapping[str, Any]) -> Iterator[str]:
    known = {run.raised.id for run in found.runs}
    missing = [name for name in ids if name not in known]
    for name in missing[:MAX_PROBLEMS]:
        yield f"{what} {name[:80]}: no trace of a run with this id"
    if len(missing) > MAX_PROBLEMS:
        yield f"… and {len(missing) - MAX_PROBLEMS} {what}s more without a trace"
