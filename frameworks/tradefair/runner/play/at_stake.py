"""Seeds on which a named seat has something to win, whoever plays it: decided from values and scripts alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.bounds import MAX_SEED
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.compare.chosen_seeds import ChosenSeeds
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode
from tradefair.tracestore import open_trace

_TRIED = 50
"""Seeds that are tried per seed that is wanted: a seat that wins less often is not worth a comparison."""


async def seeds_at_stake(spec: PlaySpec, count: int) -> ChosenSeeds:
    """The first `count` seeds from the spec's on on which its agent's seat can win something, and those in between.

    Each is played once with a scripted reference in the seat, which decides nothing: what there was to win comes from
    the seed's chance and the other seats. Raises ScenarioError where the seat is open, or the market does not say what
    it could win, or so few seeds have something.
    """
    seats = spec.plan.agents
    if len(seats) != 1:
        raise ScenarioError(f"--seeds-at-stake is for one named seat: there are {len(seats)} agent seats")
    evaluator, roles = evaluator_of(spec.market), seat_roles(spec.kind, spec.scenario, seats)
    policy = _reference(spec, evaluator, roles[seats[0]])
    found: list[int] = []
    tried = range(spec.seed, min(spec.seed + _TRIED * count, MAX_SEED + 1))
    with TemporaryDirectory() as folder:
        agent = ready(spec.kind, AgentSpec(NATIVE, f"policy:{policy}"), roles)
        trial = replace(spec, agent=agent, folder=Path(folder))
        for seed in tried:
            if await _stake(replace(trial, seed=seed), seats[0], evaluator) > 0:
                found.append(seed)
            if len(found) == count:
                skipped = tuple(sorted({*range(spec.seed, seed)} - {*found}))
                return ChosenSeeds(
                    scenario=spec.scenario.id, seat=seats[0], policy=policy, seeds=tuple(found), skipped=skipped
                )
    raise ScenarioError(f"{seats[0]} has something to win on {len(found)} of {len(tried)} seeds: fewer than {count}")


def _reference(spec: PlaySpec, evaluator: Evaluator, role: str) -> str:
    """`passive` where it can play the role, since it moves no other seat; else the market's naive reference."""
    passive = spec.kind.policies.get("passive")
    if passive is not None and role in passive.roles:
        return passive.name
    if evaluator.headline is None:
        raise ScenarioError(f"{spec.market} has no reference that could try a seed: take --seeds")
    return evaluator.headline.naive


async def _stake(spec: PlaySpec, seat: SeatId, evaluator: Evaluator) -> float:
    played = await play_episode(spec)
    with open_trace(played.path) as trace:
        stake = evaluator.at_stake(evaluate(trace), seat)
    played.path.unlink()
    if stake is None:
        raise ScenarioError(f"{spec.market} does not say what a seat could win: take --seeds")
    return stake
