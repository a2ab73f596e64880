"""One episode of a sweep: played, or found finished, or gone on with.

Where no outside seat can join it is played and its trace written whole (`whole.py`). With agents, where an outside
service answers, and in a shared store, it is a live episode with a log of its own: a stopped one goes on where it was.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tradefair.catalog import market_type
from tradefair.contract import HarnessFailure, MarketType, Scenario, SeatId, TraceError, TradefairError
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.players import Seating
from tradefair.contract.scenario import build_scenario
from tradefair.frameworks.models.access import ProviderUnavailable
from tradefair.frameworks.models.budget import Budget
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import is_closed, make_folder, new_episode, reopen_episode, seating_of
from tradefair.host.episode.stores import logs_at
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import STAND_IN, plan_seats
from tradefair.runner.plans.episodes import EpisodeSpec, Variant, Workload, ready_in
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec, ReadyAgent
from tradefair.runner.play.episode_runner import play_seats
from tradefair.runner.play.whole import play_whole
from tradefair.tracestore import Manifest, open_trace

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 120.0

_DONE = "done"
_FAILED = "failed"
_HARNESS = "truncated:harness_failure"

logger = logging.getLogger("tradefair.runner")


class Spent(NamedTuple):
    """What an agent's model calls took: tokens in and out, micro-dollars. What an endpoint does not count is 0."""

    tokens: int = 0
    cost_usd_micro: int = 0


class SweepResult(NamedTuple):
    """What became of an episode. `problem` says why it failed; `size` is that of its trace in bytes.

    `spent` is by label of agent, of all tries together.
    """

    digest: str
    status: str
    end_reason: str | None = None
    head_hash: str | None = None
    problem: str | None = None
    cpu_ms: int = 0
    size: int = 0
    spent: Mapping[str, Spent] = MappingProxyType({})

    @classmethod
    def of_plain(cls, data: Sequence[Any]) -> SweepResult:
        """The result that `plain` wrote down."""
        digest, status, end_reason, head_hash, problem, cpu_ms, size, spent = data
        by_label = {label: Spent(*taken) for label, taken in spent.items()}
        return cls(digest, status, end_reason, head_hash, problem, cpu_ms, size, by_label)

    @property
    def plain(self) -> list[Any]:
        """Plain data, for processes elsewhere.

        `of_plain` reads it: the fields in their order, `spent` as [tokens, micro-dollars] by label.
        """
        # `spent` is the last field; its named tuples become lists, as JSON gives them back.
        return [*self[:-1], {label: [*spent] for label, spent in self.spent.items()}]

    @property
    def failed(self) -> bool:
        """Whether the next run plays it again."""
        return self.status == _FAILED


@dataclass(frozen=True)
class Players:
    """Who sits where, and the agents from outside."""

    seating: Seating
    outside: Mapping[SeatId, ReadyAgent]


class Table:
    """What every episode of a sweep refers to: scenarios by index and agents by label, each checked once.

    `store` is the address of a shared store in which the logs lie instead of in files. `pauses` are the seconds before
    an episode goes on, each time that its provider has failed.
    """

    def __init__(
        self,
        variants: Sequence[tuple[str, Mapping[str, Any]]],
        agents: Mapping[str, Mapping[str, Any]],
        pauses: Sequence[float] = (),
        store: str | None = None,
    ) -> None:
        self.pauses = pauses
        self.shared = store is not None
        self.logs = logs_at(store)
        self._variants = [
            Variant(market, build_scenario(market_type(market).scenario_model, content, source=market))
            for market, content in variants
        ]
        # Through the record, as on resume: an agent that cannot be recorded cannot be sent to a worker.
        self._agents = {label: AgentSpec.of_plain(record) for label, record in agents.items()}
        self._ready: dict[tuple[int, str], ReadyAgent] = {}
        # No seat depends on the seed. Bounded: games of a field seldom have the same players twice.
        self._seated = lru_cache(maxsize=256)(self._seating)

    @classmethod
    def of(cls, work: Workload) -> Table:
        """The table of a workload."""
        return cls.of_plain(plain_table(work))

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> Table:
        """The table that `plain_table` wrote down."""
        return cls(data["variants"], data["agents"], data["pauses"], data["store"])

    def setting(self, episode: EpisodeSpec) -> tuple[MarketType, Scenario]:
        """Market and scenario of an episode."""
        variant = self._variants[episode.variant]
        return market_type(variant.market), variant.scenario

    def players(self, episode: EpisodeSpec) -> Players:
        """Who sits where in an episode; an agent that is a policy plays natively in its seat."""
        return self._seated(episode.variant, tuple(episode.players.items()), episode.agent_key)

    def _seating(self, number: int, seated: tuple[tuple[SeatId, str], ...], key: int) -> Players:
        variant, players = self._variants[number], dict(seated)
        kind, scenario = market_type(variant.market), variant.scenario
        # No other agent will come. Stand-ins are asked with the scripted seats, for they draw with them too.
        plan = plan_seats(kind, scenario, agents=list(players), others=STAND_IN)._replace(late=frozenset())
        # Where all seats are agents', none is asked after the others.
        whole = not set(plan.seats) - set(players)
        outside: dict[SeatId, ReadyAgent] = {}
        for seat, label in players.items():
            agent = self._agents[label]
            if agent.framework == NATIVE:
                plan = plan.with_policy(seat, str(agent.model))
            else:
                outside[seat] = self._made(number, label)
        agents = {seat: self._agents[label].recorded() for seat, label in players.items()}
        plan = plan._replace(late=frozenset()) if whole else plan
        seating = seating_of(
            kind,
            scenario,
            plan,
            labels=players,
            agents=agents,
            # Where every seat is an agent's, all draws are.
            policy_key=key if whole else 0,
            agent_key=key,
            compared=list(players),
        )
        return Players(seating, outside)

    def _made(self, variant: int, label: str) -> ReadyAgent:
        """An agent for its seats of a variant: made once, for all seeds."""
        # Making an agent reads recordings and prices: once per sweep and not once per episode.
        if (variant, label) not in self._ready:
            self._ready[variant, label] = ready_in(self._variants[variant], self._agents[label])
        return self._ready[variant, label]


def pauses_of(retries: int) -> list[float]:
    """Seconds before each of so many retries: five, then twice as long as before, two minutes at most."""
    return [min(_FIRST_PAUSE_S * 2**number, _LONGEST_PAUSE_S) for number in range(retries)]


def plain_table(work: Workload, pauses: Sequence[float] = (), store: str | None = None) -> dict[str, Any]:
    """The table of a workload as plain data, for processes elsewhere.

    Keys are `store`, `pauses`, `variants` (market, scenario content) and `agents` (record by label); JSON can hold it.
    """
    return {
        "store": store,
        "pauses": [*pauses],
        "variants": [(variant.market, variant.scenario.model_dump(mode="json")) for variant in work.flat],
        # No keys are in it: a worker takes them from its own environment.
        "agents": {label: agent.plain() for label, agent in work.agents.items()},
    }


async def play_one(table: Table, episode: EpisodeSpec, folder: Path) -> SweepResult:
    """Play an episode to its end, unless its trace is finished already. What goes wrong is in the result."""
    path = folder / episode.path
    # CPU time of this process: with several episodes at a time it holds the others' share too.
    begun = time.process_time()
    live = False
    try:
        # A killed command may have finished it without telling the table.
        found = _finished(table, path, episode.id)
        if found is None:
            players, setting = table.players(episode), table.setting(episode)
            live = table.shared or not is_closed(*setting, players.seating)
            if live:
                await _play_live(table, episode, players, path)
                found = _finished(table, path, episode.id)
            else:
                found = _end_of(play_whole(path, *setting, episode.seed, players.seating, episode.id))
        if found is None:
            raise HarnessFailure(f"{path.name} has not been finished")
        if found[0] == _HARNESS:
            # Its log says that it is over, so it cannot be resumed: the next run plays it again from the start.
            table.logs.remove(path)
            raise HarnessFailure("a scripted seat or the market failed")
        # The trace lies in the store; its size is that of the file that is fetched later.
        size = 0 if table.shared else path.stat().st_size
    # Known problems are told in one line; a traceback is for faults of ours only.
    except TradefairError as error:
        return SweepResult(episode.digest, _FAILED, problem=str(error), spent=_spent(table, path, episode, live))
    except Exception as fault:  # one broken episode must not end a sweep of a whole night
        logger.exception("%s failed", episode.path)
        # Its message may quote values; where it happened is in the log.
        problem = f"a fault of ours: {type(fault).__name__}"
        return SweepResult(episode.digest, _FAILED, problem=problem, spent=_spent(table, path, episode, live))
    cpu_ms = round(1000 * (time.process_time() - begun))
    return SweepResult(episode.digest, _DONE, *found, None, cpu_ms, size, _spent(table, path, episode, live))


def spent_in(notes: Iterable[Mapping[str, Any]]) -> Spent:
    """What the model calls took that these notes tell of."""
    budget = Budget()
    for note in notes:
        budget.count(note)
    return Spent(budget.tokens, budget.cost_usd_micro)


def _spent(table: Table, path: Path, episode: EpisodeSpec, live: bool) -> dict[str, Spent]:
    """What the agents' model calls took according to a live episode's trace; nothing where it cannot be read."""
    spent: dict[str, Spent] = {}
    if not live:
        return spent
    try:
        for label, notes in _notes(table, path, episode).items():
            spent[label] = spent_in(notes)
    except (TraceError, StorageUnavailable):
        logger.warning("what %s has spent cannot be read", episode.path, exc_info=True)
    return spent


def _notes(table: Table, path: Path, episode: EpisodeSpec) -> dict[str, list[Mapping[str, Any]]]:
    """The notes about agents in the log of an episode, by their label; none before there is a log."""
    notes: dict[str, list[Mapping[str, Any]]] = {}
    if table.logs.holds(path):
        with open_trace(table.logs.reading(path)) as trace:
            for note in trace.agent_events():
                notes.setdefault(episode.players.get(note["seat"], ""), []).append(note)
    return notes


def _finished(table: Table, path: Path, episode: str) -> tuple[str, str] | None:
    """(end reason, head hash) of a sealed trace of this episode; None when there is none yet. Raises TraceError."""
    if not table.logs.holds(path):
        return None
    with open_trace(table.logs.reading(path)) as trace:
        manifest = trace.manifest
    about = manifest.about
    # The id is the digest of everything that makes the episode, so another id is another episode.
    if about.get("episode") != episode:
        raise TraceError(f"{path}: holds another episode; remove it, or name another folder")
    # Not an error: a live episode that was stopped goes on from this log.
    if not manifest.sealed:
        return None
    if not manifest.seal_holds:
        raise TraceError(f"{path}: its seal is broken; run tradefair verify, or remove it to have it played again")
    return _end_of(manifest)


def _end_of(manifest: Manifest) -> tuple[str, str]:
    return str(manifest.about.get("end_reason")), str(manifest.about.get("head_hash"))


async def _play_live(table: Table, episode: EpisodeSpec, players: Players, path: Path) -> None:
    """A live episode, or one that a stopped run left. When its provider fails it goes on after a pause.

    Raises ProviderUnavailable after the last pause, HarnessFailure at once for what time does not mend.
    """
    make_folder(path.parent)
    # One try per pause, and a last one below that is not caught.
    for pause in table.pauses:
        try:
            return await _play_on(table, episode, players, path)
        except ProviderUnavailable as failure:
            logger.warning("%s goes on in %g s: %s", episode.path, pause, failure)
            await asyncio.sleep(pause)
    await _play_on(table, episode, players, path)


async def _play_on(table: Table, episode: EpisodeSpec, players: Players, path: Path) -> None:
    """Play a new episode, or go on with its log, until it ends. Raises HarnessFailure."""
    with Sandbox() as sandbox:
        # Both looked up in each try: after the first one there is a log.
        notes = _notes(table, path, episode)
        agents = {episode.players[seat]: agent for seat, agent in players.outside.items()}
        begun = {label: agent.begun(notes.get(label, ())) for label, agent in agents.items()}
        if table.logs.holds(path):
            live = await reopen_episode(path, shadow=_thinking(players), sandbox=sandbox, logs=table.logs)
        else:
            live = await _opened(table, episode, players, path.parent, sandbox)
        try:
            await play_seats(live, {seat: begun[episode.players[seat]] for seat in players.outside})
            # Scripted seats may still be playing when the last agent has finished.
            await live.wait_ended()
        finally:
            await live.close()


async def _opened(table: Table, episode: EpisodeSpec, players: Players, folder: Path, sandbox: Sandbox) -> Episode:
    """A new live episode with its scripted seats; agents are seated by the caller."""
    kind, scenario = table.setting(episode)
    return await new_episode(
        kind, scenario, episode.seed, players.seating, folder, episode_id=episode.id, sandbox=sandbox, logs=table.logs
    )


def _thinking(players: Players) -> dict[SeatId, str]:
    """The policies with which outside agents think, by seat; they are replayed in an episode that is resumed."""
    return {seat: agent.spec.policy for seat, agent in players.outside.items() if agent.spec.policy is not None}
