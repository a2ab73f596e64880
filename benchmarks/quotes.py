"""Scripted quotes per CPU second: by rules alone, and with the durable full trace; a round of four hundred seats.

Double_auction page, 13.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import cast

from benchmarks.bazaar import FIELD, bazaar, play_scripted
from benchmarks.figures import Figure, Stopwatch
from tradefair.catalog import load_scenario
from tradefair.contract import SeatId
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.policies import play_fast
from tradefair.double_auction.rules import DoubleAuction
from tradefair.double_auction.seats.traders_identified import BAZAAR_FIELD

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
        durable = [quotes / asyncio.run(_with_trace(Path(folder), seed, rounds)) for seed in range(episodes)]
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
            "quotes with durable full trace", median(durable), "per CPU s", 5_000, "at least", f"{how}, policy {FIELD}"
        ),
        Figure("the same, stretch goal", median(durable), "per CPU s", 8_000, "at least", f"{how}, policy {FIELD}"),
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


async def _with_trace(folder: Path, seed: int, rounds: int) -> float:
    """The whole life of the episode: made, played, committed, sealed, closed."""
    watch = Stopwatch()
    await play_scripted(folder, seed, rounds)
    return watch.seconds()
