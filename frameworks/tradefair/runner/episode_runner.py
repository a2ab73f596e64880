"""Run one episode: seats, agents, trace. The trace is the result; nothing is computed here that is not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from tradefair.catalog import market_type
from tradefair.contract.errors import ScenarioError, TraceError, TradefairError
from tradefair.contract.market import MarketType
from tradefair.contract.scenario import Scenario
from tradefair.contract.seats import SeatId
from tradefair.frameworks.base import SeatReport
from tradefair.host.episode import Episode
from tradefair.host.sandbox import Sandbox
from tradefair.host.setup import SeatPlan, new_episode, reopen_episode
from tradefair.runner.agent_spec import NATIVE, AgentSpec, check_agent
from tradefair.runner.order import SeatOrder
from tradefair.runner.seating import AskPerson, play_seat
from tradefair.tracestore import open_trace

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


async def play_episode(spec: PlaySpec, *, opened: Opened | None = None, ask: AskPerson | None = None) -> Played:
    """Play an episode to its end, within what `opened` sets up around it; `ask` gives a person's word on actions.

    Raises ScenarioError before anything is played; HarnessFailure when a provider fails: the trace stays resumable.
    """
    agents = spec.plan.agents
    check_agent(spec.kind, spec.agent, _roles(spec, agents))
    _check_person(spec.agent, ask)
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
        return await _play(episode, spec.agent, agents, spec.policy_key, opened, ask)


async def resume_episode(
    path: Path, agent: AgentSpec | None = None, *, opened: Opened | None = None, ask: AskPerson | None = None
) -> Played:
    """Go on where a run stopped, with the same agent or another one in the outside seats. Raises TraceError."""
    with Sandbox() as sandbox:
        with open_trace(path) as trace:
            about = trace.manifest.about
        chosen = agent or AgentSpec.of_record(about.get("agent", {}))
        endpoint = chosen.endpoint
        shadow = chosen.model if endpoint is not None and endpoint.kind == "policy" else None
        episode = await reopen_episode(path, shadow=shadow, sandbox=sandbox)
        agents = [seat for seat, who in about.get("seats", {}).items() if who == "agent"]
        roles = {seat: episode.core.market.seats[seat].role for seat in agents}
        try:
            if agents and chosen.framework == NATIVE:
                raise TraceError(f"{path.name}: {', '.join(agents)} is played over MCP: name another --agent")
            check_agent(episode.core.market_type, chosen, roles)
            _check_person(chosen, ask)
        except TradefairError:
            await episode.close()
            raise
        return await _play(episode, chosen, agents, int(about.get("policy_key", 0)), opened, ask)


def recorded_agent(path: Path) -> AgentSpec:
    """What played the agent's seat of a trace. Raises TraceError."""
    with open_trace(path) as trace:
        return AgentSpec.of_record(trace.manifest.about.get("agent", {}))


async def _play(
    episode: Episode,
    agent: AgentSpec,
    agents: Sequence[SeatId],
    policy_key: int,
    opened: Opened | None,
    ask: AskPerson | None,
) -> Played:
    try:
        async with opened(episode, agent) if opened is not None else nullcontext():
            reports = await play_seats(episode, dict.fromkeys(agents, agent), policy_key, ask)
            return Played(episode.path, agents, reports, await episode.wait_ended())
    finally:
        await episode.close()


async def play_seats(
    episode: Episode, agents: Mapping[SeatId, AgentSpec], policy_key: int = 0, ask: AskPerson | None = None
) -> dict[SeatId, SeatReport]:
    """Play the seats of `agents` to the end and note what each reports; nothing when the episode has ended.

    Raises HarnessFailure when a connection or a provider fails.
    """
    if episode.core.ended is not None:
        return {}
    order = SeatOrder(episode, list(agents))
    try:
        async with asyncio.TaskGroup() as tasks:
            played = {
                seat: tasks.create_task(play_seat(episode, agent, seat, order.turn_of(seat), policy_key, ask))
                for seat, agent in agents.items()
            }
    except BaseExceptionGroup as group:
        # One failed seat cancels the others; its own error says what happened.
        raise group.exceptions[0] from None
    reports = {seat: task.result() for seat, task in played.items()}
    for seat, report in reports.items():
        await episode.note(seat, {"kind": "seat_report", **asdict(report)})
    return reports


def _roles(spec: PlaySpec, seats: Sequence[SeatId]) -> dict[SeatId, str]:
    known = spec.kind.create(spec.scenario, 0).seats
    return {seat: known[seat].role for seat in seats}


def _check_person(agent: AgentSpec, ask: AskPerson | None) -> None:
    if agent.approve and ask is None:
        raise ScenarioError("approval of actions was asked for, and there is nobody to ask")
