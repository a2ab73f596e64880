"""What passes through `Core`: calls on their way, events to be stored, answers."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel

from tradefair.contract.errors import ErrorInfo
from tradefair.contract.market import Clock
from tradefair.contract.scenario import SeatId
from tradefair.contract.tool import Tool

Status = Literal["ok", "rejected", "invalid", "denied", "failed"]


class TurnMark(NamedTuple):
    """`_meta["tradefair/turn"]` of a result: how an agent knows that its turn is over.

    `turn_over`: no further act of this seat is awaited in the open phase. `over`: the episode has ended.
    """

    round: int
    phase: str
    turn_over: bool
    over: bool


class Record(NamedTuple):
    """One event to be stored. `blob` is (digest, bytes) when this event is the first to hold a large result.

    `closes` marks the end of a phase, a round or the episode.
    """

    seq: int
    body: bytes
    blob: tuple[str, bytes] | None = None
    closes: bool = False


class Answer(NamedTuple):
    """What a call answers: `body` (JSON bytes) with status ok, else `error`.

    `seq` is the number of the call's event. `turn` was taken when the call was carried out, before its consequences.
    `fault` is the exception behind status failed, for our own log only: agents read INTERNAL_ERROR.
    """

    call: str
    tool: Tool | None
    status: Status
    body: bytes | None
    error: ErrorInfo | None
    turn: TurnMark
    seq: int
    fault: Exception | None = None


class Done(NamedTuple):
    """The outcome of a command: the events to append, in order, and the answer of a call."""

    records: list[Record]
    answer: Answer | None = None


class Ticket(NamedTuple):
    """A call that has been admitted and waits for its result; `encoded` are its arguments as the log keeps them."""

    seat: SeatId
    tool: Tool
    call: str
    encoded: object
    arguments: BaseModel


class Encoded(NamedTuple):
    """A result as JSON bytes, and their digest."""

    body: bytes
    digest: str


class Draft(NamedTuple):
    """A `tool_called` event before its result is encoded."""

    seat: SeatId
    name: str
    tool: Tool | None
    call: str
    parent: str | None
    clock: Clock
    arguments: object
    seq: int
