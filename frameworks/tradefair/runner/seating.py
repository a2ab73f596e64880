"""One agent in one seat of a live episode: its connection, its model, and what is noted of both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tradefair.contract.errors import TradefairError
from tradefair.contract.policy import Draw
from tradefair.contract.seats import SeatId
from tradefair.frameworks import load_framework
from tradefair.frameworks.base import SeatAgent, SeatConnection, SeatReport, TurnGate
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.faults import Faults
from tradefair.host.episode import Episode
from tradefair.host.setup import seat_policy
from tradefair.runner.agent_spec import OUTSIDE, AgentSpec
from tradefair.runner.costs import with_costs

if TYPE_CHECKING:
    from tradefair.agents.options import Approve
    from tradefair.agents.rounds import Note

AskPerson: TypeAlias = "Callable[[SeatId], Approve]"
"""Who is asked before the actions of a seat are made."""


async def play_seat(
    episode: Episode, agent: AgentSpec, seat: SeatId, gate: TurnGate, policy_key: int, ask: AskPerson | None
) -> SeatReport:
    """Play `seat` to the end of the episode. Raises HarnessFailure when connection or provider fail."""
    from mcp import Client

    from tradefair.host.binding import build_server

    brief = episode.core.market_type.brief(episode.core.scenario, seat)
    if agent.framework == OUTSIDE:
        return await load_framework(OUTSIDE)(episode.wait_ended).play(None, None, brief, agent.limits)
    note = with_costs(partial(episode.note, seat), agent.model)
    async with Client(build_server(episode, seat)) as client:
        connection = SeatConnection(
            client,
            seat,
            lapse=partial(episode.lapse, seat),
            gate=gate,
            note=note,
            # Keys of an earlier connection to the same episode must not come back.
            key_prefix=f"{episode.id}.{seat}.{episode.core.seq}",
        )
        try:
            async with _model(episode, agent, seat, policy_key, note) as model:
                return await _framework(agent, seat, ask).play(connection, model, brief, agent.limits)
        except TradefairError as error:
            failure = error
    # Raised out here: inside, the client's task groups would wrap it.
    raise failure


def _framework(agent: AgentSpec, seat: SeatId, ask: AskPerson | None) -> SeatAgent:
    options = agent.options
    if agent.approve and ask is not None:
        options["approve"] = ask(seat)
    return load_framework(agent.framework)(**options)


@asynccontextmanager
async def _model(
    episode: Episode, agent: AgentSpec, seat: SeatId, policy_key: int, note: Note
) -> AsyncGenerator[ModelEndpoint | None]:
    """The endpoint that the framework asks: a gateway of ours when calls are recorded, replayed or disturbed."""
    endpoint = _endpoint(episode, agent, seat, policy_key)
    if endpoint is None or not (agent.record or agent.replay or agent.faults):
        yield endpoint
        return
    from tradefair.frameworks.models.gateway import noting
    from tradefair.frameworks.models.serving import open_address

    async with open_address(
        endpoint,
        record=_path(agent.record),
        replay=_path(agent.replay),
        faults=None if agent.faults is None else Faults.parse(agent.faults),
        seat=seat,
        on_call=noting(note),
    ) as address:
        yield replace(address.endpoint(endpoint.label), timeout_s=endpoint.timeout_s)


def _endpoint(episode: Episode, agent: AgentSpec, seat: SeatId, policy_key: int) -> ModelEndpoint | None:
    endpoint = agent.endpoint
    if endpoint is None or endpoint.kind != "policy":
        return endpoint
    core = episode.core
    resumed = episode.scripted.shadow(seat)
    draw = Draw.of(core.manifest.seed, seat, policy_key)
    role = core.market.seats[seat].role
    return endpoint.with_policy(resumed or seat_policy(core.market_type, str(agent.model), role, draw))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
