"""SQLite where the event loop must not wait: a connection with a thread of its own, which aiosqlite keeps."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar, cast

import aiosqlite

T = TypeVar("T")


class Apart(aiosqlite.Connection):
    """A connection that its owner may also use on the loop, while nothing runs in its thread. Awaiting it opens it."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """`connect` opens it, in its thread, for use in any."""
        super().__init__(connect, iter_chunk_size=64)
        # What nobody closes must not keep a process from ending.
        self._thread.daemon = True

    @property
    def own(self) -> sqlite3.Connection:
        """The connection itself. Raises ValueError before it is open, and once it is closed."""
        return self._conn

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """What `work` returns, done in the thread: one way there and back, however many statements it makes.

        `work` is done even where the future is cancelled. Raises sqlite3.ProgrammingError once it is closed.
        """
        # The library's own queue would keep a caller waiting for a thread that has ended.
        if not self._running or self._connection is None:
            raise sqlite3.ProgrammingError("the log is closed")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._tx.put_nowait((done, work))  # pyright: ignore[reportUnknownMemberType]  # a future of anything
        return done

    async def close(self) -> None:
        """Close the connection and end the thread, in one way there and back; idempotent."""
        if self._running:
            # A future, because a loop runs.
            await cast("asyncio.Future[Any]", self.stop())  # pyright: ignore[reportUnknownMemberType]
