"""Leaderboards as plain records: who was rated, from what, how surely, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, Field

from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.record import Record

# Reasons may quote a trace, so their number is bounded: a folder of strangers must not fill the page.
_EXAMPLES = 5
_MAX_REASONS = 50
# Labels that a caution names.
_MOST_NAMED = 5

# What resamples and other libraries leave behind the sixth decimal is no result.
Rounded: TypeAlias = Annotated[float, AfterValidator(lambda number: round(number, 6))]


class BoardHead(NamedTuple):
    """What one leaderboard is about: one market, scenario and shape of it, under the same rules and formulas.

    `shape` names the parameters that set it apart from others of the same scenario; "" where there are none.
    `scenario_digest` is that of the scenario without what may vary within a leaderboard (`RatingRules.varies`).
    """

    market: str
    scenario: str
    shape: str
    scenario_digest: str
    rules_version: str
    evaluator_version: str


class LeftOut(Record):
    """Traces that no rating counts, with the reason; `examples` are the first few of them."""

    reason: str
    count: int
    examples: list[str]


class Reasons:
    """Counts by reason with the first few examples; more than fifty reasons share one line."""

    def __init__(self) -> None:
        """Begin without any reason."""
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def add(self, reason: str, example: str) -> None:
        """One more trace left out for `reason`."""
        if reason not in self._counts and len(self._counts) >= _MAX_REASONS:
            reason = "other reasons"
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES:
            examples.append(example)

    def add_all(self, left_out: Iterable[LeftOut]) -> None:
        """What another list left out."""
        for left in left_out:
            for place in range(left.count):
                self.add(left.reason, left.examples[place] if place < len(left.examples) else "…")

    def listed(self) -> list[LeftOut]:
        """In the order in which the reasons came up."""
        return [
            LeftOut(reason=reason, count=count, examples=self._examples[reason])
            for reason, count in self._counts.items()
        ]


def too_few(labels: Sequence[str], of: int, least: str) -> str:
    """The caution that names labels with too few games, in one line."""
    shown = ", ".join(labels[:_MOST_NAMED]) + (f" and {len(labels) - _MOST_NAMED} more" * (len(labels) > _MOST_NAMED))
    return f"{len(labels)} of {of} labels have too few games to say, fewer than {least}: {shown}"


class FieldRow(Record):
    """One label where all labels of an episode are ranked at once.

    `rating` and `deviation` are TrueSkill's μ and σ, medians over shuffled passes. `score` is the mean of the ranked
    score over episodes. All bounds are at 95 % over resampled seeds, null where there is only one. `figures` are means
    over episodes, null where a figure is never defined. `privileged`: it knew what is private to others, in some game
    at least.

    Of a score that is estimated for some seats (`RatingRules.errors`), else null: `scored` and `exact` are shares of
    the label's seats, `error` is the mean of the expected errors of its scored seats, and the bounds of the mean are
    wider by it.
    """

    label: str
    rating: Rounded
    deviation: Rounded
    low: Rounded | None
    high: Rounded | None
    episodes: int
    scored: Rounded | None
    exact: Rounded | None
    error: Rounded | None
    score: Rounded
    score_low: Rounded | None
    score_high: Rounded | None
    figures: dict[str, float | None]
    privileged: bool


class DuelRow(Record):
    """One label where two play. `score` = 100·(α obs + (1 − α) raw), "CMS-style", our own. Bounds are at 95 %
    over resampled `blocks` (seeds; of a foreign log: games), null where the label has one only.

    `obs` is the opponent-balanced share, `raw` profit over potential. `rating`, `deviation`, `spread` are Glicko-2's
    with margin: means over shuffles, and the rating's deviation over them. `strength` is Bradley–Terry's, against the
    mean of all; null where no game that earned anything links the label to most others.
    `dead_pairs` are opponents in games with which neither side ever earned. `unbalanced`: games by opponent and role
    differ by more than 1.5 to 1. `exploratory`: fewer than 8 blocks, too few to conclude anything.
    """

    label: str
    score: Rounded
    low: Rounded | None
    high: Rounded | None
    obs: Rounded
    raw: Rounded | None
    rating: Rounded
    deviation: Rounded
    spread: Rounded
    strength: Rounded | None
    strength_low: Rounded | None
    strength_high: Rounded | None
    games: int
    blocks: int
    dead_pairs: int
    unbalanced: bool
    exploratory: bool
    figures: dict[str, float | None]
    privileged: bool


class Cell(Record):
    """Mean difference of shares, row minus column; mirrored, the sign turns. Bounds at 95 %, null for one block."""

    row: str
    column: str
    mean: Rounded
    low: Rounded | None
    high: Rounded | None
    games: int


class Meeting(Record):
    """How often a label met an opponent, by the label's own role."""

    label: str
    opponent: str
    games: dict[str, int]


class _Board(Record):
    """A `BoardHead`; `method` says in sentences how the numbers were made, `cautions` how they are misread.

    `charts` show what labels did in all games; none where the games' series were not read. `leading` names figures that
    stand in the ranking itself. `leader` is null where nobody leads, `open` are then the labels on top. All labels of
    a board met, directly or through others, or have nobody to meet; else `met` is false, and nobody leads.
    """

    market: str
    scenario: str
    shape: str
    scenario_digest: str
    rules_version: str
    evaluator_version: str
    games: int
    method: list[str]
    cautions: list[str]
    left_out: list[LeftOut]
    leading: list[str] = Field(default=[])
    charts: list[Chart] = Field(default=[])
    leader: str | None = None
    open: list[str] = Field(default=[])
    met: bool = True


class FieldBoard(_Board):
    """A leaderboard of episodes that rank all their labels by `score`, best first."""

    kind: Literal["field"] = "field"
    score: str
    passes: int
    rows: list[FieldRow]


class DuelBoard(_Board):
    """A leaderboard of games between two, best CMS-style score first.

    `unearned` games earned neither side anything: Bradley–Terry drops them. `alpha` is the weight of `obs` in the
    score; where it was found, any from `alpha_low` to `alpha_high` is as good within a standard error.
    """

    kind: Literal["duel"] = "duel"
    shuffles: int
    resamples: int
    rows: list[DuelRow]
    alpha: float
    alpha_low: float | None
    alpha_high: float | None
    head_to_head: list[Cell]
    meetings: list[Meeting]
    unearned: int


class SoloRow(Record):
    """One label that meets nobody. `score` is the mean over `seeds`, those of one seed counting once.

    Bounds are of 95 % of resampled seeds, null for one seed. `headline` is 0 at the naive reference of the market's
    headline and 1 at the best, over the `headline_seeds` on which both are on the board; its bounds are null below the
    headline's least number of seeds. `framework` and `model` are "" for a policy and where they are not known.
    """

    label: str
    framework: str
    model: str
    score: Rounded
    low: Rounded | None
    high: Rounded | None
    headline: Rounded | None
    headline_low: Rounded | None
    headline_high: Rounded | None
    headline_seeds: int
    seeds: int
    episodes: int
    figures: dict[str, float | None]
    privileged: bool


class BestFramework(Record):
    """The label that the source would report for a model, out of so many `frameworks` that played with it."""

    model: str
    label: str
    frameworks: int


class SoloBoard(_Board):
    """A leaderboard of labels that play alone, highest mean score first.

    `headline` says what the headline is measured by, "" where the scenario is not its preset. `best` has a row per
    model, picked by `picked_by`.
    """

    kind: Literal["solo"] = "solo"
    score: str
    headline: str
    picked_by: list[str]
    rows: list[SoloRow]
    best: list[BestFramework]


# `kind` tells them apart when JSON is read back.
Board: TypeAlias = Annotated[FieldBoard | DuelBoard | SoloBoard, Field(discriminator="kind")]


class Leaderboards(Record):
    """The leaderboards of a set of traces that rank some label. `left_out` has what belongs to none of them.

    `seed` fixes all shuffles and resamples: the same traces and seed give the same numbers on any machine. `proof`:
    "re-executed", or "not asked": then figures are what the files say.
    """

    seed: int
    traces: int
    rated: int
    boards: list[Board]
    left_out: list[LeftOut]
    unreadable: int
    proof: str = "not asked"
