"""A manager behind MCP: foreign words are marked, programs read the store, a graph plays what its policy plays."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.play_specs import play_spec

from tradefair.contract.kernel.players import Limits
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import SeatPlan
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.server.binding import build_server
from tradefair.retail import MARKET
from tradefair.retail.model import SEAT, RetailScenario
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.testing.client import open_seat
from tradefair.tracestore import open_trace

ScenarioOf = Callable[..., RetailScenario]

PROGRAM = """
ids = product_ids
sales = view_sales_profit_history(product_ids=ids, start_date="1991-08-10", end_date="1991-09-06", detail="summary")
stock = view_inventory(product_ids=ids)
best = sorted(zip(sales["summary"]["units"], sales["summary"]["product_id"]), reverse=True)[:2]
{"best": [name for _, name in best], "free": stock["free"], "left": funds - rent * day, "today": current_date}
"""


async def _ask(client: Any, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    return await client.call_tool(tool, arguments or {})


async def test_titles_and_reviews_are_fenced_as_foreign_words(scenario_of: ScenarioOf) -> None:
    async with open_seat(MARKET, scenario_of("smoke"), SEAT) as seat:
        news = await _ask(seat.client, "view_today_news")
        assert news.meta["tradefair/untrusted"] == [f"/title/{place}" for place in range(6)]
        detail = await _ask(seat.client, "view_news_detail", {"news_id": news.structured_content["news_id"][0]})
        assert set(detail.meta["tradefair/untrusted"]) == {"/title", "/content"}
        told = await _ask(
            seat.client,
            "view_product_reviews",
            {"product_ids": ["P001"], "start_date": "1991-09-01", "end_date": "1991-09-06", "limit": 2},
        )
        assert told.meta["tradefair/untrusted"] == ["/reviews/text/0", "/reviews/text/1"]


@asynccontextmanager
async def _with_programs(scenario: RetailScenario, folder: Path) -> AsyncGenerator[Client]:
    """The manager's seat of an episode whose server runs code."""
    with Sandbox() as sandbox:
        episode = await Episode.create(folder / "seat.trace", MARKET, scenario, 1, episode_id="seat", sandbox=sandbox)
        try:
            async with Client(build_server(episode, SEAT)) as client:
                yield client
        finally:
            await episode.close()


async def test_a_program_reads_the_store_with_its_constants(scenario_of: ScenarioOf, tmp_path: Path) -> None:
    async with _with_programs(scenario_of("smoke"), tmp_path) as client:
        answer = await _ask(client, "execute_code", {"code": PROGRAM})
        assert not answer.is_error, answer.content
        value = answer.structured_content["value"]
        assert (value["free"], value["left"], value["today"]) == (1500, 2960.0, "1991-09-07")
        assert len(value["best"]) == answer.structured_content["inner_calls"] == 2


async def test_a_day_cannot_be_closed_from_a_program(scenario_of: ScenarioOf, tmp_path: Path) -> None:
    async with _with_programs(scenario_of("smoke"), tmp_path) as client:
        answer = await _ask(client, "execute_code", {"code": "end_today()"})
        assert answer.is_error
        assert (await _ask(client, "view_funds_and_date")).structured_content["day"] == 1


@pytest.mark.parametrize("policy", ["careful_reader", "fumbler"])
async def test_the_react_graph_with_a_policy_for_a_model_plays_byte_by_byte_what_the_policy_plays(
    scenario_of: ScenarioOf, tmp_path: Path, policy: str
) -> None:
    scenario = scenario_of("smoke", {"horizon_days": 3})
    played_events: list[Any] = []
    for framework in ("react", "policy"):
        agent = AgentSpec(framework, f"policy:{policy}", limits=Limits(calls_per_round=400))
        plan = SeatPlan({SEAT: "agent"})
        played = await play_episode(play_spec("retail", scenario, 2, plan, agent, tmp_path / framework))
        assert played.end_reason == "terminated:horizon"
        with open_trace(played.path) as trace:
            played_events.append((trace.manifest.core, [event.body for event in trace.events(after=1)]))
    assert played_events[0] == played_events[1]
