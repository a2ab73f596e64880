"""What a game more costs in a folder of hundreds, thousands and ten thousand of them: played, evaluated, rated, listed.

Whole commands, each a process of its own. A command's start is no game's cost, so the games between two sizes share the
difference of what the command took with each; flat means that the last thousands cost what the first hundreds did.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure

_PLAN, _GAMES_A_SEED = "bargaining/ten_thousand", 25
_SIZES, _TINY = (100, 1_000, 10_000), (25, 50, 75)
_FLAT = 1.25
_AGAIN = "list again"


def measure(*, tiny: bool) -> list[Figure]:
    """Marginal CPU time of a game, per command, and its growth."""
    sizes = _TINY if tiny else _SIZES
    with TemporaryDirectory() as folder:
        used = {games: _used(Path(folder), games) for games in sizes}
    (first, second, last), figures = sizes, list[Figure]()
    for command in used[first]:
        few, some, many = (used[games][command] for games in sizes)
        if command == _AGAIN:
            # What is remembered costs next to nothing a game: a ratio of such differences would be one of noise.
            figures.append(Figure(command, many, "CPU s", how=f"{last:,} games, verdicts remembered"))
            continue
        early, late = (some - few) / (second - first), (many - some) / (last - second)
        how = f"{second:,} to {last:,} games of {_PLAN}"
        figures += [
            Figure(f"{command}: a game", late * 1000, "CPU ms", how=how),
            Figure(f"{command}: growth", late / early, "x", _FLAT, how=f"the same over {first} to {second:,}"),
        ]
    return figures


def _used(folder: Path, games: int) -> dict[str, float]:
    """CPU seconds of each command with so many games; every size has a folder and a cache of its own."""
    runs, cache = folder / f"runs{games}", folder / f"cache{games}"
    seeds = str(games // _GAMES_A_SEED)
    written = str(folder / "answer.json")
    return {
        "sweep": _cpu(cache, ["sweep", _PLAN, "--seeds", seeds, "--processes", "1", "--out", str(runs)]),
        "evaluate": _cpu(cache, ["evaluate", str(runs), "-o", written]),
        "rate": _cpu(cache, ["rate", str(runs), "-o", written]),
        "list": _cpu(cache, ["list", str(runs), "--json"]),
        _AGAIN: _cpu(cache, ["list", str(runs), "--json"]),
    }


def _cpu(cache: Path, words: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "TRADEFAIR_CACHE": str(cache)}
    command = [sys.executable, "-m", "tradefair.cli", *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    # 1: findings were left, which is what such games are for.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
