"""What `tradefair compare` prints for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import orjson

from tradefair.cli.tables import Cell, figures, names, show_table, words
from tradefair.cli.terminal import Console
from tradefair.evaluation.compare.comparison import (
    MIN_PAIRS,
    Arm,
    Comparison,
    Decision,
    Divergence,
    Metric,
    Run,
    SurvivalPoint,
)
from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.table import number_text

_MAX_LISTED = 8  # values of an attribute
_MAX_WIDE = 80  # characters of a list
_MAX_DROPPED = 40
_MAX_ARGUMENTS = 300  # characters


def show(comparison: Comparison) -> None:
    """Print the verdict, the tables, what limits the tests, and what to do next."""
    console = Console()
    console.print(f"{comparison.verdict.text}\n", style="bold")
    _say(console, f"A  {comparison.a.name}\nB  {comparison.b.name}")
    _say(console, f"{comparison.market}, {', '.join(comparison.seats)}; differences are B − A\n")
    _show_attributes(console, comparison)
    _show_pairs(console, comparison)
    if comparison.pairs:
        _show_metrics(console, comparison)
        _show_more(console, comparison)
        _show_arms(console, [("A", comparison.a), ("B", comparison.b)])
        if comparison.first_divergence is not None:
            _show_divergence(console, comparison)
    for finding in comparison.findings:
        console.print(finding, style="red", soft_wrap=True)
    if comparison.notes:
        console.print(f"\n{'. '.join(comparison.notes)}.", style="dim")
    console.print()
    for step in comparison.verdict.next:
        _say(console, f"next   {step.command}   {step.why}", style="dim")


def decision_text(decision: Decision | None) -> str:
    """A decision in one line: event, tool, arguments, status."""
    if decision is None:
        return "nothing"
    # Cut: a plan or a slogan may be thousands of characters, and JSON holds all of it.
    arguments = orjson.dumps(decision.arguments).decode()[:_MAX_ARGUMENTS]
    came = decision.status + (f" ({decision.error})" if decision.error else "")
    return f"event {decision.seq}: {decision.tool or 'lapsed'} {arguments} {came}"


def _show_attributes(console: Console, comparison: Comparison) -> None:
    """The table of what differs and one line of what is pinned."""
    rows = [[item.name, _listed(item.a, item.b), _listed(item.b, item.a)] for item in comparison.differs]
    if rows:
        show_table(console, [*names("differs"), *words("A", "B")], rows)
    # A pinned dash says that neither side recorded it, which is no fact worth a line.
    pinned = "; ".join(f"{item.name} {_listed(item.a)}" for item in comparison.pinned if item.a not in ([], ["–"]))
    _say(console, f"pinned: {pinned}" if pinned else "nothing is pinned", style="dim")


def _listed(values: Sequence[str], beside: Sequence[str] = ()) -> str:
    """The first few values and their number. Values that the other side lacks come first.

    They are why the row is shown.
    """
    known = frozenset(beside)
    shown: list[str] = []
    # False sorts before True, and the sort is stable: values that only this side has come first.
    for value in sorted(values, key=known.__contains__):
        if len(shown) == _MAX_LISTED or sum(map(len, shown)) >= _MAX_WIDE:
            break
        shown.append(value)
    more = f" … ({len(values)} in all)" if len(values) > len(shown) else ""
    return ", ".join(shown) + more


def _show_pairs(console: Console, comparison: Comparison) -> None:
    """The number of pairs, what was left out and why, and a row per pair with the primary metrics."""
    pairs, dropped = comparison.pairs, comparison.dropped
    _say(console, f"\n{_count(len(pairs), 'pair')}, {_count(len(dropped), 'trace')} left out")
    for item in dropped[:_MAX_DROPPED]:
        seed = "" if item.seed is None else f"seed {item.seed}, "
        _say(console, f"  {item.side.upper()} {seed}{item.path}: {item.reason}", style="yellow")
    if len(dropped) > _MAX_DROPPED:
        _say(console, f"  … and {len(dropped) - _MAX_DROPPED} more (--json has them)", style="yellow")
    primary = [metric.name for metric in comparison.metrics if metric.primary]
    if not pairs or not primary:
        # Without a primary metric a row would hold the seed alone.
        return
    titles = list(chain.from_iterable((f"{name}_A", f"{name}_B", f"{name}_B−A") for name in primary))
    several = len({pair.scenario for pair in pairs}) > 1
    # One reason for all episodes is said once below the table instead of in two columns.
    ends = {run.end_reason for pair in pairs for run in (*pair.a, *pair.b)}
    columns = [*names(*(["scenario"] if several else []), "seed"), *figures(*titles)]
    rows: list[list[Cell]] = []
    for pair in pairs:
        cells: list[Cell] = [*([pair.scenario] if several else []), str(pair.seed)]
        for name in primary:
            cells += [_values(pair.a, name), _values(pair.b, name), number_text(pair.differences[name])]
        rows.append([*cells, *([_ends(pair.a), _ends(pair.b)] if len(ends) > 1 else [])])
    show_table(console, [*columns, *(figures("ended_A", "ended_B") if len(ends) > 1 else [])], rows)
    if len(ends) == 1:
        _say(console, f"every episode ended {ends.pop()}", style="dim")


def _values(runs: Sequence[Run], name: str) -> str:
    """The numbers of a side's trials, separated by blanks."""
    return " ".join(number_text(run.metrics[name]) for run in runs)


def _ends(runs: Sequence[Run]) -> str:
    """How a side's trials ended, as `reason@rounds`, each once."""
    reasons = dict.fromkeys(f"{(run.end_reason or '').partition(':')[2]}@{run.rounds_closed}" for run in runs)
    return ", ".join(reasons)


def _show_metrics(console: Console, comparison: Comparison) -> None:
    """The two tables of metrics: means over pairs with their tests, then the spread over runs."""
    _say(console, "\nin the mean over pairs", style="bold")
    # Below 8 pairs the columns of tests would be empty; they are left out, and a note says why.
    tested = len(comparison.pairs) >= MIN_PAIRS
    titles = ["n", "mean_A", "mean_B", "B−A", *(["95 %_from", "95 %_to", "p", "p_Holm"] if tested else [])]
    titles += ["B_better", "equal", "B_worse"]
    rows = [_metric_row(metric, tested) for metric in comparison.metrics]
    show_table(console, [*names(""), *figures(*titles)], rows)
    # A table of its own: with the tests, all columns in one would be wider than a terminal.
    _say(console, "\nover runs", style="bold")
    spread = ["minimum_A", "minimum_B", "10th_percentile_A", "10th_percentile_B", "maximum_A", "maximum_B"]
    spread += ["pairs_show", "needed_pairs"] if tested else []
    show_table(console, [*names(""), *figures(*spread)], [_spread_row(metric, tested) for metric in comparison.metrics])
    notes = ["* primary: tested, sign flips, corrected after Holm" if tested else "* primary; nothing is tested"]
    notes += ["pairs show: the least difference that so many pairs show with power 0.8"] if tested else []
    for note in notes:
        _say(console, note, style="dim")


def _name(metric: Metric) -> str:
    """The name of a metric, with a star where it is tested."""
    return f"{metric.name} *" if metric.primary else metric.name


def _metric_row(metric: Metric, tested: bool) -> list[str]:
    """One row of the first table: counts, means, interval, p-values, wins."""
    low, high = metric.interval or (None, None)
    numbers: list[float | None] = [metric.mean_a, metric.mean_b, metric.mean_difference]
    shown = [*map(number_text, numbers)]
    if tested:
        shown += [number_text(low), number_text(high), p_text(metric.p), p_text(metric.p_holm)]
    return [_name(metric), str(metric.n), *shown, str(metric.wins), str(metric.ties), str(metric.losses)]


def _spread_row(metric: Metric, tested: bool) -> list[str]:
    """One row of the second table: extremes and what so many pairs can show."""
    ends = (metric.minimum_a, metric.minimum_b, metric.tenth_percentile_a, metric.tenth_percentile_b)
    numbers = [*ends, metric.maximum_a, metric.maximum_b]
    shown = [number_text(number) for number in numbers]
    if tested:
        shown += [number_text(metric.minimum_detectable), number_text(metric.pairs_needed)]
    return [_name(metric), *shown]


def _show_more(console: Console, comparison: Comparison) -> None:
    """What only some comparisons have: early ends, pass^k, regret, the noise floor."""
    ends = comparison.early_ends
    if ends is not None and (ends.a or ends.b):
        p = "" if ends.p is None else f"; exact McNemar p = {p_text(ends.p)}"
        _say(console, f"\nearly ends: A {ends.a}, B {ends.b} (A only {ends.only_a}, B only {ends.only_b}){p}")
        _say(console, f"  survival A: {_curve(ends.survival_a)}\n  survival B: {_curve(ends.survival_b)}")
    if comparison.reliability:
        first = comparison.reliability[0]
        _say(console, f"\npass^k, an episode that {first.success}; k trials of one {first.task} all succeed:")
        for row in comparison.reliability:
            _say(console, f"  k = {row.k}: A {number_text(row.a)}, B {number_text(row.b)}")
    for row in comparison.regret:
        left = _left_out([(row.undefined, "where no reference is better than passive"), (row.missing, "without both")])
        shown = f"A {number_text(row.a)}, B {number_text(row.b)}"
        # A negative regret looks like a mistake unless the line says that the reference is a rule, not an optimum.
        shown += " (below 0: better than the best reference, which is no maximum)" * (min(row.a or 0, row.b or 0) < 0)
        _say(
            console,
            f"\nregret of {row.metric}, (best − agent)/(best − passive): {shown} on {_count(row.n, 'seed')}{left}",
        )
    for row in comparison.noise_floor:
        floor = f"±{number_text(row.half_width)} around a mean of {number_text(row.mean_difference)}"
        one = f"one pair differs by {number_text(row.mean_absolute)}"
        _say(
            console,
            f"\nnoise floor of {row.name}, the same agent against itself on {_count(row.n, 'seed')}: {floor}; {one}",
        )


def _left_out(parts: Iterable[tuple[int, str]]) -> str:
    """What a mean leaves out, in brackets; empty where it leaves out nothing."""
    said = [f"{count} {why}" for count, why in parts if count]
    return f" (left out: {', '.join(said)})" if said else ""


def _curve(points: Sequence[SurvivalPoint]) -> str:
    """The first steps of a survival curve, as shares after rounds."""
    # The first point is always (0, 1): every episode is alive before it begins.
    shown = [f"{number_text(point.share)} after {point.round}" for point in points[1 : _MAX_LISTED + 1]]
    return ", ".join(shown) + (" …" if len(points) > _MAX_LISTED + 1 else "")


def _show_arms(console: Console, arms: Sequence[tuple[str, Arm]]) -> None:
    """What each side spent per episode, a dash where it was not recorded."""
    titles = ("calls", "refused", "model_calls", "input_tokens", "output_tokens", "model_seconds", "wall_seconds")
    rows = [
        [name, arm.label, *(number_text(getattr(arm, title)) for title in titles), number_text(arm.cost_usd)]
        for name, arm in arms
    ]
    _say(console, "\nspent per episode", style="bold")
    show_table(console, [*names("", "agent"), *figures(*titles, "US$")], rows)


def _show_divergence(console: Console, comparison: Comparison) -> None:
    """The first decision that differs, with what each side did."""
    pair = next(pair for pair in comparison.pairs if pair.divergence is not None)
    found = pair.divergence
    assert isinstance(found, Divergence)
    place = f"seed {pair.seed}, round {found.round}, {found.phase}, {found.seat}"
    _say(console, f"\nfirst decision that differs: {place}: {found.what}")
    _say(console, f"  A  {decision_text(found.a)}\n  B  {decision_text(found.b)}")
    # Under unequal keys opponents draw otherwise: the difference need not be the agent's choice.
    keys = [pair.a[0].policy_key, pair.b[0].policy_key]
    if keys[0] != keys[1]:
        _say(console, f"  under the policy keys {keys[0]} and {keys[1]}: the luck of scripted opponents differs")


def _count(number: int, thing: str) -> str:
    """A number with its noun, in the plural where there are several."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _say(console: Console, text: str, *, style: str = "") -> None:
    """Print text as it is, neither wrapped nor read as markup."""
    console.print(text, style=style, soft_wrap=True)
