"""A process that owns one episode: commands as JSON lines on stdin, answers as JSON lines on stdout."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
from games import GAMES, Game

import tradefair.host.episode.log
import tradefair.host.episode.pace
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import reopen_episode
from tradefair.host.sandbox.running import Sandbox


async def _main(path: Path, game: Game) -> None:
    with Sandbox() as sandbox:
        episode = await (reopen_episode(path, sandbox=sandbox) if path.exists() else game.begin(path.parent, sandbox))
        await _serve(episode, game.seat)
    _say({"closed": True})


async def _serve(episode: Episode, seat: str) -> None:
    _say({"ready": episode.core.seq})
    loop = asyncio.get_running_loop()
    asked: set[asyncio.Task[None]] = set()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked.add(asyncio.create_task(_answer(episode, seat, orjson.loads(line))))
    await asyncio.gather(*asked)
    await episode.close()


async def _answer(episode: Episode, seat: str, command: dict[str, Any]) -> None:
    answer = await episode.call(seat, command["tool"], command["arguments"], call_key=command["key"])
    body = None if answer.body is None else orjson.loads(answer.body)
    code = None if answer.error is None else answer.error.code
    _say({"key": command["key"], "call": answer.call, "status": answer.status, "body": body, "code": code})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    # Whatever the disk of this machine does, the tests want one way of committing.
    if sys.argv[3] == "thread":
        tradefair.host.episode.log.SMALL_ROWS = 0
    else:
        tradefair.host.episode.pace.SLOW_S = float("inf")
    asyncio.run(_main(Path(sys.argv[1]), GAMES[sys.argv[2]]))
