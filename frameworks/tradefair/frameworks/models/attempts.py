"""Which requests repeat one another: a repeat after a failure gets the same answer, and nobody is asked twice."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from tradefair.frameworks.models.wire import Answer

_KEPT = 64


@dataclass
class Ticket:
    """One question to the model. `lost`: what was sent in answer did not arrive: an equal request repeats it."""

    key: str
    occurrence: int
    task: asyncio.Task[Answer] | None = None
    lost: bool = False


class Attempts:
    """Tickets by request. `counts` are occurrences of earlier runs that are in the recording already."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = dict(counts or {})
        self._recent: OrderedDict[str, Ticket] = OrderedDict()

    def take(self, key: str, *, retried: bool) -> Ticket:
        """The ticket of a request: an earlier one when the client says that it tries again, or must be doing so."""
        last = self._recent.get(key)
        if last is not None and (retried or last.lost):
            last.lost = False
            self._recent.move_to_end(key)
            return last
        self._counts[key] = self._counts.get(key, 0) + 1
        ticket = self._recent[key] = Ticket(key, self._counts[key])
        self._recent.move_to_end(key)
        while len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
        return ticket
