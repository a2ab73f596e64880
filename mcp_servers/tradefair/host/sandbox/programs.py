"""One program of a seat (`execute_code`) on the sandbox, in a worker thread; its tool calls hop back to the loop."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import JsonValue

from tradefair.contract import ErrorInfo, SeatId
from tradefair.contract.kernel.core import Core, Ticket
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN, EXECUTE_CODE, CodeResult
from tradefair.host.sandbox.running import InnerAnswer, Sandbox, ToolSignature

InnerCall = Callable[[str, dict[str, JsonValue]], Coroutine[Any, Any, InnerAnswer]]
"""One call that a program makes of a tool, by name and arguments; carried out on the episode's loop."""


async def run_program(
    sandbox: Sandbox, core: Core, seat: SeatId, ticket: Ticket, inner: InnerCall
) -> tuple[CodeResult | None, ErrorInfo | None]:
    """Run the program that `ticket` admitted; its result, or the error that names its line. One of the two is None."""
    loop = asyncio.get_running_loop()

    def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        # The worker's thread waits here; the loop goes on with other seats.
        return asyncio.run_coroutine_threadsafe(inner(name, arguments), loop).result()

    # A program that could wait or start programs would hold its thread for as long as it likes.
    signatures = {
        tool.name: ToolSignature.of(tool)
        for tool in core.tools(seat).values()
        if tool.read_only and tool.name not in (AWAIT_TURN, EXECUTE_CODE)
    }
    # Not from the episode's seed: a program can find its seed out, and a small one could then be searched for.
    seed = hashlib.blake2b(ticket.call.encode(), digest_size=8).digest()
    report = await asyncio.to_thread(
        sandbox.run,
        ticket.arguments.__dict__["code"],
        constants=core.market.code_constants(seat),
        tools=signatures,
        call=call,
        seed=int.from_bytes(seed, "big"),
        # Rounds are the only time that a market has; the sandbox makes a date of it.
        day=core.market.clock.round,
    )
    if report.error is not None:
        return None, report.error
    return CodeResult(output=report.output, value=report.value, inner_calls=report.inner_calls), None
