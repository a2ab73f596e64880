"""What the evaluation of the double auction declares; formulas are in `outcomes`."""

from __future__ import annotations

from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.double_auction.charts import charts
from tradefair.evaluation.markets.double_auction.insight import double_auction_insight
from tradefair.evaluation.markets.double_auction.modes.detectors import diagnose_auction
from tradefair.evaluation.markets.double_auction.outcomes import DoubleAuctionOutcome, auction_outcome
from tradefair.evaluation.markets.double_auction.surplus_alpha import CAUTION
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.outcome import PrimaryMetric, RatingRules
from tradefair.tracestore import Trace


class DoubleAuctionEvaluator(Evaluator):
    """Evaluator of the market `double_auction`. Money in points."""

    market = "double_auction"
    version = "2"
    seat_columns = ("value", "payoff", "surplus_share", "csa_clean", "trades", "offset_mean", "dynamic_regret")
    compared_columns = ("payoff", "surplus_share", "trades", "dynamic_regret")
    market_columns = ("efficiency", "price_mean")
    deviations = (
        # The deviation set of 9.3, in the page's order: exploitability is a lower bound over these policies.
        "truthful",
        "shading_5",
        "shading_10",
        "shading_20",
        "linear_equilibrium",
        "fictitious_play",
        "gd_bazaar",
        "shaver",
        "zip",
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
    primary_metrics = (PrimaryMetric(name="payoff", unit="points"),)
    # Episodes that ended by a limit have fewer rounds than their potential counts; tests and ratings set them apart.
    whole_ends = frozenset({"terminated:rounds_completed"})
    rating = RatingRules(
        kind="field",
        # `csa_clean` first: losses count in it, and no outcome is part of its key (page, section 12).
        scores=("csa_clean", "csa", "surplus_share", "payoff"),
        seat_figures=("csa_clean", "csa", "surplus_share", "trade_frequency"),
        market_figures=("efficiency", "convergence"),
        # Laws may differ, since csa has a table for each; sizes may not: what a share is worth depends on them.
        varies=frozenset({"description", "distribution", "values", "chance", "seat_order", "seats"}),
        cautions={"csa_clean": CAUTION, "csa": CAUTION},
    )

    def outcomes(self, trace: Trace) -> DoubleAuctionOutcome:
        """Payoffs, quotes, regret and conditional surplus alpha per seat; efficiency and prices of the market."""
        return auction_outcome(trace, self.version)

    def diagnose(self, trace: Trace) -> Diagnosis:
        """The failure modes of this market (page 10.1)."""
        return diagnose_auction(trace)

    def insight(self, trace: Trace) -> Insight:
        """Values, quotes through them and rounds given away."""
        return double_auction_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """Supply and demand, prices, offsets, gains, efficiency and who traded when."""
        return charts(trace)


EVALUATOR = DoubleAuctionEvaluator()
