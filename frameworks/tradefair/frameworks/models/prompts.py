"""What the model of one seat is sent, caught on its way: by the door, or by a chat model without one.

Nothing of a request's headers or address is looked at. What cannot be kept is left out; play goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.tracestore import Exchange


class Prompts:
    """The exchanges of one seat that no note has been written about yet."""

    def __init__(self) -> None:
        self._waiting: list[Exchange] = []

    def heard(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Keep an exchange; the repeat of a request that failed takes the place of the earlier try."""
        if self._waiting and self._waiting[-1].request == request:
            self._waiting.pop()
        self._waiting.append(Exchange(request, answer))

    def take(self, note: Mapping[str, Any]) -> list[Exchange]:
        """The exchanges that belong to a note, once: the last is the one that a model call's note is about."""
        # Such a note comes from the way to the model, while the request is still on it.
        if str(note.get("kind")).startswith("endpoint_"):
            return []
        taken, self._waiting = self._waiting, []
        if taken and note.get("kind") == "model_call":
            taken[-1] = taken[-1]._replace(call=str(note.get("reply", "")))
        return taken
