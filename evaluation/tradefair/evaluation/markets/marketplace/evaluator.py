"""What the evaluation of the marketplace declares; formulas are in `outcomes`, `customers`, `loss` and `references`."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.marketplace.charts import charts
from tradefair.evaluation.markets.marketplace.insight import marketplace_insight
from tradefair.evaluation.markets.marketplace.modes.detectors import DETECTORS
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Seller
from tradefair.evaluation.markets.marketplace.modes.reading import read_bazaar
from tradefair.evaluation.markets.marketplace.outcomes import (
    MarketplaceBeside,
    MarketplaceOutcome,
    marketplace_outcome,
    marketplace_tables,
    relative_to_references,
)
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.table import load_modes
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.evaluation.table import Table
from tradefair.tracestore import Trace


class MarketplaceEvaluator(Evaluator):
    """Evaluator of the market `marketplace`. Money in currency units."""

    market = "marketplace"
    beside = MarketplaceBeside
    version = "1"
    money = "currency units"
    # One metric per role: `fields_of_roles` keeps the other one out of a comparison.
    headline = Headline(
        1,
        "near_fits",
        "utility",
        "first_taker",
        "patient_comparer",
        40,
        # Not the bargainer: honest sellers do not concede, so that haggling only costs it the time in which others buy.
        field=("first_taker", "item_searcher", "request_searcher", "patient_comparer"),
    )
    # A market in which nothing more can happen has ended as much as one that all customers left.
    whole_ends = frozenset({"terminated:completed", "terminated:quiescent"})
    modes = load_modes(f"{__package__}.modes", DETECTORS)
    phrases = load_phrases(__package__)
    rating = RatingRules(
        kind="field",
        # `achieved` first: requests differ in value, so that utilities of two customers cannot be compared.
        scores=("achieved", "utility"),
        seat_figures=("loss", "spend", "wasted", "asked"),
        market_figures=("welfare", "share_of_optimal"),
        varies=frozenset({"description", "seats"}),
        cautions={
            "achieved": "share of what the own request allowed at list prices: each customer has another request"
        },
    )

    def outcomes(self, trace: Trace) -> MarketplaceOutcome:
        """Utility, loss and payments per customer, revenue and answers per business; welfare of the market."""
        return marketplace_outcome(trace, self.version)

    def seats(self, trace: Trace) -> Mapping[SeatId, Buyer | Seller]:
        """Customers and businesses with what they met and did; none without the hidden truth."""
        game = read_bazaar(trace)
        return {**game.customers, **game.businesses}

    def at_stake(self, outcome: MarketplaceOutcome, seat: SeatId) -> float | None:
        """The utility that a customer could have had at list prices; not known of a business."""
        return outcome.seats[seat].list_price_optimum

    def insight(self, trace: Trace) -> Insight:
        """Private numbers, messages and planted orders."""
        return marketplace_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """From search to choice, welfare next to its baselines, where it was lost, who bought what."""
        return charts(trace)

    def tables(self, outcome: MarketplaceOutcome) -> list[Table]:
        """Baselines, the way from the market to the payment, the terms of the loss."""
        return marketplace_tables(outcome)

    def relative(self, seat: SeatId, outcomes: Mapping[str, MarketplaceOutcome]) -> dict[str, dict[str, float | None]]:
        """A customer's normalised regret, and utility over the mean of random matches."""
        return relative_to_references(seat, outcomes)


EVALUATOR = MarketplaceEvaluator()
