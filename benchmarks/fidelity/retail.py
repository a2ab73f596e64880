"""RetailBench's oracle, as published: the figures the store was calibrated to, and what was left to be checked by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.fidelity.row import Row
from benchmarks.retail_calibration import CHECK_SEEDS, PUBLISHED
from benchmarks.retail_play import play_manager
from tradefair.catalog import load_scenario
from tradefair.evaluation.markets.retail.ladder import ORACLE, RUNGS, ladder
from tradefair.evaluation.markets.retail.ladder import PUBLISHED as SOURCE
from tradefair.evaluation.statistics.paired import interval
from tradefair.retail.model import RetailScenario

_COMMAND = "python -m benchmarks.fidelity --source retail"
_LADDER = "python -m benchmarks.retail_ladder"
_ONE_RUN = "the source's is one run of a store with other goods; no knob was turned for it"


def rows(data: Path | None) -> Iterator[Row]:
    """The oracle as published on sixteen seeds that the calibration never played; then the ladder."""
    scenario = load_scenario("retail", "paper")
    assert isinstance(scenario, RetailScenario)
    runs = [play_manager(scenario, seed, ORACLE) for seed in CHECK_SEEDS]
    for target in PUBLISHED.values():
        values = [float(getattr(run, target.figure)) for run in runs]
        form = ".0f" if target.value > 1000 else ".4f" if target.value < 1 else ".2f"
        what = f"oracle: {target.title}, calibrated on other seeds"
        yield _row(what, target.value, values, form, target.tolerance)
    yield _row("oracle: days survived", 180, [float(run.days) for run in runs], ".0f", 0.0)
    # Not calibrated: what the calibration brings along, or does not.
    yield _row("oracle: expired of units sold or expired", 0.0059, [run.expired_ratio for run in runs], ".4f", differs=(
        "stock for six days of mean demand is sold before it is old here; " + _ONE_RUN))  # fmt: skip
    yield from _ladder()


def _row(
    what: str, published: float, values: Sequence[float], form: str, within: float | None = None, *, differs: str = ""
) -> Row:
    low, high = interval(values) or (None, None)
    far = within is not None and abs(fmean(values) - published) > within * published
    missed = "the mean over these seeds lies outside of the tolerance that it was calibrated to" if far else ""
    return Row(what, published, fmean(values), low, high, _COMMAND, form, within, differs or missed)


def _ladder() -> Iterator[Row]:
    """The scripted managers beside the published range of agents, which is no rule's figure to meet."""
    days, worth = SOURCE.days, SOURCE.net_worth
    known = {rung.policy: rung for rung in ladder().rungs}
    for policy in RUNGS[:-2]:
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
