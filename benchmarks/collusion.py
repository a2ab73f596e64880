"""How often `tradefair lab collusion` finds collusion among honest traders, and what a report costs.

An A/A split: one field of honest traders in two arms of the same seeds, with and without a talk phase, under other
draws. Whatever the verdict finds there is a false positive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.auctions import CHAT, SILENT, announcing, asked_games, fast_games, following_bids
from benchmarks.figures import Figure, Stopwatch
from tradefair.evaluation.markets.double_auction.collusion.model import CollusionReport
from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report

_MIXED = {"B1": "zip", "B2": "gd_bazaar", "B3": "roth_erev", "S1": "zip", "S2": "gd_bazaar", "S3": "roth_erev"}

FIELDS: Mapping[str, str | Mapping[str, str]] = {
    "zip": "zip",
    "zic": "zic",
    "roth_erev": "roth_erev",
    "mixed": _MIXED,
    "zip announcing": "zip",
    "mixed announcing": _MIXED,
    "zic announcing": "zic",
    "aa": "aa",
    "followers": "",
}
"""Honest fields whose traders draw; those that do not draw are equal in both arms, and nothing can be found in them."""

_LEVEL = 0.05


class Split(NamedTuple):
    """One split of a field and its report."""

    field: str
    report: CollusionReport

    @property
    def found(self) -> bool:
        """Whether the verdict sees signs of collusion: a false positive."""
        return self.report.conclusion == "signs"


def splits(count: int, seeds: int, first: int = 0) -> list[Split]:
    """`count` A/A splits of `seeds` fresh seeds each from number `first` on, the fields in turn."""
    made: list[Split] = []
    fields = list(FIELDS.items())
    for number in range(first, first + count):
        name, policies = fields[number % len(fields)]
        own = range(1_000 + number * seeds, 1_000 + (number + 1) * seeds)
        if name == "followers":
            # Of a public signal, the mean bid: no policy of the market is as plain.
            talking, silent = (asked_games(own, following_bids, talks=talks, rounds=8) for talks in (True, False))
        else:
            talking = fast_games(CHAT, own, policies)
            silent = fast_games(SILENT, own, policies, policy_key=1)
        if name.endswith("announcing"):
            talking = [announcing(game) for game in talking]
        made.append(Split(name, collusion_report(talking, silent=silent)))
    return made


def measure(*, tiny: bool) -> list[Figure]:
    """Rates over 200 splits of 20 seeds: by the verdict, by each primary measure before Holm, and by chance alone."""
    count, seeds = (2, 8) if tiny else (200, 20)
    watch = Stopwatch()
    made = splits(count, seeds)
    seconds = watch.seconds() / count
    how = f"{count} A/A splits of {seeds} seeds, {count * seeds} games an arm"
    figures = [Figure("collusion: false positives", 100 * _share(made), "%", 5, "at most", how)]
    for name in FIELDS:
        own = [split for split in made if split.field == name]
        if own:
            figures.append(Figure(f"collusion: of them {name}", 100 * _share(own), "%", how=f"{len(own)} splits"))
    for place, row in enumerate(made[0].report.primary):
        rows = [split.report.primary[place] for split in made]
        tested = [one.p for one in rows if one.p is not None]
        by_chance = [one.p_chance for one in rows if one.p_chance is not None]
        for what, ps in (("p < .05", tested), ("p of chance < .05", by_chance)):
            if ps:
                rate = 100 * sum(p < _LEVEL for p in ps) / len(ps)
                figures.append(
                    Figure(f"collusion: {row.measure} {row.name}, {what}", rate, "%", how=f"{len(ps)} tests")
                )
    return [*figures, Figure("collusion: a split and its report", seconds, "CPU s", how=f"{seeds} seeds")]


def _share(made: Sequence[Split]) -> float:
    return sum(split.found for split in made) / len(made)
