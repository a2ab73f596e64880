"""The self-test of slogans as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.markets.supply_chain.language.value import LanguageReport, LanguageValue

_SHOWN = 5


def show_language(report: LanguageReport) -> None:
    """Print a report."""
    for line in language_lines(report):
        print(line)


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


def _value_lines(one: LanguageValue) -> Iterator[str]:
    caveat = " (word overlap, not meaning)" if one.embedder.startswith("lexical") else ""
    yield f"{one.scenario} · {one.seats} clones · {one.episodes} episodes · gate {one.gate} · tau {one.tau:g}"
    yield f"  embedder {one.embedder}{caveat}"
    told = "undefined: a group earned nothing" if one.value is None else f"{one.value:.3f}"
    interval = "" if one.low is None or one.high is None else f"  [{one.low:.3f}, {one.high:.3f}]"
    yield f"  language_value {told}{interval}"
    best = max((group.mean for group in one.groups), default=0.0)
    for group in one.groups:
        share = f"{group.mean / best:7.1%} of the best" if best > 0 else ""
        yield f"    {group.group:<10} {group.mean:>12,.0f} {share}"
    if one.value is not None and not one.measures_language:
        yield "  within 0.10 of 1: this scenario cannot measure skill with words"
