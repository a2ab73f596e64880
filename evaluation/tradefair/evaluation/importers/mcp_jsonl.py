"""`mcp-jsonl`: logs of MCP tool calls, of any server, as traces that the general diagnostics and the report read.

There are no rules to re-execute: the chain holds what the log said, and `verify` says so. Every session is a seat; what
a tool does is taken from the log (`tools/list`, `kind`), else from the verb in its name (docs/how-to/exports.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from tradefair.contract.chain import canonical, digest
from tradefair.contract.core import INLINE_BYTES, Record
from tradefair.contract.event import TRACE_SCHEMA, ManifestCore, SeatRecord
from tradefair.contract.players import Seating
from tradefair.evaluation.importers import IMPORTED_MARKET
from tradefair.evaluation.importers.mcp_jsonl_lines import CallLog, LoggedCall, read_calls
from tradefair.evaluation.importers.report import GameReport, ImportReport, Tally, imported_seating
from tradefair.files.folders import lines
from tradefair.files.user_files import regular
from tradefair.tracestore import Written, write_trace

IMPORTER = "mcp-jsonl"
# A log of calls never says that an episode is over.
END_REASON = "truncated:log_ended"

_TRANSPORT = "import"
_PHASE = "open"
# First words of tool names as MCP servers use them. A guess for logs without `kind` or `readOnlyHint`.
_READS = {
    "browse", "check", "count", "describe", "download", "fetch", "find", "get", "inspect", "list", "lookup", "open",
    "peek", "preview", "query", "read", "retrieve", "scan", "search", "select", "show", "view", "watch",
}  # fmt: skip
_ANALYSES = {
    "analyse", "analyze", "assess", "calculate", "compare", "compute", "estimate", "evaluate", "explain", "forecast",
    "rank", "score", "simulate", "summarise", "summarize", "validate",
}  # fmt: skip


def import_logs(files: Sequence[Path], out: Path) -> ImportReport:
    """One trace per log in the folder `out`, named after the log. What could not be used are findings."""
    return ImportReport(IMPORTER, [import_log(file, out) for file in files])


def import_log(file: Path, out: Path) -> GameReport:
    """Read one log and write what calls it has; a log without any becomes no trace.

    The report's checks count answered calls and understood lines; nothing can be re-executed.
    """
    report = GameReport(file.name)
    seen = hashlib.blake2b(digest_size=32)
    try:
        with regular(file) as opened:
            # Hashed while it is read: no second pass, and the file is never in memory as a whole.
            log = read_calls(_hashed(lines(opened), seen))
    except OSError as error:
        report.found(0, "", f"cannot be read: {error.strerror}")
        return report
    for odd in log.odd:
        report.found(*odd)
    # A trace without events would look like an episode in which nothing was done.
    if not log.calls:
        report.found(0, "", "no tool call here")
        return report
    core = _core(file.stem, log)
    origin = {"format": IMPORTER, "file": file.name, "blake2b": seen.hexdigest()}
    events = _Events(core, log, imported_seating([seat.id for seat in core.seats], log.clients, origin))
    path = out / f"{file.stem}.trace"
    write_trace(path, core, _about(file, log), events.written())
    report.trace, report.rounds, report.game_id = str(path), events.rounds, file.stem
    answered = sum(call.answered for call in log.calls)
    report.checks = {
        "calls_answered": Tally(answered, len(log.calls)),
        "lines_understood": Tally(log.lines - len({odd.line for odd in log.odd}), log.lines),
    }
    return report


def kind_by_name(tool: str) -> str:
    """What a tool does, guessed from the verb that its name begins with: read, analysis, else action."""
    # camelCase, snake_case and paths become words; punctuation in front is dropped.
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in tool)
    for separator in "_-./:":
        words = words.replace(separator, " ")
    verb = next(iter(words.split()), "")
    if verb in _READS:
        return "read"
    # Whatever is not known to only look counts as an action (docs/how-to/exports.md).
    return "analysis" if verb in _ANALYSES else "action"


def _hashed(lines: Iterable[bytes], seen: Any) -> Iterator[bytes]:
    """The lines as they are; `seen` is a hash over them."""
    for line in lines:
        seen.update(line)
        yield line


def _core(name: str, log: CallLog) -> ManifestCore:
    # The record's own word first, then the server's annotation, the name last.
    """A manifest without rules.

    Every session is a seat of the role `client`; the scenario lists what each tool does.
    """
    tools = {call.tool: call.kind or log.kinds.get(call.tool) or kind_by_name(call.tool) for call in log.calls}
    # In the order of their first calls, without a set's accidents: imports of one log are equal byte for byte.
    sessions = dict.fromkeys(call.session for call in log.calls)
    scenario = {
        "id": f"{IMPORTED_MARKET}/{name}",
        "description": "Tool calls from a log; no rules made them.",
        "tools": tools,
    }
    return ManifestCore(
        trace_schema=TRACE_SCHEMA,
        market=IMPORTED_MARKET,
        rules_version="imported",
        scenario=scenario,
        seed=0,
        seats=tuple(SeatRecord(id=session, role="client") for session in sessions),
        tool_schema_digest=digest(canonical(tools)),
        limits=(),
        # All arguments and results are in the trace; whether the log itself had left some out is not known.
        record="full",
    )


def _about(file: Path, log: CallLog) -> dict[str, Any]:
    """Times are those of the first and the last call."""
    moments = [call.at_ms for call in log.calls if call.at_ms is not None]
    return {
        "episode": file.stem,
        "created": _iso(min(moments, default=None)),
        "finished": _iso(max(moments, default=None)),
        "end_reason": END_REASON,
    }


def _iso(at_ms: int | None) -> str | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="seconds")


class _Events:
    """The events of a log, in order. A round that the log names closes when a later one begins.

    Sequence numbers, call numbers and rounds are made here, since a foreign log has none of ours.
    """

    def __init__(self, core: ManifestCore, log: CallLog, seating: Seating) -> None:
        self._seating = seating
        self._tools: Mapping[str, str] = core.scenario["tools"]
        self._calls = log.calls
        self._seq = 0
        self._round = 1
        self._numbers: dict[tuple[int, str], int] = {}
        self._blobs: set[str] = set()
        self._at_ms: int | None = None
        self.rounds = 0

    def written(self) -> Iterator[Written]:
        """Start, calls with the closures between them, end."""
        # Logs may begin in the middle: a first round of 40 must not make 39 empty closures.
        self._round = next((call.round for call in self._calls if call.round is not None), 1)
        yield self._closure("episode_started", seating=self._seating.model_dump(mode="json"))
        for call in self._calls:
            # Later ones only: calls of several sessions overlap, and a late line of an old round reopens nothing.
            if call.round is not None and call.round > self._round:
                yield self._closure("round_closed", public=None, facts={}, state_digest="")
                self.rounds += 1
                self._round = call.round
            # Closures have no line of their own and take the time of the last call.
            self._at_ms = self._at_ms if call.at_ms is None else call.at_ms
            yield Written(self._record(call), call.session, call.at_ms, call.latency_us, _TRANSPORT)
        yield self._closure("episode_ended", reason=END_REASON, facts={}, state_digest="")

    def _head(self, event: str, seat: str | None) -> dict[str, Any]:
        self._seq += 1
        common = {"round": self._round, "phase": _PHASE, "revision": self.rounds, "seat": seat}
        return {"seq": self._seq, "event": event, **common}

    def _closure(self, event: str, **content: Any) -> Written:
        body = orjson.dumps({**self._head(event, None), **content})
        return Written(Record(self._seq, body, closes=event != "episode_started"), at_ms=self._at_ms)

    def _record(self, call: LoggedCall) -> Record:
        """The call as an event of a live trace would be. Large results become a blob, named by their digest."""
        key = (self._round, call.session)
        self._numbers[key] = self._numbers.get(key, 0) + 1
        answer = None if call.status != "ok" else orjson.dumps(call.result)
        # Bytes as they would lie in the trace: equal answers then share one blob.
        name = None if answer is None else digest(answer)
        # The limit of live traces, so that readers find large answers in one place.
        large = answer is not None and len(answer) > INLINE_BYTES
        body = {
            **self._head("tool_called", call.session),
            "call": f"r{self._round}.{call.session}.{self._numbers[key]}",
            "parent": call.parent,
            "tool": call.tool,
            "kind": call.kind or self._tools[call.tool],
            "arguments": call.arguments,
            "read_through": None,
            "refs": None,
            "status": call.status,
            "error": _NO_ANSWER if call.status != "ok" and call.error is None else call.error,
            "result": None if large or answer is None else call.result,
            "result_ref": name if large else None,
            "result_digest": name,
            "result_size": None if answer is None else len(answer),
        }
        blob = None
        # Each blob once: later calls with the same answer only name its digest.
        if large and name is not None and answer is not None and name not in self._blobs:
            self._blobs.add(name)
            blob = (name, answer)
        return Record(self._seq, orjson.dumps(body), blob)


_NO_ANSWER = {"code": "no_answer", "message": "the log holds no answer to this call", "hint": "", "retryable": False}
