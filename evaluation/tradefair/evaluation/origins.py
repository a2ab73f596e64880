"""What a trace that no rules have made says of itself: its source, its tools, and what a pass over its events counts.

Everything here comes from a file of somebody's: each field that has not the type it should counts as absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import orjson

from tradefair.contract import TraceError
from tradefair.contract.foreign import FOREIGN_MARKET, IMPORTED, RECORDED
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.text import clean_line
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.tracestore import Trace

_MAX_NAME, _MAX_TOOLS, _MAX_LEFT_OUT = 200, 5_000, 100


ADDS_NOT_UP = "does not add up with its file: calls may be missing or told twice"
ADD_NOT_UP = "do not add up with their files: calls may be missing or told twice"
"""What is said first of one run, or of several, that are not `reconciled`."""


class Origin(NamedTuple):
    """Where a foreign trace comes from, as `about.source` says it. `how` is imported or recorded.

    `passed` is the source's own result, None where it has none. `left_out` and `redacted` are names and counts.
    `reconciled` is false where the import used other calls than its file holds by its own count.
    """

    how: str
    format: str = ""
    file: str = ""
    run: str = ""
    title: str = ""
    passed: bool | None = None
    reader: str = ""
    digest: str = ""
    left_out: tuple[tuple[str, int], ...] = ()
    redacted: tuple[tuple[str, int], ...] = ()
    reconciled: bool = True


class ForeignTool(NamedTuple):
    """A tool as the source defines it; hints are None where it has none, `known` is where its kind comes from."""

    name: str
    read_only: bool | None = None
    destructive: bool | None = None
    known: str = "name"


class Tally(NamedTuple):
    """What one pass over the events counts; `steps` is the largest step, or the number of events that have one.

    `unanswered` are calls without an answer, `refused` calls that were answered by an error.
    """

    steps: int = 0
    messages: int = 0
    calls: int = 0
    unanswered: int = 0
    refused: int = 0
    tools: tuple[str, ...] = ()


def is_foreign(core: ManifestCore | Outcome[Any, Any]) -> bool:
    """Whether no rules have made the trace of this manifest or outcome: it was imported or recorded."""
    return core.market == FOREIGN_MARKET and core.rules_version in (IMPORTED, RECORDED)


def origin_of(trace: Trace) -> Origin:
    """What the manifest says of the source; TraceError when it cannot be read. Never raises for what it holds."""
    source = mapping(trace.manifest.about.get("source"))
    passed = source.get("passed")
    return Origin(
        how=RECORDED if trace.manifest.core.rules_version == RECORDED else IMPORTED,
        format=_line(source.get("format")),
        file=_line(source.get("file")),
        run=_line(source.get("run")),
        title=_line(source.get("title")),
        passed=passed if isinstance(passed, bool) else None,
        reader=_line(source.get("reader") or source.get("reader_version")),
        digest=_line(source.get("blake2b")),
        left_out=_counts(source.get("left_out")),
        redacted=_counts(source.get("redacted")),
        reconciled=source.get("reconciled") is not False,
    )


def tools_of(trace: Trace) -> dict[str, ForeignTool]:
    """The tools that the source defines, by name."""
    found: dict[str, ForeignTool] = {}
    for row in map(mapping, sequence(trace.manifest.about.get("tools"))[:_MAX_TOOLS]):
        name = _line(row.get("name"))
        if name:
            reads, destroys = _flag(row.get("readOnlyHint")), _flag(row.get("destructiveHint"))
            hinted = "name" if reads is None and destroys is None else "annotation"
            found[name] = ForeignTool(name, reads, destroys, _line(row.get("kind_from")) or hinted)
    return found


def tally(trace: Trace) -> Tally:
    """Messages, calls and steps of an opened trace; what cannot be read is not counted."""
    steps = messages = unanswered = refused = 0
    tools: Counter[str] = Counter()
    for event in chain(_events(trace), _left_open(trace)):
        steps = max(steps, step_of(event))
        messages += event.get("event") == "message"
        if event.get("event") == "tool_called":
            tools[_line(event.get("tool"))] += 1
            lost = mapping(event.get("error")).get("code") in ("no_answer", "cancelled")
            unanswered += lost
            refused += event.get("status") != "ok" and not lost
    return Tally(steps, messages, tools.total(), unanswered, refused, tuple(tools))


def step_at(trace: Trace, seq: int) -> int | None:
    """The step of event `seq`; None where it has none."""
    try:
        stored = next(trace.events(seq - 1), None) if seq > 0 else None
        known = step_of(mapping(orjson.loads(stored.body))) if stored is not None and stored.seq == seq else 0
    except (TraceError, orjson.JSONDecodeError):
        return None
    return known or None


def step_of(event: Mapping[str, Any]) -> int:
    """The step of a decoded event; 0 where it has none."""
    step = event.get("step")
    return step if isinstance(step, int) and not isinstance(step, bool) and 0 < step < 2**53 else 0


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    try:
        for stored in trace.events():
            try:
                yield mapping(orjson.loads(stored.body))
            except orjson.JSONDecodeError:
                continue
    except TraceError:
        return


def _left_open(trace: Trace) -> Iterator[dict[str, Any]]:
    with suppress(TraceError):
        yield from trace.left_open()


def _line(value: object) -> str:
    known = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return clean_line(known[:_MAX_NAME]) if isinstance(known, str) else ""


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _counts(value: object) -> tuple[tuple[str, int], ...]:
    rows = list(mapping(value).items())[:_MAX_LEFT_OUT]
    return tuple((_line(name), count) for name, count in rows if isinstance(count, int) and not isinstance(count, bool))
