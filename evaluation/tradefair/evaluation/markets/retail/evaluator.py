"""What the evaluation of retail declares; formulas are in `outcomes` and `profit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.contract import SeatId
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.money import currency
from tradefair.evaluation.charts.chart import Chart
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.headline import Headline
from tradefair.evaluation.markets.retail.charts import CONDUCT, board_charts, charts
from tradefair.evaluation.markets.retail.insight import retail_insight
from tradefair.evaluation.markets.retail.ladder import PRESET, ladder_sentence, ladder_table
from tradefair.evaluation.markets.retail.modes.detectors import MODES, stages_of
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.outcomes import (
    RetailBeside,
    RetailOutcome,
    relative_to_references,
    retail_outcome,
    retail_tables,
)
from tradefair.evaluation.modes.base_rates import as_shipped
from tradefair.evaluation.modes.diagnosis import Stage
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.published import RECENCY
from tradefair.evaluation.outcome import PlayedSeat, PrimaryMetric, RatingRules
from tradefair.evaluation.phrases import load_phrases
from tradefair.evaluation.table import Table
from tradefair.retail.answers.evidence import EVIDENCE_VERSION, RECENCY_DAYS
from tradefair.retail.rules import Retail
from tradefair.tracestore import Trace


class RetailEvaluator(Evaluator):
    """Evaluator of the market `retail`. Money in currency units, unless a name ends in `_cents`."""

    market = "retail"
    beside = RetailBeside
    version = "2"
    money = "currency units"
    modes = MODES
    rating = RatingRules(
        kind="solo",
        scores=("gain",),
        seat_figures=(
            "survival_days",
            "net_worth_final",
            "units_sold",
            "sold_products_per_day",
            "stockout_days",
            "return_ratio",
            "expired_ratio",
            "order_lines",
            "price_distance",
            "price_close",
            "direct_calls_per_day",
            "tokens_per_day",
        ),
        conduct=CONDUCT,
        varies=frozenset({"description", "seats", "record", "timing"}),
        # As the source picks the runs that it reports: survival first.
        picked_by=("survival_days", "net_worth_final", "units_sold"),
    )
    headline = Headline(
        2,
        "middle",
        "gain",
        "reorder_point",
        "careful_reader",
        10,
        field=("reorder_point", "price_first", "sealed_ears", "careful_reader"),
    )
    phrases = load_phrases(__package__)
    primary_metrics = (
        PrimaryMetric(name="gain", unit="currency units"),
        PrimaryMetric(name="return_ratio", unit="of the units sold", higher_is_better=False),
    )
    # Insolvency ends an episode by the rules too, and before its time.
    whole_ends = frozenset({"terminated:horizon"})
    # The needs are those of a published text, so that the map has a version of its own next to that of the rules.
    evidence_notes: Mapping[str, str] = {"version": EVIDENCE_VERSION} | {
        f"{RECENCY}{name}": f"{age}" for name, age in RECENCY_DAYS.items()
    }

    def outcomes(self, trace: Trace) -> RetailOutcome:
        """Money, sales, stock and calls of the manager; the store and its customers."""
        return retail_outcome(trace, self.version)

    def metric(self, market: Retail, seat: SeatId) -> float:
        """Currency units gained since the first day."""
        return currency(market.net_worth_cents - market.scenario.funds_start_cents)

    def seats(self, trace: Trace) -> Mapping[SeatId, RetailPlay]:
        """The manager's episode."""
        play = read_retail(trace).play
        return {play.seat: play}

    def stages(self, trace: Trace) -> list[Stage]:
        """Figures of product selection, evidence, conversion and follow-up."""
        return stages_of(read_retail(trace).play)

    def insight(self, trace: Trace) -> Insight:
        """Wanted products, trouble, idle days and sales below cost."""
        return retail_insight(trace)

    def charts(self, trace: Trace) -> list[Chart]:
        """Money, stock, sales, empty shelves and the parts of the gain."""
        return charts(trace)

    def board_charts(self, seats: Sequence[PlayedSeat], labels: Sequence[str], score: str) -> list[Chart]:
        """Evidence, decisions, attention and coming back by label."""
        return board_charts(seats, labels)

    def tables(self, outcome: RetailOutcome) -> list[Table]:
        """Stock, service and calls; the parts of the gain, whole and by category; the ladder in the reference store."""
        return [*retail_tables(outcome), *([ladder_table()] if outcome.scenario == PRESET else [])]

    def world(self, core: ManifestCore) -> str:
        """The ladder and what was published, in the reference store as it is shipped: any other one has its own."""
        return ladder_sentence() if as_shipped(core, PRESET.partition("/")[2]) else ""

    def relative(self, seat: SeatId, outcomes: Mapping[str, RetailOutcome]) -> dict[str, dict[str, float | None]]:
        """Gain on the scale from passive (0) to the privileged reference (1), same scenario and seed."""
        return relative_to_references(seat, outcomes)


EVALUATOR = RetailEvaluator()
