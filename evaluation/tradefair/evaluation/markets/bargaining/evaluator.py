"""What the evaluation of bargaining declares; formulas are in `outcomes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.bargaining.rules import Bargaining
from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.bargaining.charts import board_charts, charts
from tradefair.evaluation.markets.bargaining.insight import bargaining_insight
from tradefair.evaluation.markets.bargaining.modes.detectors import MODES, what_was_said
from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.markets.bargaining.modes.reading import read_game
from tradefair.evaluation.markets.bargaining.outcomes import (
    BargainingBeside,
    BargainingOutcome,
    bargaining_outcome,
    relative_to_references,
)
from tradefair.evaluation.modes.diagnosis import Stage
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.outcome import PlayedSeat, RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.tracestore import Trace


class BargainingEvaluator(Evaluator):
    """Evaluator of the market `bargaining`. Money in ticks."""

    market = "bargaining"
    beside = BargainingBeside
    version = "5"
    money = "ticks"
    headline = Headline(
        1,
        "pact",
        "profit",
        "truthful",
        "linear_concession",
        # The competent policies lie close: 61 seeds rank them with a generalisability of 0.9 (benchmarks.ranking).
        64,
        field=(
            "truthful",
            "shade_5",
            "shade_10",
            "shade_20",
            "boulware",
            "linear_concession",
            "conceder",
            "tit_for_tat",
            "linear_equilibrium",
            "fair_split",
            "promise_keeper",
        ),
    )
    whole_ends = frozenset({"terminated:rounds_completed"})
    modes = MODES
    phrases = load_phrases(__package__)
    rating = RatingRules(
        # Two seats share one gap: what one earns the other does not, so that a game is a match between two labels.
        kind="duel",
        scores=("profit",),
        seat_figures=("profit_per_round", "surplus_share", "hindsight_regret", "losses", "forfeits"),
        leading=("profit_per_round",),
        series=("profits", "quote_offsets", "opponent_offsets", "trade_offsets", "traded"),
        market_figures=("efficiency", "trade_frequency"),
        # R·G, what both could have earned together: the CMS-style score holds profits against it.
        potential="potential",
        # Every episode draws its limits: another law of the draw does not make it another game.
        varies=frozenset(
            {"description", "distribution", "buyer_value", "seller_cost", "chance", "seat_order", "seats"}
        ),
    )

    def outcomes(self, trace: Trace) -> BargainingOutcome:
        """Profits, offsets and talk per seat, trades and efficiency of the pair."""
        return bargaining_outcome(trace, self.version)

    def metric(self, market: Bargaining, seat: SeatId) -> float:
        """Ticks earned in all rounds."""
        return market.state.profit[seat]

    def seats(self, trace: Trace) -> Mapping[SeatId, Side]:
        """The game from either side."""
        game = read_game(trace)
        return {seat: game.side(seat) for seat in game.seats}

    def stages(self, trace: Trace) -> list[Stage]:
        """How much of what was said could be read."""
        return what_was_said(read_game(trace))

    def at_stake(self, outcome: BargainingOutcome, seat: SeatId) -> float | None:
        """R·G: what the seat would earn if every round traded at the counterpart's limit; null before a round closed.

        0 where no price lets both gain.
        """
        market = outcome.market_outcome
        return None if market.gap is None else float(market.potential)

    def insight(self, trace: Trace) -> Insight:
        """Limits, quotes through them and rounds without a quote."""
        return bargaining_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """Quotes and prices by round, and what each round earned."""
        return charts(trace)

    def board_charts(self, seats: Sequence[PlayedSeat], labels: Sequence[str], score: str) -> list[Chart]:
        """Profits, offsets and trades by label."""
        return board_charts(seats, labels)

    def relative(self, seat: SeatId, outcomes: Mapping[str, BargainingOutcome]) -> dict[str, dict[str, float | None]]:
        """Normalised regret, and profit over that of the equilibrium pair, on the same limits."""
        return relative_to_references(seat, outcomes)


EVALUATOR = BargainingEvaluator()
