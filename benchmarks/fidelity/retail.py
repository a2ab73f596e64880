"""RetailBench's oracle, four figures of which the store was calibrated to, and what was left to be checked by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.fidelity.row import Row
from benchmarks.retail_calibration import CHECK_SEEDS, PUBLISHED, OracleRun, play_oracle
from tradefair.catalog import load_scenario
from tradefair.evaluation.markets.retail.ladder import PUBLISHED as AGENTS
from tradefair.evaluation.markets.retail.ladder import ladder
from tradefair.evaluation.statistics.paired import interval
from tradefair.retail.model import RetailScenario

_COMMAND = "python -m benchmarks.fidelity --source retail"
_LADDER = "python -m benchmarks.retail_ladder"
_ONE_RUN = "the source's is one run of a store with other goods; no knob was turned for it"


def rows(data: Path | None) -> Iterator[Row]:
    """The oracle on sixteen seeds that the calibration never played; then the ladder."""
    scenario = load_scenario("retail", "paper")
    assert isinstance(scenario, RetailScenario)
    runs = [play_oracle(scenario, seed) for seed in CHECK_SEEDS]
    calibrated = (
        ("net_worth", "oracle: net worth after 180 days (currency units)", ".0f", [_worth(run) for run in runs]),
        ("units", "oracle: units sold", ".0f", [float(run.units_sold) for run in runs]),
        ("sold_products", "oracle: products sold a day", ".2f", [run.sold_products for run in runs]),
        ("stockout_days", "oracle: days with a stock-out", ".1f", [float(run.stockout_days) for run in runs]),
    )
    for name, what, form, values in calibrated:
        published, within = PUBLISHED[name]
        yield _row(f"{what}, calibrated on other seeds", published, values, form, within)
    yield _row("oracle: days survived", 180, [float(run.days) for run in runs], ".0f", 0.0)
    # Not calibrated: what a calibration to four figures brings along, or does not.
    yield _row("oracle: returned of units sold", 0.0201, [run.return_ratio for run in runs], ".4f", differs=_ONE_RUN)
    yield _row("oracle: expired of units sold or expired", 0.0059, [run.expired_ratio for run in runs], ".4f", differs=(
        "stock for six days of mean demand is sold before it is old here; " + _ONE_RUN))  # fmt: skip
    yield from _ladder()


def _worth(run: OracleRun) -> float:
    return run.net_worth_cents / 100


def _row(
    what: str, published: float, values: Sequence[float], form: str, within: float | None = None, *, differs: str = ""
) -> Row:
    low, high = interval(values) or (None, None)
    far = within is not None and abs(fmean(values) - published) > within * published
    missed = "the mean over these seeds lies outside of the tolerance that it was calibrated to" if far else ""
    return Row(what, published, fmean(values), low, high, _COMMAND, form, within, differs or missed)


def _ladder() -> Iterator[Row]:
    """The scripted managers beside the published range of agents, which is no rule's figure to meet."""
    days, worth = AGENTS
    known = {rung.policy: rung for rung in ladder().rungs}
    for policy in ("passive", "random_legal", "price_first", "reorder_point", "careful_reader"):
        rung = known[policy]
        yield Row(
            f"{policy}: days survived; net worth (source: best run of each LLM agent)",
            f"{days[0]} to {days[1]}; {worth[0]:,} to {worth[1]:,}",
            f"{rung.days:.0f}; {rung.net_worth:,.0f}",
            None,
            None,
            _LADDER,
            differs="a scripted rule, no LLM agent, in a synthetic store: the order of magnitude may be compared only",
        )
