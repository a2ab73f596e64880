"""The trace of one recorded session: calls, messages and tools become rows, without secrets."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from tradefair.contract.answers import Settled, kind_of, listed_tool, settled
from tradefair.contract.chain import digest
from tradefair.contract.foreign import CANCELLED, NO_ANSWER, RECORDED, ForeignEvents, foreign_core, reduced
from tradefair.recording.messages import MAX_MESSAGE, mapping
from tradefair.tracestore.append import Beside, TraceLog
from tradefair.tracestore.redaction import Redactor

SEAT = "client"
FORMAT = "mcp"
ENDED = "truncated:recording_ended"
LARGE = MAX_MESSAGE // 20
"""Bytes of a message; what a smaller one holds is no larger than an event may be, whatever redaction makes of it."""

_ARGUMENTS = b',"arguments":'
_MAX_TOOLS = 2_000  # `about` has 4 MiB
_MAX_TEXT = 200


class SessionLog:
    """One session, one trace, one seat. The file appears with the first batch.

    Methods raise StorageUnavailable where the log cannot be written; then nothing of the batch is in it.
    """

    def __init__(
        self, path: Path, redactor: Redactor, source: Mapping[str, Any], transport: str, *, digest_results: bool
    ) -> None:
        """`path`: the trace, which must not exist; `source`: what `about.source` says of where it comes from."""
        self.path = path
        self.source = {"format": FORMAT, "messages": False, **source}
        self.client: str | None = None
        self.counts: Counter[str] = Counter()
        self.step = 0
        self.large = False
        self._redactor = redactor
        self._transport = transport
        self._digest_results = digest_results
        self._file: TraceLog | None = None
        self._events = ForeignEvents()
        self._tools: dict[str, dict[str, Any]] = {}
        self._listed: set[str] = set()
        self._began = ""

    @property
    def _log(self) -> TraceLog:
        assert self._file is not None, "rows are written within a batch"
        return self._file

    @property
    def begun(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    @contextmanager
    def batch(self) -> Generator[None]:
        """Rows of the body are committed at its end, or none is."""
        if self._file is None:
            self._file = self._begin()
        with self._file.batch():
            yield

    def _begin(self) -> TraceLog:
        # Imported here: it takes as long as all the rest.
        from importlib.metadata import version

        self._began = _iso()
        label = self.client or SEAT
        player = {"label": label, "policy": None, "late": False, "privileged": False, "agent": None}
        seating = {
            "players": {SEAT: player},
            "written_by": f"tradefair {version('tradefair')}",
            "origin": {"recorded_from": {"format": FORMAT, "transport": self._transport}},
        }
        core = foreign_core(self.path.stem, RECORDED, {SEAT: "agent"})
        return TraceLog(self.path, core, self.about(), self._events.started(seating), Beside(at_ms=_now_ms()))

    def pend(self, request: object, params: Mapping[str, Any], kind: str | None = None) -> int:
        """A call that is about to be handed on, of a `kind` where its method says so; its number in `pending`."""
        kept = {
            "kind": kind,
            "tool": self.short(params.get("name")) or "",
            "step": self.step,
            "traceparent": self.short(mapping(params.get("_meta")).get("traceparent")),
            # Last, so that they need not be decoded again.
            "arguments": self.clean(params.get("arguments", {})),
        }
        return self._log.pend(SEAT, self.short(request) or "", _now_ms(), orjson.dumps(kept))

    def cancel(self, pending: int) -> None:
        """The client has called it off."""
        self._log.cancel(pending)

    def drop(self, pending: int) -> None:
        """It has ended without an answer of its own."""
        self._log.settle(pending)

    def settle(self, pending: int, answer: Settled | None, began_ns: int | None = None) -> None:
        """Write a call with its answer, None where none came; `began_ns` by the monotonic clock."""
        row = self._log.settle(pending)
        # No text of JSON holds this mark: in there its quotation marks are escaped.
        mark = row.body.index(_ARGUMENTS)
        call = orjson.loads(row.body[:mark] + b"}")
        arguments = orjson.Fragment(row.body[mark + len(_ARGUMENTS) : -1])
        plain = row.body.startswith(b"{", mark + len(_ARGUMENTS))
        row = row._replace(body=b"")
        if answer is None:
            answer = Settled("failed", error=CANCELLED if row.cancelled else NO_ANSWER)
        status, result, tool = answer.status, answer.result, call["tool"]
        # The server refuses them; what is wrong with them can be seen.
        if status in ("rejected", "failed") and began_ns is not None and not plain:
            status = "invalid"
        if self._digest_results and status == "ok":
            result = _in_short(orjson.dumps(result))
        _, event = self._events.called(
            SEAT,
            tool,
            arguments,
            kind=call["kind"] or kind_of(tool, self._tools.get(tool, {})),
            status=status,
            result=result,
            error=answer.error,
            step=call["step"],
        )
        beside = Beside(
            SEAT,
            at_ms=_now_ms(),
            latency_us=None if began_ns is None else (time.monotonic_ns() - began_ns) // 1_000,
            transport=self._transport,
            client=self.client,
            request_id=row.request_id,
            traceparent=call["traceparent"],
        )
        self._log.append(event, beside)

    def settled(self, answer: Mapping[str, Any]) -> Settled:
        """What an answer says of its call, without secrets."""
        if answer.get("error") is None and mapping(answer.get("result")).get("isError") is not True:
            found = settled(answer)
            return found._replace(result=self.clean(found.result))
        # Before it is cut: half a secret would not be known for one.
        return settled({name: self.clean(answer.get(name)) for name in ("result", "error")})

    def say(self, role: str, name: str, content: Any) -> None:
        """A message of the protocol, beside calls."""
        event = self._events.said(
            SEAT, role, "protocol", self.clean(content), step=self.step or None, name=self.short(name)
        )
        self._log.append(event, Beside(SEAT, at_ms=_now_ms(), transport=self._transport))

    def listed(self, tools: list[Any]) -> None:
        """A `tools/list` answer: once in the chain, and in short in `about.tools`."""
        for tool in map(mapping, tools):
            short = listed_tool(tool)
            name = short["name"] = self._redactor.text(short["name"])
            if len(self._tools) < _MAX_TOOLS or name in self._tools:
                self._tools[name] = short
        name = digest(orjson.dumps(tools))
        # A client may ask before each call.
        if name in self._listed:
            self.counts["tools/list"] += 1
        elif len(self._listed) < _MAX_TOOLS:
            self._listed.add(name)
            self.say("server", "tools/list", tools)

    def seal(self) -> None:
        """Seal what is there for now, calls in flight included."""
        if self._file is not None:
            self._file.seal(self.about())

    def end(self, reason: str, note: Any = None) -> None:
        """Settle what was never answered, write the last event and the seal, close the file; idempotent.

        `note` becomes a last message, such as that a part of the session is not recorded.
        """
        log = self._file
        if log is None:
            return
        try:
            # A batch that failed has used numbers that are free again.
            self._events.seq = log.seq
            with log.batch():
                for pending in log.unanswered():
                    self.settle(pending, None)
                if note is not None:
                    self.say("server", "recording", note)
                log.append(self._events.ended(reason), Beside(at_ms=_now_ms()))
            log.seal({**self.about(), "finished": _iso(), "end_reason": reason})
        finally:
            self._file = None
            log.close()

    def about(self) -> dict[str, Any]:
        """The part of the manifest beside the chain, as far as it is known."""
        counted = {"counts": dict(sorted(self.counts.items())), "redacted": dict(sorted(self._redactor.hits.items()))}
        source = {**self.source, "client": self.client, **counted, "passed": None}
        return {
            "episode": self.path.stem,
            "created": self._began,
            "source": source,
            "tools": list(self._tools.values()),
        }

    def clean(self, value: Any) -> Any:
        """Without secrets, and by size and digest where it is larger than an event may be."""
        try:
            cleaned = self._redactor.clean(value)
        except RecursionError:
            return _in_short(orjson.dumps(value))
        return reduced(cleaned) if self.large else cleaned

    def short(self, value: object) -> str | None:
        """A name or id of the protocol as a text."""
        if value is None:
            return None
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        return self._redactor.text(text)[:_MAX_TEXT]


def _in_short(raw: bytes) -> dict[str, Any]:
    return {"size": len(raw), "digest": digest(raw)}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _iso() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
