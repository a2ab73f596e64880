"""Seeds on which a named seat has something to win, whoever plays it: decided from values and scripts alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.players import seat_roles
from tradefair.evaluation.evaluate import evaluate
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.host.setup import MAX_SEED
from tradefair.runner.agent_spec import NATIVE, AgentSpec, ready
from tradefair.runner.episode_runner import PlaySpec, play_episode
from tradefair.tracestore import open_trace

_TRIED = 50
"""Seeds that are tried per seed that is wanted: a seat that wins less often is not worth a comparison."""


async def seeds_at_stake(spec: PlaySpec, count: int) -> list[int]:
    """The first `count` seeds from the spec's on on which its agent's seat can win something.

    Each is played once by the market's naive reference, which decides nothing here: what there was to win comes from
    values and the other seats. Raises ScenarioError where the seat is open, or the market does not say what it could
    win, or so few seeds have something.
    """
    evaluator, seats = evaluator_of(spec.market), spec.plan.agents
    if len(seats) != 1 or evaluator.headline is None:
        why = f"{spec.market} has no headline" if evaluator.headline is None else f"there are {len(seats)} agent seats"
        raise ScenarioError(f"--seeds-at-stake is for one named seat: {why}")
    roles = seat_roles(spec.kind, spec.scenario, seats)
    agent = ready(spec.kind, AgentSpec(NATIVE, f"policy:{evaluator.headline.naive}"), roles)
    found: list[int] = []
    with TemporaryDirectory() as folder:
        trial = replace(spec, agent=agent, folder=Path(folder))
        for seed in range(spec.seed, min(spec.seed + _TRIED * count, MAX_SEED + 1)):
            if await _stake(replace(trial, seed=seed), seats[0], evaluator) > 0:
                found.append(seed)
            if len(found) == count:
                return found
    raise ScenarioError(
        f"{seats[0]} has something to win on {len(found)} of {_TRIED * count} seeds: fewer than {count}"
    )


async def _stake(spec: PlaySpec, seat: SeatId, evaluator: Evaluator) -> float:
    played = await play_episode(spec)
    with open_trace(played.path) as trace:
        stake = evaluator.at_stake(evaluate(trace), seat)
    played.path.unlink()
    if stake is None:
        raise ScenarioError(f"{spec.market} does not say what a seat could win: take --seeds")
    return stake
