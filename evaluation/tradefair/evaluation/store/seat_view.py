"""What one seat saw of an episode, renumbered: nothing in it depends on what only others know.

Not a trace: there is no chain over it, and it cannot be re-executed. `open_trace` refuses it. All
exports for one seat are made from this view (`source.py`), so that a leak could only be here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from tradefair.contract import SeatError, SeatId
from tradefair.contract.errors import unknown
from tradefair.contract.kernel.event import ManifestCore
from tradefair.tracestore import Trace

SEAT_VIEW_SCHEMA = "tradefair.seat_view/1"

# Fields of every event that a seat may see. No number: gaps would tell how often other seats called.
_COMMON = ("event", "round", "phase", "revision", "seat")
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "episode_started": (),
    "tool_called": (
        "call",
        "parent",
        "tool",
        "kind",
        "arguments",
        # Up to which inbox row the seat had read: it knows that from its own answers.
        "read_through",
        "refs",
        "status",
        "error",
        "result",
        "result_digest",
        "result_size",
    ),
    "message": ("role", "part", "content"),
    "seat_lapsed": ("reason", "default_action"),
    "phase_closed": ("public",),
    "round_closed": ("public",),
    "episode_ended": ("reason",),
}
"""Fields by event, a closed list: facts, state digests, inputs and whatever a later schema adds stay out."""

_STEPPED = ("tool_called", "message")
_WHERE_KNOWN = ("step", "name")
"""Fields that are left out where an event has none, as in the trace."""

_OWN_ONLY = frozenset({"tool_called", "seat_lapsed", "message"})


def seat_lines(trace: Trace, seat: SeatId) -> Iterator[bytes]:
    """One line of JSON per thing that `seat` saw, after a head line; own events are numbered again from 1.

    Own calls with their answers (null where the trace keeps digests only), own lapses, public closures, start and end.
    Raises SeatError when the trace has no such seat.
    """
    return _lines(trace, seat, _head(trace.manifest.core, seat))


def seat_events(events: Iterable[Mapping[str, Any]], seat: SeatId) -> Iterator[dict[str, Any]]:
    """Of decoded events, those that `seat` saw, with the fields that it saw; without numbers."""
    for event in events:
        tag = str(event.get("event"))
        # Both lists are positive: an event of a kind that a later
        # schema adds is hidden until someone decides otherwise.
        # A message without a seat was said to all of them.
        own = event.get("seat") == seat or (tag == "message" and event.get("seat") is None)
        if tag in _SHOWN and (tag not in _OWN_ONLY or own):
            known = {name: event[name] for name in _WHERE_KNOWN if tag in _STEPPED and event.get(name) is not None}
            yield {**{name: event.get(name) for name in (*_COMMON, *_SHOWN[tag])}, **known}


def seat_role(core: ManifestCore, seat: SeatId) -> str:
    """The role of `seat`. Raises SeatError, which names the seats that exist, when it is none of them."""
    roles = {known.id: known.role for known in core.seats}
    if seat not in roles:
        raise SeatError(unknown("seat", seat, roles))
    return roles[seat]


def _head(core: ManifestCore, seat: SeatId) -> dict[str, Any]:
    """Seat and market; never the seed, the scenario's content (it may hold values) or who plays the other seats."""
    return {
        "seat_view": SEAT_VIEW_SCHEMA,
        "market": core.market,
        "rules_version": core.rules_version,
        "scenario": core.scenario.get("id"),
        "seat": seat,
        "role": seat_role(core, seat),
    }


def _lines(trace: Trace, seat: SeatId, head: Mapping[str, Any]) -> Iterator[bytes]:
    """The head line, then the events as the seat saw them, numbered from 1."""
    yield orjson.dumps(head)
    for seq, event in enumerate(seat_events(trace.decoded(), seat), 1):
        yield orjson.dumps({"seq": seq, **event})
