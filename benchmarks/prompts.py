"""What keeping prompts costs: bytes of a trace, and CPU time of play, with them and without them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import seat_roles
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode
from tradefair.tracestore import open_trace

# Market, scenario, and the policy behind the react graph.
_CASES = (
    ("retail", "retail/smoke", "policy:careful_reader"),
    ("double_auction", "double_auction/bazaar", "policy:zip"),
)


class _Played(NamedTuple):
    seconds: float
    bytes: int
    calls: int


def measure(*, tiny: bool) -> list[Figure]:
    """Each case on a few seeds, both ways in turns."""
    figures: list[Figure] = []
    for market, scenario, policy in _CASES[1:] if tiny else _CASES:
        with TemporaryDirectory() as folder:
            # What is imported and compiled once is no cost of prompts.
            _play(Path(folder), market, scenario, policy, 0, kept=True)
            pairs = [
                [_play(Path(folder), market, scenario, policy, seed, kept=kept) for kept in (True, False)]
                for seed in range(1, 2 if tiny else 4)
            ]
        kept, plain = zip(*pairs, strict=True)
        share = 1 - sum(played.bytes for played in plain) / sum(played.bytes for played in kept)
        how = f"{sum(played.calls for played in kept):,} model calls, {len(pairs)} seeds"
        figures.append(Figure(f"{scenario}: share of prompts in a trace's bytes", 100 * share, "%", 45, how=how))
        slower = ratio_of_medians([played.seconds for played in kept], [played.seconds for played in plain])
        figures.append(Figure(f"{scenario}: play with prompts / without", slower, "×", 1.15, how=how))
    return figures


def _play(folder: Path, market: str, name: str, policy: str, seed: int, *, kept: bool) -> _Played:
    kind, scenario = market_type(market), load_scenario(market, name)
    plan, agent = plan_seats(kind, scenario), AgentSpec("react", policy, prompts=kept)
    made = ready(kind, agent, seat_roles(kind, scenario, plan.agents))
    spec = PlaySpec(market, scenario, seed, plan, made, folder / str(kept))
    watch = Stopwatch()
    path = asyncio.run(play_episode(spec)).path
    seconds = watch.seconds()
    with open_trace(path) as trace:
        calls = sum(note.get("kind") == "model_call" for note in trace.agent_events())
    return _Played(seconds, path.stat().st_size, calls)
