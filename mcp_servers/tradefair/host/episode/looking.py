"""What a call answers, and looks that leave no event: those of observers, and those of any seat after the end.

After the end a seat sees the final state; its trace is sealed already (docs/explanation/why/contract.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.contract import ErrorInfo, IllegalAction, SeatId, Tool
from tradefair.contract.arguments import BadArguments, WrongArguments, encode_arguments, read_arguments
from tradefair.contract.kernel.core import MAX_RESULT_BYTES, Core, TurnMark


class CallResult(NamedTuple):
    """What a call answers.

    `call` is the call's id in the trace; None when no event came of it. `status` is ok, refused, denied or failed;
    `body` is the result as JSON bytes where it is ok, else `error` says why not. `turn` is the seat's clock after the
    call.
    """

    call: str | None
    tool: Tool | None
    status: str
    body: bytes | None
    error: ErrorInfo | None
    turn: TurnMark


def look(
    core: Core,
    seat: SeatId,
    tool: Tool,
    arguments: object,
    turn: TurnMark,
    inputs: Mapping[str, JsonValue] | None = None,
) -> CallResult:
    """Carry out a read without an event. `inputs` are the answers of outside services, for a tool that needs one.

    A refusal is an answer too. Raises what a market's own function raises beyond IllegalAction: that is a fault.
    """
    name = tool.name
    subject = core.market if tool.subject == "market" else core
    extra = {"inputs": inputs or {}} if tool.needs else {}
    try:
        given = read_arguments(encode_arguments(arguments), tool.parameters, name)
        # Straight to the function: Core.call would make an event of it.
        answer = tool.function(subject, seat, **given.__dict__, **extra)
    except BadArguments as bad:
        return CallResult(None, tool, "invalid", None, bad.error(name), turn)
    except WrongArguments as wrong:
        return CallResult(None, tool, wrong.status, None, wrong.error, turn)
    except IllegalAction as refusal:
        return CallResult(None, tool, "rejected", None, refusal.info, turn)
    body = answer.__pydantic_serializer__.to_json(answer)
    # As Core bounds the results of calls.
    if len(body) > MAX_RESULT_BYTES:
        error = ErrorInfo(
            "too_many_rows", f"the answer would take more than {MAX_RESULT_BYTES} bytes", "ask for less", True
        )
        return CallResult(None, tool, "rejected", None, error, turn)
    return CallResult(None, tool, "ok", body, None, turn)
