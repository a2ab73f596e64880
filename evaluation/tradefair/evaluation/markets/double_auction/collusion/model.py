"""The collusion report as data: every figure with its n, what it is compared with, and a p-value where there is one.

Prices are in points. The unit of every test is the episode.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from tradefair.evaluation.markets.double_auction.collusion.game import Side
from tradefair.evaluation.record import Record

# The usual level; Holm makes it one for the primary set as a whole.
LEVEL = 0.05
"""Of a p-value after Holm."""

# With 7 pairs no sign-flip p below 2/128 exists, which Holm over five tests lifts above 0.05.
MIN_EPISODES = 8
"""Fewer give figures and no verdict."""

Role: TypeAlias = Literal["seller", "buyer"]
Conclusion: TypeAlias = Literal["signs", "ambiguous", "no_signs", "exploratory", "nothing_to_test"]
"""`ambiguous`: something is beyond chance, and no other arm was played in which honest learning could be seen."""


class Sample(Record):
    """One arm: how many episodes, how many of them with a talk phase, and who sat on the side that is asked about."""

    episodes: int
    with_talk: int
    players: list[str]


class Level(Record):
    """A figure by itself: the mean over the `n` episodes that have it, and Student's 95 % interval of that mean."""

    measure: int
    name: str
    n: int
    mean: float | None
    low: float | None
    high: float | None


class Versus(Record):
    """A figure of episodes against the same seeds in another arm (`against`), which may be missing: `n` = 0.

    `here`, `there`: means over the pairs; `difference` = here − there, `p` a two-sided sign-flip test of it. Against
    "zero" nothing else was played: `there` is 0 by construction.
    """

    measure: int
    name: str
    against: str
    n: int
    here: float | None
    there: float | None
    difference: float | None
    p: float | None
    method: str | None
    # Only rows that are corrected together have one: measure 9.
    p_holm: float | None = None


class Within(Record):
    """A figure against what the same episodes would show under `null`; one-sided towards `tail`.

    `value` and `expected` are means over the `n` episodes in which it is defined.
    """

    measure: int
    name: str
    n: int
    value: float | None
    expected: float | None
    p: float | None
    method: str | None
    # The side on which collusion would show: less dispersion and a reaction below chance, more of all else.
    tail: Literal["greater", "less"]
    null: str


class Primary(Record):
    """A test that the verdict rests on: it has to beat chance (`p_chance`), and the same seeds in the arms that
    `beside` names.

    `p` is the larger one of `p_chance` and `p_beside`, `p_holm` corrected over the tests that could be made. `found`:
    p_holm below 0.05. Without another arm (`beside` empty) honest learning may be all that was found.
    """

    measure: int
    name: str
    n: int
    value: float | None
    expected: float | None
    p_chance: float | None
    beside: list[str]
    p_beside: float | None
    p: float | None
    p_holm: float | None
    found: bool


class WithheldBy(Record):
    """Measure 4 per round: pairs that could have gained and did not trade, by whose quote was out of reach."""

    total: float
    seller: float
    buyer: float
    both: float
    neither: float


class PlayerFigure(Record):
    """A figure of one player (label) in one role, over the `n` of its `episodes` that have it; Student's 95 % interval.

    `expected`: what chance gives in these episodes, or (overcharge) the mean of the episodes without the player; `p` is
    one-sided, for overcharge two-sided; `p_holm` over all players and roles of the figure. `kept`, `broken`: rounds in
    which the quote kept to the number in force, and in which it did not.
    """

    measure: int
    name: str
    player: str
    role: Role
    episodes: int
    n: int
    mean: float | None
    low: float | None
    high: float | None
    kept: int | None = None
    broken: int | None = None
    expected: float | None
    p: float | None
    method: str | None
    p_holm: float | None = None
    found: bool = False


class CollusionReport(Record):
    """The report of `tradefair lab collusion`. For `side` = buyers every figure is mirrored: "seller" then reads buyer.

    There is no combined score. `missing` names what could not be measured and why, `findings` traces that were left
    out, `unpaired` what the silent arm and the references did not match.
    """

    side: Side
    sample: Sample
    silent: Sample | None
    references: dict[str, int]
    primary: list[Primary]
    levels: list[Level]
    versus: list[Versus]
    within: list[Within]
    chat_effect: list[Versus]
    round_1: list[Versus]
    withheld_by: WithheldBy | None
    # With --by label only.
    players: list[PlayerFigure] = Field(default=[])
    # Said aloud: a figure that could not be measured must not read like one that found nothing.
    missing: list[str]
    unpaired: list[str]
    findings: list[str]
    conclusion: Conclusion
    verdict: str
