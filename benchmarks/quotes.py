"""Scripted quotes per CPU second: by rules alone, and with the durable full trace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bazaar import FIELD, bazaar, play_scripted
from benchmarks.figures import Figure, Stopwatch
from fairground.double_auction.policies import play_fast

__all__ = ["measure"]

_SEATS = 8


def measure(*, tiny: bool) -> list[Figure]:
    """The field of the BAZAAR scenario, every seat scripted; one history read per quote where there are tools."""
    episodes, rounds = (1, 3) if tiny else (15, 30)
    quotes = rounds * _SEATS
    how = f"median of {episodes} episodes of {quotes} quotes, policy {FIELD}"
    fast = [quotes / _by_rules(seed, rounds) for seed in range(episodes)]
    with TemporaryDirectory() as folder:
        durable = [quotes / asyncio.run(_with_trace(Path(folder), seed, rounds)) for seed in range(episodes)]
    return [
        Figure("quotes by rules alone", median(fast), "per CPU s", 50_000, "at least", how),
        Figure("quotes with durable full trace", median(durable), "per CPU s", 5_000, "at least", how),
        Figure("the same, stretch goal", median(durable), "per CPU s", 8_000, "at least", how),
    ]


def _by_rules(seed: int, rounds: int) -> float:
    scenario = bazaar(rounds)
    watch = Stopwatch()
    market = play_fast(scenario, seed, dict.fromkeys(scenario.roster.seats, FIELD))
    seconds = watch.seconds()
    assert len(market.state.rounds) == rounds
    return seconds


async def _with_trace(folder: Path, seed: int, rounds: int) -> float:
    """The whole life of the episode: made, played, committed, sealed, closed."""
    watch = Stopwatch()
    await play_scripted(folder, seed, rounds)
    return watch.seconds()
