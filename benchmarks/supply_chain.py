"""A supply chain of 20 scripted retailers with its durable trace, and how its cost grows with seats and buyers."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Stopwatch
from benchmarks.supply_chain_fast import play_fast
from tradefair.catalog import load_scenario
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.embedding import CachedEmbedder, SimilarityService
from tradefair.host.seats.plans import plan_seats
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.model import SupplyChainScenario

_POLICY = "skill"


def measure(*, tiny: bool) -> list[Figure]:
    """Whole episodes of the gated preset, then single rounds with more seats and more buyers by rules alone."""
    times = 1 if tiny else 9
    durable = asyncio.run(_durable(times, record="full"))
    digests = asyncio.run(_durable(times, record="digests"))
    seats = {count: _round(times, retailers=count) for count in (20, 200)}
    buyers = {count: _round(1 if tiny else 3, buyers=count) for count in (200, 2_000 if tiny else 20_000)}
    few, many = buyers.values()
    hit, miss = _embedding(times)
    how = f"median of {times} episodes of 6 rounds"
    return [
        Figure("episode of 20 retailers, durable trace", durable, "CPU s", 0.2, how=how),
        Figure("episodes with digests", 1 / digests, "per CPU s", 5, "at least", how),
        Figure("one round, 20 retailers", seats[20] * 1000, "CPU ms", how="rules and policies alone"),
        Figure("one round, 200 retailers over 20", seats[200] / seats[20], "x", how="10 times the seats"),
        Figure(
            f"one round, {max(buyers)} buyers over 200", many / few, "x", how=f"{max(buyers) // 200} times the buyers"
        ),
        Figure("similarities of a slogan, known", hit * 1e6, "CPU µs", how="20 personas, width 384, from memory"),
        Figure("similarities of a slogan, new", miss * 1e6, "CPU µs", how="the same, kept on disk"),
    ]


async def _durable(times: int, *, record: str) -> float:
    """CPU seconds of an episode through Core and log, sealed."""
    scenario = load_scenario("supply_chain", "gated", {"record": record})
    plan, costs = plan_seats(MARKET, scenario, agents=[], others=_POLICY), list[float]()
    plan = plan.with_policy("retailer_01", _POLICY)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(times + 1):
            watch = Stopwatch()
            episode = await new_episode(MARKET, scenario, seed, plan, Path(folder), episode_id=f"{record}{seed}")
            await episode.wait_ended()
            await episode.close()
            costs.append(watch.seconds())
    return median(costs[1:])  # the first one warms caches of words


def _round(times: int, **overrides: int) -> float:
    """CPU seconds of one round by rules and policies alone."""
    scenario = load_scenario("supply_chain", "gated", {"rounds": 1, **overrides})
    assert isinstance(scenario, SupplyChainScenario)
    costs: list[float] = []
    for seed in range(times + 1):
        watch = Stopwatch()
        play_fast(scenario, seed, _POLICY)
        costs.append(watch.seconds())
    return median(costs[1:] or costs)


class _Given:
    """An embedder that costs nothing."""

    id, dimensions = "given/1", 384

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + len(text) % 7] * self.dimensions for text in texts]


def _embedding(times: int) -> tuple[float, float]:
    """CPU seconds of a row of similarities: known text, new text."""
    personas = [f"persona {number}" for number in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        service = SimilarityService(CachedEmbedder(_Given(), Path(folder)))  # pyright: ignore[reportArgumentType]
        service.answer({"text": "known", "others": [*personas]})
        costs: list[list[float]] = [[], []]
        for number in range(times * 5):
            for kind, text in enumerate(("known", f"new {number}")):
                watch = Stopwatch()
                service.answer({"text": text, "others": [*personas]})
                costs[kind].append(watch.seconds())
    return median(costs[0]), median(costs[1])
