"""What an episode is asked for, before anything is made: who decides for each seat, with which seed, in which folder.

Imports neither a log nor an event loop: a server of pipes says its first word by these alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import MarketType, Scenario, ScenarioError, SeatId
from tradefair.contract.bounds import MAX_SEED
from tradefair.contract.errors import StorageUnavailable, unknown
from tradefair.contract.kernel.players import AGENT, policy_spec, seat_roles, stand_ins
from tradefair.contract.market import Resolves
from tradefair.contract.policy import parse_policy

STAND_IN = "stand_in"
"""In the place of a policy's name: the stand-in of its role plays each agent's seat that nobody takes."""


class SeatPlan(NamedTuple):
    """Who decides for each seat: `agent` (from outside), or a policy such as `zip` or `fixed(price=40)`.

    `late` names scripted seats that stand in for an agent. They are asked after the others, as an agent would be.
    """

    seats: Mapping[SeatId, str]
    late: frozenset[SeatId] = frozenset()

    @property
    def agents(self) -> list[SeatId]:
        """The seats that are played from outside, in the market's order."""
        return [seat for seat, who in self.seats.items() if who == AGENT]

    def with_agent(self, seat: SeatId) -> SeatPlan:
        """The plan with the seat played from outside."""
        return SeatPlan({**self.seats, seat: AGENT}, self.late - {seat})

    def with_policy(self, seat: SeatId, spelling: str) -> SeatPlan:
        """The plan with a scripted policy where the agent would sit.

        The seat is marked as `late`: it is asked where the agent would be (docs/explanation/why/runner.md).
        """
        return SeatPlan({**self.seats, seat: spelling}, self.late | {seat})


def _given(
    scenario: Scenario, seat: SeatId, role: str, agents: Sequence[SeatId] | None, policy: str | None
) -> str | None:
    """Who decides for a seat, by the scenario and by what was asked for; None where neither says."""
    by_role = scenario.seats.get(role)
    given = scenario.seats.get(seat, by_role)
    if agents is not None:
        # A seat that the scenario calls an agent's and that no agent takes is played by its role's policy.
        given = AGENT if seat in agents else (by_role if given == AGENT else given)
    if policy is not None and (given != AGENT or (agents is not None and seat not in agents)):
        given = policy
    return given


def plan_seats(
    kind: MarketType, scenario: Scenario, *, agents: Sequence[SeatId] | None = None, others: str | None = None
) -> SeatPlan:
    """Work out who decides for each seat.

    The scenario says so by seat id, else by role; `agents` names the seats that are played from outside instead
    (default: those that the scenario calls agent), `others` the policy of all other seats, or `stand_in`: the stand-ins
    of their roles sit in agents' seats that were not named, so that nobody else has to come. Raises ScenarioError for
    unknown seats, for seats that nothing fills, and for policies that do not fit the role.
    """
    alone = others == STAND_IN
    policy = None if alone else others
    roles = seat_roles(kind, scenario)
    missing = [seat for seat in agents or () if seat not in roles]
    if missing:
        raise ScenarioError(unknown("seat", missing[0], roles))
    seats: dict[SeatId, str] = {}
    unfilled: set[SeatId] = set()
    for seat, role in roles.items():
        given = _given(scenario, seat, role, agents, policy)
        if given is None and scenario.by_turns:
            # The scenario says who plays against its own agent only: that policy changes sides with the agent.
            given = _spare(kind, scenario, role)
        if given is None and alone:
            unfilled.add(seat)
            given = AGENT
        if given is None:
            raise ScenarioError(f"nothing plays {seat}: name a policy with --others")
        # Looked up now, so that a misspelt policy is refused before anything is written.
        if given != AGENT:
            policy_spec(kind, given, role)
        seats[seat] = given
    plan = SeatPlan(seats)
    if not alone:
        return plan
    return left_alone(kind, scenario, plan, set(plan.agents) - unfilled if agents is None else agents)


def plan_turn(kind: MarketType, scenario: Scenario, seed: int, *, others: str | None = None) -> SeatPlan:
    """The seats of an agent that plays many seeds: seat number (seed mod n) of the n seats, where they differ.

    In a market of equal seats, or where the scenario gives agents several seats, those of the scenario. What plays the
    scenario's other seats plays the ones that the agent leaves. Raises ScenarioError as `plan_seats` does.
    """
    plan = plan_seats(kind, scenario, others=others)
    if not scenario.by_turns or len(plan.agents) != 1:
        return plan
    seats = list(plan.seats)
    return plan_seats(kind, scenario, agents=[seats[seed % len(seats)]], others=others)


def _spare(kind: MarketType, scenario: Scenario, role: str) -> str | None:
    """A policy that the scenario names for another role and that can play this one, too."""
    named = (who for who in scenario.seats.values() if who != AGENT)
    return next((who for who in named if role in kind.policies[parse_policy(who)[0]].roles), None)


def left_alone(kind: MarketType, scenario: Scenario, plan: SeatPlan, kept: Collection[SeatId]) -> SeatPlan:
    """The plan in which only the seats of `kept` are played from outside: stand-ins of their roles play other agents'.

    For runs to which no other agent will come. Raises ScenarioError where a role has no stand-in.
    """
    others = [other for other in plan.agents if other not in kept]
    roles = seat_roles(kind, scenario)
    for other in others:
        named = stand_ins(kind, scenario, [roles[other]])
        if not named:
            raise ScenarioError(f"nothing plays {other}: name a policy with --others")
        plan = plan.with_policy(other, named[0])
    return plan


def asks_outside(kind: MarketType, scenario: Scenario) -> bool:
    """Whether outside services must be asked before and during an episode of this scenario.

    Such episodes need network or a model's files; others run on the machine alone.
    """
    resolves = _resolves(kind)
    return resolves is not None and bool(resolves.needs(scenario))


# Once per market and not per game: to look for a protocol's methods takes as long as a call of a tool.
@lru_cache(maxsize=64)
def _resolves(kind: MarketType) -> Resolves | None:
    return kind if isinstance(kind, Resolves) else None


def check_seed(seed: int) -> None:
    """Check that traces can hold the seed. Raises ScenarioError."""
    if not 0 <= seed <= MAX_SEED:
        raise ScenarioError(f"the seed is {seed}; allowed is 0 to 2^63 - 1")


def new_seed() -> int:
    """A fresh seed. It is printed, so that the run can be repeated; below 2**31, so that it can be typed."""
    # Not from the clock: runs that start at the same moment must differ.
    return secrets.randbelow(2**31)


def check_folder(folder: Path) -> None:
    """Check that the folder can be made, or written to where it is there. Raises StorageUnavailable; makes nothing."""
    there = next((above for above in (folder, *folder.absolute().parents) if above.exists()), folder)
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise StorageUnavailable(f"{folder}: nothing can be written there")


def default_folder(market: str) -> Path:
    """`./runs/<timestamp>-<market>`.

    The time is local: the name is for the person who looks for the run.
    """
    return Path("runs") / f"{datetime.now().strftime('%Y%m%d-%H%M%S')}-{market}"
