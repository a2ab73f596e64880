"""The self-test of slogans as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.cli.terminal import tell
from tradefair.contract.money import nearest
from tradefair.evaluation.markets.supply_chain.language.value import LanguageReport, LanguageValue

# Traces left out that are named one by one.
_SHOWN = 5


def show_language(report: LanguageReport) -> None:
    """Print a report."""
    for line in language_lines(report):
        tell(line)


def language_lines(report: LanguageReport) -> Iterator[str]:
    """A paragraph per scenario, then what was left out."""
    for value in report.values:
        yield from _value_lines(value)
    if not report.values:
        yield "no self-test among these traces; play one: tradefair sweep supply_chain/language_value"
    for path, why in list(report.left_out.items())[:_SHOWN]:
        yield f"left out {path}: {why}"
    if len(report.left_out) > _SHOWN:
        yield f"left out {len(report.left_out) - _SHOWN} more"


def _value_lines(value: LanguageValue) -> Iterator[str]:
    # Shared words are counted by this embedder: its figures must not be read as a judgement of meaning.
    caveat = " (word overlap, not meaning)" if value.embedder.startswith("lexical") else ""
    yield f"{value.scenario} · {value.seats} clones · {value.episodes} episodes · gate {value.gate} · tau {value.tau:g}"
    yield f"  embedder {value.embedder}{caveat}"
    told = "undefined: a group earned nothing" if value.value is None else f"{value.value:.3f}"
    interval = "" if value.low is None or value.high is None else f"  [{value.low:.3f}, {value.high:.3f}]"
    yield f"  language_value {told}{interval}"
    # Below or at 0 there is no best to take a share of.
    best = max((group.mean for group in value.groups), default=0.0)
    for group in value.groups:
        share = f"{group.mean / best:7.1%} of the best" if best > 0 else ""
        yield f"    {group.group:<10} {nearest(group.mean, 0):>12,.0f} {share}"
    if value.value is not None and not value.measures_language:
        yield "  within 0.10 of 1: this scenario cannot measure skill with words"
