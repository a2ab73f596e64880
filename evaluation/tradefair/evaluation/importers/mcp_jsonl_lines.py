"""Lines of a tool-call log, of whatever make, as calls. Tolerant of shapes, exact about what it could not use.

Each line is a JSON object (or a list of them) in one of two shapes, bare or wrapped:

- JSON-RPC: a request `tools/call` and the response with its id; `tools/list` answers say which tools only read.
  Wrappers under `message`, `payload`, `data`, `request` and `response` are opened.
- flat: `tool` with `arguments` and `result` or `error`; also `status`, `kind`, `round`, `parent`, `duration_ms`.

`time` and `session` are read from either, by several names. docs/how-to/exports.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from tradefair.contract.chain import digest
from tradefair.contract.seats import MAX_SEAT_ID

# Sessions that a hostile log can make us hold.
MAX_SEATS = 1_000
_MAX_NAME = 200
# Lines that are read before a log has to hold calls.
_PATIENCE = 100_000

_WRAPPERS = ("message", "payload", "data", "request", "response")
# First match wins: `name` is last, being the field that records use for other things too.
_TOOL = ("tool", "tool_name", "toolName", "name")
_ARGUMENTS = ("arguments", "args", "input", "params", "parameters")
_RESULT = ("result", "output", "response")
_TIME = ("time", "timestamp", "ts", "at")
_SESSION = ("session", "session_id", "sessionId", "seat", "agent", "client")
_DURATION = ("duration_ms", "latency_ms", "elapsed_ms")
_KINDS = ("read", "analysis", "action", "note")
_STATUSES = ("ok", "rejected", "invalid", "denied", "failed")
# Fields of a tool's answer in MCP: a response with none of them answers some other method.
_TOOL_ANSWER = frozenset({"content", "structuredContent", "isError"})
# JSON-RPC 2.0, "Invalid params".
_INVALID_PARAMS = -32602
# In seconds that would be the year 5138, in milliseconds it is 1973: nothing real lies on the wrong side.
_MS_FROM = 1e11
"""Numbers from here on are milliseconds since the epoch, smaller ones are seconds."""


@dataclass
class LoggedCall:
    """One call as the log tells of it. `error` is `{code, message, hint, retryable}`; `status` is ours."""

    line: int
    session: str
    tool: str
    arguments: Any
    kind: str | None = None
    round: int | None = None
    parent: str | None = None
    at_ms: int | None = None
    latency_us: int | None = None
    status: str = "failed"
    error: Mapping[str, Any] | None = None
    result: Any = None
    answered: bool = False


class Oddity(NamedTuple):
    """What could not be used: the line, the field, and why."""

    line: int
    field: str
    message: str


@dataclass
class CallLog:
    """What a log says: calls in the order of their requests, tools by what they do, clients by session."""

    calls: list[LoggedCall] = field(default_factory=list[LoggedCall])
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    clients: dict[str, str] = field(default_factory=dict[str, str])
    odd: list[Oddity] = field(default_factory=list[Oddity])
    lines: int = 0
    other: int = 0
    """Lines that were understood and are about something else than tool calls."""


def read_calls(lines: Iterable[bytes]) -> CallLog:
    """All calls of a log. Total: a line that cannot be used is an oddity.

    A log is given up where its first 100,000 lines, or any longer beginning, hold no call in a hundred.
    """
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        if line.strip():
            reader.take(number, line)
        # Each line costs time whatever is in it, and a stranger's file may have billions.
        if number >= _PATIENCE and number > 100 * len(reader.log.calls):
            reader.give_up(number)
            break
    reader.finish()
    return reader.log


class _Reader:
    """Matches requests with responses. A call stays open until its response comes, however many lines lie between."""

    def __init__(self) -> None:
        self.log = CallLog()
        self._open: dict[tuple[str, str], LoggedCall] = {}
        self._lists: set[tuple[str, str]] = set()
        self._sessions: set[str] = set()

    def take(self, number: int, line: bytes) -> None:
        """One line."""
        # Before anything can fail, so that the share of understood lines counts every line.
        self.log.lines += 1
        try:
            content: Any = orjson.loads(line)
            orjson.dumps(content)  # deeper than can be written again
        except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
            return self._odd(number, "", f"not JSON: {error}"[:200])
        # A JSON-RPC batch is a list of messages.
        for item in _list(content):
            if isinstance(item, dict):
                self._object(number, item, _Around())  # pyright: ignore[reportUnknownArgumentType]
            else:
                self._odd(number, "", "not a JSON object")

    def give_up(self, number: int) -> None:
        """This is hardly a log of calls."""
        calls = len(self.log.calls)
        self._odd(number, "", f"{calls:,} calls in {number:,} lines: the lines after this one are not read")

    def finish(self) -> None:
        """What was asked and never answered."""
        for call in self._open.values():
            self._odd(call.line, "id", f"the call of {call.tool} has no response in this log")

    # --- shapes ---------------------------------------------------------------------------------------------------

    def _object(self, number: int, item: dict[str, Any], around: _Around) -> None:
        """One JSON object, opened as long as it is a wrapper."""
        around = around.within(item)
        # First: what calls itself JSON-RPC is never read as a flat record.
        if "jsonrpc" in item or isinstance(item.get("method"), str):
            return self._rpc(number, item, around)
        if isinstance(_first(item, _TOOL), str):
            return self._flat(number, item, around)
        inner: list[dict[str, Any]] = [item[name] for name in _WRAPPERS if isinstance(item.get(name), dict)]
        # Wrappers nest in real logs, and without a bound a hostile line would recurse until the stack ends.
        if inner and around.depth < 4:
            for wrapped in inner:
                self._object(number, wrapped, around)
        elif _beside(item):
            self.log.other += 1
        else:
            self._odd(number, "", "neither JSON-RPC nor a record with a tool")

    def _rpc(self, number: int, item: dict[str, Any], around: _Around) -> None:
        # Ids are unique within a session only. `repr` keeps 1 and "1" apart, and makes any id hashable.
        """A JSON-RPC message: a request, a response to one of ours, or something else, which is counted only."""
        method, key = item.get("method"), (around.session, repr(item.get("id")))
        if method == "tools/call":
            return self._request(number, item, around, key)
        if method is not None:
            if method == "tools/list":
                # Its answer comes with the id alone, and looks like any other response.
                self._lists.add(key)
            elif method == "initialize":
                self._client(_mapping(item.get("params")), around.session)
            self.log.other += 1
        elif key in self._open:
            self._response(self._open.pop(key), item, around)
        elif key in self._lists:
            self._lists.discard(key)
            self._listed(_mapping(item.get("result")))
            self.log.other += 1
        # A cut log may lack the request. Responses of other methods are normal and no finding.
        elif not _TOOL_ANSWER.isdisjoint(_mapping(item.get("result"))):
            self._odd(number, "id", "a response to a tools/call that is not in this log")
        else:
            self.log.other += 1

    def _request(self, number: int, item: dict[str, Any], around: _Around, key: tuple[str, str]) -> None:
        """A `tools/call`. Opens a call that waits for the response with the same id in the same session."""
        params = _mapping(item.get("params"))
        tool = params.get("name")
        if not isinstance(tool, str):
            return self._odd(number, "params.name", "a tools/call that names no tool")
        # The finding is about the id: the new call is kept, and the response goes to it.
        if key in self._open:
            self._odd(number, "id", "a second request with this id before the first was answered")
        call = self._call(number, tool, _or_empty(params.get("arguments")), around)
        if call is not None:
            self._open[key] = call

    def _response(self, call: LoggedCall, item: dict[str, Any], around: _Around) -> None:
        """Status as docs/how-to/exports.md says: JSON-RPC errors: `failed` or `invalid`, `isError`: `rejected`."""
        call.answered = True
        # Clocks of two processes may run against each other: a negative time is none.
        if call.at_ms is not None and around.at_ms is not None and around.at_ms >= call.at_ms:
            call.latency_us = (around.at_ms - call.at_ms) * 1_000
        error = item.get("error")
        if error is not None:
            code = _mapping(error).get("code")
            call.status = "invalid" if code == _INVALID_PARAMS else "failed"
            call.error = _error(error, f"rpc_{code}" if isinstance(code, int) else "rpc_error")
            return
        answer = _content(item.get("result"))
        if _mapping(item.get("result")).get("isError") is True:
            call.error = _error(answer, "tool_error")
            # Our own servers answer invalid arguments this way; other servers' refusals are all the same kind.
            call.status = "invalid" if call.error["code"] == "invalid_arguments" else "rejected"
        else:
            call.status, call.result = "ok", answer

    def _flat(self, number: int, item: dict[str, Any], around: _Around) -> None:
        """A record that holds the call and its answer in one."""
        tool = str(_first(item, _TOOL))
        call = self._call(number, tool, _or_empty(_first(item, _ARGUMENTS)), around)
        if call is None:
            return
        error, result, status = item.get("error"), _first(item, _RESULT), item.get("status")
        # The key counts, not its value: `"result": null` is an answer.
        call.answered = error is not None or any(name in item for name in _RESULT) or status in _STATUSES
        call.kind = item["kind"] if item.get("kind") in _KINDS else None
        call.round = _whole(item.get("round"))
        call.parent = item["parent"] if isinstance(item.get("parent"), str) else None
        duration = _first(item, _DURATION)
        if isinstance(duration, int | float) and not isinstance(duration, bool) and 0 <= duration < 1e10:
            call.latency_us = round(duration * 1_000)
        if error is not None:
            call.error = _error(error, "tool_error")
            call.status = "invalid" if call.error["code"] == "invalid_arguments" else "rejected"
        elif call.answered:
            call.status, call.result = "ok", _content(result)
        else:
            self._odd(number, "result", f"the call of {tool[:80]} has neither result nor error")
        # The log's own status is finer than ours, but not where it contradicts the error next to it.
        if status in _STATUSES and (status == "ok") == (error is None):
            call.status = str(status)

    # --- parts ----------------------------------------------------------------------------------------------------

    def _call(self, number: int, tool: str, arguments: Any, around: _Around) -> LoggedCall | None:
        if not 0 < len(tool) <= _MAX_NAME:
            self._odd(number, "tool", f"a tool's name has 1 to {_MAX_NAME} characters")
            return None
        self._sessions.add(around.session)
        # Taken out again: the set would stay too large and refuse calls of known sessions as well.
        if len(self._sessions) > MAX_SEATS:
            self._sessions.discard(around.session)
            self._odd(number, "session", f"more than {MAX_SEATS:,} sessions")
            return None
        call = LoggedCall(number, around.session, tool, arguments, at_ms=around.at_ms)
        self.log.calls.append(call)
        return call

    def _client(self, params: Mapping[str, Any], session: str) -> None:
        name = _mapping(params.get("clientInfo")).get("name")
        if isinstance(name, str):
            self.log.clients[session] = name[:_MAX_NAME]

    def _listed(self, result: Mapping[str, Any]) -> None:
        """Tools of a `tools/list` answer: what the server says of their effect."""
        for tool in map(_mapping, _list(result.get("tools"))):
            only_reads = _mapping(tool.get("annotations")).get("readOnlyHint")
            if isinstance(only_reads, bool):
                self.log.kinds[str(tool.get("name"))] = "read" if only_reads else "action"

    def _odd(self, number: int, name: str, message: str) -> None:
        self.log.odd.append(Oddity(number, name, message))


class _Around(NamedTuple):
    """What the wrappers of a message say: when, and in which session.

    Inner objects overrule outer ones, and what they leave out is inherited.
    """

    session: str = "client"
    at_ms: int | None = None
    depth: int = 0

    def within(self, item: Mapping[str, Any]) -> _Around:
        """The same, with what this object says."""
        session, at_ms = _first(item, _SESSION), _moment(_first(item, _TIME))
        named = str(session) if isinstance(session, str | int) and not isinstance(session, bool) else ""
        if len(named) > MAX_SEAT_ID:
            # Two long names may begin alike.
            named = f"{named[: MAX_SEAT_ID - 13]}-{digest(named.encode(errors='replace'))[:12]}"
        return _Around(named or self.session, self.at_ms if at_ms is None else at_ms, self.depth + 1)


def _first(item: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first of several fields that is there and not null."""
    return next((item[name] for name in names if item.get(name) is not None), None)


def _mapping(value: object) -> dict[str, Any]:
    """An object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


def _list(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else [value]


def _whole(value: object) -> int | None:
    """A round's number: a whole number from 0 to below 2³¹, else null."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _moment(value: object) -> int | None:
    """Milliseconds since the epoch from ISO 8601 (UTC without a zone), seconds or milliseconds."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            # Without a zone UTC is assumed, so that an import gives equal bytes on machines of all zones.
            number = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000
        except (ValueError, OverflowError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value if value >= _MS_FROM else value * 1_000
    else:
        return None
    # Up to the year 2286; NaN fails both comparisons.
    return round(number) if 0 <= number < 1e13 else None


def _error(said: Any, code: str) -> dict[str, Any]:
    """A refusal in our shape, from an object with code and message, or from text."""
    # Servers answer an error as an object or as plain text; both become one shape.
    content = _mapping(said) or {"message": said}
    named, hint = content.get("code"), content.get("hint")
    message = _first(content, ("message", "text"))
    return {
        "code": named[:_MAX_NAME] if isinstance(named, str) and named else code,
        "message": (message if isinstance(message, str) else orjson.dumps(said).decode())[:2_000],
        "hint": hint[:2_000] if isinstance(hint, str) else "",
        "retryable": content.get("retryable") is True,
    }


def _content(result: Any) -> Any:
    """The answer of a tool: structured content, else its one text, parsed where it is JSON, else as it stands."""
    answer = _mapping(result)
    # Preferred: `content` repeats it as text for clients that cannot read structures.
    if answer.get("structuredContent") is not None:
        return answer["structuredContent"]
    parts = [_mapping(part) for part in _list(answer.get("content"))]
    # Several parts or an image have no single meaning: the result is kept as it stands.
    if len(parts) != 1 or parts[0].get("type") != "text" or not isinstance(parts[0].get("text"), str):
        return result
    text: str = parts[0]["text"]
    try:
        parsed: Any = orjson.loads(text)
        orjson.dumps([[[parsed]]])  # it goes into an event, and must be writable there
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return {"text": text}
    return parsed


def _beside(item: Mapping[str, Any]) -> bool:
    """Lines of our own seat views that are no calls: the head, and what became public."""
    return "seat_view" in item or isinstance(item.get("event"), str)
