"""Run one episode: seats, agents, trace. The trace is the result; nothing is computed here that is not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tradefair.catalog import market_type
from tradefair.contract import HarnessFailure, MarketType, Scenario, SeatId, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import Player, Seating, outside_label
from tradefair.frameworks.base import SeatReport
from tradefair.frameworks.models.access import Stopped
from tradefair.frameworks.models.budget import Budget
from tradefair.frameworks.models.recording import write_recording
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import is_closed, log_remarks, new_episode, new_episode_id, reopen_episode, seating_of
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import SeatPlan, check_seed
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec, AskPerson, ReadyAgent, ready
from tradefair.runner.play.order import SeatOrder
from tradefair.runner.play.seating import play_seat
from tradefair.runner.play.whole import play_whole_aside
from tradefair.tracestore import WRITTEN_BY, open_trace

_MAX_FAILURE = 2_000
"""Characters of a failure that are noted."""

Opened = Callable[[Episode, ReadyAgent], AbstractAsyncContextManager[None]]
"""Makes what is open around a live episode while it is played: a progress display, a door for an outside client."""


@dataclass(frozen=True)
class PlaySpec:
    """One episode to be played into `folder`. Every seat that the plan gives to an agent is played by `agent`.

    `policy_key` chooses the draws of the scripted policies, `agent_key` (default: the same) those of the agent's seats;
    the market's luck depends on the seed alone. `compared` are the seats under test; default: the agent's.
    """

    market: str
    scenario: Scenario
    seed: int
    plan: SeatPlan
    agent: ReadyAgent
    folder: Path
    policy_key: int = 0
    agent_key: int | None = None
    compared: Sequence[SeatId] | None = None

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
    end_reason: str = ""

    @property
    def stopped(self) -> bool:
        """Whether a limit of the episode stopped it before its end."""
        return not self.end_reason


async def play_episode(spec: PlaySpec, *, opened: Opened | None = None) -> Played:
    """Play an episode to its end, within what `opened` makes around it; return where its trace lies and who played.

    Raises ScenarioError before anything is written; HarnessFailure when a provider fails: the trace can be resumed.
    """
    # Everything is worked out in the order in which its modules stand, from here down to the episode: a reader who
    # follows one call seldom has to come back (benchmarks/walk.py counts how often).
    kind, seating = spec.kind, seating_for(spec)
    if is_closed(kind, spec.scenario, seating):
        # A policy that fails is played once more below: a live episode keeps its events up to the failure.
        with suppress(HarnessFailure):
            return await _play_whole(spec, seating)
    with Sandbox() as sandbox:
        episode = await new_episode(kind, spec.scenario, spec.seed, seating, spec.folder, sandbox=sandbox)
        return await _play(episode, spec.agent.begun(), spec.plan.agents, opened)


async def _play_whole(spec: PlaySpec, seating: Seating) -> Played:
    """Play an episode that nothing from outside can join: it is no live one, and nothing is opened around it."""
    check_seed(spec.seed)
    log_remarks(spec.kind, spec.scenario)
    name = new_episode_id()
    path = spec.folder / f"{name}.trace"
    manifest = await play_whole_aside(path, spec.kind, spec.scenario, spec.seed, seating, name)
    _keep_recording(path, spec.agent)
    return Played(path, spec.plan.agents, {}, str(manifest.about["end_reason"]))


def seating_for(spec: PlaySpec) -> Seating:
    """Who plays an episode of this spec, as its first event says it."""
    agents, plan, agent = spec.plan.agents, spec.plan, spec.agent.spec
    for seat in agents if agent.framework == NATIVE else ():
        # A native agent is seated as a policy, so that nothing connects over MCP for it.
        plan = plan.with_policy(seat, str(agent.model))
    return seating_of(
        spec.kind,
        spec.scenario,
        plan,
        labels=dict.fromkeys(agents, agent.label),
        agents=dict.fromkeys(agents, agent.recorded()),
        policy_key=spec.policy_key,
        agent_key=spec.agent_key,
        compared=agents if spec.compared is None else spec.compared,
    )


async def resume_episode(
    path: Path, agent: ReadyAgent | None = None, *, change: Seating | None = None, opened: Opened | None = None
) -> Played:
    """Play on where a run stopped; `agent` sits in the outside seats, by default the one that the trace recorded.

    `change` gives seats to other players first (a fork). An `agent` that is another than the recorded one is written
    down as a change, too. Raises TraceError where the trace cannot be resumed, ScenarioError where the recorded agent
    can no longer play.
    """
    with open_trace(path) as trace:
        # Closed again here, before `reopen_episode` opens the same file to go on with it.
        seating, core, notes = trace.seating(), trace.manifest.core, [*trace.agent_events()]
    after = seating if change is None else seating.later(change)
    chosen = _ready_for(after, core, path, None) if agent is None else agent
    with Sandbox() as sandbox:
        # A policy behind a model's interface is replayed too, so that it goes on where its earlier self stopped.
        seated = _taking_over(after, chosen.spec) if change is None else change
        episode = await reopen_episode(path, shadow=chosen.spec.policy, change=seated, sandbox=sandbox)
        return await _play(episode, chosen.begun(notes), after.agents, opened)


def ready_again(path: Path, spec: AgentSpec | None = None, *, ask: AskPerson | None = None) -> ReadyAgent:
    """The agent that can go on in the outside seats of a trace: of `spec`, or the one that the trace recorded.

    Raises TraceError where the trace does not say what played, ScenarioError where the agent cannot play these seats.
    """
    with open_trace(path) as trace:
        return _ready_for(trace.seating(), trace.manifest.core, path, spec, ask)


def _ready_for(
    seating: Seating, core: ManifestCore, path: Path, spec: AgentSpec | None, ask: AskPerson | None = None
) -> ReadyAgent:
    chosen = spec or _agent_of(seating)
    # A native policy is seated as a policy when an episode begins; these seats began without one.
    if seating.agents and chosen.framework == NATIVE:
        raise TraceError(f"{path.name}: {', '.join(seating.agents)} is played over MCP: name another --agent")
    roles = {seat.id: seat.role for seat in core.seats if seat.id in seating.agents}
    return ready(market_type(core.market), chosen, roles, ask=ask)


def _agent_of(seating: Seating, replay: str | None = None) -> AgentSpec:
    """What plays the outside seats, or played in an agent's place where there are none. Raises TraceError."""
    seats = seating.agents or [*seating.compared, *seating.players]
    records = [player.agent for seat in seats if (player := seating.players[seat]).agent is not None]
    # Without outside seats nothing is seated, and the record only says with which options the run was made.
    if seating.agents and any(record != records[0] for record in records):
        raise TraceError("several agents played this trace, and one is seated in all their seats: name it with --agent")
    return AgentSpec.of_record(records[0] if records else None, replay=replay)


def _taking_over(seating: Seating, spec: AgentSpec) -> Seating | None:
    """The change by which this agent takes the outside seats; None where it has all of them already."""
    record = spec.recorded()
    taken = [seat for seat in seating.agents if seating.players[seat].agent != record]
    if not taken:
        return None
    player = Player(label=outside_label(spec.label), agent=record)
    return Seating(
        players=dict.fromkeys(taken, player),
        policy_key=seating.policy_key,
        agent_key=seating.agent_key,
        written_by=WRITTEN_BY,
        # Of a trace that was written before seats under test were named.
        compared=seating.compared or tuple(seating.agents),
        origin={"resumed": True},
    )


def recorded_agent(path: Path, *, replay: str | None = None) -> AgentSpec:
    """What played the agent's seat of a trace; `replay` is the file of its recording, where it had one.

    Raises TraceError: a trace of an importer, or of an agent of its caller's own code, does not say it.
    """
    with open_trace(path) as trace:
        return _agent_of(trace.seating(), replay)


class StoppedHere(Stopped):
    """As Stopped, once the trace is closed: `played` is what there is until then."""

    def __init__(self, stop: Stopped, played: Played) -> None:
        super().__init__(stop.limit, str(stop))
        self.played = played


async def _play(episode: Episode, agent: ReadyAgent, agents: Sequence[SeatId], opened: Opened | None) -> Played:
    """Play the agents' seats of an open episode to its end, and close it whatever happens."""
    try:
        async with opened(episode, agent) if opened is not None else nullcontext():
            reports = await play_seats(episode, dict.fromkeys(agents, agent))
            return Played(episode.path, agents, reports, await episode.wait_ended())
    except Stopped as stop:
        raise StoppedHere(stop, Played(episode.path, agents, {})) from stop
    # An episode that failed is closed too: another command goes on with its trace.
    finally:
        await episode.close()
        _keep_recording(episode.path, agent)


def _keep_recording(path: Path, agent: ReadyAgent) -> None:
    """Write what the agent's model answered into the file of its recording, where it has one."""
    if agent.spec.record is not None:
        with open_trace(path) as trace:
            write_recording(trace, Path(agent.spec.record))


async def play_seats(episode: Episode, agents: Mapping[SeatId, ReadyAgent]) -> dict[SeatId, SeatReport]:
    """Play the seats of `agents` to the end and return what each reports, by seat; {} when the episode has ended.

    Each report is noted in the trace too. Raises HarnessFailure when a connection or a provider fails, and Stopped.
    """
    if episode.core.ended is not None:
        return {}
    # A program calls when it likes: nobody can ask it in its turn, and nobody may wait for that.
    order = SeatOrder(episode, [seat for seat, agent in agents.items() if agent.spec.command is None])
    played: dict[SeatId, asyncio.Task[SeatReport]] = {}
    try:
        async with asyncio.TaskGroup() as tasks:
            for seat, agent in agents.items():
                played[seat] = tasks.create_task(play_seat(episode, agent, seat, order.turn_of(seat)))
    except BaseExceptionGroup as group:
        # One failed seat cancels the others; its own error says what happened.
        for seat, task in played.items():
            if not task.cancelled() and isinstance(failure := task.exception(), HarnessFailure):
                # Beside the chain, so that the trace says by itself why it stopped; a full disk hides no failure.
                with suppress(StorageUnavailable):
                    await episode.note(seat, _note_of(failure, agents[seat].budget))
        raise group.exceptions[0] from None
    reports = {seat: task.result() for seat, task in played.items()}
    # In the order of the seats, not in that in which agents finished: equal runs note in equal order.
    for seat, report in reports.items():
        await episode.note(seat, {"kind": "seat_report", **asdict(report)})
    return reports


def _note_of(failure: HarnessFailure, budget: Budget) -> dict[str, Any]:
    """The note about what ended a run before the episode."""
    message = {"message": str(failure)[:_MAX_FAILURE]}
    if isinstance(failure, Stopped):
        return {"kind": "stopped", "why": failure.limit, **message, "spent": budget.spent}
    return {"kind": "harness_failure", **message}
