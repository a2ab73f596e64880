"""The past of a fork: its original re-executed up to an event, as it was or with one event withheld."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from tradefair.catalog import market_type
from tradefair.contract import ErrorInfo, HarnessFailure, ScenarioError, SeatId, TraceError, TradefairError
from tradefair.contract.errors import CODE_LOST
from tradefair.contract.kernel.core import Core, Done, Record, Ticket
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE, CodeResult
from tradefair.contract.kernel.players import Seating
from tradefair.contract.kernel.replay import Replayed
from tradefair.host.episode.prefix import copied_records
from tradefair.tracestore import Trace, sound_head

# In place of code that nobody knows; `Core.lose` records none either.
_LOST_CODE = {"code": "None"}


class Command(NamedTuple):
    """A recorded command: number of its first event (inputs of a call come first), its own event, what it ended.

    `next` is the number of the first event after all its consequences.
    """

    first: int
    event: Mapping[str, Any]
    inputs: Mapping[str, Any]
    next: int

    @property
    def seq(self) -> int:
        """Number of the command's own event."""
        return self.event["seq"]


@dataclass
class Original:
    """A trace that re-executes: its commands in order, its Core at the end, its seats."""

    trace: Trace
    core: Core
    commands: list[Command] = field(default_factory=list[Command])

    @property
    def last(self) -> int:
        """Number of the last event."""
        return self.core.seq

    def command_at(self, seq: int) -> Command:
        """The command of event `seq`. ScenarioError where there is none, TraceError for a consequence."""
        for command in self.commands:
            if command.first <= seq < command.next:
                if seq <= command.seq:
                    return command
                raise TraceError(
                    f"event {seq} follows from event {command.seq}: no seat decided it; fork at {command.seq}"
                )
        raise ScenarioError(f"there is no event {seq}: the trace has events 1 to {self.last}")

    def records(self, until: int) -> list[Record]:
        """The events before `until` as they are stored.

        Times, call keys and notes are left out: they belong to the original's run (docs/explanation/why/runner.md).
        """
        return list(copied_records(self.trace, until))


def read_original(trace: Trace) -> Original:
    """Check the chain and re-execute a whole trace. Raises TraceError where it does not give the same bytes.

    A fork rests on re-execution: a trace that gives other bytes has no state that could be forked.
    """
    # Before anything is re-executed: an edited trace is refused as edited and not for what its events say.
    sound_head(trace)
    core = trace.manifest.core
    follower = Replayed(Core.restore(market_type(core.market), core), trace.blob)
    original = Original(trace, follower.core)
    try:
        _follow(original, follower)
    except TradefairError:
        raise
    except Exception as fault:
        # The rules meet arguments here that no door has checked: whatever they raise is a property of the trace.
        raise TraceError(f"{trace.path.name}: re-execution fails: {fault!r}"[:500]) from None
    return original


def _follow(original: Original, follower: Replayed) -> None:
    """Read the original's commands, each with its inputs and the end of its consequences."""
    # 0: no event belongs to a command that is still to come.
    first, inputs = 0, dict[str, Any]()
    for stored in original.trace.events():
        step = follower.step(stored.body)
        # A consequence of the last command: it moves that command's end and is no decision of its own.
        if not step.command:
            last = original.commands[-1]
            original.commands[-1] = last._replace(next=stored.seq + 1)
            continue
        first = first or stored.seq
        # Inputs of a call are recorded before it and belong to it, as `Core.call` wants them back.
        if step.event["event"] == "input" and step.event.get("for") is not None:
            inputs[step.event["source"]] = step.event["payload"]
            continue
        original.commands.append(Command(first, step.event, inputs, stored.seq + 1))
        first, inputs = 0, dict[str, Any]()
    # A log that breaks off within the consequences of its last command is refused here.
    follower.finish()


@dataclass
class Rebuilt:
    """A past in which an event never happened; `remarks` say what could not be repeated as it was."""

    records: list[Record] = field(default_factory=list[Record])
    remarks: list[str] = field(default_factory=list[str])


def rebuild_without(original: Original, withheld: int, until: int) -> Rebuilt:
    """Carry out the commands before `until` again, leaving out `withheld` and what its program called.

    Where the original's clock had moved on and a seat is still awaited, that seat lapses. Raises TraceError.
    """
    left_out = original.command_at(withheld)
    return _Rebuilding(original, left_out).run(until)


class _Rebuilding:
    def __init__(self, original: Original, left_out: Command) -> None:
        manifest = original.core.manifest
        self._original = original
        self._left_out = left_out
        self._core = Core.restore(market_type(manifest.market), manifest)
        self._done = Rebuilt()
        # Programs that run here, by the id that they had in the original.
        self._running: dict[str, Ticket | Done] = {}

    def run(self, until: int) -> Rebuilt:
        """The events that can be repeated, in the original's order, up to event `until` of the original."""
        for command in self._commands(until):
            self._catch_up(command.event)
            if self._core.ended is not None:
                self._remark(command, f"the episode has ended: {self._core.ended}")
                break
            self._repeat(command)
        # The fork begins where this command stood, so its clock must have been reached as well.
        following = next((command for command in self._original.commands if command.first >= until), None)
        if following is not None and self._core.ended is None:
            self._catch_up(following.event)
        return self._done

    def _commands(self, until: int) -> Iterator[Command]:
        # Calls that a program made name it as their parent: without the program they do not happen.
        gone = self._left_out.event.get("call")
        for command in self._original.commands:
            if command.first >= until:
                return
            inner = gone is not None and command.event.get("parent") == gone
            if command is not self._left_out and not inner:
                yield command

    def _catch_up(self, event: Mapping[str, Any]) -> None:
        """The original's clock had moved on: whoever is awaited here did not act in this past."""
        core = self._core
        # Without an awaited seat no lapse can move the clock, and this loop would never end.
        while core.ended is None and core.market.clock.revision < event["revision"] and core.market.awaited():
            # A set has no order, and events that differ in order would have another head hash.
            for seat in sorted(core.market.awaited()):
                now = core.market.clock.round
                records = core.lapse(seat, "agent_limit").records
                self._done.records += records
                if records:
                    self._done.remarks.append(f"{seat} lapses in round {now}: it has not acted in this past")

    def _repeat(self, command: Command) -> None:
        event = command.event
        try:
            records = self._carry_out(command)
        except HarnessFailure:
            raise  # the market may be half changed
        # A refusal is part of this past: what needs the withheld event cannot be done without it.
        except TradefairError as error:
            self._remark(command, f"cannot be repeated: {error}")
            return
        self._done.records += records
        if not records:
            self._remark(command, "has nothing to do here")
        elif event["event"] == "tool_called":
            # Each call writes one such event; inputs and consequences may stand around it.
            again = orjson.loads(next(item.body for item in records if b'"event":"tool_called"' in item.body))
            if again["status"] != event["status"]:
                code = again["error"]["code"] if again["error"] else ""
                self._remark(command, f"was {event['status']}, is {again['status']} now {code}".rstrip())

    def _carry_out(self, command: Command) -> list[Record]:
        """The records of one command; none for events that the kernel writes by itself."""
        event, core = command.event, self._core
        match event["event"]:
            case "episode_started":
                return core.start(Seating.model_validate(event["seating"])).records
            case "seated":
                return core.seat(Seating.model_validate(event["seating"])).records
            case "tool_called":
                return self._call(command)
            case "seat_lapsed":
                return core.lapse(event["seat"], event["reason"]).records
            case "input":
                return core.feed(event["source"], event["payload"]).records
            case "episode_ended":
                return core.end(event["reason"]).records
            case _:
                return []

    def _call(self, command: Command) -> list[Record]:
        """Make a recorded call again. Raises HarnessFailure where the rules themselves fail."""
        event, core = command.event, self._core
        seat, name, arguments = event["seat"], event["tool"], event["arguments"]
        tool = core.tools(seat).get(name)
        if tool is not None and tool.recorded:
            return self._recorded(seat, command)
        parent = None if event["parent"] is None else self._begun(seat, event["parent"])
        if isinstance(parent, Done):
            return parent.records
        done = core.call(seat, name, arguments, parent=parent and parent.call, inputs=command.inputs)
        # A failed call is a fault of the rules and may have changed half of the state: no past can be built on it.
        if done.answer is not None and done.answer.status == "failed":
            raise HarnessFailure(f"event {command.seq}: the rules fail without the withheld event")
        return done.records

    def _recorded(self, seat: SeatId, command: Command) -> list[Record]:
        """A program is not run again: what it answered then stands."""
        event, core = command.event, self._core
        ticket = self._begun(seat, event["call"])
        # Refused at once: the records hold the refusal and nothing is left to finish.
        if not isinstance(ticket, Ticket):
            return ticket.records
        del self._running[event["call"]]
        if event["status"] != "ok":
            error = ErrorInfo(**event["error"])
            return (core.lose(seat) if error == CODE_LOST else core.finish(ticket, None, error)).records
        body = event["result"]
        # Long results are stored apart, under a reference.
        if event["result_ref"]:
            body = orjson.loads(self._original.trace.blob(event["result_ref"]) or b"null")
        return core.finish(ticket, CodeResult.model_validate(body), None).records

    def _begun(self, seat: SeatId, call: str) -> Ticket | Done:
        """The program that had this id, begun where it has not been; a Done is its refusal."""
        known = self._running.get(call)
        if known is not None:
            # A refusal is one event, however many calls the program made in the original.
            return known if isinstance(known, Ticket) else Done([])
        finished = (command.event for command in self._original.commands if command.event.get("call") == call)
        event = next((event for event in finished if event["arguments"]), None)
        # One that the original lost, or that ran at its end: its code was in no event, and is in none here.
        begun = self._core.begin(seat, EXECUTE_CODE, _LOST_CODE if event is None else event["arguments"])
        self._running[call] = begun
        return begun

    def _remark(self, command: Command, text: str) -> None:
        event = command.event
        what = f"{event['tool']} of {event['seat']}" if event["event"] == "tool_called" else event["event"]
        self._done.remarks.append(f"event {command.seq}, {what}: {text}")
