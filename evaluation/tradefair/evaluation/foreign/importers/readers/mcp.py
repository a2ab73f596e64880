"""`mcp`: logs of MCP tool calls of any server, each line a JSON object, or a list of them, in one of two shapes.

- JSON-RPC, bare or in a field of a record (inspectors and proxies wrap it, some both directions in one record, some
  without `jsonrpc`): requests `tools/call` and the responses with their ids; `tools/list` answers say what tools do.
- flat: `tool` with `arguments` and `result` or `error`; also `status`, `kind`, `round`, `parent`, `duration_ms`. The
  record of a beginning and that of its end are one call.

`time`, `session` (the run) and `agent` (the seat) are read from either, by several names (docs/how-to/importing.md).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain
from typing import Any

from tradefair.contract.answers import settled
from tradefair.evaluation.foreign.importers.counting import ANSWERS, CALLS, Counts, Seen
from tradefair.evaluation.foreign.importers.items import Call, Item, Reader
from tradefair.evaluation.foreign.importers.source import Head, Source
from tradefair.evaluation.foreign.interchange.messages import At, facts, tools
from tradefair.evaluation.foreign.interchange.own import STATUSES
from tradefair.evaluation.foreign.interchange.shapes import first, nanoseconds, parsed, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_WRAPPERS = ("message", "payload", "data", "request", "response")
# First match wins: `name` is last, being the field that records use for other things too.
_TOOL = ("tool", "tool_name", "toolName", "name")
_ARGUMENTS = ("arguments", "args", "input", "params", "parameters")
_RESULT = ("result", "output", "response")
_CALL_IDS = ("call_id", "callId", "tool_call_id", "toolCallId", "request_id", "requestId", "id")
_TIME = ("time", "timestamp", "ts", "at", "startedAt", "started_at")
_SESSION = ("session", "session_id", "sessionId", "mcpSessionId", "mcp_session_id")
_SEAT = ("seat", "agent", "client")
_DURATION = ("duration_ms", "latency_ms", "elapsed_ms")
# Fields of a tool's answer in MCP: a response with none of them answers some other method.
_TOOL_ANSWER = frozenset({"content", "structuredContent", "isError", "resultType"})
# By method: fields of which its answer has one. What a server asks comes first: those answers may hold `content`, too.
_ANSWERS = {
    "elicitation/create": frozenset({"action"}),
    "sampling/createMessage": frozenset({"role"}),
    "roots/list": frozenset({"roots"}),
    "tools/list": frozenset({"tools"}),
    "tools/call": _TOOL_ANSWER,
}
_MAX_WAITING = 100_000
_DEPTH = 4
"""Wrappers nest in real logs, and without a bound a hostile line would recurse until the stack ends."""


def sniff(head: Head) -> int:
    """Sure of `jsonrpc`, less so of a flat record, and of a wrapper only by what it holds."""
    if head.value is None:
        # The head ends within a document: what it shows of it.
        flat = {"result", "arguments"} <= set(head.keys) and {"tool", "tool_name", "toolName"} & set(head.keys)
        return 80 if b'"jsonrpc"' in head.raw and b'"method"' in head.raw else 60 if flat else 0
    return _sure(head.first(), 0)


def _sure(fields: dict[str, Any], depth: int) -> int:
    if "jsonrpc" in fields:
        return 95
    if isinstance(fields.get("method"), str) and (fields["method"] in _ANSWERS or fields["method"] == "initialize"):
        return 75
    if isinstance(first(fields, *_TOOL[:3]), str) and ("result" in fields or first(fields, *_ARGUMENTS) is not None):
        return 70
    if isinstance(fields.get("name"), str) and first(fields, "arguments", "args", "input") is not None:
        return 45 if first(fields, *_RESULT) is not None else 35
    inner = (_sure(held, depth + 1) for held in _wrapped(fields)) if depth < _DEPTH else ()
    return max((sure - 5 for sure in inner if sure >= 95 - 5 * depth), default=0)


def _wrapped(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a wrapper holds, also as texts of JSON: in its usual fields any, in others only JSON-RPC."""
    held = {name: mapping(parsed(value)) for name, value in fields.items()}
    return [inner for name, inner in held.items() if inner and (name in _WRAPPERS or "jsonrpc" in inner)]


def _is_rpc(item: dict[str, Any]) -> bool:
    """Whether it is a message of JSON-RPC, also where whoever logged it has dropped the protocol's own field."""
    answers = "id" in item and ("result" in item or "error" in item) and not isinstance(first(item, *_TOOL), str)
    return "jsonrpc" in item or isinstance(item.get("method"), str) or answers


def read(source: Source) -> Iterator[Item]:
    """The calls of a log, in the order of its lines."""
    reading = _Reading()
    # Lines, a list of records, or one record after another, each over several lines.
    for number, _, value in source.records("item" if source.head.listed else "", lines=source.head.lines):
        yield from reading.line(number, value)
    yield reading.told.total()


def _within(item: dict[str, Any], at: At) -> At:
    """Where a message stands: session, seat and time, of which inner objects overrule what outer ones say."""
    at_ns = nanoseconds(first(item, *_TIME))
    run, seat = text(first(item, *_SESSION)) or at.run, text(first(item, *_SEAT)) or at.seat
    return at._replace(run=run, seat=seat, at_ns=at.at_ns if at_ns is None else at_ns)


class _Reading:
    """Which requests wait for a response, by session and id, bounded."""

    def __init__(self) -> None:
        self.told = Transcript()
        self._waiting: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        self._begun: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._flats = 0

    def line(self, number: int, value: Any) -> Iterator[Item]:
        """One line, which may be a batch."""
        entries = (self._object(entry, At("", line=number)) for entry in sequence(value) or [value])
        return self.told.used(chain.from_iterable(entries))

    def _object(self, entry: Any, at: At, depth: int = 1) -> Iterator[Item]:
        """One JSON object, opened as long as it is a wrapper."""
        item = mapping(entry)
        at = _within(item, at)
        if not isinstance(entry, dict):
            yield at.odd("", "not a JSON object")
        # First: what calls itself JSON-RPC is never read as a flat record.
        elif _is_rpc(item):
            yield from self._rpc(item, at._replace(step=self.told.step(at.run)))
        elif isinstance(first(item, *_TOOL), str):
            yield from self._flat(item, at._replace(step=self.told.step(at.run)))
        elif (inner := _wrapped(item)) and depth < _DEPTH:
            for wrapped in inner:
                yield from self._object(wrapped, at, depth + 1)
        # Lines of our own seat views that are no calls: the head, and what became public.
        elif "seat_view" not in item and not isinstance(item.get("event"), str):
            yield at.odd("", "neither JSON-RPC nor a record with a tool")

    def _rpc(self, item: dict[str, Any], at: At) -> Iterator[Item]:
        """A JSON-RPC message: a request, a response to one of ours, or something else, which is counted only."""
        # Ids are unique within a session only. `repr` keeps 1 and "1" apart, and makes any id hashable.
        method, key = item.get("method"), (at.run, repr(item.get("id"))[:200])
        params = mapping(item.get("params"))
        if method == "tools/call":
            if isinstance(params.get("name"), str):
                self._wait(key, method)
                yield at.call(key[1], params["name"], params.get("arguments"))
            else:
                yield at.odd("params.name", "a tools/call that names no tool")
        elif isinstance(method, str):
            if "id" in item:
                self._wait(key, method)
            if method == "initialize":
                yield from facts(at, agent=text(mapping(params.get("clientInfo")).get("name")))
        else:
            yield from self._response(item, at, key)

    def _wait(self, key: tuple[str, str], method: str) -> None:
        # Client and server number their requests on their own: two may wait under one id.
        before = [waiting for waiting in self._waiting.get(key, ()) if waiting != method]
        self._waiting[key] = (*before[-1:], method)
        if len(self._waiting) > _MAX_WAITING:
            self._waiting.popitem(last=False)

    def _asked(self, key: tuple[str, str], result: dict[str, Any]) -> str | None:
        """The method that a response answers: the one whose answer looks like it, else the one that was asked last."""
        waiting = self._waiting.pop(key, ())
        alike = (name for name, fields in _ANSWERS.items() if name in waiting and not fields.isdisjoint(result))
        asked = next(alike, waiting[-1] if waiting else None)
        if len(waiting) > 1:
            self._waiting[key] = tuple(method for method in waiting if method != asked)
        return asked

    def _response(self, item: dict[str, Any], at: At, key: tuple[str, str]) -> Iterator[Item]:
        result = mapping(item.get("result"))
        asked = self._asked(key, result)
        if asked == "tools/list":
            yield from facts(at, tools=tools(result.get("tools")))
        # A response may stand before its request; responses of other methods are normal.
        elif asked == "tools/call" or (asked is None and not _TOOL_ANSWER.isdisjoint(result)):
            if result.get("resultType") == "input_required":
                content = {"inputRequests": result.get("inputRequests")}
                yield at.said("server", "protocol", content)._replace(name="input_required")
                yield at.answer(key[1], None, status="withdrawn")
            else:
                found = settled(item)
                yield at.answer(key[1], found.result, found.error, found.status)

    def _flat(self, item: dict[str, Any], at: At) -> Iterator[Item]:
        """A record that holds the call, or its end, or both in one."""
        tool, error, status, ends = str(first(item, *_TOOL)), item.get("error"), item.get("status"), _ends(item)
        named = (at.run, f"{tool} {first(item, *_CALL_IDS)!r}"[:200]) if first(item, *_CALL_IDS) is not None else None
        duration = first(item, *_DURATION)
        lasted = duration if isinstance(duration, int | float) and not isinstance(duration, bool) else 0
        key = self._begun.pop(named, "") if ends and named is not None else ""
        if key:
            # It began in a record of its own, and this one stands where it ended.
            lasted = 0
        else:
            self._flats += 1
            key = f"flat {self._flats}"
            yield _began(item, at.call(key, tool, first(item, *_ARGUMENTS)))
            if not ends and named is not None:
                self._begun[named] = key
                if len(self._begun) > _MAX_WAITING:
                    self._begun.popitem(last=False)
        if ends:
            # The log's own status is finer than ours, but not where it contradicts the error next to it.
            own = status if status in STATUSES and (status == "ok") == (error is None) else None
            ended = None if at.at_ns is None or not 0 <= lasted < 1e10 else at.at_ns + round(lasted * 1_000_000)
            at = at._replace(at_ns=ended)
            yield at.answer(key, first(item, *_RESULT), error if error is not None else False, own)


def _began(item: dict[str, Any], call: Call) -> Call:
    kind, parent, rounds = item.get("kind"), item.get("parent"), item.get("round")
    return call._replace(
        parent=parent if isinstance(parent, str) else None,
        kind=kind if isinstance(kind, str) else None,
        round=rounds if isinstance(rounds, int) and not isinstance(rounds, bool) else None,
    )


def _ends(item: dict[str, Any]) -> bool:
    """Whether a flat record is of a call that is over. The key counts, not its value: `"result": null` is an answer."""
    return item.get("error") is not None or any(name in item for name in _RESULT) or item.get("status") in STATUSES


def _seen(fields: dict[str, Any]) -> list[Seen] | None:
    """Calls and answers of a record: of JSON-RPC by its method, of others by tool, as begun and as ended."""
    tool, result = first(fields, *_TOOL), mapping(fields.get("result"))
    if _is_rpc(fields):
        if fields.get("method") == "tools/call":
            return [Seen(CALLS, name)] if isinstance(name := mapping(fields.get("params")).get("name"), str) else []
        if result.get("resultType") == "input_required":
            return [Seen(CALLS, "", number=-1)]
        return [Seen(ANSWERS, "")] if _TOOL_ANSWER & result.keys() else []
    if not isinstance(tool, str):
        return None
    key = first(fields, *_CALL_IDS)
    ends = _ends(fields)
    run = "" if key is None else f"{text(first(fields, *_SESSION))} {key!r}"
    return [
        Seen(CALLS, tool, ("ended" if ends else "begun") if run else "once", run),
        *([Seen(ANSWERS, "")] if ends else []),
    ]


_COUNTS = Counts(texts=True, seen=_seen)

READER = Reader("mcp", "MCP tool calls: JSON-RPC, or a record a call", sniff, read, counts=_COUNTS)
