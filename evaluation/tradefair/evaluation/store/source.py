"""What rows, spans and messages are made of: a whole trace, or what one seat saw of it.

All that is exported for one seat is made from `Source.of_seat`, so that no format can hold more than the seat's view
does (docs/explanation/why/store.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.kernel.event import ManifestCore, parts_named
from tradefair.evaluation.reading import seating_in
from tradefair.evaluation.store.seat_view import seat_events, seat_role
from tradefair.tracestore import SideRow, Trace

_MAX_NAME = 200  # characters
_MAX_INT = 2**63  # what an integer column of SQLite and DuckDB holds

OddTrace = Callable[[int, str], None]
"""Takes (seq, message) of something that could not be used; seq 0 means that it belongs to no event."""


class SourceSeat(NamedTuple):
    """A seat. The label is empty where the manifest does not say who played it."""

    id: SeatId
    role: str
    label: str


class Timing(NamedTuple):
    """What is stored next to an event, where it is valid: `at_ms` since 1970, `latency_us` of the call."""

    at_ms: int | None = None
    latency_us: int | None = None
    transport: str = ""
    request_id: str = ""
    by: str = ""


@dataclass
class Source:
    """One episode. `seat`: the view is that of this seat; None: the whole trace. `seed` is empty in a view.

    `events()` yields (seq, event) in order, and may be called again. What cannot be read is reported and left out.
    """

    episode: str
    core: ManifestCore
    seats: list[SourceSeat]
    seed: str
    seat: SeatId | None
    events: Callable[[], Iterator[tuple[int, Mapping[str, Any]]]]
    notes: Callable[[], Iterator[Mapping[str, Any]]]
    timings: Mapping[int, Timing] = field(default_factory=dict[int, Timing])

    @classmethod
    def whole(cls, trace: Trace, odd: OddTrace) -> Source:
        """The source of a whole trace. Raises TraceError when its manifest cannot be read."""
        core, labels = trace.manifest.core, seating_in(trace).labels
        return cls(
            episode=episode_id(trace),
            core=core,
            seats=[SourceSeat(seat.id, seat.role, _text(labels.get(seat.id))) for seat in core.seats],
            seed="" if (seed := core.drawn_from) is None else str(seed),
            seat=None,
            events=lambda: _events(trace, odd),
            notes=lambda: _notes(trace, odd, None),
            timings=_timings(trace, odd),
        )

    @classmethod
    def of_seat(cls, trace: Trace, seat: SeatId, odd: OddTrace) -> Source:
        """What `seat` saw: its own calls, lapses and notes, and what was public. No seed and no times.

        Events are numbered from 1 again: gaps would tell how many calls the other seats made.

        Raises SeatError when the trace has no such seat, TraceError when the manifest cannot be read.
        """
        core = trace.manifest.core
        role = seat_role(core, seat)
        return cls(
            episode=episode_id(trace),
            core=core,
            seats=[SourceSeat(seat, role, "")],
            seed="",
            seat=seat,
            events=lambda: enumerate(seat_events((event for _, event in _events(trace, odd)), seat), 1),
            notes=lambda: _notes(trace, odd, seat),
        )


def episode_id(trace: Trace) -> str:
    """The episode's id by the manifest, else by the file's name; at most 200 characters, never empty."""
    named = _text(trace.manifest.about.get("episode"))
    return named or trace.path.name.removesuffix(".jsonl").removesuffix(".trace")[:_MAX_NAME] or "episode"


def _events(trace: Trace, odd: OddTrace) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The decoded events, large results filled in. A damaged one is reported, and the next one follows."""
    try:
        for stored in trace.events():
            event = _decoded(trace, stored.seq, stored.body, odd)
            if event is not None:
                yield stored.seq, event
    except TraceError as error:
        odd(0, str(error))


def _part(trace: Trace, seq: int, name: str, odd: OddTrace) -> object:
    """A part of the catalogue; empty, with a report, where it is missing or no JSON."""
    try:
        return orjson.loads(trace.blob(name) or b"")
    except orjson.JSONDecodeError:
        odd(seq, f"the catalogue's part {name[:16]} cannot be read")
        return {}


def _decoded(trace: Trace, seq: int, body: bytes, odd: OddTrace) -> Mapping[str, Any] | None:
    """The event with its large result filled in; None, with a report, where it is no JSON object."""
    try:
        event: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        event = None
    if not isinstance(event, dict):
        odd(seq, "the event is no JSON object")
        return None
    parts = parts_named(event)  # pyright: ignore[reportUnknownArgumentType]
    if parts:
        # Beside the digests, so that rows need not know where parts are kept. Views of a seat leave it out.
        event["catalogue"] = [_part(trace, seq, name, odd) for name in parts]
    ref: object = event.get("result_ref")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if isinstance(ref, str) and ref:
        blob = trace.blob(ref)
        try:
            event["result"] = None if blob is None else orjson.loads(blob)
        except orjson.JSONDecodeError:
            blob = None
        if blob is None:
            odd(seq, "its large answer is missing or damaged")
    return event  # pyright: ignore[reportUnknownVariableType]


def _notes(trace: Trace, odd: OddTrace, seat: SeatId | None) -> Iterator[Mapping[str, Any]]:
    """What is noted about agents; about that of `seat` only, where one is given."""
    try:
        for owner, body in trace.notes():
            if seat is not None and owner != seat:
                continue
            try:
                note: Any = orjson.loads(body)
            except orjson.JSONDecodeError:
                note = None
            if isinstance(note, dict):
                yield {**note, "seat": owner}
            else:
                odd(0, f"what is noted about {owner[:80]} is damaged")
    except TraceError as error:
        odd(0, str(error))


def _timings(trace: Trace, odd: OddTrace) -> Mapping[int, Timing]:
    try:
        return {row.seq: _timing(row) for row in trace.side()}
    except TraceError as error:
        odd(0, str(error))
        return {}


def _timing(row: SideRow) -> Timing:
    """A row's values where they are valid: SQLite lets any type stand in any column."""
    return Timing(
        _number(row.at_ms), _number(row.latency_us), _text(row.transport), _text(row.request_id), _text(row.by)
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < _MAX_INT else None


def _text(value: object) -> str:
    return value[:_MAX_NAME] if isinstance(value, str) else ""
