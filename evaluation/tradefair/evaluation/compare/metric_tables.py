"""A comparison as tables of ready text, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.evaluation.compare.comparison import MIN_PAIRS, Arm, Comparison, Metric, Run
from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.figures import figure_of
from tradefair.evaluation.table import Table, number_text

_MAX_LISTED = 8  # values of an attribute
_MAX_WIDE = 80  # characters of a list
_SPENT = ("calls", "refused", "model_calls", "input_tokens", "output_tokens", "model_seconds", "wall_seconds")


def means_table(found: Comparison) -> Table:
    """Means over pairs with their tests. Below 8 pairs the columns of tests would be empty, and are left out."""
    tested = _tested(found)
    columns = ["", "n", "mean A", "mean B", "B−A", *(["95 % from", "95 % to", "p", "p Holm"] if tested else [])]
    columns += ["B better", "equal", "B worse"]
    return Table("in the mean over pairs", columns, [_means(found, metric) for metric in found.metrics])


def spread_table(found: Comparison) -> Table:
    """Extremes over runs: with the tests in one table it would be too wide."""
    columns = ["", "minimum A", "minimum B", "10th percentile A", "10th percentile B", "maximum A", "maximum B"]
    return Table("over runs", columns, [_spread(found, metric) for metric in found.metrics])


def pairs_table(found: Comparison) -> Table:
    """A row per pair with the primary metrics; a scenario, and how each side ended, where that is not one for all."""
    primary = [metric.name for metric in found.metrics if metric.primary]
    several = len({pair.scenario for pair in found.pairs}) > 1
    ends = len({run.end_reason for pair in found.pairs for run in (*pair.a, *pair.b)}) > 1
    columns = [*(["scenario"] if several else []), "seed"]
    for name in primary:
        title = metric_title(found.market, name, short=True)
        columns += [f"{title} A", f"{title} B", f"{title} B−A"]
    rows: list[list[str]] = []
    for pair in found.pairs:
        cells = [*([pair.scenario] if several else []), str(pair.seed)]
        for name in primary:
            cells += [_values(pair.a, name), _values(pair.b, name), number_text(pair.differences[name])]
        rows.append([*cells, *([_ends(pair.a), _ends(pair.b)] if ends else [])])
    return Table("pairs", [*columns, *(["ended A", "ended B"] if ends else [])], rows)


def differs_table(found: Comparison) -> Table:
    """What is not the same on both sides."""
    rows = [[item.name, listed(item.a, item.b), listed(item.b, item.a)] for item in found.differs]
    return Table("differs", ["differs", "A", "B"], rows)


def spent_table(found: Comparison) -> Table:
    """What each side spent per episode, a dash where it was not recorded."""
    rows = [_spent(name, arm) for name, arm in (("A", found.a), ("B", found.b))]
    return Table("spent per episode", ["", "agent", *(field.replace("_", " ") for field in _SPENT), "US$"], rows)


def listed(values: Sequence[str], beside: Sequence[str] = ()) -> str:
    """The first few values and their number. Values that the other side lacks come first: they are why it is shown."""
    known = frozenset(beside)
    shown: list[str] = []
    # False sorts before True, and the sort is stable: values that only this side has come first.
    for value in sorted(values, key=known.__contains__):
        if len(shown) == _MAX_LISTED or sum(map(len, shown)) >= _MAX_WIDE:
            break
        shown.append(value)
    more = f" … ({len(values)} in all)" if len(values) > len(shown) else ""
    return ", ".join(shown) + more


def _tested(found: Comparison) -> bool:
    return len(found.pairs) >= MIN_PAIRS


def metric_title(market: str, metric: str, *, short: bool = False) -> str:
    """What people call a metric of a comparison, `short` in a table; numbers of the whole market say so."""
    of_seat = figure_of(market, metric)
    figure = of_seat or figure_of(market, metric.removeprefix("market_"), "market")
    if figure is None:
        return metric.replace("_", " ")
    title = figure.heading if short else figure.title
    return title if of_seat else f"market: {title}"


def _named(found: Comparison, metric: Metric) -> str:
    """The title of a metric, with a star where it is tested."""
    title = metric_title(found.market, metric.name, short=True)
    return f"{title} *" if metric.primary else title


def _means(found: Comparison, metric: Metric) -> list[str]:
    low, high = metric.interval or (None, None)
    shown = [number_text(number) for number in (metric.mean_a, metric.mean_b, metric.mean_difference)]
    if _tested(found):
        shown += [number_text(low), number_text(high), p_text(metric.p), p_text(metric.p_holm)]
    return [_named(found, metric), str(metric.n), *shown, str(metric.wins), str(metric.ties), str(metric.losses)]


def _spread(found: Comparison, metric: Metric) -> list[str]:
    ends = (metric.minimum_a, metric.minimum_b, metric.tenth_percentile_a, metric.tenth_percentile_b)
    numbers = [*ends, metric.maximum_a, metric.maximum_b]
    return [_named(found, metric), *map(number_text, numbers)]


def _spent(name: str, arm: Arm) -> list[str]:
    return [name, arm.label, *(number_text(getattr(arm, field)) for field in _SPENT), number_text(arm.cost_usd)]


def _values(runs: Sequence[Run], name: str) -> str:
    """The numbers of a side's trials, separated by blanks."""
    return " ".join(number_text(run.metrics[name]) for run in runs)


def _ends(runs: Sequence[Run]) -> str:
    """How a side's trials ended, as `reason@rounds`, each once."""
    reasons = dict.fromkeys(f"{(run.end_reason or '').partition(':')[2]}@{run.rounds_closed}" for run in runs)
    return ", ".join(reasons)
