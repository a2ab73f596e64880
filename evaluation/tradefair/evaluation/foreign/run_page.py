"""The page of a run that no rules have made: its texts as a transcript shows them, and how it used its tools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.audit.map_file import load_map
from tradefair.evaluation.foreign.audit.mapped import MapEvaluator
from tradefair.evaluation.foreign.audit.rates import Label, Raised, Rates, labels_in, rates_of
from tradefair.evaluation.foreign.audit.run import RuleCase
from tradefair.evaluation.foreign.audit.show_audit import table_of
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.origins import origin_of, tools_of
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.report.events import EventColumns
from tradefair.evaluation.report.packing import BUDGET, Row, fitting_limit, pack_texts
from tradefair.evaluation.report.page_data import EpisodePage, ForeignPage, Packed, TablePage, ToolUse
from tradefair.evaluation.report.transcript import as_json
from tradefair.evaluation.verdict.verdict import ForeignRun
from tradefair.tracestore import Trace

MAP = "map."
_RAISED = ("raised", "condition", "merged")


def map_and_labels(map_file: Path | None, labels: Path | None) -> tuple[MapEvaluator | None, dict[str, bool]]:
    """A map and labels from their files. Raises ScenarioError, also for a line of labels that is none."""
    known, problems = labels_in(labels) if labels else ({}, [])
    if problems:
        raise ScenarioError(problems[0])
    evaluator = MapEvaluator(load_map(map_file)) if map_file else None
    return evaluator, {name: label.passed for name, label in known.items()}


def rates_of_runs(episodes: Sequence[EpisodePage]) -> dict[str, Any]:
    """`rates` and `rates_note` of a page of several runs, as `audit run` counts them; nothing without runs."""
    runs = [(episode.verdict.foreign, episode.diagnosis) for episode in episodes if episode.verdict.foreign]
    if not runs:
        return {}
    rates = _rates(runs)
    table = table_of(rates)
    note = f"{table.quiet.capitalize()}." if table.quiet else ""
    if not any(rate.passed.of for rate in rates.rules):
        return {"rates_note": f"No run is said to have passed: how often a rule is wrong is not known. {note}".strip()}
    rows = [[cell or "–" for cell in row] for row in table.rows]
    # The last column holds a remark where a rule is no better than chance.
    wide = len(table.columns) - (not any(rate.no_better for rate in rates.rules))
    columns = [column or "remark" for column in table.columns][:wide]
    return {"rates": TablePage(title="Rates", columns=columns, rows=[row[:wide] for row in rows]), "rates_note": note}


def _rates(runs: Sequence[tuple[ForeignRun, Diagnosis | None]]) -> Rates:
    """Rates of the map's rules, else of the modes. A rule is raised where another one tells its fact, too."""
    found = [list(diagnosis.findings) if diagnosis else [] for _, diagnosis in runs]
    mapped = any(finding.id.startswith(MAP) for findings in found for finding in findings)
    rules = [[finding for finding in findings if not mapped or finding.id.startswith(MAP)] for findings in found]
    checked = {finding.id for findings in rules for finding in findings if finding.checked and finding.of > 0}
    # Names may repeat over files: what counts is the run.
    labels = {str(at): Label(str(at), run.passed) for at, (run, _) in enumerate(runs) if run.passed is not None}
    raised = [
        Raised(str(at), [RuleCase(found.id, None, 0, "", "", "") for found in findings if found.status in _RAISED])
        for at, findings in enumerate(rules)
    ]
    return rates_of(raised, labels, checked)


def foreign_page(trace: Trace, columns: EventColumns) -> ForeignPage:
    """What the page tells of an opened foreign trace; `columns` are all its events."""
    origin = origin_of(trace)
    return ForeignPage(
        title=origin.title,
        reader=origin.reader,
        digest=origin.digest,
        tools=_tools(trace, columns),
        left_out=list(origin.left_out),
        redacted=list(origin.redacted),
    )


def pack_said(
    trace: Trace, columns: EventColumns, after: int = 0, limit: int | None = None, budget: int = BUDGET
) -> Packed:
    """Per event a message's text or a call's arguments, and the answer; cut as `pack_bodies` cuts, at `budget`."""
    return pack_texts(said_in(trace, len(columns.seq), after), limit or fitting_limit(columns.size, budget))


def said_in(trace: Trace, count: int, after: int = 0) -> Iterator[Row]:
    """Of `count` events after event number `after`: a message's text or a call's arguments, and the answer."""
    for stored, _ in zip(trace.events(after), range(count), strict=False):
        try:
            event = mapping(orjson.loads(stored.body))
        except orjson.JSONDecodeError:
            # No JSON: what stands there is shown as it stands.
            yield [stored.body.decode(errors="replace"), None]
            continue
        kind = event.get("event")
        if kind == "message":
            yield [_text(event.get("content")), None]
        elif kind == "tool_called":
            yield [as_json(event.get("arguments")), _answer(trace, event)]
        else:
            yield [None, None]


def _answer(trace: Trace, event: dict[str, Any]) -> str | None:
    """What came back: the result, or the error as "code: message"."""
    if event.get("status") != "ok":
        error = mapping(event.get("error"))
        said = [error.get(part) for part in ("code", "message", "hint")]
        return ": ".join(part for part in said if isinstance(part, str) and part)
    ref = event.get("result_ref")
    if isinstance(ref, str):
        blob = trace.blob(ref)
        return None if blob is None else _shown(blob)
    return _text(event.get("result"))


def _shown(raw: bytes) -> str:
    """A result that is stored apart; a text without its quotes."""
    if not raw.startswith(b'"'):
        return raw.decode(errors="replace")
    try:
        return _text(orjson.loads(raw))
    except orjson.JSONDecodeError:
        return raw.decode(errors="replace")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _tools(trace: Trace, columns: EventColumns) -> list[ToolUse]:
    """A row per tool, those called most often first; tools that were offered and never called last."""
    defined = tools_of(trace)
    rows: dict[str, list[int]] = {name: [] for name in defined}
    for row in range(len(columns.seq)):
        if columns.name(columns.event, row) == "tool_called":
            rows.setdefault(columns.name(columns.tool, row), []).append(row)
    used = (_use(columns, tool, own, defined[tool].known if tool in defined else "") for tool, own in rows.items())
    return sorted(used, key=lambda use: (-use.calls, use.tool))


def _use(columns: EventColumns, tool: str, rows: Sequence[int], known: str) -> ToolUse:
    statuses = [columns.name(columns.status, row) for row in rows]
    # What failed was a protocol's error, a timeout, or was never answered.
    unanswered = sum(status == "failed" for status in statuses)
    times = sorted(columns.latency_us[row] for row in rows if columns.latency_us[row] >= 0)
    return ToolUse(
        tool=tool,
        kind=columns.name(columns.kind, rows[0]) if rows else "",
        known=known or "name",
        calls=len(rows),
        refused=sum(status != "ok" for status in statuses) - unanswered,
        unanswered=unanswered,
        median_us=_rank(times, 0.5),
        p95_us=_rank(times, 0.95),
    )


def _rank(times: Sequence[int], share: float) -> int | None:
    """The smallest time that so large a share of all does not pass (nearest rank)."""
    return times[max(0, math.ceil(share * len(times)) - 1)] if times else None
