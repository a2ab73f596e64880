"""What is counted: per run whether the flaw was named, first and by its own calls, its ledger; and sums over runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.planted.flaw import Flaw
from benchmarks.planted.play import PRESETS, Episode, Setting, cites, play
from tradefair.contract import TradefairError
from tradefair.evaluation.ledger import Ledger
from tradefair.runner.ledger import ledger_of

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
_EXACT = 1e-9


class Run(NamedTuple):
    """One flaw on one seed. `named` is the first finding that names the flaw, `extra` what else the twin lacks.

    Of the ledger against the flaw's own base: its `gap`, what its costliest turn `lost`, and whether the flaw `altered`
    that turn; None without one, and `why` says why. `known` is the gap to the best known policies.
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
    gap: float | None = None
    lost: float | None = None
    altered: bool | None = None
    known: float | None = None
    why: str | None = None

    @property
    def exact(self) -> bool | None:
        """Whether the gap to the base is the true cost; None without a ledger."""
        return None if self.gap is None else abs(self.gap - self.cost) <= _EXACT * max(1.0, abs(self.twin))


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
    # A twin is played once for all flaws of its setting; the longest tasks first, so that both processes end together.
    tasks = [
        (setting, tuple(group), seed, seed in seeds[:ledgers]) for setting, group in groups.items() for seed in seeds
    ]
    tasks.sort(key=lambda task: (task[0].market != "retail", -len(task[1])))
    parts: list[Part] = []
    with ProcessPoolExecutor(_PROCESSES) as pool:
        parts = list(pool.map(_task, tasks))
    order = {(flaw.market, flaw.name): place for place, flaw in enumerate(chosen)}
    runs = sorted((run for part in parts for run in part.runs), key=lambda run: (order[run.market, run.flaw], run.seed))
    return Part(runs, [twin for part in parts for twin in part.twins], sum(part.cpu for part in parts))


def _task(task: tuple[Setting, tuple[str, ...], int, bool]) -> Part:
    setting, names, seed, ledgers = task
    group = [flaw for flaw in flaws([setting.market]) if flaw.name in names]
    begun = time.process_time()
    with TemporaryDirectory() as folder:
        twin = play(setting, None, seed, Path(folder))
        runs = [run_of(flaw, seed, twin, play(setting, flaw, seed, Path(folder)), ledgers) for flaw in group]
    plain = (setting.market, setting.base) in _PLAIN
    seen = [] if plain else [Twin(setting.market, setting.base, tuple(finding.id for finding in twin.found))]
    return Part(runs, seen, time.process_time() - begun)


def run_of(flaw: Flaw, seed: int, twin: Episode, bent: Episode, ledgers: bool = False) -> Run:
    """What the findings of a flawed seat say that those of its twin do not."""
    cost = twin.metric - bent.metric
    before: Mapping[str, int] = {finding.id: finding.count for finding in twin.found}
    new = [finding for finding in bent.found if finding.count >= _TWICE * before.get(finding.id, 0)]
    naming = [finding for finding in new if finding.id in flaw.accepted]
    harmful = cost > HARM * abs(twin.metric)
    run = Run(
        flaw.market,
        flaw.name,
        seed,
        twin.metric,
        cost,
        len(bent.marks),
        harmful,
        naming[0].id if naming else None,
        bool(naming) and bent.found[0] == naming[0],
        bool(naming) and cites(bent, naming[0]),
        bent.found[0].id if bent.found else None,
        tuple(finding.id for finding in new if finding.id not in flaw.accepted),
    )
    return _with_ledger(run, flaw, bent) if ledgers and harmful else run


def _with_ledger(run: Run, flaw: Flaw, bent: Episode) -> Run:
    try:
        own = ledger_of(bent.path, bent.seat, against=[flaw.base])
        known = ledger_of(bent.path, bent.seat)
    except TradefairError as fault:
        return run._replace(why=str(fault))
    return run._replace(gap=own.gap, lost=_worst(own), altered=_altered(own, bent), known=known.gap)


def _worst(ledger: Ledger) -> float:
    return ledger.lost[0].lost if ledger.lost else 0.0


def _altered(ledger: Ledger, bent: Episode) -> bool | None:
    """Whether the costliest turn stands in a round in which the flaw altered something; None where nothing was lost."""
    rounds = {number for number, _ in bent.marks}
    # A flaw that only leaves out has altered no call: there is nothing to find.
    if not ledger.lost or not rounds:
        return None
    return any(ledger.lost[0].round <= number <= ledger.lost[0].last_round for number in rounds)


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

    @property
    def harmful(self) -> bool:
        """By its mean cost."""
        return self.cost > HARM * abs(self.twin)


def rows_of(chosen: Sequence[Flaw], runs: Sequence[Run]) -> Iterator[Row]:
    """One row per flaw."""
    for flaw in chosen:
        of_flaw = [run for run in runs if (run.market, run.flaw) == (flaw.market, flaw.name)]
        harmful = [run for run in of_flaw if run.harmful]
        ratios = [run.gap / run.cost for run in harmful if run.gap is not None]
        yield Row(
            flaw,
            len(of_flaw),
            len(harmful),
            fmean(run.cost for run in of_flaw),
            fmean(run.twin for run in of_flaw),
            share(run.named is not None for run in harmful),
            share(run.top for run in harmful),
            share(run.cited for run in harmful if run.named),
            median(ratios) if ratios else None,
        )


class Goal(NamedTuple):
    """A figure beside what it should be; `value` None: nothing was measured."""

    market: str
    name: str
    value: float | None
    goal: float
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is met."""
        if self.value is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def goals(rows: Sequence[Row], runs: Sequence[Run], twins: Sequence[Twin]) -> list[Goal]:
    """The figures of all markets together, then of each."""
    harmful = {(row.flaw.market, row.flaw.name) for row in rows if row.harmful and not row.flaw.harmless}
    counted = [run for run in runs if run.harmful and (run.market, run.flaw) in harmful]
    found: list[Goal] = []
    for market in ["all", *dict.fromkeys(row.flaw.market for row in rows)]:
        here = [run for run in counted if market in ("all", run.market)]
        named = [run for run in here if run.named]
        told = [run for run in here if run.gap is not None]
        pure = [len(twin.found) for twin in twins if market in ("all", twin.market)]
        found += [
            Goal(market, "harmful flaws detected", share(run.named is not None for run in here), _detect_goal(market)),
            Goal(market, "planted flaw ranked first", share(run.top for run in here), 0.7),
            Goal(market, "gap to the own base is the true cost", share(run.exact for run in told), 1.0),
            Goal(market, "an altered turn is the costliest", _altered_share(told), 0.95),
            Goal(market, "an altered call among the first three cases", share(run.cited for run in named), 0.8),
            Goal(market, "findings an episode on unflawed competent seats", fmean(pure) if pure else None, 0.3, True),
        ]
    return found


def _detect_goal(market: str) -> float:
    return 0.9 if market == "all" else 0.8


def share(hits: Iterable[bool | None]) -> float | None:
    """How many of them are true; None where there are none."""
    seen = [bool(hit) for hit in hits]
    return fmean(seen) if seen else None


def _altered_share(runs: Iterable[Run]) -> float | None:
    return share(run.altered for run in runs if run.altered is not None)
