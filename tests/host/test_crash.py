"""kill -9 of the process that owns an episode: no acknowledged call is lost, none is applied twice."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.host.games import GAMES, Game
from tests.waiting import a_moment

_CHILD = Path(__file__).with_name("episode_child.py")

Command = dict[str, Any]
EACH_GAME = [
    pytest.param(name, way, turns, id=f"{name}, {way}, {when}")
    for name, ways in (
        ("teaching/talk", ("loop", "thread")),
        ("double_auction/bazaar", ("loop",)),
        ("pricing/duel", ("loop",)),
        ("order_book/smith", ("loop",)),
        ("order_book/asset", ("loop",)),
    )
    for way in ways
    for turns, when in ((0, "at once"), (3, "a little later"))
]


def _commands(game: Game) -> list[Command]:
    """The game's calls, each under a key of its own."""
    return [{"tool": tool, "arguments": given, "key": f"key-{n}"} for n, (tool, given) in enumerate(game.calls())]


class Client:
    """Talks to the owner of the episode, starts it again when it is dead, and keeps what was acknowledged."""

    def __init__(
        self, path: Path, within: Callable[..., Any], way: str = "loop", game: Game = GAMES["teaching/talk"]
    ) -> None:
        self.acknowledged: dict[str, Any] = {}
        self.starts = 0
        self._way = way
        self._game = game
        self._path = path
        self._within = within
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(_CHILD),
            str(self._path),
            f"{self._game.market}/{self._game.preset}",
            self._way,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self.starts += 1
        assert "ready" in await self._hear()

    async def send(self, command: Command) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(command) + b"\n")
        await self._process.stdin.drain()

    async def call(self, command: Command) -> None:
        """One acknowledged call."""
        await self.send(command)
        self._note(await self._hear())

    async def finish(self) -> None:
        """Let the owner close the log."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert "closed" in await self._hear()
        await self._within(self._process.wait())

    async def kill(self) -> None:
        """SIGKILL; what had been acknowledged until then still lies in the pipe, and counts."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        assert process.stdout is not None
        rest = await self._within(process.stdout.read())
        await self._within(process.wait())
        self._process = None
        for line in rest.splitlines(keepends=True):
            if line.endswith(b"\n") and "key" in (message := orjson.loads(line)):
                self._note(message)

    def _note(self, answer: Any) -> None:
        known = self.acknowledged.setdefault(answer["key"], answer)
        assert known == answer, "an acknowledged call was answered differently"

    async def _hear(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        return orjson.loads(await self._within(self._process.stdout.readline()))


async def _uninterrupted(path: Path, within: Callable[..., Any], game: Game) -> None:
    async with Client(path, within, game=game) as client:
        await client.start()
        for command in _commands(game):
            await client.call(command)
        await client.finish()


def _keys(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        return [key for (key,) in db.execute("SELECT call_key FROM events WHERE call_key IS NOT NULL ORDER BY seq")]


@pytest.mark.parametrize(("name", "way", "turns"), EACH_GAME)
async def test_no_acknowledged_call_is_lost_and_none_is_applied_twice(
    table: Any, tmp_path: Path, name: str, way: str, turns: int
) -> None:
    """Killed with calls in flight; the client sends them again under their keys, and in the end nothing shows."""
    game = GAMES[name]
    path, whole = (tmp_path / folder / "game.trace" for folder in ("killed", "whole"))
    await _uninterrupted(whole, table.within, game)
    commands = _commands(game)
    kills = (1, 6, 7, 10, 15, 24, len(commands) - 2)
    async with Client(path, table.within, way, game) as client:
        await client.start()
        for number, command in enumerate(commands):
            if number in kills:
                await client.send(command)
                await client.send(command)
                for _ in range(turns):
                    await a_moment()  # lets the owner get a little further; any point is a good one
                await client.kill()
                before = dict(client.acknowledged)
                await client.start()
                for earlier in commands[:number]:
                    await client.call(earlier)
                assert client.acknowledged | before == client.acknowledged
            await client.call(command)
        await client.finish()
        assert client.starts == len(kills) + 1
        assert list(client.acknowledged) == [command["key"] for command in commands]
        assert {answer["status"] for answer in client.acknowledged.values()} == {"ok", "rejected"}
    assert _keys(path) == [command["key"] for command in commands]
    assert table.verdict(path) == "reproduced"
    assert table.bodies(path) == table.bodies(whole)


async def test_a_killed_owner_leaves_no_lease_behind(table: Any, tmp_path: Path) -> None:
    path = tmp_path / "game.trace"
    commands = _commands(GAMES["teaching/talk"])
    async with Client(path, table.within) as client:
        await client.start()
        await client.call(commands[0])
        await client.kill()
        # What was committed can be verified before anybody opens the log for writing again.
        assert table.verdict(path) == "reproduced"
        assert _keys(path) == ["key-0"]
        await client.start()
        await client.call(commands[0])
        await client.finish()
    assert _keys(path) == ["key-0"]


async def test_a_trace_whose_log_was_killed_before_its_first_frame_can_be_read_and_continued(
    table: Any, tmp_path: Path
) -> None:
    """The -wal holds its header and the index does not know of it: SQLite reads that only where it may write."""
    episode = await table.create()
    killed = tmp_path / "killed.trace"
    killed.write_bytes(episode.path.read_bytes())
    await episode.call("P1", "claim", {"slices": 4})
    Path(f"{killed}-wal").write_bytes(Path(f"{episode.path}-wal").read_bytes()[:32])
    Path(f"{killed}-shm").write_bytes(Path(f"{episode.path}-shm").read_bytes())
    assert table.verdict(killed) == "reproduced"
    again = await table.reopen(killed)
    assert (await again.call("P1", "claim", {"slices": 4})).status == "ok"
