"""Foreign runs for tests: a few lines of talk and calls become a trace, as an import writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.contract.foreign import IMPORTED, ForeignEvents, Stored, foreign_core
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.tracestore import Written, write_trace


class Say(NamedTuple):
    """A message at the next step; `content` of media or of the protocol is an object."""

    role: str
    content: Any
    part: str = "text"
    seat: str | None = "agent"
    name: str | None = None


class Do(NamedTuple):
    """A call and its answer, at the step after the next: an assistant's message asks, a tool's message answers."""

    tool: str
    arguments: Any
    result: Any = None
    error: Mapping[str, Any] | None = None
    kind: str = "read"
    seat: str = "agent"
    latency_us: int | None = None


DESK: Sequence[Say | Do] = (
    Say("system", "# Policy\nAsk for a yes before you change an order."),
    Say("user", "Please cancel my order W7.", seat=None, name="Mei"),
    Say("assistant", "I look it up first.", "reasoning"),
    Do("get_order", {"order_id": "W7"}, {"order_id": "W7", "status": "pending"}, latency_us=12_000),
    Do("cancel_order", {"order_id": "W9"}, error={"code": "tool_error", "message": "no such order"}, kind="action"),
    Do("cancel_order", {"order_id": "W7"}, {"status": "cancelled"}, kind="action", latency_us=40_000),
    Say("assistant", "Your order W7 is cancelled."),
)
"""A desk run of seven turns: one call is refused, steps 1 to 10."""


def write_run(
    path: Path,
    turns: Sequence[Say | Do] = DESK,
    *,
    passed: bool | None = None,
    source: Mapping[str, Any] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    seats: Mapping[str, str] | None = None,
    how: str = IMPORTED,
    beside: Mapping[str, Any] | None = None,
) -> Path:
    """Write the run as the trace `path` and return the path; `seats` gives roles by name, `beside` fields of about."""
    roles = seats or {"agent": "agent"}
    about = {
        "end_reason": "truncated:log_ended",
        "created": "2026-11-02T08:00:00+00:00",
        "source": {"format": "openai", "file": "talks.jsonl", "run": path.stem, "passed": passed, **(source or {})},
        "tools": list(tools),
        **(beside or {}),
    }
    core = ManifestCore.model_validate(foreign_core(path.stem, how, roles))
    write_trace(path, core, about, _written(turns, roles, how))
    return path


def _written(turns: Sequence[Say | Do], roles: Mapping[str, str], how: str) -> Iterator[Written]:
    events = ForeignEvents()
    players = {seat: {"label": seat} for seat in roles}
    yield _event(events.started({"players": players, "origin": {f"{how}_from": {"format": "openai"}}}))
    step = 0
    for at, turn in enumerate(turns):
        step += 1
        if isinstance(turn, Say):
            said = events.said(turn.seat, turn.role, turn.part, turn.content, step=step, name=turn.name)
            yield _event(said, turn.seat, at)
            continue
        step += 1
        status = "ok" if turn.error is None else "failed" if turn.error["code"] == "no_answer" else "rejected"
        error = None if turn.error is None else {"hint": "", "retryable": False, "message": "", **turn.error}
        about: Any = {"kind": turn.kind, "status": status, "result": turn.result, "error": error, "step": step}
        _, stored = events.called(turn.seat, turn.tool, turn.arguments, **about)
        yield _event(stored, turn.seat, at, turn.latency_us)
    yield _event(events.ended("truncated:log_ended"))


def _event(stored: Stored, seat: str | None = None, at: int | None = None, latency_us: int | None = None) -> Written:
    record = Record(stored.seq, stored.body, stored.blob, stored.closes)
    return Written(record, seat, None if at is None else 1_793_600_000_000 + 1_000 * at, latency_us, "import")
