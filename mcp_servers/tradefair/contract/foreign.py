"""Traces that no rules have made: imported from others' logs, or recorded between a client and a server of others.

One encoder of their events serves both. It imports the standard library and orjson only, because a recorder is to be
ready before a client notices it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import orjson

from tradefair.contract.chain import INLINE_BYTES, TRACE_SCHEMA, canonical, digest

FOREIGN_MARKET = "mcp"
"""The market of such traces: no rules are registered under it, and `verify` answers "foreign"."""

IMPORTED, RECORDED = "imported", "recorded"
"""What their manifest says instead of a version of rules."""

FOREIGN = frozenset({IMPORTED, RECORDED})
"""Versions of rules under which nothing can be re-executed."""

PHASE = "open"

# Bytes that a reader takes of a stored result, and how many of them a writer keeps in mind.
_MAX_BLOB, _MAX_BLOBS = 1024 * 1024, 50_000

MAX_EVENT = 8 * 1024 * 1024
"""Bytes of an event as it is stored; what is larger is kept as {size, digest} (`reduced`)."""

_ROOM = MAX_EVENT - 65_536  # without names and numbers

Status = Literal["ok", "rejected", "invalid", "denied", "failed"]
NO_ANSWER = {"code": "no_answer", "message": "the log holds no answer to this call", "hint": "", "retryable": False}
"""The error of a call that was never answered."""

CANCELLED = {"code": "cancelled", "message": "the client has called it off", "hint": "", "retryable": False}
"""The error of one that its client did not wait for."""


class Stored(NamedTuple):
    """One event to be stored, of the shape of `contract.kernel.records.Record`."""

    seq: int
    body: bytes
    blob: tuple[str, bytes] | None = None
    closes: bool = False


def foreign_core(name: str, rules_version: str, seats: Mapping[str, str]) -> dict[str, Any]:
    """The core of the manifest, as `ManifestCore` reads it; `seats` gives the role of each seat."""
    return {
        "trace_schema": TRACE_SCHEMA,
        "market": FOREIGN_MARKET,
        "rules_version": rules_version,
        "scenario": {
            "id": f"{FOREIGN_MARKET}/{name}",
            "description": f"Tool calls that were {rules_version}; no rules made them.",
        },
        "seed": None,
        "seats": [{"id": seat, "role": role} for seat, role in seats.items()],
        # The tools that a source names stand in `about.tools`: they are known at its end only.
        "tool_schema_digest": digest(canonical({})),
        "limits": [],
        "record": "full",
    }


def reduced(content: Any) -> Any:
    """`content` as it is kept: itself, or {size, digest} of its JSON where that is larger than an event may be."""
    raw = orjson.dumps(content)
    return {"size": len(raw), "digest": digest(raw)} if len(raw) > _ROOM else content


class ForeignEvents:
    """Numbers and encodes the events of one trace, in the order in which its methods are called."""

    def __init__(self, round_: int = 1) -> None:
        self.seq = 0
        self.round = round_
        self._revision = 0
        self._calls: dict[str, int] = {}
        self._blobs: set[str] = set()

    def started(self, seating: Mapping[str, Any], tools: bytes | None = None) -> Stored:
        """The first event: who played, and where the log comes from; `tools` is JSON that becomes a blob."""
        if tools is None:
            return self._event("episode_started", None, {"seating": seating})
        name = digest(tools)
        return self._event("episode_started", None, {"seating": seating, "facts": {"catalogue": [name]}}, (name, tools))

    def next_call(self, seat: str) -> str:
        """The id of the next call of a seat, where calls are numbered before they are answered (`called(call=…)`)."""
        self._calls[seat] = self._calls.get(seat, 0) + 1
        return f"r{self.round}.{seat}.{self._calls[seat]}"

    def called(
        self,
        seat: str,
        tool: str,
        arguments: Any,
        *,
        kind: str | None,
        status: Status,
        result: Any = None,
        error: Mapping[str, Any] | None = None,
        step: int | None = None,
        parent: str | None = None,
        call: str | None = None,
    ) -> tuple[str, Stored]:
        """One call with its answer, and the id that it got; `result` is kept where `status` is ok.

        Arguments and result may be `orjson.Fragment`. A result over 2 kB becomes a blob, each content once, as in live
        traces.
        """
        call = self.next_call(seat) if call is None else call
        answer = self._fitting(orjson.dumps(result), arguments) if status == "ok" else None
        name = None if answer is None else digest(answer)
        large = answer is not None and self._is_blob(answer)
        content: dict[str, Any] = {
            **({} if step is None else {"step": step}),
            "call": call,
            "parent": parent,
            "tool": tool,
            "kind": kind,
            "arguments": arguments,
            "read_through": None,
            "refs": None,
            "status": status,
            "error": NO_ANSWER if status != "ok" and error is None else error,
            "result": None if large or answer is None else orjson.Fragment(answer),
            "result_ref": name if large else None,
            "result_digest": name,
            "result_size": None if answer is None else len(answer),
        }
        blob = None
        if large and name is not None and answer is not None and name not in self._blobs:
            self._blobs.add(name)
            blob = (name, answer)
        return call, self._event("tool_called", seat, content, blob)

    def _is_blob(self, answer: bytes) -> bool:
        # What a blob may not hold stands in the event, which may be larger; so does what is new when many are known.
        if not INLINE_BYTES < len(answer) <= _MAX_BLOB:
            return False
        return len(self._blobs) < _MAX_BLOBS or digest(answer) in self._blobs

    def _fitting(self, answer: bytes, arguments: Any) -> bytes:
        """The answer, or its size and digest: it and the arguments may each be as large as an event, and not both."""
        inline = 0 if self._is_blob(answer) else len(answer)
        if inline <= INLINE_BYTES or inline + len(orjson.dumps(arguments)) <= _ROOM:
            return answer
        return orjson.dumps({"size": inline, "digest": digest(answer)})

    def said(
        self, seat: str | None, role: str, part: str, content: Any, *, step: int | None = None, name: str | None = None
    ) -> Stored:
        """A message: what somebody said, or what the protocol carried beside calls."""
        left_out = {key: value for key, value in (("step", step), ("name", name)) if value is not None}
        return self._event("message", seat, {**left_out, "role": role, "part": part, "content": content})

    def round_closed(self) -> Stored:
        """The end of a round, where a log has rounds; the next event belongs to the following one."""
        event = self._event("round_closed", None, {"public": None, "facts": {}, "state_digest": ""}, closes=True)
        self.round, self._revision = self.round + 1, self._revision + 1
        self._calls.clear()
        return event

    def ended(self, reason: str) -> Stored:
        """The last event."""
        return self._event("episode_ended", None, {"reason": reason, "facts": {}, "state_digest": ""}, closes=True)

    def _event(
        self,
        event: str,
        seat: str | None,
        content: Mapping[str, Any],
        blob: tuple[str, bytes] | None = None,
        *,
        closes: bool = False,
    ) -> Stored:
        self.seq += 1
        clock = {"round": self.round, "phase": PHASE, "revision": self._revision, "seat": seat}
        return Stored(self.seq, orjson.dumps({"seq": self.seq, "event": event, **clock, **content}), blob, closes)
