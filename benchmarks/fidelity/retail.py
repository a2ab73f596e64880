"""RetailBench: its oracle in our store, and whoever of its agents played here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.fidelity.row import Asked, Figure, Made, figure
from benchmarks.fidelity.seats import Seat, by_label, named, seats_of
from benchmarks.retail_calibration import CHECK_SEEDS
from benchmarks.seated import play_seated
from tradefair.evaluation.markets.retail.ladder import ORACLE

_ORACLE, _ALL = "Oracle Policy", "all agents"
_OF_STAGES = (
    "query_depth", "completeness", "acted_per_day", "missed_high_demand", "supplier_score", "high_demand_cov",
    "quality_first", "price_first",
)  # fmt: skip
_COLUMNS = named(
    "retail",
    days="survival_days",
    net_worth="net_worth_final",
    units="units_sold",
    sold_products="sold_products_per_day",
    direct_calls="direct_calls_per_day",
    total_calls="total_calls_per_day",
    tokens="tokens_per_day",
    # As the source counts, without leaving out the last days.
    follow_up="follow_up_rate_uncensored",
    unresolved="unresolved_rate_uncensored",
    **{name: name for name in _OF_STAGES},
)
_CALLS = "the source's oracle asks about each product by itself, ours about many at once"
_SHARES = ("missed_high_demand", "quality_first", "price_first")


@figure(
    "retailbench",
    "table_1",
    "figure_3a",
    "figure_3b",
    "figure_3c",
    "figure_3d",
    "figure_4",
    of=Figure(
        f"tradefair play retail --scenario paper --agent 'policy:{ORACLE}'; tradefair rate RUNS -o FILE.html",
        needs="needs a model",
        columns=_COLUMNS,
        within={
            "days": 0,
            "net_worth": 0.03,
            "units": 0.03,
            "sold_products": 0.02,
            "stockout_days": 0.06,
            "return_ratio": 0.025,
        },
        differs={
            "": "one run of the source in a store with other goods; ours is synthetic",
            "direct_calls": _CALLS,
            "total_calls": _CALLS,
        },
        draws=("evidence", "decisions", "attention", "returning", "suppliers"),
    ),
)
def measured(asked: Asked) -> Made:
    """The oracle on seeds that no calibration played; of RUNS every label, and all of them together."""
    runs = [seats_of(path) for path in asked.runs]
    everybody = [[seat._replace(label=_ALL) for seat in seats] for seats in runs]
    return by_label([*_oracle(), *runs, *everybody], _COLUMNS, _SHARES)


@cache
def _oracle() -> list[list[Seat]]:
    with TemporaryDirectory() as folder:
        played = [play_seated("retail", "paper", ORACLE, seed, Path(folder))[0] for seed in CHECK_SEEDS]
        return [
            # No model is called: there are no tokens to count.
            [Seat(_ORACLE, {**seat.figures, "tokens_per_day": 0.0}) for seat in seats_of(path)]
            for path in played
        ]
