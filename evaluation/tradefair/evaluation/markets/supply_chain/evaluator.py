"""What the evaluation of the supply chain declares; formulas are in `outcomes`, `seat` and `market`."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import SeatId
from tradefair.contract.money import currency
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.supply_chain.charts import charts
from tradefair.evaluation.markets.supply_chain.insight import supply_chain_insight
from tradefair.evaluation.markets.supply_chain.modes.detectors import MODES
from tradefair.evaluation.markets.supply_chain.modes.play import Retail
from tradefair.evaluation.markets.supply_chain.modes.reading import read_game
from tradefair.evaluation.markets.supply_chain.outcomes import (
    SupplyChainBeside,
    SupplyChainOutcome,
    relative_to_references,
    supply_chain_outcome,
)
from tradefair.evaluation.markets.supply_chain.tables import bids_table, reference_tables
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.evaluation.table import Table
from tradefair.supply_chain.rules import SupplyChain
from tradefair.tracestore import Trace

_POPULATION = "skill"


class SupplyChainEvaluator(Evaluator):
    """Evaluator of the market `supply_chain`. Money in currency units."""

    market = "supply_chain"
    beside = SupplyChainBeside
    version = "1"
    money = "currency units"
    modes = MODES
    # Scarcity, budgets and luck make rich and poor of equals: inequality needs a known population to be read against.
    population = _POPULATION
    headline = Headline(2, "gated", "pi", "cost_plus", "adaptive", 40, field=("cost_plus", "skill", "adaptive"))
    phrases = load_phrases(__package__)
    # Any other end is early; a retailer's bankruptcy alone does not end the episode.
    whole_ends = frozenset({"terminated:final_round"})
    rating = RatingRules(
        kind="field",
        scores=("pi", "roi"),
        seat_figures=("npm", "bid_eff", "share_fill", "mms", "overspends"),
        market_figures=("wealth_gini", "unmet", "slogan_convergence"),
        # These say who plays and not what is played: such episodes share a leaderboard.
        varies=frozenset({"description", "seats", "rivals"}),
    )

    def outcomes(self, trace: Trace) -> SupplyChainOutcome:
        """Profit, stock, bids and slogans per retailer; inequality and supply of the market."""
        return supply_chain_outcome(trace, self.version)

    def metric(self, market: SupplyChain, seat: SeatId) -> float:
        """Currency units earned in all rounds."""
        return currency(sum(market.retailers[market.places[seat]].profits))

    def seats(self, trace: Trace) -> Mapping[SeatId, Retail]:
        """Every retailer's closed rounds, calls and estimates; none where the trace has no closed round."""
        return read_game(trace).seats

    def insight(self, trace: Trace) -> Insight:
        """Private numbers, wanted items and sales below cost."""
        return supply_chain_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """Money, bids, inequality and slogans."""
        return charts(trace)

    def tables(self, outcome: SupplyChainOutcome) -> list[Table]:
        """Figures of bids and stock for which the row of a seat has no room."""
        return [bids_table(outcome)]

    def tables_beside(self, outcome: SupplyChainOutcome, population: SupplyChainOutcome | None) -> list[Table]:
        """Inequality next to an equal split, the market and its mean retailer; a column for `skill` on all seats."""
        return reference_tables(_POPULATION, outcome, population)

    def relative(self, seat: SeatId, outcomes: Mapping[str, SupplyChainOutcome]) -> dict[str, dict[str, float | None]]:
        """Profit on the scale from floor_bidder (0) to the privileged reference (1), same luck and rivals."""
        return relative_to_references(seat, outcomes)


EVALUATOR = SupplyChainEvaluator()
