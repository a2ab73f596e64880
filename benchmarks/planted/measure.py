"""What is counted: per run whether the flaw was named, first and by its own calls, its ledger; and sums over runs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.planted.bills import MOST, Bill, bill_of
from benchmarks.planted.flaw import Flaw
from benchmarks.planted.play import PRESETS, Episode, Setting, cites, play
from tradefair.contract import TradefairError
from tradefair.evaluation.ledger import Ledger
from tradefair.runner.ledger.ledger import ledger_of

HARM = 0.02
"""A flaw is harmful where it costs more than this share of what its twin earned."""
# Bases that lie below the competent references (findings.md, 4): their twins' findings are no false ones.
_PLAIN = frozenset(
    {
        *(("retail", "reorder_point"), ("supply_chain", "floor_bidder")),
        *(("pricing", name) for name in ("nash", "best_reply", "prober")),
        *(("order_book", name) for name in ("zip", "shaver")),
    }
)
_PROCESSES = 2
# A count that at least doubles is news.
_TWICE = 2
EVERY = {"order_book": 2, "retail": 4}
"""Of these markets one harmful run in so many has ledgers."""
_FEW = 0.5
"""A flaw that alters no more than this share of the turns can be missed."""


class Run(NamedTuple):
    """One flaw on one seed. `named` is the first finding that names the flaw, `extra` what else the twin lacks.

    `bill` is what the ledgers say; None without them, and `why` says why.
    """

    market: str
    flaw: str
    seed: int
    twin: float
    cost: float
    marks: int
    harmful: bool
    named: str | None
    top: bool
    cited: bool
    first: str | None
    extra: tuple[str, ...]
    bill: Bill | None = None
    why: str | None = None

    def is_cost(self, amount: float) -> bool:
        """Whether an amount is the true cost, to the digits that a sum of floats has."""
        return math.isclose(amount, self.cost, rel_tol=1e-12, abs_tol=1e-6)

    def near(self, amount: float) -> bool:
        """Whether an amount lies within a factor of two of the true cost."""
        return self.cost / _TWICE <= amount <= self.cost * _TWICE


@dataclass(frozen=True)
class Twin:
    """The findings of an unflawed competent seat: there should be none."""

    market: str
    base: str
    found: tuple[str, ...]


class Part(NamedTuple):
    """What one process measured."""

    runs: list[Run]
    twins: list[Twin]
    cpu: float


def flaws(markets: Iterable[str] = PRESETS, name: str | None = None) -> list[Flaw]:
    """The flaws of these markets, or the one of that name in each of them."""
    found: list[Flaw] = [flaw for market in markets for flaw in import_module(f"benchmarks.planted.{market}").FLAWS]
    return [flaw for flaw in found if name in (None, flaw.name)]


def measure(chosen: Sequence[Flaw], seeds: Sequence[int], ledgers: int) -> Part:
    """All flaws on all seeds in two processes; the first `ledgers` seeds with the ledgers of harmful runs."""
    # Names travel to the other processes: a flaw holds functions, which do not.
    groups: dict[Setting, list[str]] = {}
    for flaw in chosen:
        groups.setdefault(Setting.of(flaw), []).append(flaw.name)
    # A twin is played once for the flaws of its setting, with ledgers once in each process; the longest tasks first,
    # so that both processes end together.
    tasks = [
        (setting, tuple(group[start::halves]), seed, halves > 1)
        for setting, group in groups.items()
        for seed in seeds
        for halves in [_PROCESSES if seed in seeds[:ledgers] else 1]
        for start in range(min(halves, len(group)))
    ]
    tasks.sort(key=lambda task: (not task[3], task[0].market != "retail", -len(task[1])))
    parts: list[Part] = []
    with ProcessPoolExecutor(_PROCESSES) as pool:
        parts = list(pool.map(_task, tasks))
    twins = {(setting, seed): part.twins for (setting, _, seed, _), part in zip(tasks, parts, strict=True)}
    order = {(flaw.market, flaw.name): place for place, flaw in enumerate(chosen)}
    runs = sorted((run for part in parts for run in part.runs), key=lambda run: (order[run.market, run.flaw], run.seed))
    return Part(runs, [twin for seen in twins.values() for twin in seen], sum(part.cpu for part in parts))


def _task(task: tuple[Setting, tuple[str, ...], int, bool]) -> Part:
    setting, names, seed, ledgers = task
    group = [flaw for flaw in flaws([setting.market]) if flaw.name in names]
    begun = time.process_time()
    with TemporaryDirectory() as folder:
        twin = play(setting, None, seed, Path(folder))
        runs: list[Run] = []
        known: Ledger | None = None
        harmful = 0
        for flaw in group:
            bent = play(setting, flaw, seed, Path(folder))
            run = run_of(flaw, seed, twin, bent)
            harmful += run.harmful
            if ledgers and run.harmful and harmful % EVERY.get(setting.market, 1) == 0:
                try:
                    known = known or ledger_of(twin.path, twin.seat, most=MOST.get(setting.market))
                    run = run._replace(bill=bill_of(flaw, twin, bent, known))
                except TradefairError as fault:
                    run = run._replace(why=str(fault))
            runs.append(run)
    plain = (setting.market, setting.base) in _PLAIN
    seen = [] if plain else [Twin(setting.market, setting.base, tuple(finding.id for finding in twin.found))]
    return Part(runs, seen, time.process_time() - begun)


def run_of(flaw: Flaw, seed: int, twin: Episode, bent: Episode) -> Run:
    """What the findings of a flawed seat say that those of its twin do not."""
    cost = twin.metric - bent.metric
    before: Mapping[str, int] = {finding.id: finding.count for finding in twin.found}
    new = [finding for finding in bent.found if finding.count >= _TWICE * before.get(finding.id, 0)]
    naming = [finding for finding in new if finding.id in flaw.accepted]
    harmful = cost > HARM * abs(twin.metric)
    return Run(
        flaw.market,
        flaw.name,
        seed,
        twin.metric,
        cost,
        len(bent.course.marks),
        harmful,
        naming[0].id if naming else None,
        bool(naming) and bent.found[0] == naming[0],
        bool(naming) and cites(bent, naming[0]),
        bent.found[0].id if bent.found else None,
        tuple(finding.id for finding in new if finding.id not in flaw.accepted),
    )


class Row(NamedTuple):
    """A flaw over all its seeds; shares are of its harmful runs, None without one."""

    flaw: Flaw
    runs: int
    harmful_runs: int
    cost: float
    twin: float
    detected: float | None
    first: float | None
    cited: float | None
    gap_ratio: float | None
    part: float | None
    found: float | None

    @property
    def harmful(self) -> bool:
        """By its mean cost."""
        return self.cost > HARM * abs(self.twin)


def rows_of(chosen: Sequence[Flaw], runs: Sequence[Run]) -> Iterator[Row]:
    """One row per flaw; one that was not played has none."""
    for flaw in chosen:
        of_flaw = [run for run in runs if (run.market, run.flaw) == (flaw.market, flaw.name)]
        if not of_flaw:
            continue
        harmful = [run for run in of_flaw if run.harmful]
        said = [(run, run.bill) for run in harmful if run.bill]
        yield Row(
            flaw,
            len(of_flaw),
            len(harmful),
            fmean(run.cost for run in of_flaw),
            fmean(run.twin for run in of_flaw),
            share(run.named is not None for run in harmful if flaw.accepted),
            share(run.top for run in harmful if flaw.accepted),
            share(run.cited for run in harmful if run.named),
            _median([each.gap / run.cost for run, each in said]),
            _median([each.altered_turns / run.cost for run, each in said]),
            share(each.named for _, each in said if each.named is not None),
        )


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


class Goal(NamedTuple):
    """A figure of `count` runs next to what it should be (None: it explains another figure).

    `value` is None where nothing was measured.
    """

    market: str
    name: str
    value: float | None
    runs: int
    goal: float | None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is met."""
        if self.value is None or self.goal is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def goals(rows: Sequence[Row], runs: Sequence[Run], twins: Sequence[Twin]) -> list[Goal]:
    """The figures of all markets together, then of each."""
    harmful = {(row.flaw.market, row.flaw.name): row.flaw for row in rows if row.harmful and not row.flaw.harmless}
    counted = [run for run in runs if run.harmful and (run.market, run.flaw) in harmful]
    found: list[Goal] = []
    for market in ["all", *dict.fromkeys(row.flaw.market for row in rows)]:
        here = [run for run in counted if market in ("all", run.market)]
        pure = [len(twin.found) for twin in twins if market in ("all", twin.market)]
        found += _ledger_goals(market, [run for run in here if run.bill])
        found += _name_goals(market, [run for run in here if harmful[run.market, run.flaw].accepted])
        clean = "findings an episode on unflawed competent seats"
        found.append(Goal(market, clean, fmean(pure) if pure else None, len(pure), 0.3, at_most=True))
    return found


def _ledger_goals(market: str, runs: Sequence[Run]) -> Iterator[Goal]:
    said = [(run, run.bill) for run in runs if run.bill]
    part = 0.8 if market == "all" else 0.7
    few = [each for _, each in said if each.turns <= _FEW]
    named = [each for _, each in said if each.named is not None]
    figures: list[tuple[str, list[float | bool | None], float | None]] = [
        ("own base: gap is the true cost", [run.is_cost(each.gap) for run, each in said], 1.0),
        ("own base: an altered turn is the costliest", [each.altered for _, each in said], 0.95),
        ("own base: the same, few turns altered", [each.altered for each in few], None),
        ("best known: gap less the twin's is the true cost", [run.is_cost(each.more) for run, each in said], 1.0),
        (
            "best known: its part at altered turns is within ×2",
            [run.near(each.altered_turns) for run, each in said],
            part,
        ),
        ("verdict's turn or stretch holds an altered turn", [each.named for each in named], 0.75),
        ("verdict: by chance", [each.by_chance for each in named], None),
        ("verdict: the same, few turns altered", [each.named for each in few], None),
        ("verdict: by chance, few turns altered", [each.by_chance for each in few], None),
        ("share of turns altered", [each.turns for _, each in said], None),
    ]
    return (_goal(market, name, values, goal) for name, values, goal in figures)


def _name_goals(market: str, runs: Sequence[Run]) -> Iterator[Goal]:
    figures: list[tuple[str, list[float | bool | None], float]] = [
        ("name: harmful flaws detected", [run.named is not None for run in runs], 0.9 if market == "all" else 0.8),
        ("name: planted flaw ranked first", [run.top for run in runs], 0.7),
        ("name: an altered call among its first three cases", [run.cited for run in runs if run.named], 0.8),
    ]
    return (_goal(market, name, values, goal) for name, values, goal in figures)


def _goal(market: str, name: str, values: Iterable[float | bool | None], goal: float | None) -> Goal:
    """The mean of what was measured."""
    measured = [float(value) for value in values if value is not None]
    return Goal(market, name, fmean(measured) if measured else None, len(measured), goal)


def share(hits: Iterable[bool | None]) -> float | None:
    """How many of them are true; None where there are none."""
    seen = [bool(hit) for hit in hits]
    return fmean(seen) if seen else None
