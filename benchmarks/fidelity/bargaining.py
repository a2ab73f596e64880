"""PACT: its leaderboard from whole logs, and the charts that it publishes."""

from __future__ import annotations

from benchmarks.fidelity.boards import board_rows
from benchmarks.fidelity.row import Asked, Figure, Made, draws, figure
from tradefair.evaluation.ratings.composite import ALPHA

_COLUMNS = {"cms": "score", "profit_per_round": "profit_per_round", "games": "games"}


@figure(
    "pact",
    "leaderboard",
    of=Figure(
        "tradefair import pact-log LOGS --out RUNS; tradefair rate RUNS",
        needs="needs logs",
        columns=_COLUMNS,
        differs={
            "": "other games: another number of them, against others",
            "cms": f"other games, and a CMS-style score of our own definition, α = {ALPHA:g}",
        },
    ),
)
def leaderboard(asked: Asked) -> Made:
    """Composite score, profit a round in ticks, and games."""
    return board_rows([*asked.runs, *asked.logs], _COLUMNS)


draws(
    "pact",
    "tradefair rate RUNS -o FILE.html",
    figure_1="score",
    figure_2="head_to_head",
    figure_3="profit_strip",
    figure_4="profit_by_round",
    figure_5="bid_offset_by_round",
    figure_6="trade_offset_by_round",
    figure_7="average_offset",
    figure_8="opponent_offset_by_round",
    figure_9="game_offset_strip",
    figure_10="all_bid_offsets",
    figure_11="all_trade_offsets",
    figure_12="games_with_a_trade",
    figure_13="trade_frequency_by_round",
    figure_14="glicko",
)
