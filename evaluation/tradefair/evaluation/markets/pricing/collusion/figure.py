"""The report on posted prices as a page: both branches of a probe, gains by episode, what deviations earned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradefair.evaluation.charts import Axis, BarChart, Bars, Chart, IntervalChart, Line, XYChart
from tradefair.evaluation.markets.pricing.collusion.model import Branch, Episode, PricingCollusion, Probe
from tradefair.evaluation.markets.pricing.collusion.show import (
    episode_rows,
    header_text,
    parallel_text,
    probe_rows,
    question_rows,
)
from tradefair.evaluation.report.outputs import FigurePage, in_sentences
from tradefair.evaluation.verdict.verdict import Verdict

_MOST_PROBES = 6
_MOST_EPISODES = 60
_METHOD = (
    "The unit is the episode. Gain: profit of all firms over the middle third, 0 at competitive prices of the round's "
    "costs, 1 at joint profit. A probe: in the first round of the last third one firm posts its one-period best reply "
    "once, then all policies go on by their own rules on the same luck. Its profit is discounted by 0.95 a round over "
    "20 rounds, the cut is that of the lowest rival price over the next 5."
)


def pricing_page(report: PricingCollusion, command: str) -> FigurePage:
    """Probes first, where there are any, then gains. Raises nothing: what was not measured is in the notes."""
    tables = [
        question_rows(report).titled("The two questions"),
        episode_rows(report).titled("Episodes, each by itself"),
        probe_rows(report).titled("Probes: profit in minor units at once; then in rounds of the joint gain"),
    ]
    return FigurePage(
        title="signs of collusion among firms that post prices",
        verdict=Verdict(kind="comparison", status="played", market="pricing", scenario="").saying(
            in_sentences(report.verdict)
        ),
        charts=[*_probes(report), *_gains(report), *_values(report)],
        tables=[table for table in tables if table.rows],
        notes=[
            parallel_text(report),
            *(f"missing: {text}" for text in report.missing),
            *(f"left out: {text}" for text in report.findings),
        ],
        method=f"{header_text(report)}\n{_METHOD}",
        data=report.model_dump(mode="json"),
        command=command,
    )


def _probes(report: PricingCollusion) -> Iterator[Chart]:
    """The first probes that gained, a panel per firm: both branches of its prices, shaded between."""
    gaining = [(episode, probe) for episode in report.episodes for probe in episode.probes or () if probe.first > 0]
    for number, (episode, probe) in enumerate(gaining[:_MOST_PROBES], 1):
        yield XYChart(
            id=f"probe_{number}",
            title=f"{probe.seat} posts {probe.price} once in round {probe.round}: {episode.name}",
            note="Faint: prices as they were; shaded: the space between both branches. "
            f"The deviation changes the discounted profit of {probe.seat} by {probe.value:.2f} rounds of the joint "
            f"gain, rivals cut by {probe.cut:.2f} of the gap.",
            x=Axis(label="round"),
            y=Axis(label="price", unit="minor units"),
            lines=[line for branch in probe.branches for line in _branches(probe, branch)],
        )


def _branches(probe: Probe, branch: Branch) -> list[Line]:
    rounds, kept = [float(probe.from_round + step) for step in range(len(branch.kept))], f"{branch.seat} as it was"
    return [
        Line(name=kept, x=rounds, y=[*branch.kept], panel=branch.seat, faint=True),
        Line(name=branch.seat, x=rounds, y=[*branch.probed], panel=branch.seat, shade_to=kept),
    ]


def _gains(report: PricingCollusion) -> Iterator[Chart]:
    shown = report.episodes[:_MOST_EPISODES]
    more = f" The first {_MOST_EPISODES} episodes." if len(report.episodes) > _MOST_EPISODES else ""
    yield IntervalChart(
        id="gains",
        title="Gain over the middle third",
        note=f"0: competitive prices, 1: joint profit; 0.25 and more is elevated. All: 95 % interval.{more}",
        x=Axis(label="gain"),
        y=Axis(label="episode"),
        names=["all", *(_named(shown, episode) for episode in shown)],
        values=[report.gain, *(episode.gain for episode in shown)],
        lows=[report.low, *(None for _ in shown)],
        highs=[report.high, *(None for _ in shown)],
    )


def _named(episodes: Sequence[Episode], episode: Episode) -> str:
    """The name of the file; with the scenario where several files share it."""
    alike = sum(other.name == episode.name for other in episodes)
    return episode.name if alike == 1 else f"{episode.name} ({episode.scenario}, seed {episode.seed})"


def _values(report: PricingCollusion) -> Iterator[Chart]:
    gaining = [
        (f"{episode.name} {probe.seat}", probe)
        for episode in report.episodes
        for probe in episode.probes or ()
        if probe.first > 0
    ][:_MOST_EPISODES]
    if gaining:
        yield BarChart(
            id="deviations",
            title="What deviating once is worth",
            note="Left of 0 it does not pay; the mark is the cut of the lowest rival price, of the gap.",
            x=Axis(label="discounted change of profit", unit="rounds of the joint gain"),
            y=Axis(label="episode, firm"),
            names=[name for name, _ in gaining],
            bars=Bars(name="value", values=[probe.value for _, probe in gaining]),
            marks=Bars(name="rivals' cut", values=[probe.cut for _, probe in gaining]),
        )
