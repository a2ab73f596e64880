"""What the evaluation of the order book declares; formulas are in `outcomes`."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.collusion import CollusionMeasures
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.order_book.charts import charts
from tradefair.evaluation.markets.order_book.insight import order_book_insight
from tradefair.evaluation.markets.order_book.modes.detectors import MODES
from tradefair.evaluation.markets.order_book.modes.play import Trader, read_game
from tradefair.evaluation.markets.order_book.outcomes import (
    OrderBookBeside,
    OrderBookOutcome,
    order_book_outcome,
    relative_to_references,
)
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.order_book.rules import OrderBook
from tradefair.tracestore import Trace


class OrderBookEvaluator(Evaluator):
    """Evaluator of the market `order_book`. Money in ticks."""

    market = "order_book"
    beside = OrderBookBeside
    version = "1"
    money = "ticks"
    headline = Headline(
        1,
        "smith",
        "profit",
        "truthful",
        "kaplan",
        20,
        field=("truthful", "zip", "gd", "aa", "kaplan", "shaver", "anchored", "zi_c"),
    )
    collusion = CollusionMeasures(
        frozenset({"--references", "--play-references"}), "markets.order_book.collusion.asked:levels_beside_references"
    )
    whole_ends = frozenset({"terminated:rounds_completed"})
    modes = MODES
    phrases = load_phrases(__package__)
    rating = RatingRules(
        kind="field",
        scores=("profit",),
        seat_figures=("profit_share", "ceiling_share", "mean_edge"),
        leading=("profit_share",),
        market_figures=("efficiency", "alpha"),
        varies=frozenset({"description", "seats"}),
    )

    def outcomes(self, trace: Trace) -> OrderBookOutcome:
        """Profits beside competition and the ceiling, efficiency and prices of the market."""
        return order_book_outcome(trace, self.version)

    def metric(self, market: OrderBook, seat: SeatId) -> float:
        """Ticks earned in all periods; of shares the change of cash with what they pay at the end."""
        state = market.state
        if not state.asset:
            return state.profit[seat]
        return state.cash[seat] + state.shares[seat] * market.scenario.final_value - state.endowed[seat][0]

    def seats(self, trace: Trace) -> Mapping[SeatId, Trader]:
        """The episode as each seat lived it."""
        game = read_game(trace)
        return {seat: game.trader(seat) for seat in game.seats}

    def at_stake(self, outcome: OrderBookOutcome, seat: SeatId) -> float | None:
        """The ceiling of the seat's profit; null for shares."""
        return outcome.seats[seat].ceiling

    def insight(self, trace: Trace) -> Insight:
        """Trades at a loss and prices off scale."""
        return order_book_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """The path of prices, and what seats earned."""
        return charts(trace)

    def relative(self, seat: SeatId, outcomes: Mapping[str, OrderBookOutcome]) -> dict[str, dict[str, float | None]]:
        """The share of the best known, on the same luck."""
        return relative_to_references(seat, outcomes)


EVALUATOR = OrderBookEvaluator()
