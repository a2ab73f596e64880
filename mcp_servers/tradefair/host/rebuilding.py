"""From a log back to the market: what resuming and recovering from a lost commit have in common."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import orjson

from tradefair.contract import MarketType, TraceError
from tradefair.contract.core import Core
from tradefair.contract.kernel_tools import EXECUTE_CODE
from tradefair.contract.replay import Replayed
from tradefair.host.log import EventLog
from tradefair.host.moves import SLICE_S
from tradefair.host.scripted import Scripted


async def rebuilt(log: EventLog, market_type: MarketType, scripted: Scripted) -> Core:
    """The Core that a log leads to; its scripted policies are replayed on the way.

    Every command of the log is carried out again and must write the bytes that are stored. Raises TraceError where it
    does not, and where the log was written by other rules.
    """
    # Results of programs that are stored apart, by digest: what replay asks for while it cannot wait.
    results: dict[str, bytes] = {}
    follower = Replayed(Core.restore(market_type, log.manifest.core), results.get)
    # Fresh policies: what they know must come from the log alone.
    scripted.reset()
    until = time.perf_counter() + SLICE_S
    for body in await log.bodies():
        # What is due now was caused by the command before it: a policy must see each command once, not its
        # consequences.
        is_command = not follower.due()
        if is_command:
            event = _event(body)
            if event.get("tool") == EXECUTE_CODE and event.get("result_ref"):
                results[event["result_ref"]] = orjson.dumps((await log.event(event["seq"]))["result"])
            scripted.follow(follower.core, event)
        step = follower.step(body)
        if is_command:
            scripted.followed(follower.core, step.event, follower.answer)
        # Other episodes play on while a long one is reopened.
        if time.perf_counter() >= until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE_S
    # Raises when the log ends in the middle of a command's consequences.
    follower.finish()
    # Every log is made with its first event (docs/decisions/0039).
    if follower.core.seq == 0:
        raise TraceError("the log holds no event; it does not say who plays")
    return follower.core


def _event(body: bytes) -> Mapping[str, Any]:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise TraceError("the log holds bytes that are no event; run tradefair verify") from None
