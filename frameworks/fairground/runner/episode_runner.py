"""Run one episode: seats, agents, trace. The trace is the result; nothing is computed here that is not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fairground.catalog import market_type
from fairground.contract.errors import FairgroundError, ScenarioError, TraceError
from fairground.contract.market import MarketType
from fairground.contract.policy import Draw, parse_policy
from fairground.contract.scenario import Scenario
from fairground.contract.seats import SeatId
from fairground.frameworks import load_framework
from fairground.frameworks.base import Limits, SeatConnection, SeatReport
from fairground.frameworks.models.endpoint import ModelEndpoint, parse_model
from fairground.host.episode import Episode
from fairground.host.sandbox import Sandbox
from fairground.host.setup import SeatPlan, new_episode, reopen_episode, seat_policy
from fairground.runner.order import SeatOrder
from fairground.tracestore import open_trace

__all__ = ["AgentSpec", "PlaySpec", "Played", "play_episode", "resume_episode"]

NATIVE = "policy"
OUTSIDE = "external"


@dataclass(frozen=True)
class AgentSpec:
    """What plays a seat: a framework and, where it needs one, a model (`openai:…`, `policy:…`)."""

    framework: str = "react"
    model: str | None = None
    base_url: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def label(self) -> str:
        """How it is called in tables: `react/policy:zip`, `policy:zip`, `external`."""
        if self.framework == NATIVE or self.model is None:
            return self.model or self.framework
        return f"{self.framework}/{self.model}"

    def recorded(self) -> dict[str, Any]:
        """Plain data for the manifest's about, from which `resume` takes up the same agent."""
        return asdict(self)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> AgentSpec:
        """The agent that `recorded` wrote down. Raises TraceError when it is none."""
        try:
            limits = Limits(**record["limits"])
            texts = (record["framework"], record["model"] or "", record["base_url"] or "")
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("not text")
            return cls(record["framework"], record["model"], record["base_url"], limits)
        except (KeyError, TypeError):
            raise TraceError("the trace does not say what played its agent's seat: name it with --agent") from None


Opened = Callable[[Episode, AgentSpec], AbstractAsyncContextManager[None]]
"""What goes on around a live episode: a progress display, a door for an outside client."""


@dataclass(frozen=True)
class PlaySpec:
    """One episode to be played. Every seat that the plan gives to an agent is played by `agent`."""

    market: str
    scenario: Scenario
    seed: int
    plan: SeatPlan
    agent: AgentSpec
    folder: Path
    policy_key: int = 0

    @property
    def kind(self) -> MarketType:
        """The market."""
        return market_type(self.market)


@dataclass(frozen=True)
class Played:
    """A finished run: its trace, who sat where, and the agents' own counters."""

    path: Path
    agents: Sequence[SeatId]
    reports: Mapping[SeatId, SeatReport]
    end_reason: str


async def play_episode(spec: PlaySpec, *, opened: Opened | None = None) -> Played:
    """Play an episode to its end, within what `opened` sets up around it.

    Raises ScenarioError before anything is played; HarnessFailure when a provider fails: the trace stays resumable.
    """
    agents = spec.plan.agents
    _check(spec.kind, spec.agent, _roles(spec, agents))
    plan = spec.plan
    if spec.agent.framework == NATIVE:
        for seat in agents:
            plan = plan.with_policy(seat, str(spec.agent.model))
    with Sandbox() as sandbox:
        episode = await new_episode(
            spec.kind,
            spec.scenario,
            spec.seed,
            plan,
            spec.folder,
            labels=dict.fromkeys(agents, spec.agent.label),
            agent=spec.agent.recorded(),
            policy_key=spec.policy_key,
            sandbox=sandbox,
        )
        return await _play(episode, spec.agent, agents, spec.policy_key, opened)


async def resume_episode(path: Path, agent: AgentSpec | None = None, *, opened: Opened | None = None) -> Played:
    """Go on where a run stopped, with the same agent or another one in the outside seats. Raises TraceError."""
    with Sandbox() as sandbox:
        with open_trace(path) as trace:
            about = trace.manifest.about
        chosen = agent or AgentSpec.of_record(about.get("agent", {}))
        shadow = chosen.model if chosen.model and parse_model(chosen.model).kind == "policy" else None
        episode = await reopen_episode(path, shadow=shadow, sandbox=sandbox)
        agents = [seat for seat, who in about.get("seats", {}).items() if who == "agent"]
        roles = {seat: episode.core.market.seats[seat].role for seat in agents}
        try:
            if agents and chosen.framework == NATIVE:
                raise TraceError(f"{path.name}: {', '.join(agents)} is played over MCP: name another --agent")
            _check(episode.core.market_type, chosen, roles)
        except FairgroundError:
            await episode.close()
            raise
        return await _play(episode, chosen, agents, int(about.get("policy_key", 0)), opened)


async def _play(
    episode: Episode, agent: AgentSpec, agents: Sequence[SeatId], policy_key: int, opened: Opened | None
) -> Played:
    try:
        async with opened(episode, agent) if opened is not None else nullcontext():
            reports = await _seats(episode, agent, agents, policy_key) if episode.core.ended is None else {}
            for seat, report in reports.items():
                await episode.note(seat, {"kind": "seat_report", **asdict(report)})
            return Played(episode.path, agents, reports, await episode.wait_ended())
    finally:
        await episode.close()


async def _seats(
    episode: Episode, agent: AgentSpec, seats: Sequence[SeatId], policy_key: int
) -> dict[SeatId, SeatReport]:
    order = SeatOrder(episode, seats)
    try:
        async with asyncio.TaskGroup() as tasks:
            played = [tasks.create_task(_seat(episode, agent, seat, order, policy_key)) for seat in seats]
    except BaseExceptionGroup as group:
        # One failed seat cancels the others; its own error says what happened.
        raise group.exceptions[0] from None
    return dict(zip(seats, (task.result() for task in played), strict=True))


async def _seat(episode: Episode, agent: AgentSpec, seat: SeatId, order: SeatOrder, policy_key: int) -> SeatReport:
    from mcp import Client

    from fairground.host.binding import build_server

    brief = episode.core.market_type.brief(episode.core.scenario, seat)
    if agent.framework == OUTSIDE:
        return await load_framework(OUTSIDE)(episode.wait_ended).play(None, None, brief, agent.limits)
    async with Client(build_server(episode, seat)) as client:
        connection = SeatConnection(
            client,
            seat,
            lapse=partial(episode.lapse, seat),
            gate=order.turn_of(seat),
            note=partial(episode.note, seat),
            # Keys of an earlier connection to the same episode must not come back.
            key_prefix=f"{episode.id}.{seat}.{episode.core.seq}",
        )
        model = _endpoint(episode, agent, seat, policy_key)
        try:
            return await load_framework(agent.framework)().play(connection, model, brief, agent.limits)
        except FairgroundError as error:
            failure = error
    # Raised out here: inside, the client's task groups would wrap it.
    raise failure


def _endpoint(episode: Episode, agent: AgentSpec, seat: SeatId, policy_key: int) -> ModelEndpoint | None:
    if agent.model is None:
        return None
    endpoint = parse_model(agent.model, base_url=agent.base_url)
    if endpoint.kind != "policy":
        return endpoint
    core = episode.core
    draw = Draw.of(core.manifest.seed, seat, policy_key)
    resumed = episode.scripted.shadow(seat)
    return endpoint.with_policy(
        resumed or seat_policy(core.market_type, agent.model, core.market.seats[seat].role, draw)
    )


def _roles(spec: PlaySpec, seats: Sequence[SeatId]) -> dict[SeatId, str]:
    known = spec.kind.create(spec.scenario, 0).seats
    return {seat: known[seat].role for seat in seats}


def _check(kind: MarketType, agent: AgentSpec, roles: Mapping[SeatId, str]) -> None:
    """Refuse what cannot work before anything is played."""
    load_framework(agent.framework)
    if agent.framework == OUTSIDE:
        return
    if agent.model is None:
        raise ScenarioError(f"--agent {agent.framework} needs --model policy:<name> or openai:<model>")
    endpoint = parse_model(agent.model, base_url=agent.base_url)
    if endpoint.kind != "policy":
        if agent.framework == NATIVE:
            raise ScenarioError("--agent policy plays a scripted policy: --model policy:<name>")
        return
    for role in roles.values():
        seat_policy(kind, agent.model, role, Draw.of(0, "probe"))
    name = parse_policy(agent.model)[0]
    if kind.policies[name].privileged and agent.framework != NATIVE:
        raise ScenarioError(f"policy:{name} knows hidden truth and plays in process only: --agent policy")
