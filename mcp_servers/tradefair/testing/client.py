"""A seat of a fresh episode as an MCP client in this process: no transport, no ports."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from mcp import Client

from tradefair.contract import MarketType, Scenario, SeatId
from tradefair.host.episode.episode import Episode
from tradefair.host.seats.scripted import Scripted
from tradefair.host.seats.services import Services
from tradefair.host.server.binding import build_server
from tradefair.testing.bench import RANDOM
from tradefair.testing.playthrough import policy_maker


class OpenSeat(NamedTuple):
    """A client that is in the seat, and the episode behind it. Both are closed when the block of `open_seat` ends."""

    client: Client
    episode: Episode


@asynccontextmanager
async def open_seat(
    market_type: MarketType,
    scenario: Scenario,
    seat: SeatId,
    *,
    seed: int = 1,
    others: str = RANDOM,
    services: Services | None = None,
    mode: Literal["auto", "legacy"] = "auto",
) -> AsyncGenerator[OpenSeat]:
    """Sit down in `seat`; every other seat plays the policy `others`. The log lies in a temporary folder.

    Enter and leave it in the same task. Raises ScenarioError for an unknown policy, SeatError for an unknown seat.
    """
    # A market of its own, only to learn the seats: their policies must exist before the episode does.
    probe = market_type.create(scenario, seed)
    makers = {
        spec.id: policy_maker(market_type, spec, others, seed) for spec in probe.seats.values() if spec.id != seat
    }
    with tempfile.TemporaryDirectory() as folder:
        episode = await Episode.create(
            Path(folder) / "seat.trace",
            market_type,
            scenario,
            seed,
            episode_id="seat",
            scripted=Scripted(makers),
            services=services,
        )
        try:
            async with Client(build_server(episode, seat), mode=mode) as client:
                yield OpenSeat(client, episode)
        finally:
            await episode.close()
