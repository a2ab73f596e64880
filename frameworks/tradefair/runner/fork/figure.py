"""A fork as a figure: the decision, and both continuations from it in one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from tradefair.contract import SeatId
from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart, Line, XYChart
from tradefair.evaluation.charts.chart import with_accent
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import charts_of
from tradefair.evaluation.report.outputs import FigurePage, command_line, in_sentences
from tradefair.evaluation.table import Table, number_text
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.runner.fork.report import ForkReport
from tradefair.tracestore import open_trace

_MAX_ARGUMENTS = 120


def fork_page(report: ForkReport) -> FigurePage:
    """Both continuations of the first future, the outcomes of all arms, and how the costs of the decision relate."""
    first = report.futures[0]
    titles = ("control", "kept", "fork", "decision", "afterwards", "together")
    rows = [
        [f"{effect.name} ({effect.unit})", *(number_text(getattr(effect, title)) for title in titles)]
        for effect in report.effects
    ]
    with open_trace(first.fork.path) as trace:
        core = trace.manifest.core
    return FigurePage(
        title=f"{_decision(report)}, {'left out' if report.withheld else 'decided again'}",
        verdict=Verdict(
            kind="comparison",
            status="played",
            market=core.market,
            scenario=str(core.scenario.get("id", "")),
            seeds=(core.seed,),
            versions={"rules": core.rules_version},
        ).saying([*in_sentences(report.verdict[:1].upper() + report.verdict[1:]), report.reconciled]),
        charts=[*_paths(report), *_outcomes(report)],
        tables=[Table("Outcomes and costs", ["metric", *titles], rows)] if rows else [],
        notes=[*report.remarks, *(f"not reproduced: {problem}" for problem in report.unsound)],
        method="Control: the original. Fork: its past, then another decision and player, on the same seed and luck. "
        "Kept: the decision as it was, then the same player as in the fork. Costs are positive where the fork did "
        f"better. Means over {len(report.futures)} futures; the path is of the first one.",
        data=report.model_dump(mode="json"),
        command=command_line("fork", Path(report.original), "--at", str(report.at)),
    )


def _decision(report: ForkReport) -> str:
    decision = report.decision
    asked = orjson.dumps(decision["arguments"]).decode()[:_MAX_ARGUMENTS] if "arguments" in decision else ""
    name = decision.get("tool") or decision["event"]
    return f"round {report.round}, {decision.get('seat')}: {name} {asked} (event {report.at})"


def _paths(report: ForkReport) -> Iterator[Chart]:
    """The seat's line in the first of the market's charts that has one, for each arm; nothing where none has."""
    seat, future = report.seat or report.decision.get("seat"), report.futures[0]
    named = {"as it was": future.control, f"then {report.after}": future.kept, f"instead {report.after}": future.fork}
    arms = {name: _lines(run.path, seat) for name, run in named.items() if run is not None}
    # The fork's charts in their order: the first that every arm has, too.
    for chart, line in arms[f"instead {report.after}"].values():
        found = {name: lines[chart.id][1] for name, lines in arms.items() if chart.id in lines}
        if len(found) < len(arms):
            continue
        lines = [line.model_copy(update={"name": name, "panel": None}) for name, line in found.items()]
        before = found.get("as it was", line)
        at = [place for place, x in enumerate(before.x) if x == report.round]
        decided = Line(name="the decision", x=[before.x[at[0]]], y=[before.y[at[0]]], mark="dots") if at else None
        yield chart.model_copy(
            update={
                "id": "continuations",
                "title": f"{chart.title}: {line.panel or line.name}",
                "lines": [*lines, *([decided] if decided else [])],
                "accent": f"instead {report.after}",
            }
        )
        return


def _lines(path: str, seat: SeatId | None) -> Mapping[str, tuple[XYChart, Line]]:
    """By chart the line of the seat, in a market of one seat the first line; dots are no path."""
    with open_trace(path) as trace:
        charts, _ = charts_of(trace, evaluator_of(trace.manifest.core.market))
        alone = len(trace.manifest.core.seats) == 1
    found: dict[str, tuple[XYChart, Line]] = {}
    for chart in charts:
        shown = with_accent(chart.model_copy(update={"accent": None}), seat or "")
        if isinstance(shown, XYChart):
            lines = [line for line in shown.lines if line.mark != "dots"]
            own = [line for line in lines if alone or shown.accent in (line.panel or line.name, line.name)]
            if own and (alone or shown.accent):
                found[shown.id] = (shown, own[0])
    return found


def _outcomes(report: ForkReport) -> Iterator[Chart]:
    """The first metric of each arm."""
    for effect in report.effects[:1]:
        then, instead = f"then {report.after}", f"instead {report.after}"
        known = {"as it was": effect.control, then: effect.kept, instead: effect.fork}
        arms = {name: value for name, value in known.items() if value is not None}
        yield BarChart(
            id="outcomes",
            title=f"Outcome of each arm: {effect.name.replace('_', ' ')}",
            note="As it was: the original. Then: the same decision, played on by the fork's player. Instead: the fork.",
            accent=instead,
            x=Axis(label=effect.name.replace("_", " "), unit=effect.unit),
            y=Axis(label="arm"),
            names=list(arms),
            bars=Bars(name=effect.name, values=list(arms.values())),
        )
