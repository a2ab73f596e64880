"""From a plan to a running episode: its policies and services, its seating, its trace."""

from __future__ import annotations

import asyncio
import logging
import platform
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tradefair.catalog import market_type
from tradefair.contract import MarketType, Policy, Scenario, ScenarioError, SeatId, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.following import ForkedPast
from tradefair.contract.kernel.players import (
    AGENT,
    AgentRecord,
    Player,
    Seating,
    outside_label,
    policy_spec,
    seat_policy,
    seat_roles,
    shown_label,
)
from tradefair.contract.market import Remarks, Resolves
from tradefair.contract.scenario import build_scenario
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import FILES, LogStore
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import SeatPlan, asks_outside, check_seed
from tradefair.host.seats.scripted import Scripted
from tradefair.host.seats.services import Services, ServiceUnavailable
from tradefair.tracestore import WRITTEN_BY, open_trace

logger = logging.getLogger("tradefair.host")

SOFTWARE: Mapping[str, str] = {"python": platform.python_version(), "platform": sys.platform}
"""What a trace says of the machine, outside its chain."""

_NO_SERVICES = Services()


def scripted_seats(
    kind: MarketType,
    scenario: Scenario,
    players: SeatPlan | Seating,
    seed: int,
    *,
    policy_key: int = 0,
    shadows: Mapping[SeatId, str] | None = None,
    past: ForkedPast | None = None,
    seated: Mapping[SeatId, Policy] | None = None,
) -> Scripted:
    """The policies of the scripted seats, each with its own draws; `seated` policies of the caller sit in their places.

    A plan draws under `policy_key`, a seating under its own keys; where players have changed, `past` says which are in
    force when. `shadows` are the policies by which outside agents decide, kept so that they can be replayed on resume.
    """
    roles = seat_roles(kind, scenario)
    given = seated or {}
    if isinstance(players, SeatPlan):
        players = seating_of(kind, scenario, players, policy_key=policy_key)
    draws = players if past is None else past

    def makers(spellings: Mapping[SeatId, str]) -> dict[SeatId, Callable[[], Policy]]:
        return {
            seat: partial(seat_policy, kind, spelling, roles[seat], draws.draw(seed, seat))
            for seat, spelling in spellings.items()
        }

    made = makers(players.scripted) | {seat: lambda policy=policy: policy for seat, policy in given.items()}
    return Scripted(
        # In the market's order, which decides who is asked first.
        {seat: made[seat] for seat in players.players if seat in made},
        privileged=players.privileged - given.keys(),
        # A seat that was played from outside was asked after those that were not.
        late=players.late | set(players.agents),
        shadows=makers(shadows or {}),
        past=past,
    )


async def new_episode(
    kind: MarketType,
    scenario: Scenario,
    seed: int,
    players: SeatPlan | Seating,
    folder: Path,
    *,
    episode_id: str | None = None,
    labels: Mapping[SeatId, str] | None = None,
    about: Mapping[str, Any] | None = None,
    sandbox: Sandbox | None = None,
    logs: LogStore = FILES,
) -> Episode:
    """A fresh episode with its trace in `folder`, which is made if need be, or in the store of `logs`.

    `seed` is 0 to 2**63 - 1. In a plan the agents' seats are those under test, and `labels` name what plays them.
    `about` is kept in the manifest beside what is always there. Raises ScenarioError, StorageUnavailable.
    """
    check_seed(seed)
    make_folder(folder)
    scenario, services = await resolved(kind, scenario)
    name = episode_id or new_episode_id()
    # In threads: other episodes play on while a large market is made.
    if isinstance(players, SeatPlan):
        plan = players
        players = await asyncio.to_thread(seating_of, kind, scenario, plan, labels=labels, compared=plan.agents)
    scripted = await asyncio.to_thread(scripted_seats, kind, scenario, players, seed)
    remarks = log_remarks(kind, scenario)
    return await Episode.create(
        folder / f"{name}.trace",
        kind,
        scenario,
        seed,
        episode_id=name,
        scripted=scripted,
        services=services,
        sandbox=sandbox,
        seating=players,
        about={"software": SOFTWARE, **({"remarks": remarks} if remarks else {}), **(about or {})},
        logs=logs,
    )


@lru_cache(maxsize=256)
def log_remark(scenario: str, topic: str, remark: str) -> None:
    """Log a remark once per process, not again for each reference and each episode of a sweep."""
    logger.warning("%s: %s %s", scenario, topic, remark)


def log_remarks(kind: MarketType, scenario: Scenario) -> dict[str, str]:
    """Log what should be known about a scenario, and return it: it goes into the manifest, where reports repeat it."""
    remarks = remarks_of(kind, scenario)
    for topic, remark in remarks.items():
        log_remark(scenario.id, topic, remark)
    return remarks


def remarks_of(kind: MarketType, scenario: Scenario) -> dict[str, str]:
    """What the market says should be known about a scenario: topic -> sentence."""
    remarks = _remarks(kind)
    return {} if remarks is None else dict(remarks.remarks(scenario))


# Once per market and not per game: to look for a protocol's methods takes as long as a call of a tool.
@lru_cache(maxsize=64)
def _remarks(kind: MarketType) -> Remarks | None:
    return kind if isinstance(kind, Remarks) else None


def is_closed(kind: MarketType, scenario: Scenario, seating: Seating) -> bool:
    """Whether nothing from outside has a part in an episode: no seat, and no service that the market asks."""
    return not seating.agents and not asks_outside(kind, scenario)


async def reopen_episode(
    path: Path,
    *,
    shadow: str | Mapping[SeatId, str] | None = None,
    change: Seating | None = None,
    sandbox: Sandbox | None = None,
    logs: LogStore = FILES,
) -> Episode:
    """Resume the episode of a trace; its scripted seats are replayed. Raises TraceError, ScenarioError.

    `shadow` is the policy by which the agents of the outside seats decide, where it is one, or one policy per seat. It
    is replayed too: `episode.scripted.shadow(seat)`. From here on `change` says who plays the seats that it names.
    """
    with open_trace(logs.reading(path)) as trace:
        core, seatings, seating = trace.manifest.core, trace.seatings(), trace.seating()
        if change is not None:
            last = max(stored.seq for stored in trace.events())
            seatings, seating = [*seatings, (last + 1, change)], seating.later(change)
    kind = market_type(core.market)
    scenario = build_scenario(kind.scenario_model, core.scenario, source=path.name)
    shadows = dict.fromkeys(seating.agents, shadow) if isinstance(shadow, str) else shadow or {}
    past = ForkedPast(seatings) if len(seatings) > 1 else None
    scripted = scripted_seats(kind, scenario, seating, core.seed, shadows=shadows, past=past)
    # Asked again: a model that was exchanged would continue the episode with other scores.
    again, services = await resolved(kind, scenario)
    if again != scenario:
        raise TraceError(f"{path.name}: the service that its scenario depends on is not the one it was begun with")
    return await Episode.open(
        path, kind, scripted=scripted, change=change, services=services, sandbox=sandbox, logs=logs
    )


async def resolved(kind: MarketType, scenario: Scenario) -> tuple[Scenario, Services]:
    """The scenario completed by what outside services answer, and those services. ScenarioError when one is missing."""
    needs = kind.needs(scenario) if isinstance(kind, Resolves) else ()
    if not needs or not isinstance(kind, Resolves):
        return scenario, _NO_SERVICES
    from tradefair.host.seats.embedding import similarity_services

    services = await asyncio.to_thread(similarity_services, needs)
    try:
        answers = [await services.answer(request) for request in needs]
    except ServiceUnavailable as missing:
        raise ScenarioError(f"{scenario.id}: {missing.info.message}") from None
    return kind.resolve(scenario, answers), services


def new_episode_id() -> str:
    """12 hex digits.

    Random, and no part of the market's chance.
    """
    return secrets.token_hex(6)


def make_folder(folder: Path) -> None:
    """Make the folder if it is missing. Raises StorageUnavailable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"{folder}: the folder cannot be made: {error.strerror}") from None


def seating_of(
    kind: MarketType,
    scenario: Scenario,
    plan: SeatPlan,
    *,
    labels: Mapping[SeatId, str] | None = None,
    agents: Mapping[SeatId, AgentRecord] | None = None,
    policy_key: int = 0,
    agent_key: int | None = None,
    compared: Sequence[SeatId] = (),
    origin: Mapping[str, Any] | None = None,
) -> Seating:
    """What the first event says of the players of a plan, every seat in the market's order.

    `labels` name seats that are to be called otherwise than by their policy, `agents` what outside seats are made of.
    """
    roles, named = seat_roles(kind, scenario), labels or {}

    def player(seat: SeatId, role: str) -> Player:
        who = plan.seats.get(seat, AGENT)
        # One form: a command line may write `policy:` in front of a policy's name.
        inside = None if who == AGENT else who.strip().removeprefix("policy:")
        label = named.get(seat, AGENT if inside is None else f"policy:{inside}")
        return Player(
            label=outside_label(label) if inside is None else shown_label(label),
            policy=inside,
            late=seat in plan.late,
            privileged=inside is not None and policy_spec(kind, inside, role).knows_hidden(scenario),
            agent=(agents or {}).get(seat),
        )

    return Seating(
        players={seat: player(seat, role) for seat, role in roles.items()},
        policy_key=policy_key,
        agent_key=policy_key if agent_key is None else agent_key,
        written_by=WRITTEN_BY,
        compared=tuple(compared),
        origin=None if origin is None else dict(origin),
    )


def plan_of(seating: Seating) -> SeatPlan:
    """The plan that a seating stands for."""
    return SeatPlan({seat: player.policy or AGENT for seat, player in seating.players.items()}, seating.late)
