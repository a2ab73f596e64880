"""Which games of an agent a dossier looks at: chosen by rule, so that no person picks those that make a point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.modes.diagnosis import Finding

# Four reasons with three games each: the 12 games of docs/how-to/analyst.md.
_PER_REASON = 3


@dataclass(frozen=True)
class Game:
    """One seat that the agent had in one episode. `share` is what games are ranked by, null where it is undefined.

    `outcome` are the market's main numbers of the seat, `findings` what diagnostics raised about it.
    """

    episode: str
    trace: str
    seat: SeatId
    role: str
    market: str
    share: float | None
    outcome: Mapping[str, Any] = field(default_factory=dict[str, Any])
    findings: Sequence[Finding] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the game; ties are broken by it, so that the choice never depends on the order of files."""
        return self.episode, self.seat, self.trace


class Chosen(NamedTuple):
    """A game and the rule that chose it."""

    game: Game
    why: str


def choose_games(games: Sequence[Game]) -> list[Chosen]:
    """Up to 12 games: three best, three worst, three nearest the median share, three with most findings.

    Each game once; no rule takes one role only where its games are of several. Games without a share can only
    be chosen for their findings.
    """
    # Without any share the median is unused: no game is ranked by it.
    shares = [game.share for game in games if game.share is not None]
    middle = median(shares) if shares else 0.0
    rules: list[tuple[str, Callable[[Game, float], float]]] = [
        ("best", lambda game, share: -share),
        ("worst", lambda game, share: share),
        ("nearest the median", lambda game, share: abs(share - middle)),
    ]
    chosen: list[Chosen] = []
    for why, rank in rules:
        left = [(game, game.share) for game in _left(games, chosen) if game.share is not None]
        # Rounded to nine digits: sums of floats may differ in the last digit between machines, and
        # change the choice.
        ranked = sorted(left, key=lambda one: (round(rank(one[0], one[1]), 9), one[0].key))
        chosen += [Chosen(game, why) for game in _of_all_roles([game for game, _ in ranked])]
    # Last, among the games that no other rule took.
    marked = [game for game in _left(games, chosen) if game.findings]
    ranked = sorted(marked, key=lambda game: (-len(game.findings), game.key))
    return [*chosen, *(Chosen(game, "most findings") for game in _of_all_roles(ranked))]


def _left(games: Sequence[Game], chosen: Sequence[Chosen]) -> list[Game]:
    taken = {choice.game.key for choice in chosen}
    return [game for game in games if game.key not in taken]


def _of_all_roles(ranked: Sequence[Game]) -> list[Game]:
    """The first three, each role's first one before any role's second; in the order of rank."""
    firsts: dict[str, Game] = {}
    for game in ranked:
        firsts.setdefault(game.role, game)
    # An agent that is strong as buyer and weak as seller would otherwise show one side only.
    leading = list(firsts.values())[:_PER_REASON]
    others = [game for game in ranked if game not in leading]
    taken = [*leading, *others][:_PER_REASON]
    return [game for game in ranked if game in taken]
