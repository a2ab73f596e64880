"""What `audit` prints for people: what was raised where, then how often that is so in passed runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, show_text, words
from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.foreign.audit.auditing import Audit, Audited
from tradefair.evaluation.foreign.audit.rates import ANY, NEAR, REFERENCE, WITHIN, Rates, RuleRate, Share
from tradefair.evaluation.origins import ADD_NOT_UP

_MAX_SHOWN, _MAX_LABELLED = 20, 5
"""Cases that are listed, without and with labels; `--json` has all of them."""


def show_audit(audit: Audit) -> None:
    """Print cases by run and step, then the table of rates, or how many runs each rule was raised in."""
    console = Console()
    if wrong := sum(not run.reconciled for run in audit.runs):
        show_text(console, f"{wrong} of {len(audit.runs)} runs {ADD_NOT_UP}", style="red")
    rows = [row for run in audit.runs for row in _cases(run)]
    most = _MAX_LABELLED if audit.labelled else _MAX_SHOWN
    if rows:
        show_table(console, [*names("run"), *figures("step"), *words("what was raised")], rows[:most])
        if len(rows) > most:
            console.print(f"… and {len(rows) - most} more: --json")
        console.print()
    raised = sum(bool(run.raised.rules) for run in audit.runs)
    if not audit.labelled:
        console.print(f"{raised} of {len(audit.runs)} runs are raised")
        show_text(console, "no labels: how often this is wrong is not known")
        return
    rates = audit.rates
    table = table_of(rates)
    rule, *numbers, remark = table.columns
    show_table(console, [*names(rule), *figures(*numbers), *words(remark)], table.rows)
    show_text(console, table.quiet)
    if rates.failures.of:
        near, of = rates.mechanical.within_1, rates.mechanical.of
        others = f"{rates.failures.within_1 - near} of {rates.failures.of - of} semantic (no rule claims them)"
        show_text(console, f"within {NEAR} step of a labelled failure: {near} of {of} mechanical, {others}")
    if rates.roots.of:
        show_text(
            console,
            f"within {WITHIN} steps of the root cause, by {REFERENCE}: {rates.roots.within_3} of {rates.roots.of}",
        )


def _cases(run: Audited) -> Iterator[tuple[str, str, str]]:
    name = run.raised.id
    for case in run.raised.cases:
        yield name, _step(case.step, case.seq), f"{case.rule}: {case.why}"
    if (left := run.raised.divergence) is not None:
        yield name, _step(left.step, left.seq), f"{REFERENCE}: {left.why}"


def _step(step: int | None, seq: int) -> str:
    return str(step) if step is not None else f"#{seq}"


class RatesTable(NamedTuple):
    """The table of rates as text; `quiet` says which rules were checked and not raised."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    quiet: str


def table_of(rates: Rates) -> RatesTable:
    """The one table of rates, which a terminal and a page show: rules that were raised, then any of them."""
    raised = [rate for rate in rates.rules if rate.rule == ANY or rate.failed.raised + rate.passed.raised]
    quiet = [rate.rule for rate in rates.rules if rate not in raised]
    columns = ("rule", "failed runs", "passed runs", "Fisher p", "Holm", "")
    said = f"checked and not raised: {', '.join(quiet)}" if quiet else ""
    return RatesTable(columns, [_rate_row(rate) for rate in raised], said)


def _rate_row(rate: RuleRate) -> tuple[str, ...]:
    p, holm = p_text(rate.p), p_text(rate.p_holm)
    return (
        rate.rule,
        _share(rate.failed),
        _share(rate.passed),
        p,
        holm,
        "no better than chance here" if rate.no_better else "",
    )


def _share(share: Share) -> str:
    return f"{share.raised} of {share.of}"
