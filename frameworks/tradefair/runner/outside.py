"""Serves the agent's seats of a live episode over HTTP on this machine, for clients from outside with bearer tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from tradefair.cli.terminal import say
from tradefair.contract import SeatId
from tradefair.host.episode import Episode


@asynccontextmanager
async def open_door(episode: Episode, seats: Sequence[SeatId]) -> AsyncGenerator[None]:
    """Serve `seats` while the body runs; URL and tokens are shown once, on stderr.

    Raises KeyboardInterrupt when the server ends first, by SIGINT or SIGTERM, which it takes for itself.
    """
    from tradefair.host.app import HttpServer
    from tradefair.host.hosting import Host

    host = Host()
    host.add(episode)
    server = HttpServer(host)
    # One token per seat, so that a client of one seat cannot act in another.
    tokens = {seat: host.invite(episode.id, seat)[0] for seat in seats}

    def shown() -> None:
        # Printed when the server listens and not before: a client may connect, or a person press Ctrl-C, at once.
        for seat, token in tokens.items():
            say(f"{seat}: {server.url} with the header  Authorization: Bearer {token}")
        say(f"waiting for a client to play; trace {episode.path}")

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
