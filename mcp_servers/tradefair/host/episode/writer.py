"""Group commit: one task writes all that is queued in one transaction, then tells those who wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from tradefair.contract import SeatId
from tradefair.contract.errors import StorageUnavailable
from tradefair.host.episode.log import EventLog, Row
from tradefair.host.episode.waiting import Pending

logger = logging.getLogger("tradefair.host")

_READ_DELAY_S = 0.05  # how long a read may stay unwritten when no action follows it (kernel §4)


class Writer:
    """Turns the batches of one episode into commits, in the order in which they were submitted.

    `on_commit(rows)` runs after each commit, before its callers go on. When a commit fails, all that is queued fails
    with it, because it was computed on top of what was lost, and `on_failure` is called once.
    """

    def __init__(
        self, log: EventLog, on_commit: Callable[[Sequence[Row]], None], on_failure: Callable[[], object]
    ) -> None:
        self._log = log
        self._on_commit = on_commit
        self._on_failure = on_failure
        self.stored: Counter[SeatId | None] = Counter()
        """Bytes that were submitted and not lost, by the seat that they are charged to."""
        self._queue: list[Row] = []
        self._next = Pending()  # the next commit
        self._timer: asyncio.Handle | None = None  # of that commit, once it is wanted
        self._urgent = False
        self._task: asyncio.Task[None] | None = None  # a commit that is made in a thread, or on another machine

    def submit(self, rows: Sequence[Row], *, urgent: bool) -> Pending | None:
        """Queue a batch. An urgent one is committed at once, and its commit is what is returned.

        Others wait up to 50 ms.
        """
        self._queue += rows
        # Charged now and not with the commit: reads are answered before that, and many would pass.
        for row in rows:
            self.stored[row.charged] += row.size
        if urgent:
            return self._hurry()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_READ_DELAY_S, self._commit)
        return None

    def _hurry(self) -> Pending:
        """Commit all that is queued now. In the next turn of the loop: who is ready by then joins this commit."""
        if not self._urgent:
            self._urgent = True
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_soon(self._commit)
        return self._next

    @property
    def settled(self) -> bool:
        """Whether everything submitted is committed."""
        return not self._queue and self._task is None

    async def drain(self) -> None:
        """Wait until everything submitted so far is committed or has failed.

        Does not raise: whether it failed is told to those who wait for the single batches.
        """
        if not self.settled:
            # Not until the queue is empty: under load it never is.
            with suppress(StorageUnavailable):
                await self._hurry().wait()

    async def close(self) -> None:
        """Commit the rest and stop.

        After this nothing may be submitted.
        """
        while not self.settled:
            await self.drain()

    def _commit(self) -> None:
        """Commit all that is queued. Where the log cannot do that here, in a task; its end commits the rest."""
        if self._task is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._urgent = None, False
        rows, self._queue = self._queue, []
        commit, self._next = self._next, Pending()
        try:
            if not rows or self._log.append_now(rows):
                self._committed(rows, commit)
            else:
                self._task = asyncio.create_task(self._append(rows, commit), name="tradefair-writer")
        # Whatever it is: who waits must be answered.
        except Exception as error:
            self._failed(rows, commit, error)

    async def _append(self, rows: Sequence[Row], commit: Pending) -> None:
        try:
            await self._log.append(rows)
            self._committed(rows, commit)
        # Also where all tasks of a loop are cancelled at its end: `close` waits for this one.
        except BaseException as error:
            self._failed(rows, commit, error)
        self._task = None
        if self._queue or self._urgent:
            self._commit()

    def _committed(self, rows: Sequence[Row], commit: Pending) -> None:
        if rows:
            self._on_commit(rows)
        commit.settle()

    def _failed(self, rows: Sequence[Row], commit: Pending, error: BaseException) -> None:
        if not isinstance(error, StorageUnavailable | asyncio.CancelledError):
            logger.error("a commit failed", exc_info=error)
        said = str(error) or repr(error)
        for row in (*rows, *self._queue):
            self.stored[row.charged] -= row.size
        # What was queued meanwhile too: it was computed on top of what is lost.
        self._queue = []
        self._on_failure()
        commit.settle(said)
        self._next.settle(said)
        self._next = Pending()
