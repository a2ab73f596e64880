"""Plays one small episode again and again, each time with another fault; loaded with the shim through LD_PRELOAD.

Takes four numbers for each kind of fault: `Faults`, and every how-many-th call is to fail. Prints a JSON line for each
fault: its kind by place, how many times it struck and what was wrong afterwards.
"""

from __future__ import annotations

import asyncio
import ctypes
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from tradefair.catalog import load_scenario
from tradefair.contract import SeatId, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.episode import Episode
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.scripted import Scripted
from tradefair.teaching import MARKET
from tradefair.testing.playthrough import policy_maker

SEED = 5
ROUNDS = 2
# A call that is refused for the log's sake is sent again so many times before its client gives up.
TRIES = 3
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("add_note", {"text": "x" * 1_500}),
    ("claim", {"slices": 999}),
    ("execute_code", {"code": "view_my_value()['value_per_slice']"}),
    ("claim", {"slices": 3}),
    ("add_note", {"text": "second"}),
    ("remove_note", {"number": 1}),
    ("say", {"text": "and a word"}),
    ("claim", {"slices": 4}),
]
ENDED = "episode_over"
SOUND = "reproduced"
Faults = tuple[int, int, int]  # what fails (shim.c), whether it lasts, how: errno, 0 for half a write, seconds


class Shim:
    """The faults of this process."""

    def __init__(self) -> None:
        self._loaded = ctypes.CDLL(None)
        self._loaded.fault_arm.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

    def arm(self, faults: Faults, at: int) -> None:
        what, lasts, how = faults
        self._loaded.fault_arm(what, at, lasts, how)

    def disarm(self) -> int:
        """How many times it has struck."""
        fired = int(self._loaded.fault_fired())
        self._loaded.fault_arm(-1, 0, 0, 0)
        return fired


class Client:
    """One seat's client: it sends each call under its key until it is answered, and remembers every answer."""

    def __init__(self, path: Path, sandbox: Sandbox) -> None:
        self.path = path
        self.answers: dict[str, Any] = {}
        self.wrong: list[str] = []
        self._sandbox = sandbox

    async def play(self) -> None:
        """Begin the episode or go on with it, and send every call from the first on, as far as the disk lets it."""
        scenario = load_scenario("teaching", "talk", {"rounds": ROUNDS})
        seat = Core.create(MARKET, scenario, SEED).market.seats["P2"]
        scripted = Scripted({"P2": policy_maker(MARKET, seat, "random_legal", SEED)})
        try:
            if self.path.exists():
                episode = await Episode.open(self.path, MARKET, scripted=scripted, sandbox=self._sandbox)
            else:
                if self.answers:
                    self.wrong.append("a trace with acknowledged calls is gone")
                episode = await Episode.create(
                    self.path, MARKET, scenario, SEED, episode_id="x", scripted=scripted, sandbox=self._sandbox
                )
        except (StorageUnavailable, TraceError):
            return
        try:
            for number, (tool, arguments) in enumerate(COMMANDS):
                if not await self._send(episode, "P1", f"key-{number}", tool, arguments):
                    break
        finally:
            await episode.close()

    async def _send(self, episode: Episode, seat: SeatId, key: str, tool: str, arguments: dict[str, Any]) -> bool:
        for _ in range(TRIES):
            result = await episode.call(seat, tool, arguments, call_key=key)
            if result.error is None or result.error.code not in ("storage_unavailable", "internal_error"):
                break
        else:
            return False
        code = result.error and result.error.code
        answer = (result.call, result.status, result.body and result.body.decode(), code)
        if code != ENDED and self.answers.setdefault(key, answer) != answer:
            self.wrong.append(f"{key} was answered {self.answers[key]} and then {answer}")
        return True

    def audit(self) -> list[str]:
        """What is wrong with the trace, held against what was acknowledged."""
        with closing(sqlite3.connect(self.path)) as database:
            rows = database.execute("SELECT call_key, body FROM events WHERE call_key IS NOT NULL ORDER BY seq")
            stored = [(key, orjson.loads(body)["call"]) for key, body in rows]
        said = [*self.wrong]
        if (verdict := verify_file(self.path).verdict) != SOUND:
            said.append(f"the trace is {verdict}")
        for key, count in Counter(key for key, _ in stored).items():
            if count > 1:
                said.append(f"{key} is there {count} times")
        said += [f"{key} is lost" for key, answer in self.answers.items() if (key, answer[0]) not in stored]
        if len(stored) != len(COMMANDS):
            said.append(f"{len(stored)} of {len(COMMANDS)} calls are there in the end")
        return said


async def strike(shim: Shim, faults: Faults, at: int, folder: Path, sandbox: Sandbox) -> tuple[int, list[str]]:
    """An episode in which the `at`-th call fails, reopened under the same fault and then without it."""
    client = Client(folder / "small.trace", sandbox)
    shim.arm(faults, at)
    try:
        await client.play()
        await client.play()
    finally:
        struck = shim.disarm()
    # `truncated`: its -wal is gone, and the last write, which would have said that nothing is missing, has failed.
    if client.path.exists() and (verdict := verify_file(client.path).verdict) not in (SOUND, "truncated"):
        client.wrong.append(f"the trace is {verdict} before it is opened again")
    await client.play()
    return struck, client.audit()


def main(kind: int, faults: Faults, step: int, sandbox: Sandbox) -> None:
    """For every `step`-th n until no call is the n-th."""
    shim, at = Shim(), 1
    while True:
        with tempfile.TemporaryDirectory() as folder:
            struck, wrong = asyncio.run(strike(shim, faults, at, Path(folder), sandbox))
        if not struck:
            break
        print(orjson.dumps({"kind": kind, "at": at, "struck": struck, "wrong": wrong}).decode(), flush=True)
        at += step


if __name__ == "__main__":
    numbers = list(map(int, sys.argv[1:]))
    with Sandbox() as sandbox:
        for kind in range(len(numbers) // 4):
            what, lasts, how, every = numbers[4 * kind : 4 * kind + 4]
            main(kind, (what, lasts, how), every, sandbox)
