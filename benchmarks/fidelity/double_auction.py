"""BAZAAR: its leaderboard from whole logs, else the scores of its baselines in a field of their own."""

from __future__ import annotations

from benchmarks.bazaar_traders import GAMES, field_scores
from benchmarks.fidelity.boards import board_rows
from benchmarks.fidelity.row import Asked, Figure, Made, Ours, draws, figure, mean_of
from benchmarks.fidelity.seats import rows_of_labels

_RATE = "tradefair rate RUNS --score csa_source -o FILE.html"
_COLUMNS = {"trueskill": "rating", "sigma": "deviation", "games": "episodes", "avg_csa": "score"}


@figure(
    "bazaar",
    "leaderboard",
    of=Figure(
        "tradefair import bazaar-log LOGS --out RUNS; tradefair rate RUNS --score csa_logged",
        needs="needs logs",
        columns=_COLUMNS,
        differs={
            "": "other games: another number of them, among others",
            "avg_csa": f"other games; without logs {GAMES:,} of `python -m benchmarks.bazaar_traders`, baselines alone",
        },
    ),
)
def leaderboard(asked: Asked) -> Made:
    """By the log's own score, or `csa_source` of other traces; the baselines play here where there are no logs."""
    rows = rows_of_labels()
    found: dict[tuple[str, str], Ours] = {}
    if not asked.logs:
        field = field_scores(GAMES)
        found = {(rows.get(player, player), "avg_csa"): mean_of(scores) for player, scores in field.items()}
    found.update(board_rows(asked.runs, _COLUMNS, "csa_source"))
    found.update(board_rows(asked.logs, _COLUMNS, "csa_logged"))
    return found


draws(
    "bazaar",
    _RATE,
    figure_1="rating",
    figure_2="score_strip",
    figure_3="average_offset",
    figure_4="game_offset_strip",
    figure_5="offset_by_round",
    figure_6="price_against_value",
    figure_7="trade_frequency",
)
