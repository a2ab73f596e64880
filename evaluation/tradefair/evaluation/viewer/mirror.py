"""The episodes of a shared store as a folder: copies that are renewed as the episodes grow."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Event, Thread

from tradefair.contract import TradefairError
from tradefair.evaluation.viewer.folder import Folder, Place
from tradefair.tracestore import StorePlace, fetch_trace, stored_states

logger = logging.getLogger("tradefair.viewer")

# Pages poll every second; a store is asked no more often than that, however many of them are open.
_PAUSE_S = 1.0


class StoreFolder(Folder):
    """A folder with a copy of every episode of a store. Which host writes one just now is not known.

    `address` is the URL of a PostgreSQL store, `copies` an empty folder: copies hold every seat's secrets. Raises
    TraceError where the store cannot be read at first; what fails later is logged, and the copies stay as they are.
    A thread renews them while pages ask, until `close`.
    """

    leases = False

    def __init__(self, address: str, copies: Path) -> None:
        super().__init__(copies)
        self._address = address
        self._states: dict[str, str] = {}
        self._asked, self._closed = Event(), Event()
        self._renew()
        self._thread = Thread(target=self._follow, daemon=True)
        self._thread.start()

    def scan(self) -> list[Place]:
        """All copies now, as `Folder.scan`."""
        self._asked.set()
        return super().scan()

    def find(self, trace_id: str) -> Place | None:
        """The copy of this id, as `Folder.find`; returns at once, whatever the store does."""
        self._asked.set()
        return super().find(trace_id)

    def close(self) -> None:
        """Write no more copies."""
        self._closed.set()
        self._asked.set()
        self._thread.join()

    def _follow(self) -> None:
        while self._asked.wait() and not self._closed.is_set():
            self._asked.clear()
            try:
                self._renew()
            # A server that restarts must not end the viewer of what it held.
            except TradefairError as error:
                logger.warning("%s", error)
            self._closed.wait(_PAUSE_S)

    def _renew(self) -> None:
        """Fetch what is new or has grown, drop what is gone."""
        states = stored_states(self._address)
        for episode in states.keys() | self._states.keys():
            if episode not in states:
                (self.root / f"{episode}.trace").unlink(missing_ok=True)
                del self._states[episode]
            elif states[episode] != self._states.get(episode):
                fetch_trace(StorePlace(self._address, episode), self.root)
                self._states[episode] = states[episode]
