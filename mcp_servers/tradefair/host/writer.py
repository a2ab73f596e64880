"""Group commit: one task writes all that is queued in one transaction, then tells those who wait for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from tradefair.contract import SeatId
from tradefair.contract.errors import StorageUnavailable
from tradefair.host.log import EventLog, Row

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
        self._callers: list[asyncio.Future[None]] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._task = asyncio.create_task(self._run(), name="tradefair-writer")

    def submit(self, rows: Sequence[Row], *, urgent: bool) -> asyncio.Future[None] | None:
        """Queue a batch. An urgent one is committed at once, and its future is done when it is.

        Others wait up to 50 ms.
        """
        self._queue += rows
        # Charged now and not with the commit: reads are answered before that, and many would pass.
        for row in rows:
            self.stored[row.charged] += row.size
        self._idle.clear()
        if urgent:
            return self._promise()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_READ_DELAY_S, self._wake.set)
        return None

    def _promise(self) -> asyncio.Future[None]:
        """A future that is done when all that is queued now is committed, and that commit begun."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._callers.append(future)
        self._wake.set()
        return future

    @property
    def settled(self) -> bool:
        """Whether everything submitted is committed."""
        return self._idle.is_set()

    async def drain(self) -> None:
        """Wait until everything submitted so far is committed or has failed.

        Does not raise: whether it failed is told to those who wait for the single batches.
        """
        if not self._idle.is_set():
            # Not until the queue is empty: under load it never is.
            await asyncio.wait([self._promise()])

    async def close(self) -> None:
        """Commit the rest and stop.

        After this nothing may be submitted.
        """
        self._closing = True
        self._wake.set()
        await self._task

    async def _run(self) -> None:
        while not (self._closing and not self._queue and not self._callers):
            await self._wake.wait()
            self._wake.clear()
            # One turn of the loop: callers that are ready now join this commit instead of paying for one of their own.
            await asyncio.sleep(0)
            if self._queue or self._callers:
                await self._commit()
            if not self._queue:
                self._idle.set()

    async def _commit(self) -> None:
        # Taken before the await: what is submitted during this commit belongs to the next.
        rows, self._queue = self._queue, []
        callers, self._callers = self._callers, []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            if rows:
                await self._log.append(rows)
        except StorageUnavailable as error:
            callers += self._callers
            for row in (*rows, *self._queue):
                self.stored[row.charged] -= row.size
            self._queue, self._callers = [], []
            self._on_failure()
            for caller in callers:
                if not caller.done():
                    caller.set_exception(StorageUnavailable(str(error)))
                    caller.exception()  # read once, as asyncio warns of exceptions in futures that no task awaits
            return
        if rows:
            self._on_commit(rows)
        for caller in callers:
            if not caller.done():
                caller.set_result(None)
