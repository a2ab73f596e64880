"""A process that owns an episode in a store and acts on and on, telling what was acknowledged."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import orjson

from tradefair.catalog import load_scenario
from tradefair.contract.kernel.core import Core
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log_postgres import PostgresStore
from tradefair.host.seats.scripted import Scripted
from tradefair.teaching import MARKET
from tradefair.testing.playthrough import policy_maker


async def _main(dsn: str, name: str) -> None:
    scenario = load_scenario("teaching", "pie", {"rounds": 1_000})
    seat = Core.create(MARKET, scenario, 7).market.seats["P2"]
    episode = await Episode.create(
        Path(f"{name}.trace"),
        MARKET,
        scenario,
        7,
        episode_id=name,
        scripted=Scripted({"P2": policy_maker(MARKET, seat, "half", 7)}),
        logs=PostgresStore(dsn),
    )
    for number in range(1_000):
        answer = await episode.call("P1", "claim", {"slices": number % 8}, call_key=f"key-{number}")
        said = {"key": f"key-{number}", "status": answer.status}
        sys.stdout.buffer.write(orjson.dumps(said) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
