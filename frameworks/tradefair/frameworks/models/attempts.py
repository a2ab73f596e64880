"""Which requests repeat one another: a repeat after a failure gets the same answer, and no model is asked twice."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from tradefair.frameworks.models.wire import Answer

# Requests that can still be repeated. An agent asks one question at a time; more are held for parallel clients only.
_KEPT = 64


@dataclass
class Ticket:
    """One question to the model. `lost`: what was sent in answer did not arrive: an equal request repeats it.

    `task` is shared by a question and its repeats: a repeat that arrives early waits for the same answer.
    """

    key: str
    occurrence: int
    task: asyncio.Task[Answer] | None = None
    lost: bool = False


class Attempts:
    """Tickets by request. `counts` are occurrences of earlier runs that are in the recording already.

    A recording that is appended to goes on counting where the earlier run stopped.
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = dict(counts or {})
        self._recent: OrderedDict[str, Ticket] = OrderedDict()

    def take(self, key: str, *, retried: bool) -> Ticket:
        """The ticket of a request: an earlier one when the client says that it tries again, or must be doing so."""
        last = self._recent.get(key)
        # `lost` covers clients without the retry header: nothing arrived, so an equal request can only be the same
        # question.
        if last is not None and (retried or last.lost):
            # Repeated once; should that answer fail as well, whoever sees it sets `lost` again.
            last.lost = False
            self._recent.move_to_end(key)
            return last
        # An equal request after an answer that arrived is a new question, with the next occurrence.
        self._counts[key] = self._counts.get(key, 0) + 1
        ticket = self._recent[key] = Ticket(key, self._counts[key])
        self._recent.move_to_end(key)
        while len(self._recent) > _KEPT:
            # The oldest: a client that still retries it was moved to the end by its last attempt.
            self._recent.popitem(last=False)
        return ticket
