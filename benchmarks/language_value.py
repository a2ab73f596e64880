"""`python -m benchmarks.language_value FOLDER …`: profit of clones by the tribe that their slogan speaks to.

Clones bid, stock and price alike, so that whatever differs in profit is due to slogans, and to luck. The value is the
largest mean profit of a group over the smallest. Read from the traces of the plan `supply_chain/language_value`;
nothing is played here. Exit code 1 where no trace is of such clones, or one cannot be used.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from tradefair.contract import Chance, ScenarioError, TraceError
from tradefair.contract.money import currency, nearest
from tradefair.evaluation.markets.supply_chain.play import SupplyPlay, read_supply_chain
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.supply_chain.data.bundled import bundled_slogans
from tradefair.supply_chain.model import SupplyChainScenario
from tradefair.tracestore import find_traces, open_trace

INERT_WITHIN = 0.10
"""A value no further above 1 than this says that the scenario cannot measure skill with words."""

# Enough for the 2.5 % tails to rest on 50 resamples each.
_RESAMPLES = 2_000
_TAIL = 0.025


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GroupProfit(_Record):
    """Mean profit per episode, in currency units, of the seats whose slogan speaks to one tribe, or to none.

    `closeness`: how much closer the group's slogans are to their own tribe's texts than to those of the others, in
    cosines of the embedder; null for slogans that speak to none.
    """

    group: str
    mean: float
    seats: int
    closeness: float | None


class LanguageValue(_Record):
    """The largest mean profit of a group over the smallest; None where the smallest is not above 0.

    `low` and `high` bound the middle 95 % of 2,000 resamples of episodes; a ratio of extremes is never below 1.
    """

    scenario: str
    seats: int
    episodes: int
    gate: str
    embedder: str
    tau: float
    value: float | None
    low: float | None
    high: float | None
    groups: list[GroupProfit]

    @property
    def measures_language(self) -> bool:
        """Whether words matter in this scenario by more than 10 %."""
        return self.value is not None and self.value > 1 + INERT_WITHIN


class LanguageReport(_Record):
    """One value per scenario and embedder; scores of different embedders are never pooled.

    `left_out` says why a trace was not used, by file.
    """

    values: list[LanguageValue]
    left_out: dict[str, str]


class _Shape(NamedTuple):
    """What traces must share to be pooled."""

    scenario: str
    seats: int
    gate: str
    embedder: str
    tau: float


class _Group(NamedTuple):
    """Of one episode: profit in cents of a group's seats, how many there are, and the sum of their closeness."""

    profit: int
    seats: int
    closeness: float | None


# Sums and counts, because means of episodes with unequal groups could not be pooled.
_Profits = Mapping[str, _Group]
"""Of one episode, by group."""


def language_values(paths: Iterable[Path]) -> LanguageReport:
    """The self-test of every scenario that the traces are of.

    Never raises for a trace: one that is no self-test is left out with the reason.
    """
    found: dict[_Shape, list[_Profits]] = {}
    left_out: dict[str, str] = {}
    # The groups of the bundled slogans: any other text has no group.
    groups = slogan_groups()
    for path in paths:
        try:
            with open_trace(path) as trace:
                market = trace.manifest.core.market
                play = read_supply_chain(trace) if market == "supply_chain" else None
        except TraceError as error:
            left_out[str(path)] = str(error)[:300]
            continue
        why = f"a trace of {market}" if play is None else _unfit(play, groups)
        if play is None or why is not None or play.scenario is None or play.reading.core is None:
            left_out[str(path)] = why or "the manifest cannot be read"
            continue
        # The gate decides whether slogans can matter at all, so inert and active episodes are never pooled.
        rules = play.scenario
        gate = "inert" if rules.gate_inert else "active"
        try:
            tau = rules.temperature
        except ScenarioError as error:
            left_out[str(path)] = str(error)[:300]
            continue
        shape = _Shape(rules.id, len(play.seats), gate, rules.embedder_id, tau)
        found.setdefault(shape, []).append(_profits(play, groups))
    return LanguageReport(values=[_value(shape, found[shape]) for shape in sorted(found)], left_out=left_out)


def slogan_groups() -> Mapping[str, str]:
    """The tribe that each bundled slogan speaks to, or `generic`, by its text in the order of the file."""
    return {text: group for group, texts in bundled_slogans().items() for text in texts}


def _unfit(play: SupplyPlay, groups: Mapping[str, str]) -> str | None:
    """Why a trace is no self-test; None where it is one."""
    # A clone that was stopped early has earned less for a reason that is no slogan.
    if play.scenario is None or len(play.rounds) < play.scenario.rounds:
        return "it was cut short" if play.scenario else "the scenario cannot be read"
    for facts in play.rounds:
        # With different prices, profit would measure prices.
        if len({tuple(own.prices) for own in facts.seats.values()}) > 1:
            return "no self-test: the seats post different prices"
        numbers = {own.slogan for own in facts.seats.values()}
        if any(number not in play.slogans or play.slogans[number].text not in groups for number in _known(numbers)):
            return "no self-test: a slogan is none of the bundled ones"
        if None in numbers:
            return "no self-test: a seat has no slogan"
    # The first slogan names a seat's group: what another one earned must not count for it.
    if any(len({row.own.slogan for row in play.of(seat)}) > 1 for seat in play.seats):
        return "no self-test: a seat changes its slogan"
    return None


def _known(numbers: Iterable[int | None]) -> list[int]:
    return [number for number in numbers if number is not None]


def _profits(play: SupplyPlay, groups: Mapping[str, str]) -> _Profits:
    """Profit in cents, number of seats and closeness of one episode, by group."""
    totals: dict[str, _Group] = {}
    for seat in play.seats:
        rows = play.of(seat)
        # The slogan of the first round names the group for the whole episode.
        number = rows[0].own.slogan
        group = groups[play.slogans[number].text] if number is not None else ""
        known = totals.get(group, _Group(0, 0, 0.0))
        near = _closeness(play.scenario, group, rows[0].own.similarity)
        totals[group] = _Group(
            known.profit + sum(row.own.profit for row in rows),
            known.seats + 1,
            None if near is None or known.closeness is None else known.closeness + near,
        )
    return totals


def _closeness(scenario: SupplyChainScenario | None, group: str, similarity: Sequence[float] | None) -> float | None:
    """Mean similarity to the texts of the group's tribe, less that to all other texts; None without such texts."""
    if scenario is None or similarity is None:
        return None
    tribes = [tribe.id for tribe in scenario.tribes for _ in tribe.texts]
    own = mean(number for tribe, number in zip(tribes, similarity, strict=True) if tribe == group)
    others = mean(number for tribe, number in zip(tribes, similarity, strict=True) if tribe != group)
    return None if own is None or others is None else own - others


def _value(shape: _Shape, episodes: Sequence[_Profits]) -> LanguageValue:
    """The value of one scenario from its episodes, with a bootstrap interval over episodes."""
    every = list(range(len(episodes)))
    means, counts = _means(episodes, every), _counts(episodes)
    # Keyed by the scenario, so that a report is the same however many others are made with it.
    luck = Chance(0).uniforms("language_value", shape.scenario, n=len(every) * _RESAMPLES)
    drawn = (
        # Whole episodes are resampled: seats of one episode share their luck and are no independent cases.
        [int(u * len(every)) for u in luck[start : start + len(every)]]
        for start in range(0, len(luck), len(every))
    )
    # A resample in which a group earned nothing has no ratio; then there is no interval either.
    again = sorted(ratio for places in drawn if (ratio := _ratio(_means(episodes, places))) is not None)
    # One episode resampled is always itself: an interval without width would look like certainty.
    sound = len(every) > 1 and len(again) == _RESAMPLES
    value = _ratio(means)
    closeness = _closeness_by_group(episodes)
    return LanguageValue(
        **shape._asdict(),
        episodes=len(every),
        value=None if value is None else rounded(value),
        low=rounded(again[int(_TAIL * _RESAMPLES)]) if sound else None,
        # The same number of resamples lies beyond both ends.
        high=rounded(again[math.ceil((1 - _TAIL) * _RESAMPLES) - 1]) if sound else None,
        groups=[
            GroupProfit(
                group=group, mean=currency(round(means[group])), seats=counts[group], closeness=closeness.get(group)
            )
            for group in means
        ],
    )


def _means(episodes: Sequence[_Profits], places: Sequence[int]) -> dict[str, float]:
    """Mean profit in cents per seat and episode, by group in the order of the slogan file."""
    totals = dict.fromkeys(slogan_groups().values(), 0)
    counts = dict.fromkeys(totals, 0)
    for place in places:
        for group, of_group in episodes[place].items():
            totals[group] += of_group.profit
            counts[group] += of_group.seats
    # A group without a seat in these episodes has no mean.
    return {group: totals[group] / counts[group] for group in totals if counts[group]}


def _counts(episodes: Sequence[_Profits]) -> dict[str, int]:
    none = _Group(0, 0, None)
    return {group: sum(episode.get(group, none).seats for episode in episodes) for group in slogan_groups().values()}


def _closeness_by_group(episodes: Sequence[_Profits]) -> dict[str, float]:
    """Mean closeness per seat, of the groups that have one."""
    found = [(group, part) for episode in episodes for group, part in episode.items() if part.closeness is not None]
    sums: dict[str, list[float]] = {}
    for group, part in found:
        sums.setdefault(group, []).append((part.closeness or 0.0) / part.seats)
    # Equal in all episodes but for which slogans of a group were dealt.
    return {group: rounded(math.fsum(values) / len(values)) for group, values in sums.items()}


def _ratio(means: Mapping[str, float]) -> float | None:
    """Largest over smallest mean; None where the smallest is not above 0."""
    low = min(means.values(), default=0.0)
    return max(means.values()) / low if low > 0 else None


# --- what is printed ------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the values of the traces in some folders; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.language_value", description=__doc__)
    parser.add_argument("places", type=Path, nargs="+", help="traces or folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    # A trace that is named twice, itself and by its folder, would count twice.
    report = language_values(dict.fromkeys(path for place in given.places for path in find_traces(place)))
    print(report.model_dump_json(indent=2) if given.json else "\n".join(report_lines(report)))
    # What was left out fails too: a value of some of the traces would pass for that of all.
    return int(bool(report.left_out) or not report.values)


def report_lines(report: LanguageReport) -> Iterator[str]:
    """A table per scenario with a column per embedder, then what was left out."""
    by_scenario = groupby(report.values, lambda value: (value.scenario, value.seats, value.gate))
    for (scenario, seats, gate), values in by_scenario:
        yield f"{scenario}, {seats} clones, gate {gate}"
        side = list(values)
        yield from (f"| {' | '.join(cells)} |" for cells in language_rows(side))
        yield from (f"{value.embedder}: {remark}" for value in side for remark in _remarks(value))
    if not report.values:
        yield "no self-test among these traces; play one: tradefair sweep supply_chain/language_value --out DIR"
    yield from (f"left out {path}: {why}" for path, why in report.left_out.items())


def language_rows(side: Sequence[LanguageValue]) -> Iterator[list[str]]:
    """Rows of one scenario, the embedders first: a name, then a figure per embedder."""
    yield ["figure", *(value.embedder for value in side)]
    yield ["episodes", *(str(value.episodes) for value in side)]
    yield ["tau", *(f"{value.tau:g}" for value in side)]
    yield ["language_value", *("–" if value.value is None else f"{value.value:.3f}" for value in side)]
    yield ["95 % interval", *("–" if value.low is None else f"[{value.low:.3f}, {value.high:.3f}]" for value in side)]
    groups = {group.group: None for value in side for group in value.groups}
    by_name = [{group.group: group for group in value.groups} for value in side]
    for name in groups:
        means = [f"{nearest(known[name].mean, 0):,.0f}" if name in known else "–" for known in by_name]
        yield [f"profit, {name}", *means]
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


if __name__ == "__main__":
    sys.exit(main())
