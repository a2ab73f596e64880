"""What the gate decides, from losses alone: worse, not worse, or more games. Pure.

A loss is what the baseline earned more than the agent on one seed, as a share of the scale (or in the market's unit).
Two tests of sign flips in looks (`statistics/sequential.py`: Fisher 1935; Lan & DeMets 1983) share the games: one that
the mean loss is above 0, one that it is below the margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist, fmean, stdev, variance
from typing import Literal, NamedTuple

from tradefair.evaluation.statistics import GAMES_TO_TELL, games_needed
from tradefair.evaluation.statistics.sequential import Flips, surely_above

Status = Literal["not_worse", "worse", "unknown"]
RED_SHARE, GREEN_SHARE = 0.9, 0.6
"""How much of each error may be spent by the game from which on the agent may be told to be no worse."""
_CRITICAL = 1.8


class Rule(NamedTuple):
    """When one scenario is decided: the margin in the unit of the losses, from how many games on it may be green, the
    most games, and the errors that are allowed (`red` of this scenario alone).
    """

    margin: float
    first: int
    most: int
    red: float = 0.05
    green: float = 0.05


class Deciding:
    """One scenario of a gate, fed with losses in the order of its seeds."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.losses: list[float] = []
        self.status: Status | None = None
        """None: more games are needed."""
        self.sure = False
        """Whether the agent is surely worse than the baseline, by however little."""
        self._ends: list[int] = []
        self._red = Flips(rule.red, rule.first, rule.most, RED_SHARE)
        self._green = Flips(rule.green, rule.first, rule.most, GREEN_SHARE)

    def look(self, losses: Sequence[float]) -> Status | None:
        """Take the losses of one more block into account; the status from then on."""
        if self.status is not None or not losses:
            return self.status
        rule = self.rule
        self.losses += losses
        self._ends.append(len(self.losses))
        enough = len(self.losses) >= rule.first
        self.sure = self._red.look(losses)
        # Not earlier: what a few games excluded once would stay so, whatever later ones lose.
        safe = self._green.look([rule.margin - loss for loss in losses], test=enough)
        if self.sure and self.mean >= rule.margin * (0.5 if enough else 1.0):
            self.status = "worse"
        elif safe:
            self.status = "not_worse"
        elif len(self.losses) >= rule.most:
            self.status = "unknown"
        return self.status

    @property
    def mean(self) -> float:
        """The mean loss so far."""
        return fmean(self.losses) if self.losses else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation of the losses; 0 of one."""
        return stdev(self.losses) if len(self.losses) > 1 else 0.0

    @property
    def between(self) -> tuple[float | None, float | None]:
        """The losses that neither test, moved there, excludes, and the mean; None where too few games exclude any."""
        rule = self.rule
        low = surely_above(self.losses, self._ends, rule.red, rule.first, rule.most, RED_SHARE)
        gains = [-loss for loss in self.losses]
        late = [end for end in self._ends if end >= rule.first]
        high = surely_above(gains, late, rule.green, rule.first, rule.most, GREEN_SHARE)
        # What was excluded by an early look may have been seen since; and no loss is excluded by the test itself.
        low = None if low is None else min(max(low, 0.0) if self.sure else low, self.mean)
        return low, None if high is None else max(-high, self.mean)

    @property
    def course(self) -> list[tuple[int, float, float | None, float | None]]:
        """After each look: games, the mean loss, and the least and the largest that were not excluded then."""
        begun, found = Deciding(self.rule), list[tuple[int, float, float | None, float | None]]()
        for start, end in pairwise([0, *self._ends]):
            begun.look(self.losses[start:end])
            found.append((end, begun.mean, *begun.between))
        return found


class Sight(NamedTuple):
    """What games can show of an agent whose loss on one seed has the standard deviation `deviation`."""

    games: int
    """In so many, a loss of the margin is told from none in nine of ten gates."""
    margin: float
    """The margin that the most games of the gate would do for."""
    power: float
    """In this share of gates equal agents are told to be so."""


def sight(deviation: float, rule: Rule) -> Sight:
    """What the most games of a rule show of such an agent: games ≈ 11 · (sd / margin)², the power by the normal law."""
    ratio = deviation / rule.margin
    power = 1.0 if not ratio else NormalDist().cdf(math.sqrt(rule.most) / ratio - _CRITICAL)
    shown = deviation * math.sqrt(GAMES_TO_TELL / rule.most)
    return Sight(games_needed(deviation, rule.margin), shown, power)


def own_deviation(plays: Sequence[Sequence[float]], *, again: bool) -> float:
    """The standard deviation of a difference that the agents' own draws alone make; 0 where nothing was played twice.

    `plays[seed][replica]`. The mean of the replicas is one side; the other is one more play of equal agents (`again`).
    """
    within = [variance(several) for several in plays if len(several) > 1]
    replicas = len(plays[0]) if plays else 1
    return math.sqrt(fmean(within) * (1 / replicas + again)) if within else 0.0
