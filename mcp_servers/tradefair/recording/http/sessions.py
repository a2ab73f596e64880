"""Which log an HTTP message belongs to: one session, one trace.

To 2025-11-25 a server names its sessions (`Mcp-Session-Id`). Later ones, and servers that keep no state, have none:
there a client is known by its credentials and its name. Credentials are kept as a digest under a key of this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any, TypeAlias, cast

import orjson

from tradefair.cli.terminal import say
from tradefair.contract.errors import StorageUnavailable, TraceError
from tradefair.recording.exchange import CLIENT, SERVER, Exchange, Side
from tradefair.recording.http.bodies import Taken
from tradefair.recording.http.heads import Refused, RequestHead
from tradefair.recording.messages import Unread, mapping

MAX_SESSIONS = 64
"""Logs that are open at once; the one that was silent longest is sealed for the next.

Where none is silent, requests are refused: whoever holds many answers open cannot exhaust the files of this process.
"""

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_CREDENTIALS = ("authorization", "proxy-authorization", "cookie", "x-api-key", "api-key")

Key: TypeAlias = tuple[str, ...]


class Sessions:
    """The open logs."""

    def __init__(self, open_log: Callable[[], Exchange], *, lossy: bool = False) -> None:
        """`lossy`: go on unrecorded where a log cannot be written."""
        self._open_log, self._lossy = open_log, lossy
        self._logs: dict[Key, Exchange] = {}
        # Requests in flight of each open log; the log that was used last is the last.
        self._busy: dict[Exchange, int] = {}
        # Requests that may open a log once they are answered.
        self._waiting = 0
        self._troubled: dict[Exchange, tuple[str, int]] = {}
        self._secret = os.urandom(32)
        self._channels = count(1)

    def keys(self, headers: Mapping[str, bytes], client: str) -> list[Key]:
        """Under which keys a request's log is kept; it is looked for under the first."""
        if name := headers.get("mcp-session-id"):
            return [("session", name.decode("latin-1"))]
        held = b"\0".join(headers.get(name, b"") for name in _CREDENTIALS)
        who = blake2b(held, key=self._secret).hexdigest()
        # Without a name: a request to a server without sessions belongs to the client that introduced itself last.
        return [*([("client", who, client)] if client else []), ("client", who)]

    def channel(self, keys: Iterable[Key]) -> str:
        """What keeps ids apart: within a session they are unique, and an answer may come in a later stream.

        Clients of a server without sessions may use the same ids at the same time, each in a request of its own.
        """
        return "" if next(iter(keys))[0] == "session" else str(next(self._channels))

    def admit(self, keys: Iterable[Key], *, begins: bool) -> None:
        """Let a request in whose log is not open; `settle` follows. Refused where every log has a request in flight."""
        log = None if begins else self._logs.get(next(iter(keys)))
        busy = sum(requests > 0 for requests in self._busy.values())
        if (log is None or not self._busy[log]) and busy + self._waiting >= MAX_SESSIONS:
            why = f"{MAX_SESSIONS} sessions are recorded at once, and each waits for an answer; try again later"
            raise Refused("503 Service Unavailable", why)
        self._waiting += 1

    def settle(self) -> None:
        """A request that was let in has its log, or needs none."""
        self._waiting -= 1

    def find(self, keys: Iterable[Key]) -> Exchange | None:
        """The log under the first of `keys`, for a request: `release` gives it back."""
        log = self._logs.get(next(iter(keys)))
        if log is not None:
            self._busy[log] = self._busy.pop(log) + 1
        return log

    def open(self, keys: Iterable[Key]) -> Exchange:
        """A new log for a request, kept under all of `keys`."""
        if len(self._busy) >= MAX_SESSIONS:
            self._forget(next((log for log, requests in self._busy.items() if not requests), None))
            self._end_what_is_over()
        log = self._open_log()
        self._busy[log] = 1
        self._logs.update(dict.fromkeys(keys, log))
        self._end_what_is_over()
        return log

    def release(self, log: Exchange) -> None:
        """A request no longer uses `log`."""
        self._busy[log] -= 1
        self._end_what_is_over()

    def end(self, keys: Iterable[Key]) -> None:
        """The session under `keys` is over: its log is sealed when the last of its requests is."""
        self._forget(self._logs.get(next(iter(keys))))
        self._end_what_is_over()

    def seen(self, log: Exchange, side: Side, taken: Taken, channel: str) -> None:
        """Write what `side` has sent. Raises StorageUnavailable, TraceError where it cannot be written."""
        if log not in self._troubled:
            try:
                return log.seen(side, [taken], channel)
            except (StorageUnavailable, TraceError) as error:
                if not self._lossy:
                    raise
                self._troubled[log] = (str(error), 0)
                say(f"tradefair record: {error}; going on unrecorded")
        trouble, lost = self._troubled[log]
        self._troubled[log] = (trouble, lost + 1)

    def lapse(self, log: Exchange, request: object, channel: str) -> None:
        """The way back to a call is gone."""
        if log not in self._troubled:
            log.lapse(request, channel)

    def close(self) -> None:
        """Seal every log. Raises what the last one that could not be sealed has raised."""
        failed: Exception | None = None
        for log in tuple(self._busy):
            try:
                self._end(log)
            except (StorageUnavailable, TraceError) as error:
                failed = error
        if failed and not self._lossy:
            raise failed

    def _forget(self, log: Exchange | None) -> None:
        self._logs = {key: kept for key, kept in self._logs.items() if kept is not log}

    def _end_what_is_over(self) -> None:
        found = set(self._logs.values())
        for log in [log for log, requests in self._busy.items() if not requests and log not in found]:
            self._end(log)

    def _end(self, log: Exchange) -> None:
        del self._busy[log]
        trouble, lost = self._troubled.pop(log, ("", 0))
        log.end(note={"unrecorded": trouble, "lines": lost} if trouble else None)


class Asked:
    """One request of a client, and what answers it."""

    def __init__(self, sessions: Sessions, head: RequestHead) -> None:
        self.method = head.method
        self._sessions, self._headers = sessions, head.headers
        self._keys = sessions.keys(head.headers, "")
        self._channel = sessions.channel(self._keys)
        self._log: Exchange | None = None
        self._begins = self._done = self._admitted = False
        self._status = 0
        self._calls: list[Any] = []
        # What is written once the server has not refused it: a login that fails is no session.
        self._waiting: Taken | None = None

    def asks(self, taken: Taken) -> None:
        """The client's body is complete, and not yet with the server: calls are in the log when this returns.

        Refused where too many logs are in use.
        """
        if not self._look_at(taken):
            return
        if self._log is None:
            self._admit()
        self._log = None if self._begins else self._sessions.find(self._keys)
        if self._calls and self._log is None:
            self._log = self._sessions.open(self._keys)
        if self._log is None:
            self._waiting = taken
        else:
            self._settle()
            self._sessions.seen(self._log, CLIENT, taken, self._channel)
        if self._done:
            self.ended()  # the server has not waited for the body

    def answered(self, status: int, headers: Mapping[str, bytes]) -> None:
        """The head of the answer is here."""
        self._status = status
        if status >= 400:
            return
        if self.method == "DELETE":
            self._sessions.end(self._keys)
        elif self._waiting is not None:
            if self._begins and "mcp-session-id" in headers:
                self._keys = self._sessions.keys(headers, "")
                self._channel = ""
            self._sessions.seen(self._opened(), CLIENT, self._waiting, self._channel)
            self._waiting = None

    def answers(self, taken: Taken) -> None:
        """A message of the answer is complete, and not yet with the client.

        Refused where it would begin a log, as on a stream on which the server speaks first, and too many are in use.
        """
        if isinstance(taken, Unread):
            self._log = self._log or self._sessions.find(self._keys)
            if self._log is None:
                return  # of something else on this address
            if taken.id is None and len(self._calls) == 1:
                taken = taken._replace(json=True, id=self._calls[0])
        elif self._log is None or self._status >= 400:
            messages = _messages(taken)
            if not messages:
                return  # of a login, say
            answered = [message.get("id") for message in messages]
            self._calls = [request for request in self._calls if request not in answered]
        if self._log is not None or self._status < 400:
            self._sessions.seen(self._opened(), SERVER, taken, self._channel)

    def ended(self) -> None:
        """The answer is complete. Its messages may be still to come, in a stream that takes this one up again."""
        if self._status >= 400:
            self.failed(f"http_{self._status}", f"the server answered with status {self._status}")
        self.close()

    def close(self) -> None:
        """Nothing follows that belongs to this request."""
        self._done = True
        self._settle()
        if self._log is not None:
            self._sessions.release(self._log)
            self._log = None

    def failed(self, code: str, why: str) -> None:
        """Calls of this request that have no answer yet will have none."""
        error = {"code": code, "message": why}
        for request in self._calls if self._log else ():
            line = orjson.dumps({"jsonrpc": "2.0", "id": request, "error": error})
            self._sessions.seen(self._opened(), SERVER, line, self._channel)

    def left(self) -> None:
        """The client no longer waits for the answer."""
        for request in self._calls if self._log else ():
            self._sessions.lapse(self._opened(), request, self._channel)
        self.close()

    def _opened(self) -> Exchange:
        if self._log is None:
            self._log = None if self._begins else self._sessions.find(self._keys)
        if self._log is None:
            self._admit()
            self._log = self._sessions.open(self._keys)
        self._settle()
        return self._log

    def _admit(self) -> None:
        if not self._admitted:
            self._sessions.admit(self._keys, begins=self._begins)
            self._admitted = True

    def _settle(self) -> None:
        if self._admitted:
            self._admitted = False
            self._sessions.settle()

    def _look_at(self, taken: Taken) -> bool:
        """Whether a body holds messages of the protocol; what they begin or call, and who sends them."""
        if isinstance(taken, Unread):
            self._calls = [taken.id] if taken.method == "tools/call" else []
            return taken.method is not None
        messages = _messages(taken)
        self._begins = any(message.get("method") == "initialize" for message in messages)
        self._calls = [message.get("id") for message in messages if message.get("method") == "tools/call"]
        names = [name for message in messages if (name := _client_name(message))]
        if names:
            self._keys = self._sessions.keys(self._headers, names[0])
        return bool(messages)


def _messages(taken: bytes) -> list[dict[str, Any]]:
    """The messages in a body: none where it holds anything else."""
    try:
        value: Any = orjson.loads(taken)
    except orjson.JSONDecodeError:
        return []
    items = cast("list[dict[str, Any]]", value if isinstance(value, list) else [value])
    return items if all("jsonrpc" in mapping(item) for item in items) else []


def _client_name(message: Mapping[str, Any]) -> str:
    """The name that a client gives itself in a message, or nothing."""
    params = mapping(message.get("params"))
    info = mapping(params.get("clientInfo")) or mapping(mapping(params.get("_meta")).get(CLIENT_INFO))
    name: object = info.get("name")
    return name if isinstance(name, str) else ""
