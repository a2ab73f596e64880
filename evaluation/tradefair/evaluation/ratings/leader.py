"""Who leads a table, if anybody does: one rule for leaderboards, arenas, sites and tournaments; and who ever met."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
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


def joined(games: Iterable[Iterable[str]]) -> list[frozenset[str]]:
    """Labels that share a game, directly or through others: the largest group first, equal ones as they come."""
    group_of: dict[str, set[str]] = {}
    for labels in games:
        sizes = sorted(({*labels}, *(group_of.get(label, {label}) for label in labels)), key=len)
        largest = sizes.pop()
        # The smaller ones move, so that linking thousands of games stays almost linear.
        for group in sizes:
            largest |= group
            group_of |= dict.fromkeys(group, largest)
        group_of |= dict.fromkeys(labels, largest)
    groups = {id(group): frozenset(group) for group in group_of.values()}
    return sorted(groups.values(), key=len, reverse=True)


def leader(rows: Sequence[Placed], *, higher: bool = True, met: bool = True) -> Lead:
    """A label leads with at least two games and an interval above that of every other label, and over somebody.

    `met`: the labels met, or their market has no rivals; whom nobody met leads nobody. Of one game nothing is known but
    its value: where every other label has one, nobody leads.
    """
    sign = 1 if higher else -1
    first, *others = sorted(rows, key=lambda row: -sign * row.value)
    known = met and any(row.ends(sign)[0] > -math.inf for row in others)
    reach = [row.label for row in others if not known or row.ends(sign)[1] >= first.ends(sign)[0]]
    return Lead(None, (first.label, *reach)) if reach or not others else Lead(first.label)


def places(rows: Sequence[Placed]) -> list[str]:
    """The place of every row, best first; equal numbers share theirs ("1–3"), and what has one game has none."""
    found: list[str] = []
    ranked = 0
    for _, same in groupby(rows, lambda row: row.value):
        alike = list(same)
        shared = sum(row.games > 1 for row in alike)
        place = f"{ranked + 1}–{ranked + shared}" if shared > 1 else f"{ranked + 1}"
        found += [place if row.games > 1 else "–" for row in alike]
        ranked += shared
    return found


def lead_sentence(
    rows: Sequence[Placed], where: str, by: str, shown: Callable[[float], str], *, higher: bool = True, met: bool = True
) -> str:
    """Who leads `where`, by what and before whom; or that nobody does, and who is on top."""
    found, ranked = leader(rows, higher=higher, met=met), sorted(rows, key=lambda row: -row.value * (2 * higher - 1))
    if not met:
        return f"Nobody met in {where} {_unmet(ranked, f'by {by} {_listed(ranked, shown)}')}."
    first, few = ranked[0], sum(row.games < 2 for row in ranked)
    if len(ranked) == 1:
        return f"{_said([first], shown)} was rated alone in {where}, by {by}; {count(first.games, 'game')}."
    if found.label is not None:
        before = _said([row for row in ranked if row.value == ranked[1].value], shown)
        return f"{_said([first], shown)} leads {where} by {by}, before {before}; {count(first.games, 'game')}."
    if few == len(ranked):
        labels = f"{count(few, 'label')} with one game each, no order can be told"
        return f"First place is open in {where}: {labels}; by {by} {_listed(ranked, shown)}."
    several = [row for row in ranked if row.label in found.open and row.games > 1]
    end = [*["overlap"] * (len(several) > 1), *[f"beside {count(few, 'label')} with too few games"] * (few > 0)]
    return f"First place is open in {where} by {by}: {_listed(several, shown)} {', '.join(end)}."


def _unmet(rows: Sequence[Placed], said: str) -> str:
    """How many labels never met, with how many games, around what is said of them; and why none leads."""
    few, most = min(row.games for row in rows), max(row.games for row in rows)
    each = count(few, "game") if few == most else f"{few} to {count(most, 'game')}"
    each += " each" if len(rows) > 1 else ""
    end = "one game each, no order can be told" if most < 2 else "labels that never met have no rating"
    return f"({count(len(rows), 'label')}, {each}): {said}; {end}"


def _listed(rows: Sequence[Placed], shown: Callable[[float], str]) -> str:
    """The first three values with their labels, and how many labels more."""
    groups = [list(same) for _, same in groupby(rows, lambda row: row.value)]
    named = [_said(group, shown) for group in groups[:_MOST_NAMED]]
    more = sum(map(len, groups[_MOST_NAMED:]))
    named += [f"{more} more"] if more else []
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def _said(rows: Sequence[Placed], shown: Callable[[float], str]) -> str:
    """Labels of one value, which share a place, with that value and their interval."""
    names = " = ".join(cut(name(row.label), _MAX_LABEL) for row in rows[:_MOST_NAMED])
    names += f" = {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
    first = rows[0]
    known = len(rows) == 1 and first.low is not None and first.high is not None
    return f"{names} {shown(first.value)}" + (f" ({shown(first.low or 0.0)} to {shown(first.high or 0.0)})" * known)
