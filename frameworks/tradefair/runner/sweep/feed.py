"""Chooses what a sweep's command plays next and takes in the results, under leases and within a budget."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from tradefair.contract import HarnessFailure
from tradefair.runner.plans.budget import Account
from tradefair.runner.plans.done import Counts, SweepTable
from tradefair.runner.plans.episodes import EpisodeSpec
from tradefair.runner.plans.play import SweepResult

# Seconds between writes of results, so that one transaction holds many of them.
_FLUSH_S = 0.5
# Seconds after which what other commands have done is counted again.
_COUNT_S = 2.0
# Seconds between two looks for episodes when there were none: other commands may end or die meanwhile.
_LOOK_S = 0.5
# Episodes that wait for room at their providers; more leases would only keep them from other commands.
_MOST_WAITING = 2_000
_HOPELESS = 25
"""Failures in a row that end a sweep: what fails that many episodes fails the next one too."""


class Progress(NamedTuple):
    """How far a sweep is. `playing` are in the air here, `elsewhere` with other commands; `played` by this one."""

    counts: Counts
    played: int
    playing: int
    elsewhere: int
    seconds: float
    tokens: int
    cost_usd_micro: int


Watch: TypeAlias = Callable[[Progress], None]
"""Is called with how far a sweep is."""


Fetch: TypeAlias = Callable[[EpisodeSpec, SweepResult], SweepResult]
"""Brings the trace of an episode that was played; the result says how large it is, or that it did not come."""


class Feed:
    """Hands out the episodes of a table under leases, as the account allows, and takes their results in.

    Results are written down now and then; whatever is not written is found again by its trace.
    """

    def __init__(
        self, table: SweepTable, account: Account, batch: int, watch: Watch | None = None, fetch: Fetch | None = None
    ) -> None:
        """`batch`: for how many episodes at a time a lease is taken; `fetch` brings traces that lie elsewhere."""
        self.played = 0
        self.stopped: str | None = None
        """The limit that ended it before everything was played, in words."""
        self._table = table
        self._account = account
        self._batch = batch
        self._watch = watch
        self._fetch = fetch
        self._counts = table.counts()
        # Earlier runs and other commands have spent too: the budget of tokens and dollars is the folder's.
        account.spend(table.spent())
        self._waiting: deque[EpisodeSpec] = deque()
        self._refusal: str | None = None
        self._playing: dict[str, EpisodeSpec] = {}
        self._results: list[SweepResult] = []
        self._changed = asyncio.Event()
        self._in_a_row = 0
        self._elsewhere = 0
        self._flushed = self._counted = time.monotonic()
        self._looked = 0.0

    @classmethod
    @contextmanager
    def kept(
        cls, table: SweepTable, account: Account, batch: int, watch: Watch | None, fetch: Fetch | None = None
    ) -> Generator[Feed]:
        """A feed; its results are written to the table at the end, also after an error."""
        feed = cls(table, account, batch, watch, fetch)
        try:
            yield feed
        finally:
            feed.flush()

    async def next(self) -> EpisodeSpec | None:
        """The next episode to be played; None when every episode is done or held, or the budget is used up.

        Waits while other commands hold what is left, and while a provider has no room. Raises StorageUnavailable.
        """
        while self.stopped is None:
            # Asked before each episode: one that has begun is finished in any case.
            self.stopped = self._account.used_up
            episode = None if self.stopped else self._take()
            if episode is not None:
                return episode
            if self.stopped or not (self._waiting or self._elsewhere):
                self.stopped = self.stopped or self._refusal
                break
            # Taken before the wait: a result that arrives in between sets this event and puts a new one in its place.
            changed = self._changed
            try:
                async with asyncio.timeout(_LOOK_S):
                    await changed.wait()
            except TimeoutError:
                # The line of progress moves on although nothing was finished: others may have.
                self._tell()
        return None

    def settle(self, result: SweepResult) -> None:
        """Take in what became of an episode. Raises HarnessFailure when nothing works.

        Results may come in any order, also of episodes that a dead worker has left.
        """
        episode = self._playing.pop(result.digest, None)
        if episode is not None:
            self._account.end(episode)
            if self._fetch is not None and not result.failed:
                # Before it is counted: a trace that did not come makes the episode a failed one.
                result = self._fetch(episode, result)
        self._results.append(result)
        self.played += not result.failed
        self._in_a_row = self._in_a_row + 1 if result.failed else 0
        counts = self._counts
        # Counted here between two reads of the table, so that the progress is right without a query each time.
        self._counts = Counts(counts.total, counts.done + (not result.failed), counts.failed + result.failed)
        self._wake()
        # What was spent decides on the next episode, so it is written at once; other results wait for a batch.
        if result.spent or time.monotonic() - self._flushed > _FLUSH_S:
            self.flush()
        self._tell()
        if self._in_a_row == _HOPELESS:
            raise HarnessFailure(f"{_HOPELESS} episodes in a row failed, the last with: {result.problem}")

    def give_back(self, episode: EpisodeSpec) -> None:
        """Return an episode that was handed out and not begun, to be played by another lane or worker.

        It keeps its lease and comes first, as if it had not been taken.
        """
        del self._playing[episode.digest]
        self._account.take_back(episode)
        self._waiting.appendleft(episode)
        self._wake()

    def flush(self) -> None:
        """Write the results that wait to the table."""
        # Emptied first: where the write fails, the traces still say what is done.
        results, self._results = self._results, []
        self._table.finish(results)
        if any(result.spent for result in results):
            self._account.spend(self._table.spent())
        self._flushed = time.monotonic()
        if self._flushed - self._counted > _COUNT_S:
            # What other commands have done since.
            self._counts, self._counted = self._table.counts(), self._flushed

    def _take(self) -> EpisodeSpec | None:
        """The first waiting episode that may be played now; leases are taken for more. None where there is none."""
        while True:
            for number, episode in enumerate(self._waiting):
                if refusal := self._account.forbids(episode):
                    # Its lease is kept: no command of this plan may play it now.
                    del self._waiting[number]
                    self._refusal = refusal
                    break
                # Later ones are tried as well: their providers may have room.
                if self._account.has_room(episode):
                    del self._waiting[number]
                    self._playing[episode.digest] = episode
                    self._account.begin(episode)
                    return episode
            else:
                if not self._claim():
                    return None

    def _claim(self) -> bool:
        """Take more leases; False when there are none to be had, or enough wait."""
        if len(self._waiting) >= _MOST_WAITING or time.monotonic() - self._looked < _LOOK_S:
            return False
        self._elsewhere = 0
        claimed = self._table.claim(self._batch)
        if not claimed:
            self.flush()
            self._elsewhere = self._table.held_by_others()
            # Once more: counting the others has freed what dead ones held.
            claimed = self._table.claim(self._batch)
            # 0 while there is something to claim: the pause is for empty tables only.
            self._looked = 0.0 if claimed else time.monotonic()
        self._waiting += claimed
        return bool(claimed)

    def _wake(self) -> None:
        # Wakes all who wait; whoever waits from now on waits for the next change.
        self._changed.set()
        self._changed = asyncio.Event()

    def _tell(self) -> None:
        """Show how far it is, where a watcher was given."""
        if self._watch is not None:
            account, playing = self._account, len(self._playing)
            progress = Progress(
                self._counts,
                self.played,
                playing,
                self._elsewhere,
                account.seconds,
                account.tokens,
                account.cost_usd_micro,
            )
            self._watch(progress)
