"""Run one episode: seats, agents, trace. The trace is the result; nothing is computed here that is not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from tradefair.catalog import market_type
from tradefair.contract import MarketType, Scenario, SeatId, TraceError
from tradefair.contract.players import Seating
from tradefair.frameworks.base import SeatReport
from tradefair.host.episode import Episode
from tradefair.host.sandbox import Sandbox
from tradefair.host.setup import SeatPlan, new_episode, reopen_episode
from tradefair.runner.agent_spec import NATIVE, AgentSpec, AskPerson, ReadyAgent, ready
from tradefair.runner.order import SeatOrder
from tradefair.runner.seating import play_seat
from tradefair.tracestore import open_trace

Opened = Callable[[Episode, AgentSpec], AbstractAsyncContextManager[None]]
"""Makes what is open around a live episode while it is played: a progress display, a door for an outside client."""


@dataclass(frozen=True)
class PlaySpec:
    """One episode to be played into `folder`. Every seat that the plan gives to an agent is played by `agent`.

    `policy_key` chooses the draws of the scripted policies; the market's luck depends on the seed alone.
    """

    market: str
    scenario: Scenario
    seed: int
    plan: SeatPlan
    agent: ReadyAgent
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
    """Play an episode to its end, within what `opened` makes around it; return where its trace lies and who played.

    Raises ScenarioError before anything is written; HarnessFailure when a provider fails: the trace can be resumed.
    """
    # Everything is worked out in the order in which its modules stand, from here down to the episode: a reader who
    # follows one call seldom has to come back (benchmarks/walk.py counts how often).
    kind, agent = spec.kind, spec.agent.spec
    label, record = agent.label, agent.recorded()
    with Sandbox() as sandbox:
        # Kept before policies are put in: these seats are labelled as the agent's even where it is scripted.
        agents, plan = spec.plan.agents, spec.plan
        if agent.framework == NATIVE:
            for seat in agents:
                # A native agent is seated as a policy, so that nothing connects over MCP for it.
                plan = plan.with_policy(seat, str(agent.model))
        episode = await new_episode(
            kind,
            spec.scenario,
            spec.seed,
            plan,
            spec.folder,
            labels=dict.fromkeys(agents, label),
            agents=dict.fromkeys(agents, record),
            policy_key=spec.policy_key,
            sandbox=sandbox,
        )
        return await _play(episode, spec.agent, agents, spec.policy_key, opened)


async def resume_episode(path: Path, agent: ReadyAgent | None = None, *, opened: Opened | None = None) -> Played:
    """Play on where a run stopped; `agent` sits in the outside seats, by default the one that the trace recorded.

    Raises TraceError where the trace cannot be resumed, ScenarioError where the recorded agent can no longer play.
    """
    chosen = ready_again(path) if agent is None else agent
    with open_trace(path) as trace:
        # Closed again here, before `reopen_episode` opens the same file to go on with it.
        seating = trace.seating()
    with Sandbox() as sandbox:
        # A policy behind a model's interface is replayed too, so that it goes on where its earlier self stopped.
        episode = await reopen_episode(path, shadow=chosen.spec.policy, sandbox=sandbox)
        return await _play(episode, chosen, seating.agents, seating.policy_key, opened)


def ready_again(path: Path, spec: AgentSpec | None = None, *, ask: AskPerson | None = None) -> ReadyAgent:
    """The agent that can go on in the outside seats of a trace: of `spec`, or the one that the trace recorded.

    Raises TraceError where the trace does not say what played, ScenarioError where the agent cannot play these seats.
    """
    with open_trace(path) as trace:
        seating, core = trace.seating(), trace.manifest.core
    chosen = spec or _agent_of(seating)
    # A native policy is seated as a policy when an episode begins; these seats began without one.
    if seating.agents and chosen.framework == NATIVE:
        raise TraceError(f"{path.name}: {', '.join(seating.agents)} is played over MCP: name another --agent")
    roles = {seat.id: seat.role for seat in core.seats if seat.id in seating.agents}
    return ready(market_type(core.market), chosen, roles, ask=ask)


def _agent_of(seating: Seating) -> AgentSpec:
    """What plays the seats that were the agent's; where several do, the first of them. Raises TraceError."""
    records = [player.agent for player in seating.players.values() if player.agent is not None]
    return AgentSpec.of_record(records[0] if records else None)


def recorded_agent(path: Path) -> AgentSpec:
    """What played the agent's seat of a trace. Raises TraceError.

    A trace of an importer, or of an agent of its caller's own code, does not say it.
    """
    with open_trace(path) as trace:
        return _agent_of(trace.seating())


async def _play(
    episode: Episode, agent: ReadyAgent, agents: Sequence[SeatId], policy_key: int, opened: Opened | None
) -> Played:
    """Play the agents' seats of an open episode to its end, and close it whatever happens."""
    try:
        async with opened(episode, agent.spec) if opened is not None else nullcontext():
            reports = await play_seats(episode, dict.fromkeys(agents, agent), policy_key)
            return Played(episode.path, agents, reports, await episode.wait_ended())
    # An episode that failed is closed too: another command goes on with its trace.
    finally:
        await episode.close()


async def play_seats(
    episode: Episode, agents: Mapping[SeatId, ReadyAgent], policy_key: int = 0
) -> dict[SeatId, SeatReport]:
    """Play the seats of `agents` to the end and return what each reports, by seat; {} when the episode has ended.

    Each report is noted in the trace too.

    Raises HarnessFailure when a connection or a provider fails.
    """
    if episode.core.ended is not None:
        return {}
    order = SeatOrder(episode, list(agents))
    try:
        async with asyncio.TaskGroup() as tasks:
            played = {
                seat: tasks.create_task(play_seat(episode, agent, seat, order.turn_of(seat), policy_key))
                for seat, agent in agents.items()
            }
    except BaseExceptionGroup as group:
        # One failed seat cancels the others; its own error says what happened.
        raise group.exceptions[0] from None
    reports = {seat: task.result() for seat, task in played.items()}
    # In the order of the seats, not in that in which agents finished: equal runs note in equal order.
    for seat, report in reports.items():
        await episode.note(seat, {"kind": "seat_report", **asdict(report)})
    return reports
