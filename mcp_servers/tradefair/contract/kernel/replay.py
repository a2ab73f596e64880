"""Re-execution: the recorded commands of a trace through Core, compared byte by byte.

Resume, verify, fork and the replaying of policies all rest on this module. A command (call, lapse, input, end) is run
again; what it did must then be the next stored events, down to the last byte.

Core writes every event anew; no stored byte is taken over. What came from outside the rules (inputs, what programs
gave, what a host refused, faults) is handed to Core, which takes only what could have been; `Replayed.copied`
counts it.

Bytes are compared before anything is decoded: of a consequence nothing is, of an accepted call only its command. How
these were read cannot make a forged event pass, since the bytes that Core writes for them decide.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

import orjson
from pydantic import ValidationError

from tradefair.contract.arguments import may_explain, remains_of
from tradefair.contract.errors import BUSY, CODE_LOST, Divergence, ErrorInfo, TraceError, TradefairError
from tradefair.contract.kernel.core import Answer, Core, Done, Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.following import Follower
from tradefair.contract.kernel.players import Seating
from tradefair.contract.market import LapseReason, MarketType
from tradefair.contract.tool import Tool, may_deny

# What follows the command of an accepted call, as Core writes it.
_ACCEPTED = b',"read_through":null,"refs":null,"status":"ok"'
# `seq` to `arguments`, and `status`.
_COMMAND_FIELDS = 12


class Step(NamedTuple):
    """One stored event that re-execution has reproduced. `command` is true when it was not a consequence.

    `closes` marks the end of a phase, a round or the episode, `holds` the first event that holds a large result.
    """

    seq: int
    body: bytes
    command: bool
    closes: bool = False
    holds: bool = False

    @property
    def event(self) -> Mapping[str, Any]:
        """The event as plain data, decoded at each look."""
        return orjson.loads(self.body)


def no_blobs(digest: str) -> bytes | None:
    """For logs without results of programs that are stored apart."""
    return None


class Replayed:
    """A Core that follows a log. `step` reproduces one stored event; `answer` is that of the last call.

    `blob` gives the bytes of a result that is stored apart by its digest, None where it is lost; it is asked for
    results of programs only. `copied` counts what came from outside the rules: programs, refusals, faults, inputs.
    `players` are the policies that follow the log too.
    """

    def __init__(
        self, core: Core, blob: Callable[[str], bytes | None] = no_blobs, players: Follower | None = None
    ) -> None:
        self.core = core
        self.players = players
        self.answer: Answer | None = None
        self.copied = Counter[str]()
        self._blob = blob
        # events that the last command produced and that the log must hold next
        self._due: deque[Record] = deque()
        # inputs of a call stand before it in the log, but only the call says what they were for
        self._inputs: list[tuple[Mapping[str, Any], bytes]] = []

    def due(self) -> bool:
        """Whether the next stored event is a consequence of the last command."""
        return bool(self._due)

    def step(self, body: bytes) -> Step:
        """Reproduce the next stored event. Raises Divergence; TraceError for what is no event; Strayed."""
        # With events due this one must be the next of them; otherwise it is a new command.
        if self._due:
            return self._compare(body, False)
        event = _call_of(body) or _parse(body, self._place())
        # It belongs to the call behind it; compared once that call has been run.
        if event["event"] == "input" and event.get("for") is not None:
            self._inputs.append((event, body))
            return Step(event["seq"], body, True)
        # What is due is caused by its command: a policy must see each command once, and no consequence.
        if self.players is not None:
            self.players.follow(self.core, event)
        self._due.extend(self._run(event, body))
        step = self._compare(body, True)
        if self.players is not None:
            self.players.followed(self.core, event, self.answer)
        return step

    def finish(self) -> None:
        """Check that the log does not break off within a batch."""
        if self._due:
            raise Divergence(self._due[0].seq, "the log ends before the consequences of its last command")
        if self._inputs:
            raise Divergence(self._inputs[0][0]["seq"], "the log ends with an input whose call is missing")

    def _place(self) -> int:
        """Where the next command belongs; Core itself is behind by waiting inputs."""
        return self.core.seq + len(self._inputs) + 1

    def _run(self, event: Mapping[str, Any], body: bytes) -> list[Record]:
        place = self._place()
        try:
            records, self.answer = self._command(event, body)
        except Divergence:
            raise
        except TradefairError as error:
            reason = f"the recorded {event['event']} cannot be re-executed: {error}"
            raise Divergence(place, reason, in_log=body) from error
        # A damaged event may lack any field or hold another type anywhere: these errors come from reading it.
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"the recorded {event['event']} is damaged: {_fault(error)}"
            raise Divergence(place, reason, in_log=body) from error
        if self._inputs:
            records = self._after_inputs(records)
        # A closure, or a lapse of a seat that is not awaited: events that stand where no command could be.
        if not records:
            raise Divergence(place, f"a {event['event']} happens nowhere here", in_log=body)
        return records

    def _after_inputs(self, records: list[Record]) -> list[Record]:
        """What follows the inputs of a call, which have been read before it."""
        self.copied["inputs"] += len(self._inputs)
        for (_, stored), record in zip(self._inputs, records, strict=False):
            if stored != record.body:
                raise Divergence(record.seq, "the input differs", in_log=stored, re_executed=record.body)
        following = records[len(self._inputs) :]
        self._inputs = []
        return following

    def _command(self, event: Mapping[str, Any], body: bytes) -> Done:
        # Without this check a second start inside a log would settle the market twice.
        if (self.core.seq == 0) != (event["event"] == "episode_started"):
            raise TraceError("an episode starts once, with its first event")
        match event["event"]:
            case "tool_called":
                return self._called(event, body)
            case "episode_started":
                return self.core.start(Seating.model_validate(event["seating"]))
            case "seated":
                return self.core.seat(Seating.model_validate(event["seating"]))
            case "seat_lapsed":
                # Core takes any reason; a forged one would be reproduced and pass for sound.
                if event["reason"] not in get_args(LapseReason):
                    raise TraceError("there is no such reason to lapse")
                return self.core.lapse(event["seat"], event["reason"])
            case "input":
                self.copied["inputs"] += 1
                return self.core.feed(event["source"], event["payload"])
            case "episode_ended":
                # An end by the rules is a consequence; as a command it can only be a truncation, which Core checks.
                return self.core.end(event["reason"])
            # Closures are consequences: as a command one of them does nothing, which `_run` reports.
            case _:
                return Done([])

    def _called(self, event: Mapping[str, Any], body: bytes) -> Done:
        seat, name, status, parent = event["seat"], event["tool"], event["status"], event["parent"]
        tool = self.core.tools(seat).get(name)
        if parent is not None:
            self.core.show_program(seat, parent)
        if tool is not None and tool.recorded and status in ("ok", "rejected"):
            return self._program(_parse(body, self._place()), tool)
        arguments = event["arguments"]
        inputs = self._given(tool) if self._inputs else None
        if status in ("invalid", "denied"):
            error = _refusal(event)
            remains = remains_of(arguments, error.message if status == "invalid" else None)
            if remains is not None and status == "invalid":
                self._check_message(remains.message, tool, len(remains.kept) > 1)
            if status == "denied" and may_deny(error, tool):
                return self._denied(event, remains or arguments, error)
            done = self.core.call(seat, name, remains or arguments, parent=parent, inputs=inputs)
            return _in_its_words(done, error.message, body, tool) if status == "invalid" and remains is None else done
        if status == "failed":
            self.copied["faults"] += 1
            remains = remains_of(arguments, None)
            return self.core.fail(seat, name, remains or arguments, parent=parent, inputs=inputs)
        return self.core.call(seat, name, arguments, parent=parent, inputs=inputs)

    def _given(self, tool: Tool | None) -> dict[str, Any]:
        """What the outside service had answered: it is never asked again."""
        for item, stored in self._inputs:
            if tool is None or item["source"] != tool.needs:
                raise Divergence(item["seq"], "the call behind it needs no such input", in_log=stored)
        return {item["source"]: item["payload"] for item, _ in self._inputs}

    def _denied(self, event: Mapping[str, Any], arguments: object, error: ErrorInfo) -> Done:
        """A refusal of the host, one of those that hosts make."""
        self.copied["refusals"] += 1
        if error == BUSY:
            self.core.show_busy(event["seat"], event["call"])
        return self.core.refuse(event["seat"], event["tool"], arguments, error)

    def _check_message(self, message: str | None, tool: Tool | None, cut: bool) -> None:
        """Of arguments that are not whole nothing makes the refusal again, but its length has a bound."""
        self.copied["refusals"] += 1
        if cut and tool is not None and not may_explain(message or "", tool.parameters):
            raise TraceError("no refusal of arguments is so long")

    def _program(self, event: Mapping[str, Any], tool: Tool) -> Done:
        """What a program gave, through the model of its result; the program is not run again."""
        self.copied["programs"] += 1
        core, seat, name = self.core, event["seat"], event["result_ref"]
        core.show_program(seat, event["call"])
        if event["status"] == "rejected":
            error = _refusal(event)
            if error == CODE_LOST:
                return core.lose(seat)
            return core.finish(core.ticket(seat, tool.name, event["arguments"]), None, error)
        stored = orjson.dumps(event["result"]) if name is None else self._blob(name)
        if stored is None:
            raise TraceError(f"the result {str(name)[:16]}… is not stored")
        # Strict: a result that validation would convert is not what the sandbox gave.
        result: Any = tool.result.model_validate_json(stored, strict=True)
        return core.finish(core.ticket(seat, tool.name, event["arguments"]), result, None)

    def _compare(self, body: bytes, command: bool) -> Step:
        """The stored event that is due. Raises Divergence, for which alone the event is decoded."""
        seq, written, blob, closes = self._due.popleft()
        if written == body:
            return Step(seq, body, command, closes, blob is not None)
        event = _parse(body, seq)
        # Before the fields: after a deleted event each later one would differ in everything.
        if event["seq"] != seq:
            raise Divergence(seq, f"the log holds event {event['seq']} in this place", in_log=body)
        raise Divergence(seq, _difference(event, written), in_log=body, re_executed=written)


def replay(
    market_type: MarketType,
    manifest: ManifestCore,
    bodies: Iterable[bytes],
    blob: Callable[[str], bytes | None] = no_blobs,
) -> Iterator[Step]:
    """Re-execute stored events in order, one `Step` each. Nothing is kept, so an episode of any length can be checked.

    Raises Divergence at the first event that differs, TraceError for a trace of other rules, tools or schema.
    """
    follower = Replayed(Core.restore(market_type, manifest), blob)
    for body in bodies:
        yield follower.step(body)
    follower.finish()


def _refusal(event: Mapping[str, Any]) -> ErrorInfo:
    """The error of a recorded call. TypeError for one of other fields."""
    said = event["error"]
    # 0 equals False, and would be written as it is.
    if not isinstance(said["retryable"], bool):
        raise TypeError("retryable is true or false")
    return ErrorInfo(**said)


def _in_its_words(done: Done, message: object, body: bytes, tool: Tool | None) -> Done:
    """A refusal of arguments in the words of the log, where they alone differ: they quote the validator."""
    record, answer = done.records[-1], done.answer
    if record.body == body or tool is None or answer is None or answer.error is None or answer.status != "invalid":
        return done
    event = orjson.loads(record.body)
    if not isinstance(message, str) or not may_explain(message, tool.parameters):
        return done
    event["error"]["message"] = message
    if orjson.dumps(event) != body:
        return done
    error = answer.error._replace(message=message)
    return Done([*done.records[:-1], record._replace(body=body)], answer._replace(error=error))


def _fault(error: Exception) -> str:
    """What is wrong with an event, on one line and without the value, which may hold a password."""
    if not isinstance(error, ValidationError):
        return repr(error)[:200]
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"


def _call_of(body: bytes) -> Mapping[str, Any] | None:
    """What an accepted call says of its command, without its result; None for what is to be decoded whole.

    A JSON object has no beginning that is one too: what is cut off within the arguments cannot be read.
    """
    end = body.find(_ACCEPTED)
    if end < 0:
        return None
    try:
        event: Any = orjson.loads(body[:end] + b',"status":"ok"}')
    except orjson.JSONDecodeError:
        return None
    # Another order of fields is read whole too: its message then says what differs.
    return event if len(event) == _COMMAND_FIELDS and event.get("event") == "tool_called" and "seq" in event else None


def _parse(body: bytes, seq: int) -> Mapping[str, Any]:
    try:
        event: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Divergence(seq, "the stored bytes are not JSON", in_log=body) from None
    fields: dict[str, Any] = event if isinstance(event, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(fields.get("event"), str) or "seq" not in fields:
        raise Divergence(seq, "the stored bytes are not an event", in_log=body)
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
