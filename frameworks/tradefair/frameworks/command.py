"""`command:…`: a program in any language plays the seat, over HTTP on this machine.

It is started once for each seat and game, without a shell. What is its own (an exception, an end before its game's, no
end at all) is told apart from what is not: exit code 75, a kill from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tradefair.cli.terminal import say
from tradefair.contract import Brief, HarnessFailure, ScenarioError
from tradefair.contract.kernel.players import Limits
from tradefair.contract.text import clean_line
from tradefair.frameworks.base import COMMAND, SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.seat_clock import SeatClock, open_bridge, pass_the_rest
from tradefair.tracestore.redaction import Redactor, redacted

GAME_S = 600.0
"""Seconds that a program has for a game, where nothing else was said."""

_CONFIG = "{config}"
_TEMPORARY_FAILURE = 75  # EX_TEMPFAIL of BSD's sysexits.h
# Who sends these means the process and not what it did; a shell says 128 more. Windows has no others.
_FROM_OUTSIDE = frozenset({1, 2, 9, 15})
# Seconds that a program has to end by itself when its game is over.
_GRACE_S, _MOMENT_S = 5.0, 0.5
_LABEL_CHARACTERS = 80
_KEPT_BYTES, _SHOWN_LINES, _SHOWN_CHARACTERS = 65_536, 8, 200


# Programs of this process that have called a tool: what these do in a later game is their own.
_have_called: set[tuple[Path, str]] = set()


class _End(NamedTuple):
    """How a program ended before the game was known to be over: `own` says whether that is its own doing."""

    how: str
    own: bool
    printed: str

    def text(self) -> str:
        """The end in words, with the last lines that the program printed."""
        return f"{self.how}{f'; it printed: {self.printed}' if self.printed else ', and it printed nothing'}"


class CommandAgent:
    """Plays seats by a program. One object may play any number of seats and games, each by a process of its own.

    `command` is split as a POSIX shell splits words, and run in `folder` (default: where we are). Its variables
    TRADEFAIR_URL, TRADEFAIR_TOKEN and TRADEFAIR_SEAT name its seat; `{config}` becomes the path of an MCP client's file
    that does. `game_s` is how long it may take, in seconds. Raises ScenarioError where it cannot be started.
    """

    name = "command"

    def __init__(self, command: str, *, game_s: float | None = None, folder: Path | None = None) -> None:
        self._folder = Path.cwd() if folder is None else folder
        self._words = _started_as(command, self._folder)
        self._game_s = GAME_S if game_s is None else game_s
        self._shown = shown_command(command)
        self._program = (self._folder, command)

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Let the program play to the end; turns that it leaves lapse.

        Raises HarnessFailure where its end was not its own, ScenarioError where no game of it has come to a call yet.
        """
        report = SeatReport(self.name)
        clock = SeatClock(seat, await open_bridge(seat))
        try:
            end = await self._played(seat)
            view = await clock.next_turn()
            if seat.calls is not None and seat.calls() > 0:
                _have_called.add(self._program)
            if end is not None and not view.over:
                self._judge(seat, end)
                # Whoever wrote the program looks here first.
                say(f"{seat.seat}: the program {end.text()}; round {view.round} and what is left pass")
                await pass_the_rest(seat, clock, report, end.text())
        finally:
            await clock.close()
        report.turns = clock.turns
        report.end_reason = None if clock.view is None else clock.view.end_reason
        return report

    def _judge(self, seat: SeatConnection, end: _End) -> None:
        """Raises HarnessFailure, ScenarioError where this game is none of the program's."""
        if not end.own:
            raise HarnessFailure(f"{self._shown} in seat {seat.seat} {end.text()}")
        if self._program not in _have_called:
            raise ScenarioError(
                f"{self._shown} {end.text()}. It has not called a tool: it finds its seat in TRADEFAIR_URL and "
                f"TRADEFAIR_TOKEN, or in the file of {_CONFIG}"
            )

    async def _played(self, seat: SeatConnection) -> _End | None:
        """Run the program until the game is over, it ends, or its time is up; None where the game was over first."""
        if seat.url is None or seat.token is None or seat.ended is None:
            raise HarnessFailure("a program plays a seat that is served over HTTP, and this one is not")
        with _configured(self._words, seat.url, seat.token) as words:
            place = {"TRADEFAIR_URL": seat.url, "TRADEFAIR_TOKEN": seat.token, "TRADEFAIR_SEAT": seat.seat}
            async with _running(words, self._folder, place) as (process, printed):
                over, gone = asyncio.ensure_future(seat.ended()), asyncio.ensure_future(process.wait())
                try:
                    await asyncio.wait({over, gone}, timeout=self._game_s, return_when=asyncio.FIRST_COMPLETED)
                    if over.done():
                        await asyncio.wait({gone}, timeout=_GRACE_S)
                        return None
                finally:
                    over.cancel()
                    gone.cancel()
                code = process.returncode
        # After its group was ended, so that all it printed is here.
        lines = _last_lines(bytes(printed), seat.token)
        if code is None:
            return _End(f"did not end its game in {self._game_s:g} s", True, lines)
        return _End(_how(code), not _is_from_outside(code), lines)


def shown_command(command: str) -> str:
    """The command as tables and traces show it: of a path its last name, of a secret nothing."""
    words = _words(command)
    names = (
        re.split(r"[/\\]", word)[-1] or word if word == kept else "[secret]"
        for word, kept in zip(words, Redactor().clean(words), strict=True)
    )
    return clean_line(" ".join(names))[:_LABEL_CHARACTERS]


def _words(command: str) -> list[str]:
    try:
        # Of a path on Windows the backslashes must stay.
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:
        raise ScenarioError(f"the command {command[:200]!r} cannot be split into words: {error}") from None
    if not words:
        raise ScenarioError(f'there is no command: write --agent "{COMMAND}python my_agent.py"')
    return words


def _started_as(command: str, folder: Path) -> list[str]:
    """The words of a command, the program as a path that can be started. Raises ScenarioError."""
    words = _words(command)
    program = Path(words[0])
    # As a shell does: with a separator it is a path, else a name that PATH has.
    found = shutil.which(words[0] if program.name == words[0] else folder / program)
    if found is None:
        raise ScenarioError(f"{words[0][:200]}: there is no such program, or it may not be run; nothing was played")
    return [str(Path(found).absolute()), *words[1:]]


@contextmanager
def _configured(words: Sequence[str], url: str, token: str) -> Generator[list[str]]:
    """The words, in place of `{config}` the path of an MCP client's file, which lies in a folder of ours alone."""
    if not any(_CONFIG in word for word in words):
        yield list(words)
        return
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    with TemporaryDirectory(prefix="tradefair-") as folder:
        path = Path(folder) / "mcp.json"
        path.write_text(json.dumps({"mcpServers": {"tradefair": server}}), encoding="utf-8")
        yield [word.replace(_CONFIG, str(path)) for word in words]


@asynccontextmanager
async def _running(
    words: Sequence[str], folder: Path, place: Mapping[str, str]
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, bytearray]]:
    """A process and the last of what it prints, while the body runs; it and all of its group are ended after that."""
    # A pipe of our own: asyncio would hold its process for running as long as any child has the pipe open.
    reading, writing = os.pipe()
    printed = bytearray()
    reader = threading.Thread(target=_keep_last, args=(reading, printed), daemon=True)
    reader.start()
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=folder,
            env={**os.environ, **place},
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            **_group(),
        )
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{words[0]}: cannot be started: {error}") from None
    finally:
        os.close(writing)
    try:
        yield process, printed
    finally:
        _kill(process)
        await process.wait()
        # No longer than a moment: a child that has left the group may live on and print.
        await asyncio.to_thread(reader.join, _MOMENT_S)


def _group() -> dict[str, Any]:
    """Options of a process with a group of its own, which its children share and Ctrl-C does not reach."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process and its children, also where it has ended before them."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _keep_last(pipe: int, kept: bytearray) -> None:
    """Read to the end, in a thread: a program whose pipe is full would stand still."""
    with os.fdopen(pipe, "rb", buffering=0) as stream:
        while chunk := stream.read(_KEPT_BYTES):
            kept += chunk
            del kept[:-_KEPT_BYTES]


def _last_lines(printed: bytes, token: str) -> str:
    # Before it is cut into lines: half a key is not found.
    text = Redactor().text(redacted(printed.decode(errors="replace"), token))
    lines = [line for line in text.splitlines() if line.strip()]
    return " | ".join(clean_line(line.strip())[:_SHOWN_CHARACTERS] for line in lines[-_SHOWN_LINES:])


def _how(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _is_from_outside(code: int) -> bool:
    return code == _TEMPORARY_FAILURE or (-code if code < 0 else code - 128) in _FROM_OUTSIDE
