"""The same seeds in another arm: the silent control, references, and paired differences with their test."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from tradefair.evaluation.markets.double_auction.collusion.game import Game, Played
from tradefair.evaluation.markets.double_auction.collusion.model import Versus
from tradefair.evaluation.statistics import compared

REFERENCES = ("truthful", "gd_bazaar", "zip")
"""Policies that play the references, each on all seats."""

_MOST_NAMED = 5

Figure: TypeAlias = Callable[[Game], float | None]


class Paired(NamedTuple):
    """Games with their partners, in the order of the games, and sentences on what has none."""

    pairs: list[tuple[Game, Game]]
    unpaired: list[str]


class References(NamedTuple):
    """Reference games by policy, and sentences on traces that are none."""

    by_policy: dict[str, list[Played]]
    findings: list[str]


def refs(played: Iterable[Played]) -> References:
    """Sort traces by the one policy that played all their seats.

    Labels without the prefix `policy:` count as well. Traces of other agents are findings, not references.
    """
    by_policy: dict[str, list[Played]] = {}
    findings: list[str] = []
    for game in played:
        # One policy on all seats: a reference is a whole population, since a single seat's play depends on its rivals.
        who = {label.removeprefix("policy:") for _, label in game.pairing.players}
        if len(who) == 1 and who <= set(REFERENCES):
            by_policy.setdefault(who.pop(), []).append(game)
        else:
            findings.append(
                f"{game.name}: no reference, its seats are not all played by one of {', '.join(REFERENCES)}"
            )
    return References(by_policy, findings)


def pair_silent(games: Sequence[Game], silent: Sequence[Game]) -> Paired:
    """Episodes with and without talk: equal economics, seed, policy key, and equal players on every seat."""
    # A wrong folder after `--against` is the usual slip: an arm that talks would hide the very effect.
    talking = [game for game in silent if game.talks]
    mute = [game for game in silent if not game.talks]
    paired = pair_with(games, mute, lambda game: game.pairing, "the silent arm")
    if talking:
        paired.unpaired.append(
            f"{len(talking)} of {len(silent)} episodes of the silent arm have a talk phase: left out"
        )
    return paired


def pair_with(games: Sequence[Game], others: Sequence[Game], key: Callable[[Game], Hashable], name: str) -> Paired:
    """Pair by `key`; of several others with one key the first counts.

    `unpaired` is empty where no others were given at all: a missing arm is named elsewhere. `name` is for that
    sentence.
    """
    known: dict[Hashable, Game] = {}
    for other in others:
        # The first in the order of the episodes, so that equal input pairs equally on every machine.
        known.setdefault(key(other), other)
    pairs = [(game, known[key(game)]) for game in games if key(game) in known]
    alone = [game.pairing.seed for game in games if key(game) not in known]
    unpaired: list[str] = []
    if others and alone:
        seeds = ", ".join(map(str, alone[:_MOST_NAMED])) + (" …" if len(alone) > _MOST_NAMED else "")
        unpaired.append(f"{len(alone)} of {len(games)} episodes have no partner in {name} (seeds {seeds})")
    return Paired(pairs, unpaired)


def against(measure: int, name: str, arm: str, figure: Figure, pairs: Sequence[tuple[Game, Game]]) -> Versus:
    """A figure here and there over the pairs in which both have it, and a sign-flip test of the difference."""
    return against_shown(measure, name, arm, [(figure(here), figure(there)) for here, there in pairs])


def against_shown(
    measure: int,
    name: str,
    arm: str,
    shown: Sequence[tuple[float | None, float | None]],
    *,
    absent: float | None = None,
) -> Versus:
    """The same for figures that are there already. `absent` stands for one that only the other arm has.

    It stands for it in both arms alike: what is exchanged by the sign flips must not depend on which arm it is.
    """
    values: list[tuple[float, float]] = []
    for here, there in shown:
        # Pairs without the figure in both arms are left out: two zeros would only shrink the mean.
        filled = absent if here is not None or there is not None else None
        here, there = (filled if here is None else here), (filled if there is None else there)
        if here is not None and there is not None:
            values.append((here, there))
    return _versus(measure, name, arm, values)


def against_zero(measure: int, name: str, figure: Figure, games: Sequence[Game]) -> Versus:
    """A figure that is 0 in all-truthful play by construction.

    There is nothing to pair with: each episode is compared with the constant.
    """
    return _versus(measure, name, "zero", [(here, 0.0) for game in games if (here := figure(game)) is not None])


def _versus(measure: int, name: str, arm: str, values: Sequence[tuple[float, float]]) -> Versus:
    # Paired by seed: luck of the values cancels, so that few episodes are enough.
    return Versus(measure=measure, name=name, against=arm, **compared(values))
