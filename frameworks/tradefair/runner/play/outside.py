"""Serves the agent's seats of a live episode over HTTP on this machine, with bearer tokens.

For clients from outside, or for a person, who plays on the board in a browser.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tradefair.cli.terminal import say
from tradefair.contract import SeatId, TradefairError
from tradefair.host.episode.episode import Episode

if TYPE_CHECKING:
    from tradefair.evaluation.judge.evaluate import Evaluation
    from tradefair.host.server.quotas import Gate

# A page asks for the state once a second; it has drawn the end when it has been quiet for that long.
_QUIET_S = 1.5
_LAST_LOOK_S = 5.0


@asynccontextmanager
async def open_door(
    episode: Episode, seats: Sequence[SeatId], *, person: bool = False, browser: bool = True, slim: bool = False
) -> AsyncGenerator[None]:
    """Serve `seats` while the body runs; URL and tokens are shown once, on stderr.

    With `person` they are the addresses of a page per seat, opened in a browser where there is a screen and `browser`
    says so. `slim`: tools are listed without output schemas. Raises KeyboardInterrupt when the server ends first, by
    SIGINT or SIGTERM, which it takes for itself.
    """
    from tradefair.host.doors.app import MCP_PATH, HttpServer
    from tradefair.host.doors.hosting import Host
    from tradefair.host.server.wire import Manner

    host = Host(manner=Manner(slim))
    host.add(episode)
    server = HttpServer(host, pages=person)
    # One token per seat, so that a client of one seat cannot act in another.
    tokens = {seat: host.invite(episode.id, seat)[0] for seat in seats}
    # In the fragment: a browser sends it to nobody.
    pages = {seat: f"{server.url.removesuffix(MCP_PATH)}/#token={token}" for seat, token in tokens.items()}

    def shown() -> None:
        # Printed when the server listens and not before: a client may connect, or a person press Ctrl-C, at once.
        for seat, token in tokens.items():
            header = f"{server.url} with the header  Authorization: Bearer {token}"
            say(f"{seat}: {pages[seat] if person else header}")
        waiting = "play in the browser" if person else "waiting for a client to play"
        say(f"{waiting}; trace {episode.path}")
        if person and browser and _has_screen():
            _opening(list(pages.values()))

    # The task that plays, which the end of the server has to wake.
    player = asyncio.current_task()
    serving = asyncio.create_task(server.serve(shown))

    def stopped(_: object) -> None:
        if player is not None:
            player.cancel()

    # SIGINT and SIGTERM end the server; the episode must not wait for clients that can no longer connect.
    serving.add_done_callback(stopped)
    try:
        yield
        if person:
            await _last_look([host.gate(episode.id, seat) for seat in seats])
    except asyncio.CancelledError:
        # Not cancelled by the end of the server: the reason is known elsewhere.
        if not serving.done():
            raise
        raise KeyboardInterrupt from None
    finally:
        serving.remove_done_callback(stopped)
        server.stop()
        # `wait` does not raise: an error of the server must not hide the one that ended the body.
        await asyncio.wait([serving])


@asynccontextmanager
async def serve_seat(episode: Episode, seat: SeatId) -> AsyncGenerator[tuple[str, str, Callable[[], int]]]:
    """Serve one seat to a program on this machine while the body runs: URL, token, and how many calls have come.

    Unlike `open_door` it takes no signals, which are for whoever plays the episode. Raises ScenarioError.
    """
    from tradefair.host.doors.app import MCP_PATH, SeatApp
    from tradefair.host.doors.hosting import Host
    from tradefair.host.doors.listening import Listener

    host = Host()
    host.add(episode)
    token, _ = host.invite(episode.id, seat)
    gate, listening = host.gate(episode.id, seat), asyncio.Event()
    listener = Listener(lambda names: SeatApp(host, names).starlette)
    serving = asyncio.create_task(listener.serve(listening.set))
    try:
        await listening.wait()
        yield f"{listener.url}{MCP_PATH}", token, lambda: gate.calls
    finally:
        host.shut()
        listener.stop()
        await asyncio.wait([serving])


async def _last_look(gates: Collection[Gate]) -> None:
    """Wait until the pages have drawn the end of the episode, a few seconds at most: there may be none."""
    ended = time.monotonic()
    while time.monotonic() < ended + _LAST_LOOK_S:
        await asyncio.sleep(0.1)
        looked = [gate.last_at or 0.0 for gate in gates]
        if all(ended < at < time.monotonic() - _QUIET_S for at in looked):
            return


def open_report(path: Path, evaluation: Evaluation, *, browser: bool) -> None:
    """Write the page of an episode that a person has played next to its trace, and open it where the board was opened.

    It has the ledgers of `evaluation`, which is the trace's. What keeps it from being written is said on stderr.
    """
    # Imported here: it draws charts, and a client from outside needs none.
    from tradefair.evaluation.report.build import write_report

    page = path.with_suffix(".html")
    try:
        write_report([path], page, ledgers=lambda _, read: read.with_ledgers(evaluation.ledgers, evaluation.no_ledger))
    except TradefairError as failure:
        say(f"no report: {failure}")
        return
    say(f"what your turns lost: {page}")
    if browser and _has_screen():
        opening = _opening([page.absolute().as_uri()])
        # The command is about to end, and the browser has not been started yet.
        opening.join(_QUIET_S)


def _opening(addresses: Sequence[str]) -> threading.Thread:
    """Opens pages in a thread: a browser in a terminal answers when it is closed, and must not hold what goes on."""
    opening = threading.Thread(target=_open_pages, args=(addresses,), daemon=True)
    opening.start()
    return opening


def _has_screen() -> bool:
    """Whether a browser would be seen; a variable BROWSER says that somebody has chosen one."""
    named = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in named)


def _open_pages(addresses: Sequence[str]) -> None:
    import webbrowser

    # Whatever a machine's browser does, the addresses are on the terminal.
    with suppress(Exception):
        for address in addresses:
            webbrowser.open(address)
