"""From a log back to the market: what resuming and recovering from a lost commit have in common."""

from __future__ import annotations

import asyncio
import time

import orjson

from tradefair.contract import MarketType, TraceError
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE
from tradefair.contract.kernel.replay import Replayed
from tradefair.host.episode.log import EventLog
from tradefair.host.episode.moves import SLICE_S
from tradefair.host.seats.scripted import Scripted

# As Core writes them.
_PROGRAM, _STORED_APART = f'"tool":"{EXECUTE_CODE}"'.encode(), b'"result_ref":"'


async def rebuilt(log: EventLog, market_type: MarketType, scripted: Scripted) -> Core:
    """The Core that a log leads to; its scripted policies are replayed on the way.

    Every command of the log is carried out again and must write the bytes that are stored. Raises TraceError where it
    does not, and where the log was written by other rules.
    """
    # Results of programs that are stored apart, by digest: what replay asks for while it cannot wait.
    results: dict[str, bytes] = {}
    # Fresh policies: what they know must come from the log alone.
    scripted.reset()
    follower = Replayed(Core.restore(market_type, log.manifest.core), results.get, scripted)
    until = time.perf_counter() + SLICE_S
    for seq, body in enumerate(await log.bodies(), 1):
        if _PROGRAM in body and _STORED_APART in body:
            event = await log.event(seq)
            results[str(event.get("result_ref"))] = orjson.dumps(event["result"])
        follower.step(body)
        # Other episodes play on while a long one is reopened.
        if time.perf_counter() >= until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE_S
    # Raises when the log ends in the middle of a command's consequences.
    follower.finish()
    # Every log is made with its first event (docs/explanation/why/tracestore.md).
    if follower.core.seq == 0:
        raise TraceError("the log holds no event; it does not say who plays")
    return follower.core
