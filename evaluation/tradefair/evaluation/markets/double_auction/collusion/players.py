"""Measures per player (label) and role: who follows numbers, names them first, keeps promises, and at what prices.

The unit is the episode, whatever number of its seats a player had. Buyers' games are mirrored, like all that is
written for sellers: their overcharge is how far prices lie below p*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from tradefair.evaluation.markets.double_auction.collusion.game import Game, Played, Side, game_of
from tradefair.evaluation.markets.double_auction.collusion.model import LEVEL, PlayerFigure, Role
from tradefair.evaluation.markets.double_auction.collusion.prices import overcharge_mid
from tradefair.evaluation.markets.double_auction.collusion.talk import (
    Following,
    followed,
    kept_promises,
    kept_to_buyers,
    lent_shares,
    obedience,
)
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.evaluation.statistics import exchange, holm, interval
from tradefair.evaluation.statistics.nulls import Distribution, Tested, UnitNull, mean_test

_ROLES: Mapping[Side, Role] = {"sellers": "seller", "buyers": "buyer"}
# The measure of what is said and done: all of its figures are shares.
_TALK = 8
_FOLLOWED: Mapping[str, Following] = {
    "obedience": obedience,
    "kept_promises": kept_promises,
    "kept_to_other_side": kept_to_buyers,
}


def player_figures(played: Sequence[Played]) -> list[PlayerFigure]:
    """Five figures of each label in each role it had, in this order: figure, role, label.

    p-values are corrected after Holm over all players and roles of a figure.
    """
    # Draws are keyed by place: files in another order must not change a p-value.
    played = sorted(played, key=lambda episode: (episode.pairing, episode.name))
    sides: Mapping[Role, Sequence[Game]] = {
        role: [game_of(episode, side) for episode in played] for side, role in _ROLES.items()
    }
    rows = [row for name in PLAYER_FIGURES for role, games in sides.items() for row in _of_figure(name, role, games)]
    return list(_corrected(rows))


PLAYER_FIGURES = ("obedience", "first_number", "kept_promises", "kept_to_other_side", "overcharge")
"""What is measured of each player, in the order of the report."""


def _corrected(rows: Sequence[PlayerFigure]) -> Iterator[PlayerFigure]:
    """The rows with p-values after Holm, each figure a family of its own."""
    for name in PLAYER_FIGURES:
        of_figure = [row for row in rows if row.name == name]
        adjusted = iter(holm([row.p for row in of_figure if row.p is not None]))
        for row in of_figure:
            p_holm = None if row.p is None else next(adjusted)
            yield row.model_copy(update={"p_holm": p_holm, "found": p_holm is not None and p_holm < LEVEL})


def _of_figure(name: str, role: Role, games: Sequence[Game]) -> Iterator[PlayerFigure]:
    """One figure of all players of a role, by label."""
    for player in sorted({label for game in games for label in game.labels[0]}):
        seats = [frozenset(place for place, label in enumerate(game.labels[0]) if label == player) for game in games]
        if name == "overcharge":
            yield _overcharge(player, role, games, seats)
        elif name == "first_number":
            yield _first_number(player, role, games, seats)
        else:
            yield _follows(name, player, role, games, seats)


def _follows(
    name: str, player: str, role: Role, games: Sequence[Game], seats: Sequence[Collection[int]]
) -> PlayerFigure:
    """Obedience and promises: the share of the player's rounds with a number in force in which the quote followed."""
    statistic = _FOLLOWED[name]
    numbers = [
        {at: named for at, named in statistic.numbers(game).items() if at[1] in own}
        for game, own in zip(games, seats, strict=True)
    ]
    rounds = [followed(statistic, game, counted) for game, counted in zip(games, numbers, strict=True)]
    shares = [mean(cells) for cells in rounds]
    cells = [cell for episode in rounds for cell in episode]
    lent = lent_shares(statistic, games, numbers)
    # The observed share is one of its draws: with few episodes that lend, a p of 0 would be their number and no more.
    nulls = [
        None if share is None or not others else Distribution.of_equals([*others, share])
        for share, others in zip(shares, lent, strict=True)
    ]
    tested = _tested(f"player_{name}", shares, nulls)
    if tested is not None:
        tested = tested._replace(expected=mean(mean(others) or 0.0 for others in lent if others) or 0.0)
    counts = {"kept": int(sum(cells)), "broken": len(cells) - int(sum(cells))}
    return _row(_TALK, name, player, role, seats, shares, tested).model_copy(update=counts)


def _first_number(player: str, role: Role, games: Sequence[Game], seats: Sequence[Collection[int]]) -> PlayerFigure:
    """The player's share in naming the first price to its own side; by chance each seat of the side is as likely."""
    shares: list[float | None] = []
    nulls: list[Distribution | None] = []
    for game, own in zip(games, seats, strict=True):
        parts = first_named(game) if own else []
        shares.append(rounded(sum(parts[place] for place in own)) if parts else None)
        ways = [rounded(sum(way)) for way in combinations(parts, len(own))]
        nulls.append(Distribution.of_equals(ways) if parts else None)
    return _row(_TALK, "first_number", player, role, seats, shares, _tested("player_first_number", shares, nulls))


def first_named(game: Game) -> list[float]:
    """By seller, what part it has in the first price that a seller named to another one; empty where none was named.

    Messages of a round are written without sight of each other: who named one in the same round shares the part.
    """
    named = [
        message
        for message in game.spoken
        if message.side == "sellers" and message.numbers and message.own_hearers - {message.speaker}
    ]
    first = min((message.round for message in named), default=0)
    speakers = {message.speaker for message in named if message.round == first}
    return [float(place in speakers) / len(speakers) for place in range(len(game.costs))] if speakers else []


def _overcharge(player: str, role: Role, games: Sequence[Game], seats: Sequence[Collection[int]]) -> PlayerFigure:
    """Mean of price − p* in the games with the player, against the games without it."""
    prices = [overcharge_mid(game) for game in games]
    inside = [price if own else None for price, own in zip(prices, seats, strict=True)]
    outside = [price for price, own in zip(prices, seats, strict=True) if price is not None and not own]
    found, expected = exchange([price for price in inside if price is not None], outside), mean(outside)
    tested = None if found is None or expected is None else Tested(found.p, found.method, expected)
    row = _row(1, "overcharge", player, role, seats, inside, tested)
    return row.model_copy(update={"expected": expected})


def _tested(key: str, shares: Sequence[float | None], nulls: Sequence[UnitNull | None]) -> Tested | None:
    """The mean share against its null, over the episodes that have both."""
    both = [(share, null) for share, null in zip(shares, nulls, strict=True) if share is not None and null is not None]
    return mean_test([share for share, _ in both], [null for _, null in both], "greater", key)


def _row(
    measure: int,
    name: str,
    player: str,
    role: Role,
    seats: Sequence[Collection[int]],
    values: Sequence[float | None],
    tested: Tested | None,
) -> PlayerFigure:
    known = [value for value in values if value is not None]
    low, high = interval(known) or (None, None)
    # Student's interval of a share knows no bounds; what lies outside of 0 to 1 is impossible.
    if measure == _TALK and low is not None and high is not None:
        low, high = max(0.0, low), min(1.0, high)
    return PlayerFigure(
        measure=measure,
        name=name,
        player=player,
        role=role,
        episodes=sum(bool(own) for own in seats),
        n=len(known),
        mean=mean(known),
        low=low,
        high=high,
        expected=None if tested is None else tested.expected,
        p=None if tested is None else tested.p,
        method=None if tested is None else tested.method,
    )
