"""Events that `verify` checks and re-executes per CPU second."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bazaar import play_scripted
from benchmarks.figures import Figure, Stopwatch
from tradefair.contract import HarnessFailure
from tradefair.evaluation.verify import verify_file


def measure(*, tiny: bool) -> list[Figure]:
    """Full traces of BAZAAR episodes: chain and re-execution, without and with scripted seats played again."""
    episodes, rounds = (1, 3) if tiny else (20, 30)
    with TemporaryDirectory() as folder:
        paths = [asyncio.run(play_scripted(Path(folder), seed, rounds)) for seed in range(episodes)]
        rates = [_events_per_second(path, seats=False) for path in paths]
        played = [_events_per_second(path, seats=True) for path in paths]
    how = f"median of {episodes} BAZAAR traces of {rounds} rounds"
    return [
        Figure("events verified", median(rates), "per CPU s", 30_000, "at least", f"{how}, --no-seats"),
        Figure("events verified with seats", median(played), "per CPU s", how=f"{how}; policies played again"),
    ]


def _events_per_second(path: Path, *, seats: bool) -> float:
    watch = Stopwatch()
    verdict = verify_file(path, seats=seats)
    seconds = watch.seconds()
    if verdict.verdict != "reproduced":
        raise HarnessFailure(f"{path.name}: {verdict.sentence}")
    return verdict.events / seconds
