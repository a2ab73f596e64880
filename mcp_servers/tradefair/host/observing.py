"""What an observer, who has no seat, may read: the tools that a market declares public, and nothing that a seat owns.

An observer's call is no event. It changes nothing and belongs to no seat, and the hash of a trace must not depend on
whether an observer watched. It sees what is committed (decision 0030).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from tradefair.contract import ErrorInfo, IllegalAction, MarketType, Scenario, Tool
from tradefair.contract.arguments import BadArguments, encode_arguments, explain
from tradefair.contract.core import MAX_RESULT_BYTES, Core, TurnMark
from tradefair.host.seat_auth import OBSERVER

if TYPE_CHECKING:
    from tradefair.host.episode import CallResult


def public_reads(market_type: MarketType, scenario: Scenario) -> dict[str, Tool]:
    """The tools of a market that an observer is offered, by name.

    A tool that needs an outside service is left out: an observer's call is not recorded, and so its answer is not
    either.
    """
    return {
        name: tool
        for name, tool in market_type.tools.items()
        if tool.observer and tool.read_only and tool.needs is None and (tool.when is None or tool.when(scenario))
    }


def observer_instructions(core: Core) -> str:
    """The instructions of an observer's server."""
    return (
        f"You watch {core.market_type.title} without a seat: the tools show what is public once a round has closed. "
        "Nothing here can act. Follow a resource (market://…) to hear of each closure."
    )


def observe(core: Core, name: str, arguments: object) -> CallResult:
    """Carry out one public read. A refusal is an answer too, never an exception.

    Raises what a market's own function raises beyond IllegalAction: that is a fault, and the caller contains it.
    """
    from tradefair.host.episode import CallResult

    # An observer is never awaited, so its turn is always over.
    turn = TurnMark(*core.market.clock[:2], turn_over=True, over=core.ended is not None)
    tools = public_reads(core.market_type, core.scenario)
    tool = tools.get(name)
    if tool is None:
        offered = f"tools are {', '.join(tools)}"
        error = ErrorInfo("tool_unavailable", "an observer is offered no such tool", offered, False)
        return CallResult(None, None, "denied", None, error, turn)
    try:
        given = tool.parameters.__pydantic_validator__.validate_json(encode_arguments(arguments), strict=True)
        # Straight to the function: Core.call would make an event of it.
        answer = tool.function(core.market, OBSERVER, **given.__dict__)
    except BadArguments as bad:
        error = ErrorInfo("invalid_arguments", bad.reason, f"call {name} again with plain JSON values", True)
        return CallResult(None, tool, "invalid", None, error, turn)
    except ValidationError as wrong:
        return CallResult(None, tool, "invalid", None, explain(wrong, tool.parameters, name), turn)
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
