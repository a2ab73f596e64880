"""A gate as a page, a picture or numbers: its losses in the order of the games, and what each look left open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tradefair.evaluation.charts import Axis, Band, Chart, Line, XYChart
from tradefair.evaluation.report.outputs import FigurePage
from tradefair.evaluation.table import Table
from tradefair.evaluation.verdict.amounts import number
from tradefair.runner.gate.judging import GateResult, ScenarioResult
from tradefair.runner.gate.telling import KEEP

_METHOD = (
    "A loss is what the baseline earned more than the agent on the same seed, as a share of what the baseline earned "
    "more than doing nothing, or in the market's unit. After each look two tests of sign flips say which mean losses "
    "are excluded (Fisher 1935, with the error spent in looks: Lan and DeMets 1983)."
)
_PATH = re.compile(r" \([^()]*\.trace'?\)")


def figure_of(result: GateResult) -> FigurePage:
    """A chart and a table for each scenario, under what the gate says. Paths of this machine are left out."""
    head, *more = _PATH.sub("", result.verdict).splitlines()
    played = [scenario for scenario in result.scenarios if scenario.played]
    return FigurePage(
        title=head,
        verdict=None,
        charts=[_chart(scenario) for scenario in played],
        tables=[_table(scenario) for scenario in played],
        notes=[line for line in more if not line.startswith(KEEP)],
        method=_METHOD,
        data=result.to_json(),
        command="tradefair gate run",
    )


def _chart(scenario: ScenarioResult) -> Chart:
    times, unit = (100, "%") if scenario.share else (1, scenario.recorded.unit)

    def scaled(values: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else times * value for value in values]

    ends, means, lows, highs = (list(row) for row in zip(*scenario.deciding.course, strict=True))
    games = [float(end) for end in ends]
    losses = scenario.deciding.losses
    margin = times * scenario.deciding.rule.margin
    return XYChart(
        id=f"losses_{scenario.scenario.replace('/', '_')}",
        title=f"{scenario.scenario}: losses in the order of the games",
        note="A dot is one game. Shaded: mean losses that are not excluded after so many games.",
        accent="mean loss",
        x=Axis(label="games"),
        y=Axis(label="loss", unit=unit),
        lines=[
            Line(name="one game", x=[*range(1, len(losses) + 1)], y=scaled(losses), mark="dots", faint=True),
            Line(name="mean loss", x=games, y=scaled(means)),
            Line(name="the least that is not excluded", x=games, y=scaled(lows), shade_to="the most"),
            Line(name="the most", x=games, y=scaled(highs)),
        ],
        bands=[Band(label="margin", low=margin, high=margin), Band(label="baseline", low=0, high=0)],
    )


def _table(scenario: ScenarioResult) -> Table:
    recorded = scenario.recorded
    rows = [
        [f"seed {game.seed}", recorded.games[place].seat, number(game.reward), number(recorded.games[place].reward)]
        for place, game in scenario.played
    ]
    columns = ["game", "seat", f"agent, {recorded.unit}", f"baseline, {recorded.unit}"]
    return Table(f"{scenario.scenario}, game by game", columns, rows)
