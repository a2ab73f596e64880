"""How fast posted prices are: periods by rules alone, rounds with tools and the durable trace, plans of a duel.

What learners learn is a benchmark of its own, for it takes a minute or two: `python -m benchmarks pricing_learning`.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, cast

from benchmarks.figures import Figure, Stopwatch
from benchmarks.pricing_fast import play_fast
from tradefair.catalog import load_scenario, market_type
from tradefair.host.episode.setup import seating_of
from tradefair.host.seats.plans import plan_seats
from tradefair.pricing.engine.demand import units_sold, weight
from tradefair.pricing.model import PricingScenario
from tradefair.runner.play.whole import play_whole

# A rule that looks at its own cost only: what is measured is the market.
_FIXED = "fixed_markup"


def measure(*, tiny: bool) -> list[Figure]:
    """The textbook duopoly, both firms scripted; the planner in the default duel."""
    runs, periods, rounds, duels = (1, 100, 5, 1) if tiny else (7, 5_000, 600, 8)
    by_rules = [periods / _by_rules(periods) for _ in range(runs)]
    with TemporaryDirectory() as folder:
        durable = [rounds / _with_trace(Path(folder), seed, rounds) for seed in range(runs)]
    plans = [_planned(seed, 3 if tiny else 60) for seed in range(duels)]
    return [
        Figure(
            "duopoly periods by rules",
            median(by_rules),
            "per CPU s",
            60_000,
            "at least",
            f"median of {runs} episodes of {periods} periods, policy {_FIXED}",
        ),
        Figure(
            "rounds with durable full trace",
            median(durable),
            "per CPU s",
            2_000,
            "at least",
            f"median of {runs} episodes of {rounds} rounds, both firms scripted: two reads and a price each",
        ),
        Figure("planner of a duel", max(plans), "CPU s", 3, how=f"the longest of {duels} duels of 60 rounds"),
        Figure("demands of a duopoly", _demands(tiny=tiny), "per CPU s", how="all weights known"),
        Figure("a new weight", _new_weight(tiny=tiny), "CPU µs", how="80 digits"),
    ]


def _textbook(rounds: int) -> PricingScenario:
    return cast(PricingScenario, load_scenario("pricing", "textbook", {"rounds": rounds}))


def _by_rules(periods: int) -> float:
    scenario = _textbook(periods)
    watch = Stopwatch()
    market = play_fast(scenario, 1, dict.fromkeys(scenario.seat_ids, _FIXED))
    seconds = watch.seconds()
    assert len(market.state.rows) == periods
    return seconds


def _with_trace(folder: Path, seed: int, rounds: int) -> float:
    """The whole life of the episode: made, played, committed, sealed, closed."""
    watch = Stopwatch()
    kind: Any = market_type("pricing")
    scenario = _textbook(rounds)
    seating = seating_of(kind, scenario, plan_seats(kind, scenario, agents=[], others=_FIXED))
    play_whole(folder / f"{seed}.trace", kind, scenario, seed, seating, f"{seed}")
    return watch.seconds()


def _planned(seed: int, rounds: int) -> float:
    scenario = cast(PricingScenario, load_scenario("pricing", "duel", {"rounds": rounds}))
    watch = Stopwatch()
    play_fast(scenario, seed, {"F1": "planner", "F2": "rival"})
    return watch.seconds()


def _demands(*, tiny: bool) -> float:
    prices = list(product(range(1_400, 1_410 if tiny else 1_700), repeat=2))
    for price in range(1_400, 1_700):
        weight(2_000 - price, 250)
    watch = Stopwatch()
    for pair in prices:
        units_sold(pair, (2_000, 2_000), 250, 0, 1_000_000)
    return len(prices) / watch.seconds()


def _new_weight(*, tiny: bool) -> float:
    count = 10 if tiny else 4_000
    # A mu that nothing else here uses: no weight of it is known.
    watch = Stopwatch()
    for x in range(count):
        weight(x, 977)
    return watch.seconds() / count * 1e6
