"""What the evaluation of the double auction declares; formulas are in `outcomes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.contract import SeatId
from tradefair.double_auction.rules import DoubleAuction
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.collusion import CollusionMeasures
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.double_auction.charts import board_charts, charts
from tradefair.evaluation.markets.double_auction.insight import double_auction_insight
from tradefair.evaluation.markets.double_auction.modes import looks, promise_broken, quotes, value_leak
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat
from tradefair.evaluation.markets.double_auction.modes.reading import read_auction
from tradefair.evaluation.markets.double_auction.outcomes import auction_outcome
from tradefair.evaluation.markets.double_auction.results import DoubleAuctionOutcome
from tradefair.evaluation.markets.double_auction.source_table import CAUTION as SOURCE_CAUTION
from tradefair.evaluation.markets.double_auction.surplus_alpha import CAUTION
from tradefair.evaluation.modes.diagnosis import Detector
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.table import load_modes
from tradefair.evaluation.outcome import PlayedSeat, RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.tracestore import Trace

DETECTORS: Mapping[str, Detector] = {
    "loss_trade": quotes.loss_trade,
    "contradicted_analysis": looks.contradicted_analysis,
    "frozen_quote": quotes.frozen_quote,
    "parking": quotes.parking,
    "value_unseen": looks.value_unseen,
    "value_leak": value_leak.detect,
    "promise_broken": promise_broken.detect,
}


class DoubleAuctionEvaluator(Evaluator):
    """Evaluator of the market `double_auction`. Money in points."""

    market = "double_auction"
    version = "4"
    collusion = CollusionMeasures(
        frozenset({"--against", "--references", "--side", "--play-references", "--by"}),
        "markets.double_auction.collusion.asked:nine_measures",
    )
    # Regret is no test between agents: each run's hindsight is against the rivals of that run.
    headline = Headline(
        1,
        "bazaar",
        "payoff",
        "truthful",
        "gd",
        80,
        field=(
            "truthful",
            "shading_5",
            "shading_10",
            "shading_20",
            "linear_equilibrium",
            "fictitious_play",
            "shaver",
            "kaplan",
            "zip",
            "gd_bazaar",
            "aa",
            "gd",
        ),
    )
    # Episodes that ended by a limit have fewer rounds than their potential counts; tests and ratings set them apart.
    whole_ends = frozenset({"terminated:rounds_completed"})
    rating = RatingRules(
        kind="field",
        # `csa_clean` first: losses count in it, and no outcome is part of its key.
        # The last two are chosen, never fallen back to: a log's own score is no measure of ours.
        scores=("csa_clean", "csa", "surplus_share", "payoff", "csa_source", "csa_logged"),
        seat_figures=("csa_clean", "csa", "csa_source", "csa_logged", "surplus_share", "trade_frequency"),
        market_figures=("efficiency", "convergence"),
        series=("offsets", "trade_offsets", "trade_prices", "traded"),
        # Laws may differ, since csa has a table for each; sizes may not: what a share is worth depends on them.
        varies=frozenset({"description", "distribution", "values", "chance", "seat_order", "seats"}),
        errors={"csa_source": "csa_source_error"},
        cautions={
            **dict.fromkeys(("csa_clean", "csa"), f"by our table of all-truthful play; {CAUTION}"),
            "csa_source": SOURCE_CAUTION,
            "csa_logged": "the log's own score, as its final line has it; nothing of ours is in it",
        },
    )

    modes = load_modes(f"{__package__}.modes", DETECTORS)
    phrases = load_phrases(__package__)

    def outcomes(self, trace: Trace) -> DoubleAuctionOutcome:
        """Payoffs, quotes, regret and conditional surplus alpha per seat; efficiency and prices of the market."""
        return auction_outcome(trace, self.version)

    def metric(self, market: DoubleAuction, seat: SeatId) -> float:
        """Points earned in all rounds."""
        return market.state.payoff[seat]

    def seats(self, trace: Trace) -> Mapping[SeatId, AuctionSeat]:
        """Every seat's rounds, calls and messages; none before the first round has closed."""
        return read_auction(trace).seats

    def at_stake(self, outcome: DoubleAuctionOutcome, seat: SeatId) -> float | None:
        """The potential, in points: what the seat earns at most in all closed rounds with any price that clears."""
        result = outcome.seats.get(seat)
        return None if result is None or result.potential is None else float(result.potential * len(result.offsets))

    def insight(self, trace: Trace) -> Insight:
        """Values, quotes through them and orders in messages."""
        return double_auction_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """Supply and demand, prices, offsets, gains, efficiency and who traded when."""
        return charts(trace)

    def board_charts(self, seats: Sequence[PlayedSeat], labels: Sequence[str], score: str) -> list[Chart]:
        """Scores, offsets and trades by label."""
        return board_charts(seats, labels, score)


EVALUATOR = DoubleAuctionEvaluator()
