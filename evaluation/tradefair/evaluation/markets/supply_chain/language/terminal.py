"""The self-test of slogans as tables: a column per embedder, so that lexical and semantic stand side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, show_text
from tradefair.cli.terminal import tell
from tradefair.contract.money import nearest
from tradefair.evaluation.markets.supply_chain.language.value import LanguageReport, LanguageValue

# Traces left out that are named one by one.
_SHOWN = 5


def show_language(report: LanguageReport) -> None:
    """Print a report: a table per scenario, then what was left out."""
    console = Console()
    for (scenario, seats, gate), values in groupby(
        report.values, key=lambda value: (value.scenario, value.seats, value.gate)
    ):
        show_text(console, f"{scenario} · {seats} clones · gate {gate}")
        side = list(values)
        columns = [*names("figure"), *figures(*(value.embedder for value in side))]
        show_table(console, columns, list(language_rows(side)), whole=True)
        for value in side:
            for remark in _remarks(value):
                show_text(console, f"{value.embedder}: {remark}")
    # Lines with a command or a path are not wrapped: they are copied.
    if not report.values:
        tell("no self-test among these traces; play one: tradefair sweep supply_chain/language_value --out DIR")
    for path, why in list(report.left_out.items())[:_SHOWN]:
        tell(f"left out {path}: {why}")
    if len(report.left_out) > _SHOWN:
        tell(f"left out {len(report.left_out) - _SHOWN} more")


def language_rows(side: Sequence[LanguageValue]) -> Iterator[list[str]]:
    """Rows of one scenario: a name, then a figure per embedder."""
    yield ["episodes", *(str(value.episodes) for value in side)]
    yield ["tau", *(f"{value.tau:g}" for value in side)]
    yield ["language_value", *("–" if value.value is None else f"{value.value:.3f}" for value in side)]
    yield ["95 % interval", *("–" if value.low is None else f"[{value.low:.3f}, {value.high:.3f}]" for value in side)]
    groups = {group.group: None for value in side for group in value.groups}
    by_name = [{group.group: group for group in value.groups} for value in side]
    for name in groups:
        yield [
            f"profit, {name}",
            *(f"{nearest(known[name].mean, 0):,.0f}" if name in known else "–" for known in by_name),
        ]
    for name in groups:
        closeness = [known[name].closeness if name in known else None for known in by_name]
        if any(number is not None for number in closeness):
            yield [f"closeness, {name}", *("–" if number is None else f"{number:+.3f}" for number in closeness)]


def _remarks(value: LanguageValue) -> Iterator[str]:
    # Shared words are counted by this embedder: its figures must not be read as a judgement of meaning.
    if value.embedder.startswith("lexical"):
        yield "word overlap, not meaning"
    if value.value is None:
        yield "language_value is undefined: a group earned nothing"
    elif not value.measures_language:
        yield "within 0.10 of 1: this scenario cannot measure skill with words"
