"""What the pairs of a comparison cannot tell: episodes that are missing, and pairs that had nothing to win."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, repeat
from pathlib import Path

from tradefair.contract import TraceError
from tradefair.evaluation.compare.comparison import MIN_PAIRS, Bound, Dropped, Gap, Missing, Pair, Shares, Skew
from tradefair.evaluation.compare.pairing import SideName, mean_of
from tradefair.evaluation.compare.runs import Loaded, Seats, Side, run_of
from tradefair.evaluation.outcome import PrimaryMetric
from tradefair.evaluation.statistics import interval
from tradefair.tracestore import Database

SWEEP = "sweep.sqlite"
"""The table of a sweep, which registers every episode of its plan."""
_SKEWED = 1.0
_LONE = 0.5
_MAX_ROWS = 1_000_000
# Characters of any text in the table of a sweep.
_MAX_TEXT = 100_000


def missing_of(a: Side, b: Side, pairs: Sequence[Pair], dropped: Sequence[Dropped]) -> Missing:
    """The pairs that should exist and do not: each side is the other's register, and so is the table of a sweep.

    A pair is missing once, whatever happened to both of its episodes; `unfinished` counts those with an episode that an
    agent began and did not end.
    """
    left: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for row in _open(pairs, dropped):
        left[row.scenario, row.seed or 0].append(row.unfinished)
    met = {pair.seed for pair in pairs} | {seed for _, seed in left}
    registered = {seed for side in (a, b) for seed in _registered(side)} - met
    unfinished = sum(map(any, left.values()))
    absent = len(registered) + len(left) - unfinished
    # A damaged file cannot say which seed it is: it is one more that is missing.
    absent += sum(row.seed is None for row in dropped)
    return Missing(expected=len(pairs) + unfinished + absent, unfinished=unfinished, absent=absent)


def gaps_of(
    a: Side, b: Side, pairs: Sequence[Pair], dropped: Sequence[Dropped], seats: Seats, metric: PrimaryMetric | None
) -> list[Gap]:
    """What each side lacks, and the mean of B − A in `metric` if it had scored the worst seen there."""
    loaded = {str(run.path): run for run in (*a.runs, *b.runs)}
    gaps: list[Gap] = []
    sides: tuple[tuple[SideName, Side], ...] = (("a", a), ("b", b))
    for name, side in sides:
        lacking: dict[tuple[str, int], list[Dropped]] = defaultdict(list)
        for row in _open(pairs, dropped):
            if row.lacking == name:
                lacking[row.scenario, row.seed or 0].append(row)
        played = {run.core.seed for run in side.runs} | {seed for _, seed in lacking}
        planned = sorted(set(_registered(side)) - played)
        unread = sum(row.seed is None and row.side == name for row in dropped)
        if not (lacking or planned or unread):
            continue
        # A damaged file may be the one that a partner waits for: only more of them than partners are more seeds.
        further = len(planned) + max(0, unread - len(lacking))
        worst = None
        if metric:
            partners = (_partner(rows, name, loaded, seats, metric.name) for rows in lacking.values())
            worst = _worst(pairs, metric, name, chain(partners, repeat(None, further)))
        gaps.append(
            Gap(
                side=name,
                seeds=sorted([*(seed for _, seed in lacking), *planned]),
                unfinished=sum(any(row.unfinished for row in rows) for rows in lacking.values()),
                unread=unread,
                metric=metric.name if metric else "",
                worst=worst,
            )
        )
    return gaps


def _open(pairs: Sequence[Pair], dropped: Sequence[Dropped]) -> Iterator[Dropped]:
    """Runs that were left out of tasks without any pair; files that name no seed are not among them."""
    made = {(pair.scenario, pair.seed) for pair in pairs}
    return (row for row in dropped if row.seed is not None and (row.scenario, row.seed) not in made)


def _worst(
    pairs: Sequence[Pair], metric: PrimaryMetric, lacking: SideName, partners: Iterable[float | None]
) -> float | None:
    """The mean of B − A, had the side scored the worst that was seen wherever it lacks a run; None: none was seen.

    `partners` are what the other side scored there, or None, which counts as the best that was seen.
    """
    differences, seen = _differences(pairs, metric), _seen(pairs, metric)
    if not differences or not seen:
        return None
    bad, good = (min(seen), max(seen)) if metric.higher_is_better else (max(seen), min(seen))
    values = [good if value is None else value for value in partners]
    added = [bad - value if lacking == "b" else value - bad for value in values]
    return round(math.fsum([*differences, *added]) / (len(differences) + len(added)), 9)


def _differences(pairs: Sequence[Pair], metric: PrimaryMetric) -> list[float]:
    return [value for pair in pairs if (value := pair.differences.get(metric.name)) is not None]


def _seen(pairs: Sequence[Pair], metric: PrimaryMetric) -> list[float]:
    """All values of the metric, on either side."""
    runs = [run for pair in pairs for run in (*pair.a, *pair.b)]
    return [value for run in runs if (value := run.metrics.get(metric.name)) is not None]


def _partner(
    rows: Sequence[Dropped], lacking: SideName, loaded: Mapping[str, Loaded], seats: Seats, name: str
) -> float | None:
    """What the other side scored where this one lacks a run; None where that is not known either."""
    runs = [loaded[row.path] for row in rows if row.side != lacking]
    return mean_of([run_of(run, seats.of(run)) for run in runs], name)


def _registered(side: Side) -> Iterator[int]:
    """Seeds that the plan of a sweep means below this side's folder."""
    for folder in (side.path, *side.path.parents[:3]):
        table = folder / SWEEP
        if table.is_file():
            yield from _seeds(table, side.path.relative_to(folder).as_posix())
            return


def _seeds(table: Path, below: str) -> Iterator[int]:
    """Seeds of the table's episodes below a folder. A table that cannot be read registers nothing."""
    try:
        with closing(Database(table, most=_MAX_TEXT)) as database:
            # Whoever made the folder made the table, too: a view could go on for ever.
            if any(kind != "index" and not str(sql).startswith("CREATE TABLE") for kind, _, _, sql in database.objects):
                return
            for path, seed in database.query("SELECT path, seed FROM episodes LIMIT ?", _MAX_ROWS):
                if isinstance(seed, int) and (below == "." or str(path).startswith(f"{below}/")):
                    yield seed
    except TraceError:
        return


def bound_of(pairs: Sequence[Pair], metric: PrimaryMetric, missing: Missing) -> Bound | None:
    """The mean difference B − A, had every missing pair come out as the worst for one side and the best for the other.

    Between the extremes that were seen on either side; null where nothing is missing or nothing was seen.
    """
    count = missing.absent + missing.unfinished
    known, seen = _differences(pairs, metric), _seen(pairs, metric)
    if not count or not known or not seen:
        return None
    spread = max(seen) - min(seen)
    low, high = ((math.fsum(known) + sign * count * spread) / (len(known) + count) for sign in (-1, 1))
    return Bound(metric=metric.name, low=round(low, 9), high=round(high, 9))


def shares_of(pairs: Sequence[Pair], metric: PrimaryMetric) -> Shares | None:
    """The metric as a share of what there was to win, over pairs in which there was something.

    Null where the market does not know what a seat could win.
    """
    told = [pair for pair in pairs if all(run.at_stake is not None for run in (*pair.a, *pair.b))]
    if not told:
        return None
    with_stake = [pair for pair in told if all((run.at_stake or 0) > 0 for run in (*pair.a, *pair.b))]
    a, b = ([_share(pair, side, metric.name) for pair in with_stake] for side in ("a", "b"))
    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    differences = [y - x for x, y in both]
    return Shares(
        n=len(both),
        nothing=len(told) - len(with_stake),
        mean_a=_mean([x for x, _ in both]),
        mean_b=_mean([y for _, y in both]),
        mean_difference=_mean(differences),
        interval=interval(differences) if len(both) >= MIN_PAIRS else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), 9) if values else None


def _share(pair: Pair, side: str, name: str) -> float | None:
    runs = pair.a if side == "a" else pair.b
    value, stake = mean_of(runs, name), math.fsum(run.at_stake or 0 for run in runs) / len(runs)
    return None if value is None else value / stake


def skew_of(pairs: Sequence[Pair], metric: PrimaryMetric) -> Skew | None:
    """A warning where a few pairs carry the difference: its t interval then says less than it seems.

    Differences with |skewness| > 1, or of which one is more than half of the sum of all sizes. Null otherwise, and
    under 8 pairs.
    """
    known = [difference for pair in pairs if (difference := pair.differences.get(metric.name)) is not None]
    if len(known) < MIN_PAIRS or len(set(known)) < 2:
        return None
    mean = math.fsum(known) / len(known)
    second = math.fsum((value - mean) ** 2 for value in known) / len(known)
    skewness = math.fsum((value - mean) ** 3 for value in known) / len(known) / second**1.5
    sizes = [abs(value) for value in known]
    largest = max(sizes) / math.fsum(sizes)
    if abs(skewness) <= _SKEWED and largest <= _LONE:
        return None
    return Skew(metric=metric.name, skewness=round(skewness, 3), largest=round(largest, 3))
