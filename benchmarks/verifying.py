"""Events that `verify` checks and re-executes per CPU second, of an auction and of retail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bazaar import play_scripted
from benchmarks.figures import Figure, Stopwatch
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import HarnessFailure
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.retail.model import SEAT

_MANAGER = "oracle"
"""Who plays retail: most of what it does is acts, and few of its looks are large."""


def measure(*, tiny: bool) -> list[Figure]:
    """Full traces of BAZAAR and of retail/paper: chain and re-execution, without and with policies played again."""
    episodes, rounds, days, times = (1, 3, 2, 1) if tiny else (20, 30, 30, 5)
    with TemporaryDirectory() as folder:
        auctions = [asyncio.run(play_scripted(Path(folder), seed, rounds)) for seed in range(episodes)]
        retail = [asyncio.run(_play_retail(Path(folder), days))] * times
        # What is imported and built once in a process is charged to no trace.
        _rates([auctions[0], retail[0]], seats=True)
        plain, played = _rates(auctions, seats=False), _rates(auctions, seats=True)
        goods, sold = _rates(retail, seats=False), _rates(retail, seats=True)
    how = f"median of {episodes} BAZAAR traces of {rounds} rounds"
    days_how = f"retail/paper, {days} days of the {_MANAGER}, median of {times}"
    return [
        Figure("events verified", plain, "per CPU s", 50_000, "at least", f"{how}, --no-seats"),
        Figure("events verified with seats", played, "per CPU s", how=f"{how}; policies played again"),
        Figure("retail events verified", goods, "per CPU s", 12_000, "at least", f"{days_how}, --no-seats"),
        Figure("retail events verified with seats", sold, "per CPU s", how=f"{days_how}; policy played again"),
    ]


async def _play_retail(folder: Path, days: int) -> Path:
    kind, scenario = market_type("retail"), load_scenario("retail", "paper", {"horizon_days": days})
    episode = await new_episode(kind, scenario, 1, plan_seats(kind, scenario).with_policy(SEAT, _MANAGER), folder)
    await episode.wait_ended()
    await episode.close()
    return episode.path


def _rates(paths: Sequence[Path], *, seats: bool) -> float:
    """The median of events per CPU second over traces."""
    return median(_events_per_second(path, seats=seats) for path in paths)


def _events_per_second(path: Path, *, seats: bool) -> float:
    watch = Stopwatch()
    verdict = verify_file(path, seats=seats)
    seconds = watch.seconds()
    if verdict.verdict != "reproduced":
        raise HarnessFailure(f"{path.name}: {verdict.sentence}")
    return verdict.events / seconds
