"""The episodes that are measured: the bundled BAZAAR scenario, eight seats."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import MarketType, SeatId
from tradefair.contract.kernel.players import Seating
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import new_episode, new_episode_id, seating_of
from tradefair.host.seats.plans import SeatPlan, plan_seats
from tradefair.runner.play.whole import play_whole

FIELD = "zip"
"""The policy of every scripted seat: the scenario's own."""
_KIND = market_type("double_auction")


def bazaar(rounds: int) -> DoubleAuctionScenario:
    """The benchmark scenario over so many rounds."""
    return cast(DoubleAuctionScenario, load_scenario("double_auction", "bazaar", {"rounds": rounds}))


def seated(rounds: int) -> tuple[MarketType, DoubleAuctionScenario, Seating]:
    """Market, scenario and players of an episode of scripted seats."""
    scenario = bazaar(rounds)
    return _KIND, scenario, seating_of(_KIND, scenario, plan_seats(_KIND, scenario, agents=[], others=FIELD))


async def play_scripted(folder: Path, seed: int, rounds: int) -> Path:
    """A whole episode of scripted seats with its full trace; the trace's path."""
    kind, scenario, seating = seated(rounds)
    path = folder / f"{new_episode_id()}.trace"
    play_whole(path, kind, scenario, seed, seating, path.stem)
    return path


@asynccontextmanager
async def open_seats(rounds: int, *agents: SeatId) -> AsyncGenerator[Episode]:
    """A fresh episode with `agents` (all seats by default) played from outside."""
    scenario = bazaar(rounds)
    seats: list[SeatId] = list(agents or _KIND.create(scenario, 0).seats)
    plan: SeatPlan = plan_seats(_KIND, scenario, agents=seats, others=FIELD)
    with TemporaryDirectory() as folder:
        episode = await new_episode(_KIND, scenario, 1, plan, Path(folder))
        try:
            yield episode
        finally:
            await episode.close()
