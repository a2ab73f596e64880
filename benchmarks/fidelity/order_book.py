"""Zero intelligence, convergence and bubbles: what Gode & Sunder, Smith, and Smith, Suchanek & Williams report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, cast

from benchmarks.bubbles import deviations, gaps
from benchmarks.fidelity.row import Row
from benchmarks.order_book_fast import play_fast
from benchmarks.zero_intelligence import FILE, AfterTrade, Sample, known, read_schedules, sessions_of
from tradefair.catalog import load_scenario
from tradefair.evaluation.markets.order_book.outcomes import smiths_alpha
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.rules import OrderBook

_COMMAND = "python -m benchmarks.fidelity --source order_book"
_SESSIONS, _SEEDS, _AGREED = 200, 60, 4
_RULES: tuple[AfterTrade, ...] = ("clear", "keep")
# Nearly as many units on either side of one price, and gains so small that any of them is soon lost.
_KNIFE_EDGE = "knife_edge"


def rows(data: Path | None) -> Iterator[Row]:
    """Efficiencies per schedule where the sample data are there, then alpha, then bubbles."""
    if data is not None and (data / FILE).is_file():
        yield from _efficiencies(data / FILE)
    yield from _convergence()
    yield from _bubbles()


def _efficiencies(path: Path) -> Iterator[Row]:
    command = "python -m benchmarks.zero_intelligence"
    means: dict[str, float] = {}
    for schedule in read_schedules(path):
        name = schedule["name"]
        for after_trade in _RULES:
            told = known(schedule, "zi_c", after_trade)
            if told is None:
                continue
            _, found = sessions_of(schedule, _SESSIONS, after_trade)
            if after_trade == "clear":
                means[name] = found.mean
            yield _beside(
                f"ZI-C, schedule {name}, {after_trade} after a trade: efficiency (published: an independent program)",
                told,
                found,
                command,
            )
    most = [mean for name, mean in means.items() if name != _KNIFE_EDGE]
    yield Row(
        "ZI-C: efficiency (Gode & Sunder: five markets; ours: mean of eleven schedules)",
        "close to 1",
        fmean(most),
        None,
        None,
        command,
        ".3f",
        differs=f"a statement about schedules: here {min(most):.2f} to {max(most):.2f}, on {_KNIFE_EDGE} "
        f"{means[_KNIFE_EDGE]:.2f}",
    )


def _beside(what: str, told: Sample, found: Sample, command: str) -> Row:
    """An independent program's mean of other sessions has an error of its own."""
    low, high = found.interval
    apart = found.apart(told)
    differs = f"{apart:.1f} joint standard errors apart; agreed before: {_AGREED}" if apart <= _AGREED else ""
    within = "" if low <= told.mean <= high else differs
    return Row(what, told.mean, found.mean, low, high, command, ".4f", differs=within)


def _scenario(preset: str, **changes: Any) -> OrderBookScenario:
    return cast(OrderBookScenario, load_scenario("order_book", preset, {"seats": {}, **changes}))


def _convergence() -> Iterator[Row]:
    # The schedule of Smith's first test, in cents: 3.25, 3.00, .. .75 on both sides, p* = 2.00.
    changes = {"periods": 5, "arrival": "sweeps", "after_trade": "keep", "budget_constraint": False}
    made = _scenario("zi", **changes)
    paths = [_alphas(play_fast(made, seed, dict.fromkeys(made.roster, "zip"))) for seed in range(_SEEDS)]
    periods = [[path[at] for path in paths if path[at] is not None] for at in range(made.periods)]
    means = [fmean(cast("list[float]", period)) for period in periods]
    falls = all(after < before for before, after in pairwise(means))
    told = ", ".join(f"{mean:.1f}" for mean in means)
    yield Row(
        f"first schedule of Smith 1962, zip on all seats: alpha from period to period ({told} %)",
        "falls",
        "falls" if falls else "falls at first" if means[-1] < means[0] else "does not fall",
        None,
        None,
        _COMMAND,
        differs="" if falls else "people learn on; a margin that follows every order is soon as near as it gets",
    )


def _alphas(market: OrderBook) -> list[float | None]:
    star = market.benchmarks.p_star
    trades = market.state.trades
    periods = range(1, market.scenario.periods + 1)
    return [smiths_alpha([float(row.price) for row in trades if row.period == number], star) for number in periods]


def _bubbles() -> Iterator[Row]:
    made = _scenario("asset", one_order=True, max_quantity=1)
    for name, says in (
        ("fundamentalist", "no bubble: the size of the measures where prices are right"),
        ("trend_follower", "people's vary with experience; a scripted field has the shape, not a level to compare"),
    ):
        markets = [play_fast(made, seed, dict.fromkeys(made.roster, name)) for seed in range(_SEEDS)]
        pairs = [deviations(market) for market in markets]
        for place, measure in enumerate(("RAD", "RD")):
            values = [pair[place] for pair in pairs]
            yield Row(f"{name} on all seats: {measure}", None, *_mean(values), _COMMAND, ".3f", differs=says)
        if name == "trend_follower":
            yield Row(
                "trend_follower on all seats: mean price beside FV in the first third, the second and the last",
                "below, above, above",
                _sides([gaps(market) for market in markets]),
                None,
                None,
                _COMMAND,
            )


def _mean(values: Sequence[float]) -> tuple[float, float, float]:
    sample = Sample(fmean(values), stdev(values), len(values))
    return sample.mean, *sample.interval


def _sides(paths: Sequence[Sequence[float | None]]) -> str:
    """On which side of FV the mean price lies, by thirds of the periods."""
    third = len(paths[0]) // 3
    parts = [
        [gap for path in paths for gap in path[at * third : (at + 1) * third] if gap is not None] for at in range(3)
    ]
    return ", ".join("below" if fmean(part) < 0 else "above" for part in parts)
