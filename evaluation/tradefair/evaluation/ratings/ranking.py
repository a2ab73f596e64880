"""The verdict on leaderboards: who leads each, how surely, and what was left out."""

from __future__ import annotations

from tradefair.contract.money import nearest
from tradefair.evaluation.figures import heading_of
from tradefair.evaluation.ratings.leader import Placed, lead_sentence
from tradefair.evaluation.ratings.rating import Board, FieldBoard, Leaderboards, SoloBoard
from tradefair.evaluation.verdict.amounts import count, cut, name, number
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.evaluation.verdict.words import MAX_SENTENCES, fitted

_MAX_LABEL = 40
_MOST_REASONS = 3


def ranking_verdict(made: Leaderboards) -> Verdict:
    """A sentence for each of the largest leaderboards, then what they count and what they leave out."""
    boards = sorted(made.boards, key=lambda board: -board.games)
    shown = boards[: MAX_SENTENCES - 1]
    more = f"; {count(len(boards) - len(shown), 'further leaderboard')}" if len(boards) > len(shown) else ""
    counted = f"{number(made.rated)} of {count(made.traces, 'trace')} rated{more}"
    reasons = [f"{number(left.count)} {left.reason}" for left in made.left_out[:_MOST_REASONS]]
    sentences = [
        *(fitted(leader_sentence(board)) for board in shown),
        fitted(f"{counted}{'; left out: ' * bool(reasons)}{', '.join(reasons)}."),
    ]
    if not boards:
        sentences.insert(0, "Nothing could be ranked.")
    markets, scenarios = ({getattr(board, key) for board in boards} for key in ("market", "scenario"))
    return Verdict(
        kind="ranking",
        status="played" if boards else "failed",
        market=", ".join(sorted(markets)),
        scenario=", ".join(sorted(scenarios)),
        versions=_versions(boards),
    ).saying(sentences)


def _number(value: float) -> str:
    """At most two decimals."""
    return number(float(nearest(value, 2)))


def leader_sentence(board: Board) -> str:
    """Who leads a leaderboard, or that nobody does."""
    where = name(board.scenario) + (f" ({cut(name(board.shape), _MAX_LABEL)})" if board.shape else "")
    if isinstance(board, FieldBoard):
        by = f"rating by {heading_of(board.market, board.score)}"
    else:
        by = f"mean {heading_of(board.market, board.score)}" if isinstance(board, SoloBoard) else "score"
    return lead_sentence(placed_of(board), where, by, _number, met=board.met)


def placed_of(board: Board) -> list[Placed]:
    """Rows in the board's order, by what orders them, with the 95 % of resampled seeds."""
    if isinstance(board, FieldBoard):
        return [Placed(row.label, row.rating, row.low, row.high, row.episodes) for row in board.rows]
    if isinstance(board, SoloBoard):
        return [Placed(row.label, row.score, row.low, row.high, row.seeds) for row in board.rows]
    return [Placed(row.label, row.score, row.low, row.high, row.games) for row in board.rows]


def _versions(boards: list[Board]) -> dict[str, str]:
    """Rules and evaluator; by market where there are several."""
    alone = len({board.market for board in boards}) == 1
    found: dict[str, set[str]] = {}
    for board in boards:
        prefix = "" if alone else f"{board.market} "
        found.setdefault(f"{prefix}rules", set()).add(board.rules_version)
        found.setdefault(f"{prefix}evaluator", set()).add(board.evaluator_version)
    return {key: ", ".join(sorted(values)) for key, values in found.items()}
