"""What the model of one seat is sent, caught on its way: from the HTTP client, or from a chat model without one.

Nothing of a request's headers or address is looked at. What cannot be kept is left out; play goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

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

    def heard_wire(self, sent: bytes, status: int, received: str) -> None:
        """As `heard`, from the bodies of an HTTP exchange; anything but a chat completion is left out."""
        try:
            request: Any = orjson.loads(sent)
            body: Any = orjson.loads(received)
        except orjson.JSONDecodeError:
            return
        if isinstance(request, dict) and isinstance(cast("dict[str, Any]", request).get("messages"), list):
            self.heard(cast("dict[str, Any]", request), {"status": status, "body": body})

    def take(self, note: Mapping[str, Any]) -> list[Exchange]:
        """The exchanges that belong to a note, once: the last is the one that a model call's note is about."""
        # Such a note comes from the gateway, while the request is still on its way.
        if note.get("kind") == "endpoint_fault":
            return []
        taken, self._waiting = self._waiting, []
        if taken and note.get("kind") == "model_call":
            taken[-1] = taken[-1]._replace(call=str(note.get("reply", "")))
        return taken
