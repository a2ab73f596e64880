"""What is counted: per run whether the flaw was named, first, by its own calls and at its price; and sums over runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.planted.flaw import Flaw
from benchmarks.planted.play import PRESETS, Episode, Setting, cites, play
from tradefair.contract import TradefairError
from tradefair.evaluation.modes.diagnosis import Finding, Price
from tradefair.runner import price as pricing

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
_UNPRICED = Price(amount=None, unit="", repair="none")
_PROCESSES = 2
# A count that at least doubles is news; a price within this factor is right.
_TWICE = 2.0


class Run(NamedTuple):
    """One flaw on one seed. `named` is the first finding that names the flaw, `extra` what else the twin lacks.

    `against` played the repaired turns; None without a price or where no policy played. `by_base`: it is the flaw's own
    base, or earns the same in the twin's place.
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
    price: float | None
    why_no_price: str | None
    against: str | None = None
    by_base: bool | None = None

    @property
    def near(self) -> bool | None:
        """Whether the price lies within a factor of two of the true cost; None without a price."""
        return None if self.price is None else self.cost / _TWICE <= self.price <= self.cost * _TWICE


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


def measure(chosen: Sequence[Flaw], seeds: Sequence[int], priced: int) -> Part:
    """All flaws on all seeds in two processes; the first `priced` seeds with the price of what was found."""
    # Names travel to the other processes: a flaw holds functions, which do not.
    groups: dict[Setting, list[str]] = {}
    for flaw in chosen:
        groups.setdefault(Setting.of(flaw), []).append(flaw.name)
    # A twin is played once for all flaws of its setting; the longest tasks first, so that both processes end together.
    tasks = [
        (setting, tuple(group), seed, seed in seeds[:priced]) for setting, group in groups.items() for seed in seeds
    ]
    tasks.sort(key=lambda task: (task[0].market != "retail", -len(task[1])))
    parts: list[Part] = []
    with ProcessPoolExecutor(_PROCESSES) as pool:
        parts = list(pool.map(_task, tasks))
    order = {(flaw.market, flaw.name): place for place, flaw in enumerate(chosen)}
    runs = sorted((run for part in parts for run in part.runs), key=lambda run: (order[run.market, run.flaw], run.seed))
    return Part(runs, [twin for part in parts for twin in part.twins], sum(part.cpu for part in parts))


def _task(task: tuple[Setting, tuple[str, ...], int, bool]) -> Part:
    setting, names, seed, priced = task
    group = [flaw for flaw in flaws([setting.market]) if flaw.name in names]
    begun = time.process_time()
    with TemporaryDirectory() as folder:
        twin = play(setting, None, seed, Path(folder))
        runs = [run_of(flaw, seed, twin, play(setting, flaw, seed, Path(folder)), priced) for flaw in group]
        players = {run.against for run in runs if run.against}
        # Two names may play alike: retail's `sealed_ears` does what `careful_reader` does where no source lies.
        alike = {
            name: name == setting.base
            or play(setting._replace(base=name), None, seed, Path(folder)).metric == twin.metric
            for name in players
        }
        runs = [run._replace(by_base=alike[run.against]) if run.against else run for run in runs]
    plain = (setting.market, setting.base) in _PLAIN
    seen = [] if plain else [Twin(setting.market, setting.base, tuple(finding.id for finding in twin.found))]
    return Part(runs, seen, time.process_time() - begun)


def run_of(flaw: Flaw, seed: int, twin: Episode, bent: Episode, priced: bool = False) -> Run:
    """What the findings of a flawed seat say that those of its twin do not."""
    cost = twin.metric - bent.metric
    before: Mapping[str, int] = {finding.id: finding.count for finding in twin.found}
    new = [finding for finding in bent.found if finding.count >= _TWICE * before.get(finding.id, 0)]
    naming = [finding for finding in new if finding.id in flaw.accepted]
    harmful = cost > HARM * abs(twin.metric)
    price = _price(bent.path, naming[0]) if priced and harmful and naming else _UNPRICED
    return Run(
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
        price.amount,
        price.reason,
        None if price.amount is None else price.against,
    )


def _price(path: Path, finding: Finding) -> Price:
    try:
        return pricing.price(path, finding)
    except TradefairError as fault:
        return Price(amount=None, unit="", repair="none", reason=str(fault))


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
    price_ratio: float | None

    @property
    def harmful(self) -> bool:
        """By its mean cost."""
        return self.cost > HARM * abs(self.twin)


def rows_of(chosen: Sequence[Flaw], runs: Sequence[Run]) -> Iterator[Row]:
    """One row per flaw."""
    for flaw in chosen:
        of_flaw = [run for run in runs if (run.market, run.flaw) == (flaw.market, flaw.name)]
        harmful = [run for run in of_flaw if run.harmful]
        ratios = [run.price / run.cost for run in harmful if run.price is not None]
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
        priced = [run for run in here if run.price is not None]
        pure = [len(twin.found) for twin in twins if market in ("all", twin.market)]
        found += [
            Goal(market, "harmful flaws detected", share(run.named is not None for run in here), _detect_goal(market)),
            Goal(market, "planted flaw ranked first", share(run.top for run in here), 0.7),
            Goal(market, "price within x2 of the true cost", share(run.near for run in priced), 0.8),
            Goal(market, "Spearman of price and true cost", _spearman(here) if market != "all" else None, 0.8),
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


def _spearman(runs: Sequence[Run]) -> float | None:
    pairs = [(run.price, run.cost) for run in runs if run.price is not None]
    if len(pairs) < 3:
        return None
    from scipy.stats import spearmanr  # pyright: ignore[reportUnknownVariableType]  # scipy has no types

    prices, costs = zip(*pairs, strict=True)
    found: Any = spearmanr(prices, costs)
    return float(found.statistic)
