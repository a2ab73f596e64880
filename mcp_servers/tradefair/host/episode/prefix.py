"""The beginning of an episode as a log of its own, which can be resumed: what a fork starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tradefair.contract import TraceError
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.event import parts_named
from tradefair.host.episode.log import Row, SqliteLog
from tradefair.tracestore import Manifest, Trace

# The events that close something; a log keeps a mark on them, from which verify finds the last closure.
_CLOSURES = frozenset({"phase_closed", "round_closed", "episode_ended"})


async def write_prefix(path: Path, core: bytes, about: Mapping[str, Any], records: Sequence[Record]) -> None:
    """Write an unsealed log of `records` under the manifest's core bytes; times and call keys are left behind.

    Raises StorageUnavailable, TraceError (the file exists).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    first = [Row(record, seat=_seat(record)) for record in records]
    await (await SqliteLog.create(path, Manifest(core, dict(about)), first)).close()


def copied_records(trace: Trace, until: int) -> Iterator[Record]:
    """The events before number `until`, byte by byte, each large result with the event that names it first.

    Raises TraceError for what is no event, and for a result that is not stored.
    """
    known: set[str] = set()
    parts: list[str] = []
    for stored in _before(trace, until):
        event = _parsed(trace, stored.seq, stored.body)
        name = event["result_ref"]
        parts += event["parts"]
        # Parts of a catalogue stand with the first events that have no result of their own.
        if not isinstance(name, str) or name in known:
            name = parts.pop(0) if parts else None
        blob: tuple[str, bytes] | None = None
        # With the first event that names it, as in every log (docs/explanation/why/tracestore.md).
        if isinstance(name, str) and name not in known:
            known.add(name)
            body = trace.blob(name)
            if body is None:
                raise TraceError(f"{trace.path.name}: what event {stored.seq} names is not stored")
            blob = (name, body)
        yield Record(stored.seq, stored.body, blob, event["event"] in _CLOSURES)


def _before(trace: Trace, until: int) -> Iterable[Any]:
    for stored in trace.events():
        if stored.seq >= until:
            return
        yield stored


def _parsed(trace: Trace, seq: int, body: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(body)
        return {"event": event["event"], "result_ref": event.get("result_ref"), "parts": parts_named(event)}
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise TraceError(f"{trace.path.name}: event {seq} is damaged; run tradefair verify") from None


def _seat(record: Record) -> str | None:
    return orjson.loads(record.body).get("seat")
