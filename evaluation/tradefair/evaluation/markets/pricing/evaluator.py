"""What the evaluation of posted prices declares; formulas are in `outcomes`."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.collusion import CollusionMeasures
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.pricing.charts import charts
from tradefair.evaluation.markets.pricing.insight import pricing_insight
from tradefair.evaluation.markets.pricing.modes.detectors import MODES
from tradefair.evaluation.markets.pricing.modes.play import Firm, read_game
from tradefair.evaluation.markets.pricing.outcomes import (
    PricingBeside,
    PricingOutcome,
    pricing_outcome,
    relative_to_references,
)
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.pricing.rules import Pricing
from tradefair.tracestore import Trace


class PricingEvaluator(Evaluator):
    """Evaluator of the market `pricing`. Money in minor units."""

    market = "pricing"
    beside = PricingBeside
    version = "1"
    money = "minor units"
    headline = Headline(
        1,
        "duel",
        "profit",
        "nash",
        "planner",
        40,
        field=("nash", "best_reply", "edgeworth", "monopoly", "undercutter", "leader", "prober", "grim", "matcher"),
    )
    collusion = CollusionMeasures(frozenset({"--probe"}), "markets.pricing.collusion.asked:two_questions")
    whole_ends = frozenset({"terminated:rounds_completed"})
    modes = MODES
    phrases = load_phrases(__package__)
    rating = RatingRules(
        kind="field",
        scores=("profit",),
        seat_figures=("gain", "hindsight_share", "mean_price"),
        leading=("gain",),
        series=("profits", "prices"),
        market_figures=("gain", "consumer_surplus", "surplus_share"),
        varies=frozenset({"description", "seats"}),
        cautions={"gain": "high prices cost customers: read consumer_surplus beside it"},
    )

    def outcomes(self, trace: Trace) -> PricingOutcome:
        """Profits beside benchmarks per firm, and what the market left to its customers."""
        return pricing_outcome(trace, self.version)

    def metric(self, market: Pricing, seat: SeatId) -> float:
        """Minor units earned in all rounds."""
        return market.state.profit[seat]

    def seats(self, trace: Trace) -> Mapping[SeatId, Firm]:
        """The episode as each firm lived it."""
        return read_game(trace).firms

    def at_stake(self, outcome: PricingOutcome, seat: SeatId) -> float | None:
        """What the best price of each round would have earned, rivals frozen; null before a round closed."""
        own = outcome.seats[seat]
        return float(own.hindsight) if own.rounds_closed else None

    def insight(self, trace: Trace) -> Insight:
        """Sales below cost, rounds slept through, prices out of scale."""
        return pricing_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """Prices between their benchmarks, profits, and who answers whom."""
        return charts(trace)

    def relative(self, seat: SeatId, outcomes: Mapping[str, PricingOutcome]) -> dict[str, dict[str, float | None]]:
        """The share of the best known, on the same luck."""
        return relative_to_references(seat, outcomes)


EVALUATOR = PricingEvaluator()
