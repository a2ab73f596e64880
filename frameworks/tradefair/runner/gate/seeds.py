"""The seeds of a gate: where a seat has something to win, from values and scripts alone, whoever will play there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tradefair.contract import ScenarioError
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.runner.gate.gate_file import FIRST_SEED, Place, sealed_seeds
from tradefair.runner.gate.sides import Missing, Player, game_of
from tradefair.runner.plans.episodes import Variant
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec
from tradefair.tracestore import open_trace

PASSIVE = Player("policy:passive", AgentSpec(NATIVE, "policy:passive"))
"""Does nothing: what it earns is what an agent has to beat, and it moves no other seat."""
_TRIED = 50
"""Seeds that are tried per seed that is wanted: a seat that wins less often is not worth a gate."""
_WITHOUT = 5
"""One seed in so many has nothing to win: a seat that is priced out can still buy at a loss."""


class Trial(NamedTuple):
    """A seed played by `passive`: what it earned, and what there was to win (None: the market does not say)."""

    seed: int
    reward: float
    stake: float | None
    outcome: str
    tools: str


async def tried(variant: Variant, seed: int) -> Trial:
    """One seed played by `passive`. Raises ScenarioError where that cannot be."""
    with TemporaryDirectory() as folder:
        try:
            game = await game_of(PASSIVE, variant, seed, Path(folder) / f"{seed}.trace")
        except Missing as problem:
            raise ScenarioError(f"{variant.scenario.id}, seed {seed}: passive cannot be played: {problem}") from None
        with open_trace(game.path) as trace:
            outcome, evaluator = evaluate(trace), evaluator_of(variant.market)
            stakes = [evaluator.at_stake(outcome, seat) for seat in game.seats]
            known = [stake for stake in stakes if stake is not None]
            about, tools = trace.manifest.about, trace.manifest.core.tool_schema_digest
            stake = sum(known) if len(known) == len(stakes) else None
            return Trial(seed, game.reward, stake, str(about.get("outcome_digest") or ""), tools)


async def chosen(place: Place, variant: Variant, first: int = FIRST_SEED) -> list[Trial]:
    """The seeds of a scenario in their order, each tried: twice as many as `seeds`, or those that are listed.

    Raises ScenarioError where so few seeds have something to win.
    """
    seeds, sealed = place.gate.seeds, sealed_seeds(place)
    if not isinstance(seeds, int):
        listed: Sequence[int] = sealed.seeds if sealed else seeds  # pyright: ignore[reportAssignmentType]
        return [await tried(variant, seed) for seed in listed]
    found: list[Trial] = []
    without, wanted = 0, 2 * seeds
    for seed in range(first, first + _TRIED * wanted):
        trial = await tried(variant, seed)
        idle = trial.stake is not None and trial.stake <= 0
        if not idle or _WITHOUT * without < len(found):
            found.append(trial)
            without += idle
        if len(found) == wanted:
            return found
    raise ScenarioError(
        f"{variant.scenario.id}: {len(found)} of {_TRIED * wanted} seeds have something to win, fewer than {wanted}; "
        "take another scenario, or list seeds"
    )
