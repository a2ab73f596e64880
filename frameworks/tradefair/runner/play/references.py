"""References: the same scenario and seed with a scripted policy in the agent's seat, or in all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tradefair.contract import MarketType, SeatId
from tradefair.contract.kernel.players import AGENT, seat_roles
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.outcome import ON_EVERY_SEAT
from tradefair.files.folders import move_onto
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode
from tradefair.tracestore import REFERENCES


def reference_policies(kind: MarketType, *roles: str) -> list[str]:
    """The market's reference policies that can play all of these roles.

    By name, in the order of the market's registry; empty where the market names none, or no role is given.
    """
    needed = frozenset(roles)
    return [spec.name for spec in kind.policies.values() if spec.reference and needed and needed <= spec.roles]


def policies_on_every_seat(kind: MarketType, roles: Iterable[str]) -> list[str]:
    """The market's policies that are played on all seats as a reference, whoever plays; they can play all `roles`."""
    needed = frozenset(roles)
    return [spec.name for spec in kind.policies.values() if spec.on_every_seat and needed <= spec.roles]


def two_references(kind: MarketType, *roles: str) -> list[str]:
    """The headline's naive and best policy, if they can play all of these roles; else the market's first two that can.

    Fewer where the market names no reference for them.
    """
    headline, needed = evaluator_of(kind.name).headline, frozenset(roles)
    ends = dict.fromkeys([headline.naive, headline.best] if headline and needed else [])
    able = [name for name in ends if name in kind.policies and needed <= kind.policies[name].roles]
    return able if len(able) == 2 else reference_policies(kind, *roles)[:2]


async def references_of(
    spec: PlaySpec, agents: Sequence[SeatId], *, by_seed: bool = False, two: bool = False
) -> dict[str, Path]:
    """Play all references of an episode, or `two_references`: traces by label, under `references/` of its folder.

    Each sits in all of the agent's seats; of several, only a policy that can play every role among them is one.
    `by_seed` puts the seed into their names, for folders of several episodes.
    """
    roles = seat_roles(spec.kind, spec.scenario)
    played_by = [roles[seat] for seat in agents]
    if two:
        return await play_references(spec, agents, two_references(spec.kind, *played_by), by_seed=by_seed)
    policies = reference_policies(spec.kind, *played_by)
    played = await play_references(spec, agents, policies, by_seed=by_seed)
    everywhere = policies_on_every_seat(spec.kind, roles.values())
    return played | await play_on_every_seat(spec, everywhere, by_seed=by_seed)


async def play_references(
    spec: PlaySpec, seats: Sequence[SeatId], policies: Sequence[str], *, by_seed: bool = False
) -> dict[str, Path]:
    """One trace per policy, each with that policy in all of the agent's `seats`; under `references/` of the folder.

    `by_seed` puts the seed into their names, for folders of several episodes.
    """
    return {policy: await _play(spec, seats, policy, policy, by_seed) for policy in policies}


async def play_on_every_seat(spec: PlaySpec, policies: Sequence[str], *, by_seed: bool = False) -> dict[str, Path]:
    """One trace per policy, each with that policy on every seat; by label, `all:<policy>`.

    They lie under `references/` of the folder, as `all-<policy>.trace`, under `by_seed` with the seed behind it.
    """
    traces: dict[str, Path] = {}
    for policy in policies:
        # The prefix keeps `all:zip` apart from `zip` in the agent's seat, also in tables.
        traces[f"{ON_EVERY_SEAT}{policy}"] = await _play(spec, list(spec.plan.seats), policy, f"all-{policy}", by_seed)
    return traces


async def _play(spec: PlaySpec, seats: Sequence[SeatId], policy: str, name: str, by_seed: bool) -> Path:
    # All of these seats become the agent's: the policy then plays where the agent did, and is asked after the others.
    plan = spec.plan._replace(seats={seat: AGENT if seat in seats else who for seat, who in spec.plan.seats.items()})
    spec_of_policy = AgentSpec(NATIVE, f"policy:{policy}")
    agent = ready(spec.kind, spec_of_policy, seat_roles(spec.kind, spec.scenario, seats))
    # Under test are the seats that it is a reference for, also where the policy sits in all of them.
    folder, compared = spec.folder / REFERENCES, spec.plan.agents or seats
    played = await play_episode(replace(spec, plan=plan, agent=agent, folder=folder, compared=compared))
    # Named by policy when it is finished: readers find a reference by the name of its file.
    return move_onto(played.path, played.path.with_name(f"{name}-{spec.seed}.trace" if by_seed else f"{name}.trace"))


if __name__ == "__main__":  # the recipe of the reference tables, `python -m tradefair.runner.play.references`
    from tradefair.cli import run

    sys.exit(run(["references", *sys.argv[1:]]))
