"""What `tradefair lab experiment` prints for people: a table per experiment, and below it what its columns mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from rich.text import Text

from tradefair.cli.console import Console
from tradefair.cli.tables import Column, figures, names, show_table, words
from tradefair.evaluation.markets.marketplace.experiments.model import (
    BiasRow,
    ExperimentReport,
    ManipulationCell,
    OverloadRow,
    SearchRow,
)
from tradefair.evaluation.markets.marketplace.experiments.search import BASELINES
from tradefair.evaluation.table import Rows, number_text
from tradefair.evaluation.verdict.amounts import percent

_Row: TypeAlias = BiasRow | ManipulationCell | OverloadRow | SearchRow
_SMALL = 0.001
_MOST = 10
_PLAY = "tradefair sweep marketplace/position_bias"


class Part(NamedTuple):
    """One experiment: its table, what its columns mean, and what was found in a sentence per agent or row."""

    title: str
    table: Rows
    notes: list[str]
    found: list[str]


def parts_of(report: ExperimentReport) -> list[Part]:
    """The experiments that the traces are of, as the terminal and the page show them."""
    parts: list[Part] = []
    if report.bias:
        title = "bias: choices by the rank that the arm gave, and whether they follow it"
        parts.append(Part(title, _bias_rows(report.bias), _bias_notes(report.bias), _biased(report.bias)))
    if report.manipulation:
        title = "manipulation: what a planted text moved customers to do, compared with the control text"
        notes = [
            "followed: share of the exposed who wrote the canary afterwards; mere echo where nothing is ordered",
            "p: two-sided sign flips over seeds; exact up to 20",
        ]
        parts.append(Part(title, _manipulation_rows(report.manipulation), notes, _followed(report.manipulation)))
    if report.overload:
        note = (
            "overload: less welfare on the larger page, same seeds, two-sided sign-flip p < 0.05; Holm: over the pairs;"
            " messages: one to each business that a customer wrote to"
        )
        title = "overload: messages sent and mean welfare by results per page"
        parts.append(Part(title, _overload_rows(report.overload), [note], _overloaded(report.overload)))
    if report.search:
        note = "what simple choices would earn at list prices: of all items, the cheapest, of what fits, the most"
        parts.append(Part("search: mean welfare by search", _search_rows(report.search), [note], []))
    return parts


def show(report: ExperimentReport) -> None:
    """A table per experiment that the traces are of, then what was left out."""
    console = Console()
    _say(console, "1 episode" if report.episodes == 1 else f"{report.episodes:,} episodes", style="dim")
    for part in parts_of(report):
        _say(console, f"\n{part.title}", style="bold")
        show_table(console, part.table.columns, part.table.cells)
        for note in part.notes:
            _say(console, note)
        for sentence in part.found:
            _say(console, sentence, style="bold")
    if not report.found:
        _say(console, f"no experiment among these traces; play one: {_PLAY} --out FOLDER")
    lines = [f"left out {path}: {why}" for path, why in report.left_out.items()]
    for line in lines[:_MOST]:
        _say(console, line, style="yellow")
    if len(lines) > _MOST:
        _say(console, f"left out {len(lines) - _MOST} more (--json has them)", style="yellow")


# --- bias -----------------------------------------------------------------------------------------------------------


def _bias_rows(rows: Sequence[BiasRow]) -> Rows:
    # Rows of smaller designs are padded, so that one table holds all.
    ranks = max(row.bias.ranks for row in rows)
    # Identical businesses have no best one: then the column would be empty.
    priced = any(row.bias.cost_of_order for row in rows)
    columns = [
        *_cell_columns(rows),
        *names("by"),
        *figures("runs", "choices", *(f"rate {rank + 1}" for rank in range(ranks)), "lift 1", "1st/last"),
        *figures("T", "blocks", "p", *(["cost of order"] if priced else [])),
    ]
    cells = [
        [
            *_cell_names(rows, row),
            row.by,
            str(row.bias.runs),
            str(row.bias.choices),
            *(number_text(rate) for rate in row.bias.rates),
            *[""] * (ranks - row.bias.ranks),
            number_text(row.bias.lifts[0] if row.bias.lifts else None),
            number_text(row.bias.first_to_last),
            str(row.bias.hits),
            str(row.bias.blocks),
            _p(row.bias.p),
            *([number_text(row.bias.cost_of_order.cost if row.bias.cost_of_order else None)] if priced else []),
        ]
        for row in rows
    ]
    return Rows(columns, cells)


def _bias_notes(rows: Sequence[BiasRow]) -> list[str]:
    methods = ", ".join(sorted({row.bias.method for row in rows if row.bias.method}))
    notes = [f"T: choices of rank 1; p: one-sided permutation of the arms within (seed, customer): {methods}"]
    for row in rows:
        if row.bias.incomplete or row.bias.repeated or row.bias.elsewhere:
            said = f"{row.bias.incomplete} blocks lack an arm, {row.bias.repeated} runs repeat one"
            notes.append(f"{row.agent}, {row.scenario}: {said}, {row.bias.elsewhere} choices without a rank")
    return notes


def _biased(rows: Sequence[BiasRow]) -> list[str]:
    """How often each agent took the first; nothing where nobody chose."""
    return [
        f"{row.agent} took the first of {row.bias.ranks} by {row.by} in {percent(rate)} of its choices "
        f"({percent(1 / row.bias.ranks)} by chance, p {_p(row.bias.p)})."
        for row in rows
        if (rate := row.bias.rates[0]) is not None
    ]


# --- manipulation ---------------------------------------------------------------------------------------------------


def _manipulation_rows(rows: Sequence[ManipulationCell]) -> Rows:
    columns = [
        *_cell_columns(rows),
        *names("surface", "condition"),
        *figures("runs", "exposed", "followed", "unseen", "to it", "share", "share − control", "p", "misdirected"),
        *figures("cost"),
        *words("directives"),
    ]
    cells = [
        [
            *_cell_names(rows, row),
            row.surface,
            Text(row.condition, style="red" if row.flagged else ""),
            str(row.runs),
            f"{row.exposed}/{row.customers}",
            number_text(row.followed),
            str(row.unseen),
            str(row.to_it),
            number_text(row.share),
            *_against(row),
            str(row.misdirected),
            number_text(row.cost),
            ", ".join(f"{name} {number_text(value)}" for name, value in row.directives.items() if name != "echo"),
        ]
        for row in rows
    ]
    return Rows(columns, cells)


def _followed(rows: Sequence[ManipulationCell]) -> list[str]:
    flagged = [row for row in rows if row.flagged]
    found: list[str] = []
    for agent in dict.fromkeys(row.agent for row in rows):
        own = [f"{row.surface}/{row.condition}" for row in flagged if row.agent == agent]
        said = f"followed planted instructions: {', '.join(dict.fromkeys(own))}" if own else "followed none"
        found.append(f"{agent}: {said}")
    return found


def _against(row: ManipulationCell) -> tuple[str, str]:
    difference = row.against_control.get("share")
    return ("–", "–") if difference is None else (number_text(difference.difference), _p(difference.p))


# --- overload -------------------------------------------------------------------------------------------------------


def _overload_rows(rows: Sequence[OverloadRow]) -> Rows:
    """A row per agent, scenario and page size."""
    columns = [*_cell_columns(rows), *figures("results per page", "episodes", "messages per customer", "welfare")]
    cells = [
        [
            *_cell_names(rows, row),
            *map(str, (size.search_limit, size.episodes)),
            *map(number_text, (size.messages, size.welfare)),
        ]
        for row in rows
        for size in row.sizes
    ]
    return Rows(columns, cells)


def _overloaded(rows: Sequence[OverloadRow]) -> list[str]:
    """Where welfare falls on a larger page."""
    return [
        f"{', '.join(_cell_names(rows, row))}: less welfare on a larger page, {_dropped(row)}"
        for row in rows
        if row.overload
    ]


def _dropped(row: OverloadRow) -> str:
    """The largest significant drop, and how many there are."""
    pairs = [pair for pair in row.pairs if pair.overload]
    worst = max(pairs, key=lambda pair: pair.drop)
    said = f"{worst.smaller} to {worst.larger}: −{number_text(worst.drop)}, p {_p(worst.p)}, Holm {_p(worst.p_holm)}"
    return f"{said}; in {len(pairs)} of {len(row.pairs)} pairs of sizes"


def _search_rows(rows: Sequence[SearchRow]) -> Rows:
    searches = sorted({name for row in rows for name in row.welfare})
    columns = [*_cell_columns(rows), *figures("runs", *searches, *(name.replace("_", " ") for name in BASELINES))]
    cells = [
        [
            *_cell_names(rows, row),
            str(row.runs),
            *(number_text(row.welfare.get(name)) for name in searches),
            *(number_text(row.baselines.get(name)) for name in BASELINES),
        ]
        for row in rows
    ]
    return Rows(columns, cells)


# --- shared ---------------------------------------------------------------------------------------------------------


def _cell_columns(rows: Sequence[_Row]) -> list[Column]:
    """Columns for agent and scenario, and for settings where some vary."""
    return names("agent", "scenario", *(["where"] if any(row.where for row in rows) else []))


def _cell_names(rows: Sequence[_Row], row: _Row) -> list[str]:
    where = [row.where] if any(other.where for other in rows) else []
    return [row.agent, row.scenario.partition("/")[2] or row.scenario, *where]


def _p(p: float | None) -> str:
    """A p-value as text; a small one as a power of ten, a missing one as a dash."""
    # In six decimals an exact (1/90)^n would read 0.
    if p is None:
        return "–"
    return f"{p:.1e}" if 0 < p < _SMALL else number_text(float(p))


def _say(console: Console, text: str, *, style: str = "") -> None:
    console.print(text, style=style, soft_wrap=True)
