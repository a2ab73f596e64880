"""Scripted quotes per CPU second: by rules, by Core in memory, with the durable trace; rounds of four hundred seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import cast

from benchmarks.bazaar import FIELD, bazaar, seated
from benchmarks.double_auction_fast import play_fast
from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.catalog import load_scenario
from tradefair.contract import SeatId
from tradefair.contract.kernel.core import Core
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.rules import DoubleAuction
from tradefair.double_auction.seats.traders_identified import BAZAAR_FIELD
from tradefair.host.episode.setup import scripted_seats
from tradefair.runner.play.whole import play_whole

_SEATS = 8
_SIMPLE = (
    "truthful",
    "shading_5",
    "linear_equilibrium",
    "zic",
    "momentum",
    "contrarian",
    "regression",
    "threat_bazaar",
)
_WHOLE = tuple(dict.fromkeys(BAZAAR_FIELD.values()))


def measure(*, tiny: bool) -> list[Figure]:
    """Every seat scripted; one history read per quote where there are tools."""
    episodes, rounds = (1, 3) if tiny else (15, 30)
    quotes = rounds * _SEATS
    how = f"median of {episodes} episodes of {quotes} quotes"
    simple = [quotes / _by_rules(seed, rounds, _drawn(_SIMPLE, 0)) for seed in range(episodes)]
    whole = [_quotes_of_the_field(seed, rounds) for seed in range(1 if tiny else 4)]
    with TemporaryDirectory() as folder:
        # In turns: a slow minute slows both.
        pairs = [(_by_core(seed, rounds), _with_trace(Path(folder), seed, rounds)) for seed in range(episodes)]
    in_memory, durable = zip(*pairs, strict=True)
    closed = _large_rounds(1 if tiny else 10)
    return [
        Figure("quotes by rules", median(simple), "per CPU s", 50_000, "at least", f"{how}, eight simple traders"),
        Figure(
            "quotes by rules, full field",
            median(whole),
            "per CPU s",
            15_000,
            "at least",
            f"every trader of the logs in turn, {len(_WHOLE)} of them",
        ),
        Figure(
            "quotes with durable full trace",
            quotes / median(durable),
            "per CPU s",
            12_000,
            "at least",
            f"{how}, policy {FIELD}, one history read each",
        ),
        Figure("durable trace over Core alone", ratio_of_medians(durable, in_memory), "×", how="the same episodes"),
        Figure(
            "close of a round of 400 seats",
            median(closed) * 1000,
            "CPU ms",
            50,
            how=f"double_auction/large, median of {len(closed)} rounds",
        ),
    ]


def _drawn(names: Sequence[str], first: int) -> dict[SeatId, str]:
    """The names in turn over the seats of the benchmark scenario, from one of them on."""
    seats = bazaar(1).roster.seats
    return dict(zip(seats, islice(cycle(names), first, first + len(seats)), strict=True))


def _quotes_of_the_field(seed: int, rounds: int) -> float:
    """Quotes per second over episodes in which every trader of the field plays once or twice."""
    starts = range(0, len(_WHOLE), _SEATS)
    seconds = sum(_by_rules(seed, rounds, _drawn(_WHOLE, first)) for first in starts)
    return len(starts) * rounds * _SEATS / seconds


def _by_rules(seed: int, rounds: int, policies: Mapping[SeatId, str]) -> float:
    scenario = bazaar(rounds)
    watch = Stopwatch()
    market = play_fast(scenario, seed, policies)
    seconds = watch.seconds()
    assert len(market.state.rounds) == rounds
    return seconds


def _large_rounds(count: int) -> list[float]:
    """Seconds from the last quote of a round to its public result and facts."""
    scenario = cast(DoubleAuctionScenario, load_scenario("double_auction", "large"))
    market = DoubleAuction(scenario, 1)
    seconds: list[float] = []
    for _ in range(count):
        for seat, value in market.state.private.by_seat.items():
            market.place(seat, value)
        watch = Stopwatch()
        market.advance()
        seconds.append(watch.seconds())
    return seconds


def _by_core(seed: int, rounds: int) -> float:
    """The same episode in memory: its events are made and thrown away."""
    watch = Stopwatch()
    kind, scenario, seating = seated(rounds)
    core = Core.create(kind, scenario, seed)
    scripted = scripted_seats(kind, scenario, seating, seed)
    core.start(seating)
    while core.ended is None:
        scripted.run(core)
    return watch.seconds()


def _with_trace(folder: Path, seed: int, rounds: int) -> float:
    """The whole life of the episode: made, played, committed, sealed, closed."""
    watch = Stopwatch()
    kind, scenario, seating = seated(rounds)
    play_whole(folder / f"{seed}.trace", kind, scenario, seed, seating, f"{seed}")
    return watch.seconds()
