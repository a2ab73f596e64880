"""The order book's report as data, in ticks."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tradefair.evaluation.record import Record

Conclusion: TypeAlias = Literal["no_signs", "ambiguous", "exploratory", "nothing_to_test"]
Direction: TypeAlias = Literal["above", "below"]


class Level(Record):
    """A figure by itself: the mean over the `n` episodes that have it, and Student's 95 % interval of that mean."""

    name: str
    n: int
    mean: float | None
    low: float | None
    high: float | None


class Versus(Record):
    """A figure against `against`: a reference on the same seeds, or what it would be without any agreement.

    `here`, `there`: means over the `n` pairs; `p`: a two-sided sign-flip test of `difference` = here − there.
    """

    name: str
    against: str
    n: int
    here: float | None
    there: float | None
    difference: float | None
    p: float | None
    method: str | None


class OrderBookCollusion(Record):
    """The report of `tradefair lab collusion` on order books: levels, which accuse nobody.

    `fair` is the mean competitive price, or fundamental value, of the episodes. `references` counts pairs by policy,
    `missing` names what could not be measured.
    """

    market: Literal["order_book"] = "order_book"
    players: list[str]
    episodes: int
    fair: float | None
    references: dict[str, int]
    levels: list[Level]
    versus: list[Versus]
    direction: Direction | None
    conclusion: Conclusion
    verdict: str
    missing: list[str]
    findings: list[str]
