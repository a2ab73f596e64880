"""The first decision in which two traces of the same luck differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import orjson

from tradefair.contract import TraceError
from tradefair.contract.arguments import event_as_meant
from tradefair.contract.scenario import natural_order
from tradefair.evaluation.compare.comparison import Decision, Divergence
from tradefair.tracestore import Trace

# A seat that lets a phase pass leaves a lapse or nothing; only closures say where one phase ends for both traces.
_CLOSURES = frozenset({"phase_closed", "round_closed", "episode_ended"})


def first_divergence(trace_a: Trace, trace_b: Trace) -> Divergence | None:
    """The first action or lapse that differs in tool, arguments or outcome; None where all are the same.

    Within a phase decisions are compared seat by seat, each seat's in their order: the order in which sealed actions of
    several seats arrived is no decision. Raises TraceError for events that cannot be read.
    """
    # One trace may be longer: the shorter one counts as deciding nothing in the phases that it lacks.
    for batch_a, batch_b in zip_longest(_phases(trace_a), _phases(trace_b)):
        found = _first_of_phase(batch_a or [], batch_b or [])
        if found is not None:
            return found
    return None


def decisions(trace: Trace) -> Iterator[Decision]:
    """All actions and lapses in the order of the trace, refused actions too. Raises TraceError."""
    for phase in _phases(trace):
        yield from sorted(phase, key=lambda decision: decision.seq)


def _first_of_phase(a: list[Decision], b: list[Decision]) -> Divergence | None:
    """The difference of a phase that came first in either trace; None where all seats decided alike."""
    # Natural order, so that trader10 comes after trader9 where two differences have the same event number.
    seats = sorted({decision.seat for decision in (*a, *b)}, key=natural_order)
    found: list[Divergence] = []
    for seat in seats:
        own_a = [decision for decision in a if decision.seat == seat]
        own_b = [decision for decision in b if decision.seat == seat]
        for first, second in zip_longest(own_a, own_b):
            what = _difference(first, second)
            if what is not None:
                known = first or second
                assert known is not None
                found.append(Divergence(round=known.round, phase=known.phase, seat=seat, what=what, a=first, b=second))
                # Later decisions of this seat follow from the first one that differs.
                break
    # Several seats may differ in a phase: the decision that came first in either trace is reported.
    return min(found, key=_earliest, default=None)


def _earliest(divergence: Divergence) -> int:
    """The number of the earlier of the two events; events of both traces are numbered from the same start."""
    return min(side.seq for side in (divergence.a, divergence.b) if side is not None)


def _difference(a: Decision | None, b: Decision | None) -> str | None:
    """What differs, in words; None when nothing does."""
    if a is None or b is None:
        side, other = ("A", b) if a is None else ("B", a)
        # Both None cannot happen: zip_longest ends with the longer list.
        return f"{side} did nothing where the other called {other.tool or 'nothing and lapsed'}" if other else None
    # From what was called to how it ended: the first of them that differs explains those below it.
    if a.tool != b.tool:
        return "tool"
    if a.arguments != b.arguments:
        return "arguments"
    if (a.status, a.error) != (b.status, b.error):
        return "outcome"
    # Last, because equal accepted calls answer differently only where an earlier state differed.
    return "result" if a.result != b.result else None


def _phases(trace: Trace) -> Iterator[list[Decision]]:
    """The decisions between one closure and the next."""
    batch: list[Decision] = []
    for stored in trace.events():
        try:
            event = event_as_meant(stored.body)
            tag = event["event"]
            if tag in _CLOSURES:
                yield batch
                batch = []
            elif tag == "seat_lapsed" or (tag == "tool_called" and event["kind"] == "action"):
                batch.append(_decision(event))
        # Events may come from a stranger: whatever is missing in one is the trace's fault, with the event's number.
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"{trace.path.name}: event {stored.seq} cannot be read: {error!r}"[:300]
            raise TraceError(message) from None
    # What was decided after the last closure: an unfinished episode stops in the middle of a phase.
    yield batch


def _decision(event: dict[str, Any]) -> Decision:
    """The record of one action or lapse. Raises KeyError or TypeError for an event that lacks a field."""
    place = {name: event[name] for name in ("seq", "round", "phase", "seat")}
    if event["event"] == "seat_lapsed":
        # A lapse has no arguments of its own: two seats that lapsed for different reasons did not do the same.
        arguments = {"reason": event["reason"], "default_action": event["default_action"]}
        return Decision(**place, tool=None, arguments=arguments, status="lapsed", error=None, result=None)
    return Decision(
        **place,
        tool=event["tool"],
        arguments=event["arguments"],
        status=event["status"],
        error=event["error"]["code"] if event["error"] else None,
        result=event["result_digest"],
    )
