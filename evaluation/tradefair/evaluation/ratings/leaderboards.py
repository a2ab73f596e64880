"""From finished episodes to leaderboards: one per market, scenario and shape, never mixed.

Games are taken in the order of seed and chain, not of files or labels: other folders and other names of the labels
give the same numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from tradefair.contract import Chance, ScenarioError
from tradefair.contract.chain import digest
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.outcome import PlayedSeat, RatingRules
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.prove.proving import ONCE_MORE, proof_said
from tradefair.evaluation.ratings.composite import COMPOSITE, Weight, asked_weight
from tradefair.evaluation.ratings.duel_board import duel_board
from tradefair.evaluation.ratings.field_board import field_board
from tradefair.evaluation.ratings.leader import joined, leader
from tradefair.evaluation.ratings.ranking import placed_of
from tradefair.evaluation.ratings.rating import Board, BoardHead, DuelBoard, Leaderboards, Reasons
from tradefair.evaluation.ratings.results import GameResult, Results, rules_of, seat_fields
from tradefair.evaluation.ratings.solo_board import solo_board

# Characters of a heading; overrides of a scenario may be long lists.
_MAX_SHAPE = 200


def leaderboards(
    results: Results, *, seed: int = 0, score: str | None = None, progress: Progress | None = None
) -> Leaderboards:
    """Rate everything that was read. `score` names the seat field to rank by; default: the market's first known one.

    Of duels it is `composite(alpha=…)`, with the weight of the balanced share, .9 by default. `seed` fixes shuffles and
    resamples (stream `tournament`). `progress` hears of each leaderboard. Raises ScenarioError for a score that no
    market among the results has.
    """
    # First, because rating a large folder takes long and a mistyped name should not wait for it.
    _check_score(score, results.games)
    kept, outside = _distinct(results.games)
    for unread in results.unread:
        outside.add(f"cannot be read: {unread.problem}", unread.path)
    groups: dict[BoardHead, list[GameResult]] = defaultdict(list)
    for game in kept:
        if rules_of(game.market) is None:
            outside.add(game.unusable, game.path)
        else:
            groups[_head(game)].append(game)
    names = _shape_names(groups)
    boards: list[Board] = []
    # Sorted, so that boards come in the same order wherever the files lie.
    for group, games in watched(sorted(groups.items()), progress, lambda item: item[0].scenario):
        for board in _boards(group, games, names[group], seed, score):
            # A leaderboard that ranks no label says only what was left out.
            if board.rows:
                boards.append(board)
            else:
                outside.add_all(board.left_out)
    return Leaderboards(
        seed=seed,
        traces=len(results.games) + len(results.unread),
        rated=sum(board.games for board in boards),
        boards=boards,
        left_out=outside.listed(),
        unreadable=len(results.unread),
        proof=proof_said(results.proven),
    )


def _head(game: GameResult) -> BoardHead:
    """The leaderboard that a game belongs to; its `shape` is still the whole scenario."""
    return BoardHead(
        game.market,
        game.scenario,
        game.shape,
        digest(game.shape.encode()),
        game.rules_version,
        evaluator_of(game.market).version,
    )


def _check_score(score: str | None, games: Sequence[GameResult]) -> None:
    """Raise ScenarioError for a score that no market among the games is ranked by."""
    asked_weight(score)
    markets = sorted({game.market for game in games})
    known = list(dict.fromkeys(name for market in markets for name in _scores(rules_of(market))))
    if score is not None and score not in known and not (COMPOSITE in known and score.startswith("composite")):
        allowed = f"known are {', '.join(known)}" if known else "there is no choice of scores: leave --score out"
        raise ScenarioError(f"nothing here is rated by {score[:40]!r}; {allowed}")


def _scores(rules: RatingRules | None) -> tuple[str, ...]:
    """The scores that may be chosen for a market: those of a field, the blends of a duel."""
    if rules is None or rules.kind == "solo":
        return ()
    return rules.scores if rules.kind == "field" else (COMPOSITE,)


def _distinct(games: Iterable[GameResult]) -> tuple[list[GameResult], Reasons]:
    """Each game once, in an order of its own; the same game played by others is another one."""
    outside = Reasons()
    found: dict[tuple[str, tuple[str, ...]], GameResult] = {}
    # Usable ones first: a copy that proves nothing must not stand in for the game.
    for game in sorted(games, key=lambda game: (bool(game.unusable), game.seed, game.head)):
        # Labels are part of the key: two agents may have made the very same moves.
        key = game.game or game.head, tuple(seat.label for seat in game.seats)
        if key in found and not game.unusable:
            outside.add(ONCE_MORE, game.path)
        else:
            found[key if not game.unusable else (game.path, ())] = game
    return sorted(found.values(), key=lambda game: (game.seed, game.head)), outside


def _boards(head: BoardHead, games: Sequence[GameResult], shape: str, seed: int, score: str | None) -> Iterator[Board]:
    """The leaderboards of one group: of labels that met, the most labels first, then of those whom nobody met.

    Games that cannot be rated are listed in the first with their reason.
    """
    rules = rules_of(head.market)
    # `leaderboards` has left markets without rules out; the check is for the type checker.
    if rules is None:
        raise ValueError(f"{head.market} has no ratings")
    left_out, usable = Reasons(), [game for game in games if not game.unusable]
    for game in games:
        if game.unusable:
            left_out.add(game.unusable, game.path)
    # `--score` may name a field of another market's board; this one then ranks by its default.
    by = score if score in rules.scores else None
    weight = asked_weight(score)
    parts = _groups(usable)
    for number, (labels, own) in enumerate(parts, 1):
        apart = f"group {number} of {len(parts)}" if len(parts) > 1 else ""
        part = head._replace(shape=", ".join(filter(None, (shape, apart))))
        # A chance for each board: its numbers do not depend on which other boards are made.
        chance = Chance(seed)
        if not labels:
            board: Board = solo_board(part, rules, own, left_out, chance, orjson.loads(head.shape), by)
        elif rules.kind == "duel":
            board = duel_board(part, rules, own, left_out, chance, weight)
            # Found once, among the most labels: smaller groups of the same games say less.
            weight = Weight(board.alpha, board.alpha_low, board.alpha_high)
        else:
            board = field_board(part, rules, own, left_out, chance, by)
        yield _led(board, rules, own)
        left_out = Reasons()


def _groups(games: Sequence[GameResult]) -> list[tuple[frozenset[str], list[GameResult]]]:
    """Labels that met and their games, the most labels first; no labels, and the games of those whom nobody met."""
    of_label: dict[str, frozenset[str]] = {}
    for group in joined([seat.label for seat in game.seats] for game in games):
        of_label |= dict.fromkeys(group, group if len(group) > 1 else frozenset())
    found: dict[frozenset[str], list[GameResult]] = {labels: [] for labels in of_label.values() if labels}
    for game in games:
        found.setdefault(of_label.get(game.seats[0].label, frozenset()) if game.seats else frozenset(), []).append(game)
    return list(found.items()) or [(frozenset(), [])]


def _led(board: Board, rules: RatingRules, games: Sequence[GameResult]) -> Board:
    """The board with who leads it, and the charts of its games."""
    if not board.rows:
        return board
    played = list(_played(rules, games))
    ranked_by = rules.scores[0] if isinstance(board, DuelBoard) else board.score
    labels = [row.label for row in board.rows]
    charts = evaluator_of(board.market).board_charts(played, labels, ranked_by) if played else ()
    lead = leader(placed_of(board), met=board.met)
    said = {"leader": lead.label, "open": list(lead.open)}
    return board.model_copy(update={"leading": list(rules.leading), "charts": list(charts), **said})


def _played(rules: RatingRules, games: Sequence[GameResult]) -> Iterator[PlayedSeat]:
    """The seats of games that were read for charts."""
    fields = seat_fields(rules)
    for number, game in enumerate(games):
        for seat in game.seats:
            # Read for charts: what was not has neither.
            if seat.series or seat.conduct:
                numbers = dict(zip((*fields, *rules.conduct), (*seat.numbers, *seat.conduct), strict=True))
                series = dict(zip(rules.series, seat.series, strict=True))
                yield PlayedSeat(seat.label, seat.role, number, numbers, series)


def _shape_names(groups: Iterable[BoardHead]) -> Mapping[BoardHead, str]:
    """What sets a group apart from others of the same scenario: parameters that differ among them, and the rules.

    Empty for a group that is alone; at most 200 characters.
    """
    found: dict[BoardHead, str] = {}
    alike: dict[tuple[str, str], list[BoardHead]] = defaultdict(list)
    for group in groups:
        alike[group.market, group.scenario].append(group)
    for sisters in alike.values():
        parameters = {group: _flat(orjson.loads(group.shape)) for group in sisters}
        names = sorted({name for known in parameters.values() for name in known})
        # A parameter with one value in all groups tells none of them apart.
        differing = [name for name in names if len({known.get(name) for known in parameters.values()}) > 1]
        versions = len({group.rules_version for group in sisters}) > 1
        for group, known in parameters.items():
            parts = [f"{name} {known.get(name, '–')}" for name in differing]
            parts += [f"rules version {group.rules_version}"] if versions else []
            found[group] = ", ".join(parts)[:_MAX_SHAPE]
    return found


def _flat(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as text, those of a table one by one under dotted names."""
    found: dict[str, Any] = {}
    for name, value in scenario.items():
        table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        # A plain value or an empty table has no parts: it stays under its own name.
        found |= {f"{name}.{key}": part for key, part in table.items()} or {name: value}
    return {name: orjson.dumps(value).decode() for name, value in found.items()}
