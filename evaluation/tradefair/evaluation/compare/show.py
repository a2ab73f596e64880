"""What `tradefair compare` prints for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, show_text, words
from tradefair.evaluation.compare.comparison import MIN_PAIRS, Comparison, Decision, Divergence, SurvivalPoint
from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.compare.metric_tables import (
    differs_table,
    listed,
    means_table,
    pairs_table,
    spent_table,
    spread_table,
)
from tradefair.evaluation.table import Table, counted, number_text
from tradefair.evaluation.verdict.terminal import show_next, show_verdict

_MAX_LISTED = 8  # points of a curve
_MAX_DROPPED = 40
_MAX_ARGUMENTS = 300  # characters


def show(comparison: Comparison) -> None:
    """Print the verdict, the tables, what limits the tests, and what to do next."""
    console = Console()
    show_verdict(comparison.verdict, [])
    console.print()
    _say(console, f"A  {comparison.a.name}\nB  {comparison.b.name}")
    _say(console, f"{comparison.market}, {', '.join(comparison.seats)}; differences are B − A\n")
    _show_attributes(console, comparison)
    _show_pairs(console, comparison)
    if comparison.pairs:
        _show_metrics(console, comparison)
        _show_more(console, comparison)
        _say(console, "\nspent per episode", style="bold")
        _show_figures(console, spent_table(comparison), 2)
        if comparison.first_divergence is not None:
            _show_divergence(console, comparison)
    for finding in comparison.findings:
        _say(console, finding, style="red")
    if comparison.notes:
        _say(console, f"\n{'. '.join(comparison.notes)}.", style="dim")
    show_next(comparison.verdict.next)


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
    table = differs_table(comparison)
    if table.rows:
        show_table(console, [*names("differs"), *words("A", "B")], table.rows)
    # A pinned dash says that neither side recorded it, which is no fact worth a line.
    pinned = "; ".join(f"{item.name} {listed(item.a)}" for item in comparison.pinned if item.a not in ([], ["–"]))
    _say(console, f"pinned: {pinned}" if pinned else "nothing is pinned", style="dim")


def _show_pairs(console: Console, comparison: Comparison) -> None:
    """The number of pairs, what was left out and why, and a row per pair with the primary metrics."""
    pairs, dropped = comparison.pairs, comparison.dropped
    _say(console, f"\n{counted(len(pairs), 'pair')}, {counted(len(dropped), 'trace')} left out")
    for item in dropped[:_MAX_DROPPED]:
        seed = "" if item.seed is None else f"seed {item.seed}, "
        _say(console, f"  {item.side.upper()} {seed}{item.path}: {item.reason}")
    if len(dropped) > _MAX_DROPPED:
        _say(console, f"  … and {len(dropped) - _MAX_DROPPED} more (--json has them)")
    primary = [metric.name for metric in comparison.metrics if metric.primary]
    if not pairs or not primary:
        # Without a primary metric a row would hold the seed alone.
        return
    table = pairs_table(comparison)
    _show_figures(console, table, table.columns.index("seed") + 1)
    # One reason for all episodes is said once instead of in two columns.
    if "ended A" not in table.columns:
        _say(console, f"every episode ended {pairs[0].a[0].end_reason}", style="dim")


def _show_metrics(console: Console, comparison: Comparison) -> None:
    """The two tables of metrics: means over pairs with their tests, then the spread over runs."""
    for table in (means_table(comparison), spread_table(comparison)):
        _say(console, f"\n{table.title}", style="bold")
        _show_figures(console, table)
    tested = len(comparison.pairs) >= MIN_PAIRS
    notes = ["* primary: tested, sign flips, corrected after Holm" if tested else "* primary; nothing is tested"]
    notes += ["pairs show: the least difference that so many pairs show with power 0.8"] if tested else []
    for note in notes:
        _say(console, note, style="dim")


def _show_figures(console: Console, table: Table, titles: int = 1) -> None:
    """A table whose first `titles` columns are names and whose others are figures."""
    show_table(console, [*names(*table.columns[:titles]), *figures(*table.columns[titles:])], table.rows)


def _show_more(console: Console, comparison: Comparison) -> None:
    """What only some comparisons have: early ends, pass^k, regret."""
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
            f"\nregret of {row.metric}, (best − agent)/(best − passive): {shown} on {counted(row.n, 'seed')}{left}",
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


def _say(console: Console, text: str, *, style: str = "") -> None:
    """Print text as it is, wrapped between words, not read as markup."""
    show_text(console, text, style=style)
