"""Who leads a table, if anybody does: one rule for leaderboards, arenas and tournaments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tradefair.evaluation.verdict.amounts import count, cut, name

_MAX_LABEL = 40
_MOST_NAMED = 3


class Placed(NamedTuple):
    """A label in a table: what orders it, the ends of its 95 % interval (null where there is none), its games."""

    label: str
    value: float
    low: float | None
    high: float | None
    games: int

    def ends(self, sign: int) -> tuple[float, float]:
        """Both ends, the higher the better; what has one game or no interval may be anything below and its value."""
        if self.games < 2 or self.low is None or self.high is None:
            return -math.inf, sign * self.value
        low, high = sorted((sign * self.low, sign * self.high))
        return low, high


class Lead(NamedTuple):
    """`label` leads, or nobody does (null): then `open` are the labels that cannot be told apart at the top."""

    label: str | None
    open: tuple[str, ...] = ()


def leader(rows: Sequence[Placed], *, higher: bool = True) -> Lead:
    """A label leads with at least two games and an interval above that of every other label, and over somebody."""
    sign = 1 if higher else -1
    first, *others = sorted(rows, key=lambda row: -sign * row.value)
    reach = [row.label for row in others if row.ends(sign)[1] >= first.ends(sign)[0]]
    return Lead(None, (first.label, *reach)) if reach or not others else Lead(first.label)


def lead_sentence(
    rows: Sequence[Placed], where: str, by: str, shown: Callable[[float], str], *, higher: bool = True
) -> str:
    """Who leads `where`, by what and before whom; or that nobody does, and who is on top."""
    found, ranked = leader(rows, higher=higher), sorted(rows, key=lambda row: -row.value if higher else row.value)

    def said(row: Placed) -> str:
        low, high = row.low, row.high
        interval = "" if low is None or high is None else f", {shown(low)} to {shown(high)}"
        return f"{cut(name(row.label), _MAX_LABEL)} ({shown(row.value)}{interval})"

    first = ranked[0]
    if len(ranked) == 1:
        return f"{said(first)} was rated alone in {where}, by {by}; {count(first.games, 'game')}."
    if found.label is not None:
        return f"{said(first)} leads {where} by {by}, before {said(ranked[1])}; {count(first.games, 'game')}."
    several = [row for row in ranked if row.label in found.open and row.games > 1]
    named = (several or ranked)[:_MOST_NAMED]
    few = sum(row.games < 2 for row in ranked)
    folded = f"; {count(few, 'label')} with one game" if few else ""
    apart = f"No leader in {where}: {count(len(found.open), 'label')} cannot be told apart by {by}"
    return f"{apart}, such as {', '.join(map(said, named))}{folded}."
