"""A process that owns one episode: commands as JSON lines on stdin, answers as JSON lines on stdout."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson

import tradefair.host.log
import tradefair.host.pace
from tradefair.catalog import load_scenario
from tradefair.contract.core import Core
from tradefair.host.episode import Episode
from tradefair.host.sandbox import Sandbox
from tradefair.host.scripted import Scripted
from tradefair.teaching import MARKET
from tradefair.testing.playthrough import policy_maker


async def _main(path: Path, rounds: int, seed: int) -> None:
    scenario = load_scenario("teaching", "talk", {"rounds": rounds})
    seat = Core.create(MARKET, scenario, seed).market.seats["P2"]
    scripted = Scripted({"P2": policy_maker(MARKET, seat, "random_legal", seed)})
    sandbox = Sandbox()
    if path.exists():
        episode = await Episode.open(path, MARKET, scripted=scripted, sandbox=sandbox)
    else:
        episode = await Episode.create(
            path, MARKET, scenario, seed, episode_id="crash", scripted=scripted, sandbox=sandbox
        )
    _say({"ready": episode.core.seq})
    loop = asyncio.get_running_loop()
    asked: set[asyncio.Task[None]] = set()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked.add(asyncio.create_task(_answer(episode, orjson.loads(line))))
    await asyncio.gather(*asked)
    await episode.close()
    sandbox.close()
    _say({"closed": True})


async def _answer(episode: Episode, command: dict[str, Any]) -> None:
    answer = await episode.call("P1", command["tool"], command["arguments"], call_key=command["key"])
    body = None if answer.body is None else orjson.loads(answer.body)
    code = None if answer.error is None else answer.error.code
    _say({"key": command["key"], "call": answer.call, "status": answer.status, "body": body, "code": code})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    # Whatever the disk of this machine does, the tests want one way of committing.
    if sys.argv[4] == "thread":
        tradefair.host.log.SMALL_ROWS = 0
    else:
        tradefair.host.pace.SLOW_S = float("inf")
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
