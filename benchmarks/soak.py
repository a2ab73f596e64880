"""`python -m benchmarks soak --minutes 20`: a host under clients that behave badly, killed and restarted on the way.

Eight seats of every auction are played by eight sorts of clients: steady ones, ones that send everything three times,
ones that hang up before the answer, ones that stall in the middle of a request, ones that send garbage. The host is
killed with SIGKILL at moments that nobody chooses and goes on from its folder. At the end the traces are held against
what the clients were told: no acknowledged action may be missing or there twice, no read answered before it missing,
and every trace must verify. Whatever breaks this ends with exit code 1; figures are printed either way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.served import HostProcess
from benchmarks.soak_audit import Held, audit
from benchmarks.soak_clients import Diary, play_seat
from tradefair.contract import HarnessFailure, TradefairError
from tradefair.host.doors.control_bodies import Create, Invitation

_EPISODES = 6
_ROUNDS = 30
_DEADLINE_S = 2.0
_OPTIONS = {"linger": 2, "drain": 3, "ttl": 600, "log_level": "warning"}


class _Soak:
    """One run: the host, the clients' diary, and what happened on the way."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.host = HostProcess(folder, **_OPTIONS)
        self.diary = Diary()
        self.random = random.Random(seed)
        self.down_s: list[float] = []
        self.memory_mib: list[float] = []
        self.server_cpu_s = 0.0
        self.created = 0
        self._next_seed = seed * 1_000_000

    async def run(self, minutes: float, kills: int) -> None:
        """Play for so long, with so many kills at random moments of equal stretches."""
        await asyncio.to_thread(self.host.start)
        begun = time.monotonic()
        stretch = 60 * minutes / (kills + 1)
        at = [begun + stretch * (number + self.random.uniform(0.6, 1.4)) for number in range(kills)]
        async with asyncio.TaskGroup() as clients:
            while (now := time.monotonic()) < begun + 60 * minutes or at:
                if at and now >= at[0]:
                    at.pop(0)
                    await self._kill()
                await self._refill(clients)
                await asyncio.sleep(0.5)
            await self._wind_up()
            self.diary.over.set()

    async def _refill(self, clients: asyncio.TaskGroup) -> None:
        """Keep so many auctions going; a seat's token goes straight to a client of its sort."""
        with self.host.control() as control:
            status = await asyncio.to_thread(control.status, state="running", limit=1)
            missing = _EPISODES - status.running
            self.memory_mib.append(status.resident_mib or 0.0)
            if missing <= 0:
                return
            wanted = Create(
                market="double_auction",
                scenario="double_auction/bazaar",
                overrides={"rounds": _ROUNDS, "timing.decision_deadline_s": _DEADLINE_S},
                seed=self._next_seed,
                count=missing,
                seats="all",
            )
            self._next_seed += missing
            made = await asyncio.to_thread(control.create, wanted)
        self.created += len(made.episodes)
        for number, invitation in enumerate(made.invitations):
            clients.create_task(self._play(made.url, invitation, number))

    async def _play(self, url: str, invitation: Invitation, number: int) -> None:
        assert invitation.seat is not None
        place = (invitation.episode, invitation.seat)
        await play_seat(url, invitation.token, place, number, self.diary, random.Random(self.random.random()))

    async def _kill(self) -> None:
        """SIGKILL at a moment of its own, and up again on the same port."""
        await asyncio.sleep(self.random.uniform(0, 1))
        self._note_usage()
        begun = time.monotonic()
        self.diary.life += 1
        self.host.kill()
        await asyncio.to_thread(self.host.start)
        self.down_s.append(time.monotonic() - begun)

    async def _wind_up(self) -> None:
        """No more auctions: the open ones are cancelled, and the host drains."""
        with self.host.control() as control:
            for line in (await asyncio.to_thread(control.status, state="running", limit=1_000)).episodes:
                try:
                    await asyncio.to_thread(control.cancel, line.episode)
                except TradefairError:
                    self.diary.noticed["cancel of one that had just ended"] += 1
        self._note_usage()
        self.diary.draining = True
        code = await asyncio.to_thread(self.host.stop)
        if code:
            raise HarnessFailure(f"the host ended with exit code {code}")

    def _note_usage(self) -> None:
        usage = self.host.usage()
        self.server_cpu_s += usage.cpu_s
        self.memory_mib.append(usage.resident_mib)


def soak(minutes: float, kills: int, seed: int, folder: Path) -> tuple[list[Figure], list[str]]:
    """The figures of a run, and every promise that was broken."""
    run = _Soak(folder, seed)
    try:
        asyncio.run(run.run(minutes, kills))
    finally:
        run.host.close()
    said = [line for line in run.host.log.read_text(errors="replace").splitlines() if _is_fault(line)]
    traces = sorted(folder.glob("*.trace"))
    with ProcessPoolExecutor() as pool:
        held = list(pool.map(partial(audit, told=run.diary.told()), traces, chunksize=4))
    return _figures(run, held, minutes), [*_broken(run, held), *said]


def _is_fault(line: str) -> bool:
    """Whether a line of the host's log says that something in it failed; `…Error:` names what.

    A stalled request that the end of the host cuts off after five seconds is none.
    """
    if "timeout graceful shutdown exceeded" in line:
        return False
    return line.startswith("ERROR") or bool(re.match(r"[\w.]*(Error|Exception|Failure)\b", line))


def _broken(run: _Soak, held: Sequence[Held]) -> list[str]:
    """What must not be; empty when every promise was kept."""
    broken = [complaint for trace in held for complaint in trace.complaints]
    seen = {trace.episode for trace in held}
    broken += [f"{episode}: acknowledged actions and no trace" for episode in run.diary.episodes() - seen]
    broken += [f"answered {status} {count} times" for status, count in run.diary.statuses.items() if status >= 500]
    if not run.diary.acknowledged:
        broken.append("nothing was acknowledged: the clients did not play")
    return broken + run.diary.complaints


def _figures(run: _Soak, held: Sequence[Held], minutes: float) -> list[Figure]:
    diary = run.diary
    found: Counter[str] = Counter()
    for trace in held:
        found.update(trace.counts)
    verdicts = Counter(trace.verdict for trace in held)
    answered = sum(diary.statuses.values())
    said = ", ".join(f"{count:,} x {status}" for status, count in sorted(diary.statuses.items()))
    noticed = ", ".join(f"{count:,} {what}" for what, count in sorted(diary.noticed.items()))
    ends = ", ".join(f"{count} {what}" for what, count in sorted(Counter(trace.end for trace in held).items()))
    return [
        Figure("soak: lasted", minutes, "minutes", how=f"{os.cpu_count()} cores, host and clients"),
        Figure("soak: kills", run.host.starts - 1, "", how="SIGKILL, each time up again from its folder"),
        Figure("soak: down at a kill", max(run.down_s, default=0.0), "s", how="the longest; starting Python included"),
        Figure("soak: auctions", len(held), "traces", how=f"{run.created} asked for; {ends}"),
        Figure("soak: verified", verdicts["reproduced"], "traces", len(held), "at least", how=str(dict(verdicts))),
        Figure("soak: requests", answered, "answers", how=said),
        Figure("soak: acknowledged", len(diary.acknowledged), "calls", how=f"{found['accepted']:,} in the traces"),
        Figure("soak: not acknowledged", found["unanswered"], "calls", how="carried out, answer lost on the way"),
        Figure("soak: lost", found["lost"], "calls", 0, how="acknowledged and not in a trace"),
        Figure("soak: doubled", found["doubled"], "calls", 0, how="one key, two events"),
        Figure("soak: reads lost", found["reads_lost"], "reads", 0, how="answered before an acknowledged action"),
        Figure("soak: repeats", diary.noticed["repeats"], "answers", how="each equal to the first one"),
        Figure("soak: lapses", found["lapses"], "turns", how=f"deadline of {_DEADLINE_S:g} s"),
        Figure("soak: bad days", sum(diary.noticed.values()), "", how=noticed),
        Figure("soak: server", 1_000 * run.server_cpu_s / max(1, answered), "CPU ms", how="per answer"),
        Figure("soak: memory", max(run.memory_mib), "MiB", 512, how=f"at the end {run.memory_mib[-1]:.0f} MiB"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures as they are; exit code 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20, help="how long clients play (default: 20)")
    parser.add_argument("--kills", type=int, default=5, help="how often the host is killed (default: 5)")
    parser.add_argument("--seed", type=int, default=1, help="of what clients do when; kernels decide the rest")
    parser.add_argument("--keep", type=Path, help="folder for the traces; default: a temporary one")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        figures, broken = soak(given.minutes, given.kills, given.seed, (given.keep or Path(place)) / "soak")
    for figure in figures:
        goal = "" if figure.goal is None else f"({figure.bound} {figure.goal:g})"
        print(f"{figure.name:<24} {figure.value:>12,.2f} {figure.unit:<8} {goal:<16} {figure.how}")
    for complaint in broken[:50]:
        print(f"BROKEN {complaint}", file=sys.stderr)
    print("every promise was kept" if not broken else f"{len(broken)} promises were broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
