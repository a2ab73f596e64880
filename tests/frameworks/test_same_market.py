"""The same policy on the same seed through every framework: the same actions, and a market that cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.calling import moves
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks import EXTRAS
from tradefair.host.episode.setup import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace

SEED = 7
TASKS = {
    "double_auction": ("duel", "policy:zip"),
    "retail": ("smoke", "policy:careful_reader"),
    "supply_chain": ("gated", "policy:adaptive"),
    "marketplace": ("small_demo", "policy:item_searcher"),
    "bargaining": ("smoke", "policy:fair_split"),
    # Policies that look first: at past prices and the profit of others, at the book and their own orders.
    "pricing": ("curriculum", "policy:best_reply"),
    "order_book": ("asset_short", "policy:fundamentalist"),
}
ALWAYS = ("react", "reflection", "plan_and_act", "openai_loop")


class Played(NamedTuple):
    """What a trace says of the market; moves hold reads and refusals as well."""

    accepted: list[tuple[str, Any]]
    outcome: str
    moves: list[bytes]


def _cases() -> Iterator[Any]:
    for market in TASKS:
        yield from (pytest.param(market, name) for name in ALWAYS)
        for name, extra in EXTRAS.items():
            missing = find_spec(extra.module) is None
            skip = pytest.mark.skipif(missing, reason=f"{extra.module} is not installed")
            yield pytest.param(market, name, marks=[skip])


async def _play(market: str, framework: str, folder: Path) -> Played:
    preset, policy = TASKS[market]
    kind, scenario = market_type(market), load_scenario(market, preset)
    agent = AgentSpec(framework, policy, limits=Limits(calls_per_round=200))
    spec = play_spec(
        market=market, scenario=scenario, seed=SEED, plan=plan_seats(kind, scenario), agent=agent, folder=folder
    )
    played = await play_episode(spec)
    with open_trace(played.path) as trace:
        about = trace.manifest.about
        accepted = [
            (event["tool"], event["arguments"])
            for event in trace.decoded()
            if event["event"] == "tool_called" and event["seat"] in played.agents and _is_accepted(event)
        ]
        return Played(accepted, str(about["outcome_digest"]), moves(played.path))


def _is_accepted(event: Mapping[str, Any]) -> bool:
    return event["kind"] == "action" and event["status"] == "ok"


@pytest.mark.network
@pytest.mark.parametrize(("market", "framework"), list(_cases()))
async def test_the_same_policy_makes_the_same_market_through_every_framework(
    market: str, framework: str, tmp_path: Path
) -> None:
    inside = await _play(market, "policy", tmp_path / "inside")
    seated = await _play(market, framework, tmp_path / "seated")
    assert seated.accepted == inside.accepted
    assert seated.outcome == inside.outcome
    assert seated.moves == inside.moves
    assert inside.accepted
