"""What goes on between one client and one server, as rows of a trace; no transport, no threads.

Whoever carries the bytes gives every message here **before** it passes the message on: `seen(CLIENT, …)` for what the
client has sent, `seen(SERVER, …)` for what the server has. When `seen` returns, what has to be in the log is committed.
So a call in flight is known, and no answer that a client has got can be missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from tradefair.contract.answers import Settled
from tradefair.contract.text import clean_line
from tradefair.recording.messages import MAX_MESSAGE, Message, Unread, key_of, mapping, messages_of
from tradefair.recording.session_log import ENDED, LARGE, SessionLog
from tradefair.tracestore.redaction import Redactor

Side = Literal["client", "server"]
CLIENT: Side = "client"
SERVER: Side = "server"

MAX_OPEN = 100_000
"""Requests whose answers are waited for, per direction; an answer to an older one is counted and changes nothing."""

_MAX_COUNTS = 200
_INFO = "io.modelcontextprotocol/{}Info"  # in `_meta`, of the era without `initialize`
_PROTOCOL = "io.modelcontextprotocol/protocolVersion"
# What the protocol carries beside calls and is worth a message; the rest is counted.
_TOLD = frozenset({
    "notifications/message", "notifications/resources/updated", "notifications/resources/list_changed",
    "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/roots/list_changed",
    "notifications/elicitation/complete",
})  # fmt: skip
# Requests of a client whose answers say something about the session, or about a call.
_READS = frozenset({"resources/read", "prompts/get"})
"""Requests of a client whose answers its agent reads, as it reads those of a tool: calls of kind `read`."""
_WATCHED = frozenset({"tools/list", "initialize", "server/discover", "tasks/result"})


class _Open(NamedTuple):
    """A request that waits for its answer: what it asked for, when (ns), and its row in `pending` where it has one."""

    method: str
    at: int
    pending: int = 0


class Exchange:
    """One session, which becomes one trace with the seat `client`; its file appears with the first message.

    Not for several threads at once: the carrier takes a lock. Every method raises StorageUnavailable where the log
    cannot be written; what was seen is not in it then.
    """

    def __init__(
        self, path: Path, redactor: Redactor, source: Mapping[str, Any], *, transport: str, digest_results: bool = False
    ) -> None:
        """`path`: the trace, which must not exist; `source`: what `about.source` says of where it comes from."""
        self._log = SessionLog(path, redactor, source, transport, digest_results=digest_results)
        self._redactor = redactor
        self._open: dict[Side, dict[tuple[str, object], _Open]] = {CLIENT: {}, SERVER: {}}

    @property
    def path(self) -> Path:
        """The trace."""
        return self._log.path

    def seen(self, side: Side, lines: Iterable[bytes | Unread], channel: str = "") -> None:
        """Log what `side` has sent: whole messages or batches, each as its JSON. One commit for all of them.

        `channel` keeps apart the ids of clients that share a session. A list is emptied: large bytes are held once.
        """
        found: list[Message] = []
        self._log.large = False
        for line in lines:
            found += messages_of(line)
            self._log.large = self._log.large or (isinstance(line, bytes) and len(line) > LARGE)
        if isinstance(lines, list):
            lines.clear()
        if not found:
            return
        if not self._log.begun and side == SERVER:
            # A banner on standard output: nobody has asked for anything, and the client is not known yet.
            self._log.counts["before the client"] += len(found)
            return
        if self._log.client is None and not isinstance(found[0], Unread):
            self._log.client = self._named(mapping(found[0].get("params")), "client")
        with self._log.batch():
            for message in found:
                self._log.step += 1
                if isinstance(message, Unread):
                    self._unread(side, message, channel)
                elif isinstance(method := message.get("method"), str) and not _is_answer(side, message):
                    self._sent(side, method, message, channel)
                else:
                    self._answered(side, message, channel)

    def lapse(self, request: object, channel: str = "") -> None:
        """The way back to a request of the client is gone, as when an HTTP stream is closed: it counts as cancelled."""
        waiting = self._open[CLIENT].get(key_of(request, channel))
        if waiting is not None and waiting.pending:
            with self._log.batch():
                self._log.cancel(waiting.pending)

    def seal(self) -> None:
        """Seal what is there, because this process may be killed soon; whatever is seen later opens the seal again."""
        self._log.seal()

    def end(self, reason: str = ENDED, note: Any = None) -> None:
        """Settle what was never answered, write the last event and the seal, close the file; idempotent.

        `note` becomes a last message, such as that a part of the session is not recorded.
        """
        self._log.end(reason, note)

    def _sent(self, side: Side, method: str, message: dict[str, Any], channel: str) -> None:
        """A request or a notification."""
        params = mapping(message.get("params"))
        if "id" in message:
            self._asked(side, method, message["id"], params, channel)
        elif method == "notifications/cancelled":
            waiting = self._open[side].get(key_of(params.get("requestId"), channel))
            if waiting is not None and waiting.pending:
                self._log.cancel(waiting.pending)
            self._count(method)
        elif method in _TOLD:
            self._log.say(side, method, params)
        else:
            self._count(method)

    def _asked(self, side: Side, method: str, request: object, params: dict[str, Any], channel: str) -> None:
        pending = 0
        if side == SERVER and method != "ping":
            self._log.say(side, method, params)
        elif method == "tools/call":
            pending = self._log.pend(request, params)
        elif method in _READS:
            given = {name: value for name, value in params.items() if name != "_meta"}
            pending = self._log.pend(request, {**params, "name": method, "arguments": given}, kind="read")
        elif method not in _WATCHED:
            return self._count(method)
        if self._log.client is None:
            self._log.client = self._named(params, "client")
        if "protocol" not in self._log.source:
            self._log.source["protocol"] = self._log.short(mapping(params.get("_meta")).get(_PROTOCOL))
        self._wait(side, key_of(request, channel), _Open(method, time.monotonic_ns(), pending))

    def _wait(self, side: Side, key: tuple[str, object], request: _Open) -> None:
        waiting = self._open[side]
        # A second request with the id of an open one takes its place; the first stays in `pending`, unanswered.
        if key in waiting:
            self._count("ids used again while open")
        waiting[key] = request
        if len(waiting) > MAX_OPEN:
            del waiting[next(iter(waiting))]

    def _answered(self, side: Side, message: dict[str, Any], channel: str) -> None:
        request = self._open[SERVER if side == CLIENT else CLIENT].pop(key_of(message.get("id"), channel), None)
        result = mapping(message.get("result"))
        if side == SERVER and result.get("resultType") == "input_required":
            # No final answer: the repeated request is a call of its own.
            if request is not None and request.pending:
                self._log.drop(request.pending)
            self._log.say(side, "input_required", result)
        elif request is None:
            self._count("answers")
        elif side == CLIENT:
            self._log.say(side, request.method, message.get("result", message.get("error")))
        elif request.pending:
            self._log.settle(request.pending, self._log.settled(message), request.at)
        elif request.method == "tasks/result":
            # What a call gives that was answered by a task before.
            self._log.say(side, request.method, message.get("result", message.get("error")))
        else:
            source = self._log.source
            source["server"] = self._named(result, "server") or source.get("server")
            source["protocol"] = self._log.short(result.get("protocolVersion")) or source.get("protocol")
            if request.method == "tools/list":
                self._log.listed(result["tools"] if isinstance(result.get("tools"), list) else [])

    def _unread(self, side: Side, message: Unread, channel: str) -> None:
        """A message that was too large to be read, or is no JSON-RPC."""
        key = key_of(message.id, channel)
        if side == CLIENT and message.method == "tools/call" and message.id is not None:
            pending = self._log.pend(message.id, {"name": message.tool, "arguments": message.content})
            self._wait(side, key, _Open(message.method, time.monotonic_ns(), pending))
        elif side == SERVER and message.method is None and key in self._open[CLIENT]:
            request = self._open[CLIENT].pop(key)
            if request.pending:
                self._log.settle(request.pending, _unread_answer(message), request.at)
        elif message.size > MAX_MESSAGE:
            self._log.say(side, message.method or "unread", message.content)
        else:
            self._count("not_json_rpc")

    def _count(self, method: str) -> None:
        counts = self._log.counts
        name = self._log.short(method) or ""
        # A stranger may send any number of names.
        counts[name if name in counts or len(counts) < _MAX_COUNTS else "other"] += 1

    def _named(self, said: Mapping[str, Any], who: str) -> str | None:
        """`name version` from `clientInfo` or `serverInfo`, in either era."""
        info = mapping(said.get(f"{who}Info")) or mapping(mapping(said.get("_meta")).get(_INFO.format(who)))
        words = [info[name] for name in ("name", "version") if isinstance(info.get(name), str)]
        return self._log.short(clean_line(" ".join(words)).strip()) or None


def _is_answer(side: Side, message: Mapping[str, Any]) -> bool:
    # Who reads leniently takes what names a method and has a result for an answer; no call of a client looks so.
    return side == SERVER and ("result" in message or "error" in message)


def _unread_answer(message: Unread) -> Settled:
    if not message.failed:
        return Settled("ok", message.content)
    text = orjson.dumps(message.content).decode()
    return Settled("failed", error={"code": "unread", "message": text, "hint": "", "retryable": False})
