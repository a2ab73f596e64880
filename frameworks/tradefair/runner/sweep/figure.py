"""A sweep as a figure: which episode of which arm is done, and the verdict on what was played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.charts import Axis, Chart, HeatChart
from tradefair.evaluation.progress import show_progress, watched
from tradefair.evaluation.report.outputs import FigurePage, command_line
from tradefair.evaluation.table import Table, number_text
from tradefair.evaluation.verdict.amounts import cut
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.runner.plans.done import SweepTable
from tradefair.runner.sweep.sweep import Sweep

_STATES = ("done", "failed", "running", "open")
_WORST = ("failed", "running", "open", "done")
"""What a cell shows that stands for several episodes: the first of these that one of them is."""
# More columns than that would be narrower than a line; neighbouring seeds share one.
_MAX_COLUMNS = 120
_MAX_ARMS = 60
_MAX_VERDICTS = 200
"""Traces that are evaluated for the verdict: a sweep may have a million."""
_MAX_NAME = 60
_MAX_FAILURES = 10


class _Episode(NamedTuple):
    arm: str
    seed: int
    path: str
    state: str


def sweep_page(done: Sweep, plan: str) -> FigurePage:
    """The grid of seeds by arms, a table of each, and the verdict on the first 200 traces that are done.

    An arm is a scenario with those who play in it, whichever seats they have.
    """
    with SweepTable(done.folder) as table:
        episodes = list(_episodes(table))
    paths = [done.folder / episode.path for episode in episodes if episode.state == "done"]
    verdict = _verdict(paths[:_MAX_VERDICTS])
    notes = [f"failed: {path}: {problem}" for path, problem, _ in done.failures[:_MAX_FAILURES]]
    if len(done.failures) > _MAX_FAILURES:
        notes.append(f"{len(done.failures) - _MAX_FAILURES:,} more failed")
    if done.stopped is not None:
        notes.append(f"stopped: {done.stopped}")
    if len(paths) > _MAX_VERDICTS:
        notes.append(f"the verdict is on the first {_MAX_VERDICTS} of {len(paths):,} traces")
    return FigurePage(
        title=f"sweep {done.name}: {done.counts.done:,} of {done.counts.total:,} episodes done",
        verdict=verdict,
        charts=_grid(episodes),
        tables=[_arms(episodes), *_players(verdict)],
        notes=notes,
        method="Each episode of the plan is one trace. Means are over episodes, intervals are Student's over them.",
        data=done.to_json(),
        command=command_line("sweep", Path(plan)),
    )


def _episodes(table: SweepTable) -> Iterator[_Episode]:
    states = list(table.states())
    variants: dict[str, set[int]] = {}
    for variant, _, _, path, _ in states:
        variants.setdefault(path.partition("/")[0], set()).add(variant)
    for variant, seed, players, path, state in states:
        folder = path.partition("/")[0]
        # Points of a grid have one scenario id, and so one folder.
        scenario = f"{folder} #{variant}" if len(variants[folder]) > 1 else folder
        yield _Episode(cut(f"{scenario}: {_lineup(players)}", _MAX_NAME), seed, path, state)


def _lineup(players: Mapping[SeatId, str]) -> str:
    """Who plays, and how many seats each has."""
    counted = sorted(Counter(label.removeprefix("policy:") for label in players.values()).items())
    return ", ".join(label if times == 1 else f"{label} ×{times}" for label, times in counted) or "nobody"


def _verdict(paths: Sequence[Path]) -> Verdict | None:
    read = [verdict_of_file(path) for path in watched(paths, show_progress, lambda path: path.name)]
    # Its next steps name files of this machine.
    return verdict_of_series(read).model_copy(update={"next": ()}) if read else None


def _grid(episodes: Sequence[_Episode]) -> list[Chart]:
    """Cells of seeds by arms; nothing for a plan without episodes."""
    arms = list(dict.fromkeys(episode.arm for episode in episodes))[:_MAX_ARMS]
    seeds = sorted({episode.seed for episode in episodes})
    if not seeds:
        return []
    block = -(-len(seeds) // _MAX_COLUMNS)
    plain = block == 1 and seeds[-1] - seeds[0] == len(seeds) - 1
    first = seeds[0] if plain else 1
    column = {seed: first + place // block for place, seed in enumerate(seeds)}
    states: dict[tuple[int, int], set[str]] = {}
    for episode in episodes:
        if episode.arm in arms:
            states.setdefault((arms.index(episode.arm), column[episode.seed]), set()).add(episode.state)
    shared = f", {block} in each column" if block > 1 else ", in their order"
    chart = HeatChart(
        id="grid",
        title="Episodes by arm and seed",
        note="A cell of several episodes shows failed before running, running before open, and done only if all are.",
        x=Axis(label="seed" if plain else f"seeds {seeds[0]} to {seeds[-1]}{shared}"),
        y=Axis(label="arm"),
        rows=arms,
        first_column=first,
        last_column=max(column.values()),
        cells=[
            (row, at, 1 + _STATES.index(next(state for state in _WORST if state in found)))
            for (row, at), found in states.items()
        ],
        levels=list(_STATES),
        ordered=False,
    )
    return [chart]


def _arms(episodes: Sequence[_Episode]) -> Table:
    ordered = sorted(episodes, key=lambda episode: episode.arm)
    rows: list[list[str]] = []
    for arm, found in groupby(ordered, key=lambda episode: episode.arm):
        states = Counter(episode.state for episode in found)
        rows.append([arm, str(states.total()), *(str(states[state]) for state in _STATES)])
    return Table("Arms", ["arm", "episodes", *_STATES], rows)


def _players(verdict: Verdict | None) -> list[Table]:
    """What each player earned on average, where seats were under test."""
    if verdict is None or not verdict.seats:
        return []
    rows = [
        [
            seat.player,
            seat.seat or "several",
            seat.score.title,
            *(number_text(value) for value in (seat.score.value, seat.score.low, seat.score.high)),
        ]
        for seat in verdict.seats
    ]
    return [Table("Players", ["player", "seat", "score", "mean", "95 % from", "95 % to"], rows)]
