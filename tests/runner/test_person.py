"""`play --agent person`: a page on this machine, a seat behind it, and what the trace says of whoever played."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from tests.play_specs import play_spec
from tests.waiting import LONG, eventually

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.players import PERSON
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play import outside
from tradefair.runner.play.agent_spec import AgentSpec, ReadyAgent, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode, resume_episode
from tradefair.tracestore import open_trace

APPS = (advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]}),)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlaySpec:
    # No page draws the end here.
    monkeypatch.setattr(outside, "_QUIET_S", 0.0)
    chosen = load_scenario("teaching", "pie")
    plan = plan_seats(market_type("teaching"), chosen)
    return play_spec(market="teaching", scenario=chosen, seed=7, plan=plan, agent=AgentSpec(PERSON), folder=tmp_path)


class Browser:
    """What a person's browser does with the address that the terminal shows."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.home, token = f"{parts.scheme}://{parts.netloc}", parts.fragment.removeprefix("token=")
        self.http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}", "Origin": self.home})

    async def click(self, times: int) -> None:
        async with (
            self.http,
            Client(streamable_http_client(f"{self.home}/mcp", http_client=self.http), extensions=APPS) as page,
        ):
            for _ in range(times):
                state = (await page.call_tool("board_state")).structured_content
                assert state["turn"]["awaited"]
                call = {"tool": "claim", "arguments": {"slices": 5}, "key": f"click {state['revision']}"}
                assert not (await page.call_tool("board_call", call)).is_error
            state = (await page.call_tool("board_state")).structured_content
            assert state["over"] == state["turn"]["over"]


async def address(capsys: Any) -> str:
    """The address on the terminal, as soon as it is there."""
    shown = ""

    def told() -> bool:
        nonlocal shown
        shown += capsys.readouterr().err
        return "trace" in shown

    await eventually(told, "an address on the terminal")
    return next(word for word in shown.split() if word.startswith("http"))


def door(episode: Any, agent: ReadyAgent) -> Any:
    return outside.open_door(episode, ["P1"], person=agent.spec.framework == PERSON, browser=False)


async def test_a_person_plays_an_episode_in_a_browser_and_the_trace_says_so(spec: PlaySpec, capsys: Any) -> None:
    playing = asyncio.create_task(play_episode(spec, opened=door))
    browser = Browser(await address(capsys))
    await asyncio.wait_for(browser.click(3), LONG)
    played = await asyncio.wait_for(playing, LONG)
    assert verify_file(played.path).verdict == "reproduced"
    with open_trace(played.path) as trace:
        player = trace.seating().players["P1"]
        assert player.agent is not None
        assert (player.label, player.agent.framework) == (PERSON, PERSON)
        marks = {row.seq: row.by for row in trace.side()}
        calls = [event for event in trace.decoded() if event["event"] == "tool_called" and event["seat"] == "P1"]
    assert [(event["tool"], marks[event["seq"]]) for event in calls] == [("claim", "person")] * 3


async def test_a_person_who_stops_can_go_on_later(spec: PlaySpec, capsys: Any) -> None:
    playing = asyncio.create_task(play_episode(spec, opened=door))
    await asyncio.wait_for(Browser(await address(capsys)).click(1), LONG)
    playing.cancel()
    await asyncio.wait([playing], timeout=LONG)
    (path,) = spec.folder.glob("*.trace")
    playing = asyncio.create_task(resume_episode(path, opened=door))
    await asyncio.wait_for(Browser(await address(capsys)).click(2), LONG)
    await asyncio.wait_for(playing, LONG)
    assert verify_file(path).verdict == "reproduced"


@pytest.mark.network
async def test_the_pages_are_for_this_machine_and_hold_no_token(spec: PlaySpec, capsys: Any) -> None:
    playing = asyncio.create_task(play_episode(spec, opened=door))
    shown = await address(capsys)
    home, token = shown.split("/#token=")
    async with httpx2.AsyncClient() as http:
        for path, allowed in (("/", "connect-src 'self'"), ("/board.html", "sandbox allow-scripts")):
            page = await http.get(home + path)
            assert page.status_code == 200
            assert token not in page.text
            assert allowed in page.headers["content-security-policy"]
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert page.headers["referrer-policy"] == "no-referrer"
            assert page.headers["x-content-type-options"] == "nosniff"
            assert (await http.get(home + path, headers={"Host": "evil.example"})).status_code == 421
            assert (await http.get(home + path, headers={"Origin": "http://evil.example"})).status_code == 403
        assert (await http.post(f"{home}/mcp", json={})).status_code == 401
    playing.cancel()
    await asyncio.wait([playing], timeout=LONG)


def test_what_concerns_models_is_refused_for_a_person() -> None:
    kind = market_type("teaching")
    with pytest.raises(ScenarioError, match="--agent person makes none"):
        ready(kind, AgentSpec(PERSON, replay="calls.jsonl"), {"P1": "player"})
