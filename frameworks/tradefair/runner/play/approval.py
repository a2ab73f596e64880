"""Asks a person on the terminal before an agent's actions are made: `approve` of `tradefair play`."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

import orjson

from tradefair.cli.terminal import say, watched
from tradefair.contract import HarnessFailure, ScenarioError, SeatId
from tradefair.contract.text import clean, clean_line

if TYPE_CHECKING:
    from tradefair.agents.options import Approve
    from tradefair.agents.round_calls import Call

_QUESTION = "make it? [y]es, [n]o and why, [a]ll from now on: "
_ALLOWED = "answer y or yes, a or all, n or no; a reason may follow the no (n too cheap) and is told to the agent"
_YES = ("y", "yes")
_NO = ("n", "no")
_ALL = ("a", "all")
# Characters of a reason that the agent is told; what a person pastes may be longer.
_REASON_LIMIT = 300
# The first word, then whatever separates it from a reason: `n too cheap`, `no, too cheap`, `n: too cheap`.
_ANSWER = re.compile(r"\s*(\w+)[\s,:;.-]*(.*)")


class TerminalApproval:
    """Asks on stderr and reads from stdin; the answer `all` means yes to every later question of every seat.

    Raises ScenarioError where either is not a terminal: no person could answer.
    """

    def __init__(self) -> None:
        # Questions go to stderr: stdout belongs to the result, which may be piped.
        if not (sys.stdin.isatty() and watched()):
            raise ScenarioError("approve asks on a terminal, and this is none: leave it out, or play from a shell")
        self._all = False
        self._lines = _Lines()
        self._lock = asyncio.Lock()

    def __call__(self, seat: SeatId) -> Approve:
        """The approver of one seat."""

        async def approve(calls: list[Call]) -> Sequence[bool | str]:
            # Seats act at the same time, and one terminal can ask one question at a time.
            async with self._lock:
                return [await self._asked(seat, call) for call in calls]

        return approve

    async def _asked(self, seat: SeatId, call: Call) -> bool | str:
        """True for yes, False for a plain no, else the reason for the no.

        Asks again until the answer is one of these.
        """
        if self._all:
            return True
        arguments = orjson.dumps(dict(call.arguments or {})).decode()
        say(f"{seat} wants {call.tool} {clean(arguments)}")
        while True:
            say(_QUESTION, end="")
            word, reason = _split(await self._lines.next())
            if word in _NO:
                return reason or False
            # A yes with words behind it (`yes but cheaper`) is no clear yes: the question is put again.
            if not reason and word in (*_YES, *_ALL):
                self._all = word in _ALL
                return True
            say(_ALLOWED)


def _split(line: str) -> tuple[str, str]:
    """The first word of an answer, in small letters, and what follows it: `No, too cheap` is `no`, `too cheap`."""
    match = _ANSWER.match(line)
    word, reason = match.groups() if match else ("", line)
    return word.lower(), clean_line(reason)[:_REASON_LIMIT]


class _Lines:
    """Lines of stdin, one at a time, read in a thread: a loop on Windows cannot wait for a terminal."""

    def __init__(self) -> None:
        self._coming: Future[bytes] | None = None

    async def next(self) -> str:
        """The next line. Raises HarnessFailure at the end of the input."""
        if self._coming is None:
            self._coming = Future()
            # A daemon: neither an interrupt nor the end of the process waits for a line that nobody types.
            threading.Thread(target=_read_line, args=(self._coming,), daemon=True).start()
        # Shielded: where a question was given up, the line that is still being read answers the next one.
        line = await asyncio.shield(asyncio.wrap_future(self._coming))
        self._coming = None
        if not line:
            raise HarnessFailure("no answer will come: the terminal's input has ended")
        return line.decode(errors="replace")


def _read_line(into: Future[bytes]) -> None:
    # A reader of its own: Python cannot end while a thread waits in the one of sys.stdin.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as terminal:
        try:
            into.set_result(terminal.readline())
        except OSError:
            into.set_result(b"")  # the terminal was closed
