"""What the gate decides, from losses alone: worse, not worse, or more games. Pure.

A loss is what the baseline earned more than the agent on one seed, as a share of the scale (or in the market's unit).
Two tests of sign flips in looks (`statistics/sequential.py`: Fisher 1935; Lan & DeMets 1983) share the games: one that
the mean loss is above 0, one that it is below the margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance
from typing import Literal, NamedTuple

from tradefair.evaluation.statistics.sequential import Flips

Status = Literal["not_worse", "worse", "unknown"]
RED_SHARE, GREEN_SHARE = 0.9, 0.6
"""How much of each error may be spent by the game from which on the agent may be told to be no worse."""
_HALVINGS = 9
_STEEPNESS = 11.0
"""Games that tell equal agents apart from a loss of the margin in nine of ten gates: 11 · (sd / margin)², measured by
`benchmarks/gate.py`."""
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
        self._red, self._green = _tests(rule)

    def look(self, losses: Sequence[float]) -> Status | None:
        """Take the losses of one more block into account; the status from then on."""
        if self.status is not None or not losses:
            return self.status
        rule = self.rule
        self.losses += losses
        self._ends.append(len(self.losses))
        enough = len(self.losses) >= rule.first
        self.sure = self._red.look(losses)
        safe = self._green.look([rule.margin - loss for loss in losses])
        if self.sure and self.mean >= rule.margin * (0.5 if enough else 1.0):
            self.status = "worse"
        elif safe and enough:
            self.status = "not_worse"
        elif len(self.losses) >= rule.most:
            self.status = "unknown"
        return self.status

    @property
    def mean(self) -> float:
        """The mean loss so far."""
        return fmean(self.losses) if self.losses else math.nan

    @property
    def between(self) -> tuple[float, float]:
        """The losses that neither test, moved there, excludes: (low, high), each to a 512th of what is searched."""
        if not self.losses:
            return -math.inf, math.inf
        spread = max(self.losses) - min(self.losses)
        reach = spread + abs(self.rule.margin)
        low = self._edge(self.mean - reach, self.mean, below=True)
        return low, self._edge(self.mean + reach, self.mean, below=False)

    def _edge(self, outer: float, inner: float, *, below: bool) -> float:
        """Between a loss that is excluded and one that is not: the edge, on the side of what is excluded.

        `outer` stays the edge where too few games exclude anything.
        """
        if not self._excludes(outer, below=below):
            return -math.inf if below else math.inf
        for _ in range(_HALVINGS):
            middle = (outer + inner) / 2
            outer, inner = (middle, inner) if self._excludes(middle, below=below) else (outer, middle)
        return outer

    def _excludes(self, loss: float, *, below: bool) -> bool:
        """Whether the mean loss is surely above (`below`: this one lies below it) or under this one."""
        test = _tests(self.rule)[0 if below else 1]
        sign, begun, sure = (1 if below else -1), 0, False
        for end in self._ends:
            sure = test.look([sign * (value - loss) for value in self.losses[begun:end]])
            begun = end
        return sure


def _tests(rule: Rule) -> tuple[Flips, Flips]:
    return (Flips(rule.red, rule.first, rule.most, RED_SHARE), Flips(rule.green, rule.first, rule.most, GREEN_SHARE))


def rare_up_to(games: int) -> float:
    """The share of games in which something may happen that was not seen in so many: 1 − .05^(1/n)."""
    return 1 - 0.05 ** (1 / games) if games else 1.0


class Sight(NamedTuple):
    """What games can show of an agent whose loss on one seed has the standard deviation `deviation`."""

    deviation: float
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
    needed = math.ceil(_STEEPNESS * ratio**2)
    return Sight(deviation, needed, deviation * math.sqrt(_STEEPNESS / rule.most), power)


def own_deviation(plays: Sequence[Sequence[float]], *, again: bool) -> float:
    """The standard deviation of a difference that the agents' own draws alone make; 0 where nothing was played twice.

    `plays[seed][replica]`. The mean of the replicas is one side; the other is one more play of equal agents (`again`).
    """
    within = [variance(several) for several in plays if len(several) > 1]
    replicas = len(plays[0]) if plays else 1
    return math.sqrt(fmean(within) * (1 / replicas + again)) if within else 0.0
