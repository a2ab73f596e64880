"""Re-execution: the recorded commands of a trace through Core, compared byte by byte.

Resume, verify, fork and the replaying of policies all rest on this module. A command (call, lapse, input, end) is run
again; what it did must then be the next stored events, down to the last byte.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

import orjson

from tradefair.contract.core import Answer, Core, Done, Record
from tradefair.contract.errors import TraceError, TradefairError
from tradefair.contract.event import ManifestCore
from tradefair.contract.market import LapseReason, MarketType
from tradefair.contract.players import Seating

# A rejection comes from the rules, so it is run again; the other refusals were made before the rules and are copied.
_RE_EXECUTED = ("ok", "rejected")
_REFUSED = ("invalid", "denied", "failed")


class Step(NamedTuple):
    """One stored event that re-execution has reproduced. `command` is true when it was not a consequence."""

    seq: int
    event: Mapping[str, Any]
    command: bool


class Divergence(TraceError):
    """Re-execution gives other bytes than the log holds, from `seq` on."""

    def __init__(self, seq: int, reason: str, *, recorded: bytes = b"", reproduced: bytes = b"") -> None:
        super().__init__(f"event {seq}: {reason}")
        self.seq = seq
        self.reason = reason
        self.recorded = recorded
        self.reproduced = reproduced


class Replayed:
    """A Core that follows a log. `step` reproduces one stored event; `answer` is that of the last re-run call."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.answer: Answer | None = None
        # events that the last command produced and that the log must hold next
        self._due: deque[Record] = deque()
        # inputs of a call stand before it in the log, but only the call says what they were for
        self._inputs: list[tuple[Mapping[str, Any], bytes]] = []

    def due(self) -> bool:
        """Whether the next stored event is a consequence of the last command."""
        return bool(self._due)

    def step(self, body: bytes) -> Step:
        """Reproduce the next stored event. Raises Divergence; TraceError for what is no event."""
        event = _parse(body, self._place())
        # With events due this one must be the next of them; otherwise it is a new command.
        command = not self._due
        if command:
            # It belongs to the call behind it; compared once that call has been run.
            if event["event"] == "input" and event.get("for") is not None:
                self._inputs.append((event, body))
                return Step(event["seq"], event, True)
            self._due.extend(self._run(event, body))
        return self._compare(event, body, command)

    def finish(self) -> None:
        """Check that the log does not break off within a batch."""
        if self._due:
            raise Divergence(self._due[0].seq, "the log ends before the consequences of its last command")
        if self._inputs:
            raise Divergence(self._inputs[0][0]["seq"], "the log ends with an input whose call is missing")

    def _place(self) -> int:
        """Where the next stored event belongs; Core itself is ahead by what is due and behind by waiting inputs."""
        return self._due[0].seq if self._due else self.core.seq + len(self._inputs) + 1

    def _run(self, event: Mapping[str, Any], body: bytes) -> list[Record]:
        place = self._place()
        try:
            records, self.answer = self._command(event, body)
        except TradefairError as error:
            reason = f"the recorded {event['event']} cannot be re-executed: {error}"
            raise Divergence(place, reason, recorded=body) from error
        # A damaged event may lack any field or hold another type anywhere: these errors come from reading it.
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"the recorded {event['event']} is damaged: {error!r}"
            raise Divergence(place, reason, recorded=body) from error
        if self._inputs:
            records = self._after_inputs(records)
        # A closure, or a lapse of a seat that is not awaited: events that stand where no command could be.
        if not records:
            raise Divergence(place, f"a {event['event']} happens nowhere here", recorded=body)
        return records

    def _after_inputs(self, records: list[Record]) -> list[Record]:
        """What follows the inputs of a call, which have been read before it."""
        for (_, stored), record in zip(self._inputs, records, strict=False):
            if stored != record.body:
                raise Divergence(record.seq, "the input differs", recorded=stored, reproduced=record.body)
        following = records[len(self._inputs) :]
        self._inputs = []
        return following

    def _command(self, event: Mapping[str, Any], body: bytes) -> Done:
        # Without this check a second start inside a log would settle the market twice.
        if (self.core.seq == 0) != (event["event"] == "episode_started"):
            raise TraceError("an episode starts once, with its first event")
        match event["event"]:
            case "episode_started":
                return self.core.start(Seating.model_validate(event["seating"]))
            case "seated":
                return self.core.seat(Seating.model_validate(event["seating"]))
            case "tool_called":
                return self._tool_called(event, body)
            case "seat_lapsed":
                # Core takes any reason; a forged one would be reproduced and pass for sound.
                if event["reason"] not in get_args(LapseReason):
                    raise TraceError("there is no such reason to lapse")
                return self.core.lapse(event["seat"], event["reason"])
            case "input":
                return self.core.feed(event["source"], event["payload"])
            case "episode_ended":
                # An end by the rules is a consequence; as a command it can only be a truncation.
                if not event["reason"].startswith("truncated:"):
                    raise TraceError("the rules do not end the episode here")
                return self.core.end(event["reason"])
            # Closures are consequences: as a command one of them does nothing, which `_run` reports.
            case _:
                return Done([])

    def _tool_called(self, event: Mapping[str, Any], body: bytes) -> Done:
        tool = self.core.tools(event["seat"]).get(event["tool"])
        # Nothing re-makes these bytes, so at least their form must be one that Core could have written.
        if event["status"] not in _RE_EXECUTED or tool is None or tool.recorded:
            _check_copied(event, recorded=tool is not None and tool.recorded)
            return self.core.copy(event, body)
        # What the outside service had answered: it is never asked again.
        inputs = {item["source"]: item["payload"] for item, _ in self._inputs}
        return self.core.call(
            event["seat"], event["tool"], event["arguments"], parent=event["parent"], inputs=inputs, call=event["call"]
        )

    def _compare(self, event: Mapping[str, Any], body: bytes, command: bool) -> Step:
        record = self._due.popleft()
        # Before the bytes: after a deleted event each later one would differ in everything.
        if event["seq"] != record.seq:
            raise Divergence(record.seq, f"the log holds event {event['seq']} in this place", recorded=body)
        if record.body != body:
            raise Divergence(record.seq, _difference(event, record.body), recorded=body, reproduced=record.body)
        return Step(record.seq, event, command)


def replay(market_type: MarketType, manifest: ManifestCore, bodies: Iterable[bytes]) -> Iterator[Step]:
    """Re-execute stored events in order, one `Step` each. Nothing is kept, so an episode of any length can be checked.

    Raises Divergence at the first event that differs, TraceError for a trace of other rules, tools or schema.
    """
    follower = Replayed(Core.restore(market_type, manifest))
    for body in bodies:
        yield follower.step(body)
    follower.finish()


def _check_copied(event: Mapping[str, Any], *, recorded: bool) -> None:
    """What is copied without being re-run is a refusal, or a result that the host recorded."""
    status = event["status"]
    # An accepted call that is only copied would let a forged log claim results that no rule gave.
    if status not in _REFUSED and not (recorded and status in _RE_EXECUTED):
        raise TraceError(f"this call cannot have been {str(status)[:20]}")
    if status != "ok" and (event["error"] is None or (event["result"], event["result_digest"]) != (None, None)):
        raise TraceError(f"a call that was {status} has an error and no result")


def _parse(body: bytes, seq: int) -> Mapping[str, Any]:
    try:
        event: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Divergence(seq, "the stored bytes are not JSON", recorded=body) from None
    fields: dict[str, Any] = event if isinstance(event, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(fields.get("event"), str) or "seq" not in fields:
        raise Divergence(seq, "the stored bytes are not an event", recorded=body)
    return fields


def _difference(event: Mapping[str, Any], reproduced: bytes) -> str:
    """The first field that differs, with both values cut to a readable length."""
    other = orjson.loads(reproduced)
    for key in [*other, *(key for key in event if key not in other)]:
        if event.get(key) != other.get(key):
            values = (orjson.dumps(value)[:120].decode(errors="replace") for value in (event.get(key), other.get(key)))
            recorded, here = values
            return f"{key} is {recorded} in the log and {here} when re-executed"
    return "the bytes differ though the content is equal"
