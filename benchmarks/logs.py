"""What a log costs by itself: commits on the loop and in a thread, notes, reads, a log opened and closed again.

For comparing two versions: the same file runs on both (`PYTHONPATH=<other tree> python -m benchmarks logs --json`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.figures import Figure, Stopwatch
from tradefair.contract.chain import canonical
from tradefair.contract.kernel.records import Record
from tradefair.host.episode.log import Row, SqliteLog
from tradefair.tracestore import Exchange, Manifest

_MANIFEST = Manifest(canonical({"core": 1}), {"episode": "e"})


def measure(*, tiny: bool) -> list[Figure]:
    """CPU microseconds per operation, median of several runs; memory of many open logs."""
    return asyncio.run(_figures(*((1, 20, 5) if tiny else (7, 2_000, 100))))


async def _figures(runs: int, times: int, logs: int) -> list[Figure]:
    with TemporaryDirectory() as folder:
        place, seq = Path(folder), 0
        log = await SqliteLog.create(place / "one.trace", _MANIFEST, [_row(seq := 1)])

        async def on_loop() -> None:
            nonlocal seq
            seq += 1
            if not log.append_now([_row(seq)]):
                await log.append([_row(seq)])

        async def in_thread() -> None:
            nonlocal seq
            seq += 1
            await log.append([_row(seq)])

        said: dict[str, Any] = {"status": 200, "body": {}}
        asked = Exchange({"model": "m", "messages": [{"role": "user", "content": "a"}]}, said)
        costs = {
            "small commit on the loop": await _cost(runs, times, on_loop),
            "commit by the thread": await _cost(runs, times, in_thread),
            "note": await _cost(runs, times, lambda: log.note("P1", {"kind": "x"})),
            "note with prompts": await _cost(runs, times, lambda: log.note("P1", {"kind": "x"}, [asked])),
            "read": await _cost(runs, times, lambda: log.event(1)),
            "log opened, one commit, closed": await _cost(runs, logs, lambda: _opened(place / "two.trace")),
        }
        await log.close()
        grown = await _memory(place, times // 4)
    how = f"median of {runs} runs"
    return [
        *(Figure(f"log: {name}", 1e6 * cost, "CPU us", how=how) for name, cost in costs.items()),
        Figure(f"log: {times // 4} open ones", grown, "MB", how="resident memory more than before"),
    ]


async def _cost(runs: int, times: int, work: Callable[[], Awaitable[object]]) -> float:
    """CPU seconds of one."""
    costs: list[float] = []
    for _ in range(runs):
        watch = Stopwatch()
        for _ in range(times):
            await work()
        costs.append(watch.seconds() / times)
    return median(costs)


async def _opened(path: Path) -> None:
    log = await (SqliteLog.open(path) if path.exists() else SqliteLog.create(path, _MANIFEST, ()))
    await log.append([_row(log.head.seq + 1)])
    await log.close()


async def _memory(folder: Path, count: int) -> float:
    before = _resident()
    logs = [await SqliteLog.create(folder / f"{number}.trace", _MANIFEST, [_row(1)]) for number in range(count)]
    grown = _resident() - before
    for log in logs:
        await log.close()
    return grown


def _resident() -> float:
    """Megabytes; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _row(seq: int) -> Row:
    return Row(Record(seq, b'{"seq":%d}' % seq))
