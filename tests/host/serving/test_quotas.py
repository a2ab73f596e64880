"""Quotas of seats, times to live, and how a host goes down: nobody's flood or silence stops the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import LONG, SOON, Clock, deadline_passed, eventually

from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.launch import _calls_so_far  # pyright: ignore[reportPrivateUsage]  # what a restart reckons
from tradefair.host.doors.app import HttpServer
from tradefair.host.doors.doors import MAX_OPEN_REQUESTS
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.setup import reopen_episode
from tradefair.host.server.binding import build_server
from tradefair.host.server.quotas import Gate, Quotas
from tradefair.host.server.wire import RETRY_META

# --- the gate ---------------------------------------------------------------------------------------------------------


def test_a_burst_passes_and_then_calls_pass_at_their_rate() -> None:
    clock = Clock()
    gate = Gate(Quotas(calls_per_s=2, burst=5), clock=clock)

    def passed(count: int) -> int:
        return sum(gate.enter("claim") is None for _ in range(count))

    assert passed(10) == 5
    clock.now += 1
    assert passed(10) == 2
    clock.now += 60
    assert passed(10) == 5


@given(rate=st.floats(0.1, 1_000), burst=st.integers(1, 50), steps=st.lists(st.floats(0, 5), max_size=60))
def test_no_stretch_of_time_has_more_calls_than_its_rate_and_one_burst(
    rate: float, burst: int, steps: list[float]
) -> None:
    clock = Clock()
    gate = Gate(Quotas(calls_per_s=rate, burst=burst, open_calls=10_000), clock=clock)
    passed: list[float] = []
    for step in steps:
        clock.now += step
        if gate.enter("claim") is None:
            passed.append(clock.now)
    for index, first in enumerate(passed):
        for count, last in enumerate(passed[index:], start=1):
            assert count <= burst + (last - first) * rate + 1e-6


@given(rate=st.floats(0.1, 1_000), burst=st.integers(1, 20))
def test_whoever_waits_as_long_as_told_is_let_in(rate: float, burst: int) -> None:
    clock = Clock()
    gate = Gate(Quotas(calls_per_s=rate, burst=burst), clock=clock)
    while (refusal := gate.enter("claim")) is None:
        gate.leave()
    assert (refusal.error.code, refusal.error.retryable) == ("busy", True)
    assert refusal.retry_after_s is not None
    assert f"{refusal.retry_after_s:g} s" in refusal.error.hint
    clock.now += refusal.retry_after_s
    assert gate.enter("claim") is None


def test_a_budget_is_told_when_it_is_spent_and_await_turn_costs_nothing() -> None:
    spent: list[bool] = []
    gate = Gate(Quotas(calls=3), used=1, on_spent=lambda: spent.append(True))
    assert gate.enter("claim") is None
    assert not spent
    assert gate.enter("view_turn") is None
    assert spent == [True]
    refusal = gate.enter("claim")
    assert refusal is not None
    assert (refusal.error.code, refusal.error.retryable, refusal.retry_after_s) == ("call_limit", False, None)
    assert gate.enter("await_turn") is None
    assert (gate.calls, gate.refused) == (3, 1)


def test_so_many_calls_may_be_open_and_no_more() -> None:
    gate = Gate(Quotas(open_calls=2))
    assert gate.enter("await_turn") is None
    assert gate.enter("claim") is None
    refusal = gate.enter("claim")
    assert refusal is not None
    assert refusal.error.code == "busy"
    gate.leave()
    assert gate.enter("claim") is None


# --- over the wire ----------------------------------------------------------------------------------------------------


class Hosted(NamedTuple):
    host: Host
    server: HttpServer
    episode: Any
    tokens: dict[str, str]
    served: asyncio.Task[None]

    def busy(self, seat: str) -> bool:
        """Whether a request of a seat's token is being answered."""
        (grant,) = [grant.id for grant in self.host.tokens if grant.seat == seat]
        door = self.host.doors.get(grant)
        return door is not None and door.busy


@asynccontextmanager
async def two_seats(stage: Any, *, drain_s: float = 0.0, **options: Any) -> AsyncGenerator[Hosted]:
    host = Host(stage.folder, **options)
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    tokens = {seat: host.invite(episode.id, seat)[0] for seat in ("P1", "P2")}
    server = HttpServer(host, drain_s=drain_s)
    ready = asyncio.Event()
    served = asyncio.create_task(server.serve(ready.set))
    await stage.within(ready.wait())
    try:
        yield Hosted(host, server, episode, tokens, served)
    finally:
        server.stop()
        await stage.within(served)
        await host.close()


async def test_a_flood_of_one_seat_is_refused_with_a_hint_and_the_other_goes_on(stage: Any, era: str) -> None:
    quotas = Quotas(calls_per_s=0.5, burst=4)
    async with two_seats(stage, quotas=quotas) as it:
        async with (
            stage.at(it.server.url, it.tokens["P1"], era) as one,
            stage.at(it.server.url, it.tokens["P1"], era) as again,
            stage.at(it.server.url, it.tokens["P2"], era) as two,
        ):
            answers = [await client.call_tool("view_turn") for client in (one, again) * 4]
            refused = [answer for answer in answers if answer.is_error]
            assert len(refused) == 4  # both connections of a seat share one allowance
            assert {answer.structured_content["code"] for answer in refused} == {"busy"}
            assert all(0 < answer.meta[RETRY_META] <= 3 for answer in refused)
            assert not (await two.call_tool("claim", {"slices": 5})).is_error
        called = [event for event in stage.events(it.episode.path) if event["event"] == "tool_called"]
        assert sum(event["seat"] == "P1" for event in called) == 4  # what is refused here never reaches the trace


async def test_a_seat_that_has_spent_its_budget_is_lapsed_from_then_on(stage: Any) -> None:
    async with two_seats(stage, quotas=Quotas(calls=2)) as it:
        async with stage.at(it.server.url, it.tokens["P1"]) as one:
            await one.call_tool("view_turn")
            await one.call_tool("claim", {"slices": 5})
            refused = await one.call_tool("claim", {"slices": 5})
            assert refused.structured_content["code"] == "call_limit"
            assert (refused.structured_content["retryable"], RETRY_META in refused.meta) == (False, False)
            for _ in range(3):
                view = await it.episode.await_turn("P2", 40)
                assert view.awaited
                await it.episode.call("P2", "claim", {"slices": 5})
            await stage.within(it.episode.wait_ended())
            assert (await one.call_tool("await_turn")).structured_content["over"] is True
        lapsed = [event for event in stage.events(it.episode.path) if event["event"] == "seat_lapsed"]
        assert [(event["seat"], event["reason"], event["round"]) for event in lapsed] == [
            ("P1", "call_limit", 2),
            ("P1", "call_limit", 3),
        ]
    assert verify_file(it.episode.path).verdict == "reproduced"
    assert _calls_so_far(it.episode.path) == {"P1": 2, "P2": 3}


async def test_a_budget_that_was_spent_before_a_restart_stays_spent(stage: Any) -> None:
    host = Host(stage.folder, quotas=Quotas(calls=2))
    episode = await stage.episode("P1", "P2")
    host.add(episode, used={"P1": 2})
    async with stage.hosted(host):
        await episode.call("P2", "claim", {"slices": 5})
        assert (await stage.within(episode.await_turn("P2", 40))).round == 2


async def test_a_token_has_so_many_requests_open_and_no_more(stage: Any) -> None:
    async with two_seats(stage) as it:
        await it.episode.call("P1", "claim", {"slices": 5})
        headers = {
            "Authorization": f"Bearer {it.tokens['P1']}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": "2026-07-28",
        }
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(headers=headers, limits=limits, timeout=LONG) as http:

            async def half() -> httpx2.Response:
                async def body() -> AsyncGenerator[bytes]:
                    yield b"{"
                    await done.wait()
                    yield b"}"

                return await http.post(it.server.url, content=body())

            done = asyncio.Event()
            stalled = [asyncio.create_task(half()) for _ in range(MAX_OPEN_REQUESTS)]
            (grant,) = [grant.id for grant in it.host.tokens if grant.seat == "P1"]
            await eventually(lambda: (door := it.host.doors.get(grant)) is not None and door.full, "a full door")
            refused = await http.post(it.server.url, content=stage.post("tools/list"))
            done.set()
            statuses = [(await task).status_code for task in stalled]
        assert (refused.status_code, "Retry-After" in refused.headers) == (429, True)
        assert set(statuses) == {400}


async def test_a_flood_of_requests_that_are_no_calls_is_429_and_passes(stage: Any) -> None:
    async with two_seats(stage, quotas=Quotas(calls_per_s=1, burst=5)) as it:
        headers = {"Authorization": f"Bearer {it.tokens['P1']}", "MCP-Protocol-Version": "2026-07-28"}
        async with httpx2.AsyncClient(headers=headers) as http:
            answers = [await http.post(it.server.url, content=b"{") for _ in range(60)]
            answer = next(answer for answer in answers if answer.status_code == 429)
            await deadline_passed(int(answer.headers["Retry-After"]))
            assert (await http.post(it.server.url, content=b"{")).status_code == 400


@pytest.mark.parametrize("gone", [True, False])
async def test_a_door_that_closes_while_a_request_comes_in_is_no_fault_of_the_server(stage: Any, gone: bool) -> None:
    async with two_seats(stage) as it:
        host, port = it.server.url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {it.tokens['P1']}\r\n"
        head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 2\r\n"
        writer.write(f"{head}\r\n{{".encode())
        (grant,) = [grant for grant in it.host.tokens if grant.seat == "P1"]
        await eventually(lambda: it.busy("P1"), "a request under way")
        if gone:
            it.host.revoke(grant.id)
        else:
            it.host.shut()
        status = await stage.within(reader.readline())
        writer.close()
        assert status.split()[1] == (b"404" if gone else b"503")


async def test_a_client_that_hangs_up_in_mid_request_leaves_no_traceback(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with two_seats(stage) as it:
        host, port = it.server.url.split("/")[2].split(":")
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {it.tokens['P1']}\r\n"
        for revision in ("2025-11-25", "2026-07-28"):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"{head}MCP-Protocol-Version: {revision}\r\nContent-Length: 9\r\n\r\n{{".encode())
            await eventually(lambda: it.busy("P1"), "a request under way")
            writer.transport.abort()
            await eventually(lambda: not it.busy("P1"), "a request that is gone")
        async with stage.at(it.server.url, it.tokens["P1"]) as client:
            assert not (await client.call_tool("view_turn")).is_error
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


# --- how episodes and hosts end ---------------------------------------------------------------------------------------


async def test_an_episode_ends_with_its_time_to_live_and_is_retired(stage: Any) -> None:
    async with two_seats(stage, ttl_s=SOON, linger_s=0) as it:
        assert await stage.within(it.episode.wait_ended()) == "truncated:ttl"
        await stage.within(it.host.wait_empty())
        assert it.host.past[it.episode.id].reason == "truncated:ttl"
        assert list(it.host.tokens) == []
    verdict = verify_file(it.episode.path)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", True)


async def test_an_episode_that_is_being_retired_is_closed_whatever_is_cancelled(stage: Any) -> None:
    host = Host(stage.folder)
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(host.retire, episode.id)
        await anyio.lowlevel.checkpoint()
        assert episode.id not in host.episodes
        tasks.cancel_scope.cancel()
    again = await reopen_episode(episode.path)  # nobody holds its log any more
    await again.close()


async def test_a_host_that_goes_down_lets_the_open_round_end_and_begins_no_other(stage: Any) -> None:
    async with two_seats(stage, drain_s=LONG) as it:
        await it.episode.call("P1", "claim", {"slices": 5})
        async with stage.at(it.server.url, it.tokens["P2"]) as two, httpx2.AsyncClient() as http:
            await two.list_tools()
            it.server.go()
            ready = await http.get(it.server.url.replace("/mcp", "/health/ready"))
            assert (ready.status_code, ready.json()) == (503, {"ready": False, "reasons": ["draining"]})
            assert (await http.get(it.server.url.replace("/mcp", "/health"))).json() == {"status": "draining"}
            assert not (await two.call_tool("claim", {"slices": 5})).is_error
            await stage.within(it.served)
        assert it.episode.core.market.clock.round == 2
    assert stage.events(it.episode.path)[-1]["event"] == "round_closed"


async def test_a_host_does_not_wait_for_ever_for_a_round(stage: Any) -> None:
    async with two_seats(stage, drain_s=SOON) as it:
        await it.episode.call("P1", "claim", {"slices": 5})
        it.server.go()
        await stage.within(it.served)
    assert stage.events(it.episode.path)[-1]["event"] == "tool_called"


async def test_a_second_signal_does_not_wait(stage: Any) -> None:
    async with two_seats(stage, drain_s=1_000) as it:
        await it.episode.call("P1", "claim", {"slices": 5})
        it.server.go()
        it.server.go()
        await stage.within(it.served)


async def test_a_ready_host_says_so_and_one_without_its_folder_does_not(stage: Any) -> None:
    async with two_seats(stage) as it, httpx2.AsyncClient() as http:
        url = it.server.url.replace("/mcp", "/health/ready")
        answer = await http.get(url)
        assert (answer.status_code, answer.json()) == (200, {"ready": True, "reasons": []})
        it.host.folder = stage.folder / "gone"
        answer = await http.get(url)
        assert answer.status_code == 503
        assert answer.json()["reasons"][0].startswith("storage: ")


async def test_a_server_in_process_has_a_gate_too(stage: Any) -> None:
    from mcp import Client

    episode = await stage.episode("P1", "P2")
    gate = Gate(Quotas(calls=1))
    async with Client(build_server(episode, "P1", gate=gate)) as client:
        assert not (await client.call_tool("view_turn")).is_error
        assert (await client.call_tool("view_turn")).is_error
        with pytest.raises(Exception, match="used up"):
            await client.read_resource("market://view_turn")
