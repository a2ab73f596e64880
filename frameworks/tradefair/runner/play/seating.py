"""Plays one agent in one seat of a live episode: opens its connection and its model, and notes what both do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tradefair.contract import SeatId, TradefairError
from tradefair.contract.kernel.players import check_told, seat_policy
from tradefair.frameworks import FRAMEWORKS
from tradefair.frameworks.base import SeatConnection, SeatReport, TurnGate
from tradefair.frameworks.external import ExternalAgent
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.prompts import Prompts
from tradefair.host.episode.episode import Episode
from tradefair.runner.play.agent_spec import ReadyAgent


async def play_seat(episode: Episode, agent: ReadyAgent, seat: SeatId, gate: TurnGate) -> SeatReport:
    """Play `seat` to the end of the episode and return the agent's counters.

    `gate` is passed before each turn. Raises HarnessFailure (connection, provider), Stopped at a limit of the episode.
    """
    # Imported here: the client is needed only while a seat is played.
    from mcp import Client

    from tradefair.host.server.binding import build_server
    from tradefair.host.server.wire import SLIM

    brief = episode.core.market_type.brief(episode.core.scenario, seat)
    # Before the connection: a client from outside has its own, through the host.
    if agent.spec.outside:
        waiting = ExternalAgent(episode.wait_ended, agent.spec.framework)
        return await waiting.play(None, None, brief, agent.spec.limits)
    prompts = Prompts()

    # For agent and gateway alike: notes of both pass here exactly once.
    async def note(body: dict[str, Any]) -> None:
        exchanges = prompts.take(body)
        counted = agent.budget.count(body, exchanges)
        await episode.note(seat, counted, exchanges if agent.spec.prompts else ())

    endpoint = _endpoint(episode, agent, seat)
    if endpoint is not None:
        # A framework with a client of its own asks through a gateway, which tells `prompts` in its place.
        ours = agent.spec.framework in FRAMEWORKS
        endpoint = replace(endpoint, prompts=prompts if ours else None, note=note, budget=agent.budget)
    # Slim: our own server makes its answers of the types that the client would check them against, at every call.
    async with _door(episode, agent, seat) as door, Client(build_server(episode, seat, manner=SLIM)) as client:
        connection = SeatConnection(
            client,
            seat,
            lapse=partial(episode.lapse, seat),
            gate=gate if agent.spec.command is None else None,
            note=note,
            # Keys of an earlier connection to the same episode must not come back.
            key_prefix=f"{episode.id}.{seat}.{episode.core.seq}",
            **door,
            idle_rounds=agent.spec.idle_rounds,
        )
        try:
            async with _model(endpoint, agent, seat, prompts) as model:
                return await agent.make(seat).play(connection, model, brief, agent.spec.limits)
        except TradefairError as error:
            failure = error
    # Raised out here: inside the client's context its task groups would wrap the error in an exception group.
    raise failure


@asynccontextmanager
async def _door(episode: Episode, agent: ReadyAgent, seat: SeatId) -> AsyncGenerator[dict[str, Any]]:
    """What a program is told of its seat, which is served while it plays; nothing for an agent in this process."""
    if agent.spec.command is None:
        yield {}
        return
    from tradefair.runner.play.outside import serve_seat

    async with serve_seat(episode, seat) as (url, token, calls):
        yield {"url": url, "token": token, "calls": calls, "ended": episode.wait_ended}


@asynccontextmanager
async def _model(
    endpoint: ModelEndpoint | None, agent: ReadyAgent, seat: SeatId, prompts: Prompts
) -> AsyncGenerator[ModelEndpoint | None]:
    """The endpoint that the framework asks: a gateway of ours when calls are replayed or disturbed.

    Yields None for an agent without a model. Our own clients tell `prompts` of each request; for a framework that has a
    client of its own, the gateway does, and keeps the budget.
    """
    spec = agent.spec
    asked_by_others = spec.framework not in FRAMEWORKS and (spec.prompts or agent.budget.limited)
    # A direct endpoint is the usual case; a gateway costs one more HTTP hop per call
    # (docs/explanation/why/frameworks.md).
    if endpoint is None or not (spec.replay or spec.faults or asked_by_others):
        yield endpoint
        return
    from tradefair.frameworks.models.gateway import noting
    from tradefair.frameworks.models.serving import open_address

    assert endpoint.note is not None
    async with open_address(
        endpoint,
        replay=agent.recording,
        faults=agent.faults,
        seat=seat,
        on_call=noting(endpoint.note),
        prompts=prompts if asked_by_others else None,
    ) as address:
        made = address.endpoint(endpoint)
        # Or the fields of its requests would be added behind the back of its prompts.
        yield replace(made, params=made.params if endpoint.kind == "policy" else endpoint.params)


def _endpoint(episode: Episode, agent: ReadyAgent, seat: SeatId) -> ModelEndpoint | None:
    """The agent's endpoint; of a policy, with the policy that answers in this seat, else with the seed of its draws."""
    endpoint, key = agent.endpoint, episode.seating.agent_key
    # Not every provider of langchain's knows the field; of one that does not, requests would fail.
    if endpoint is not None and endpoint.kind not in ("policy", "langchain") and key:
        return replace(endpoint, params={"seed": key, **endpoint.params})
    if endpoint is None or endpoint.kind != "policy":
        return endpoint
    # In an episode that is resumed, a policy that has been brought to where its earlier self stopped.
    resumed = episode.scripted.shadow(seat)
    # The draws of the seat itself: a policy behind a model's interface decides as it would natively.
    draw, role = episode.seating.draw(episode.core.manifest.seed, seat), episode.core.market.seats[seat].role
    kind, policy = episode.core.market_type, str(agent.spec.model)
    check_told(kind, policy, role, episode.core.scenario)
    return endpoint.with_policy(resumed or seat_policy(kind, policy, role, draw))
