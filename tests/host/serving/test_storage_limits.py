"""What seats and episodes may store, and what waits while a host's disk is nearly full."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from tests.host.disks import small_disk
from tests.host.serving.test_control import plane
from tests.options_files import options_file
from tests.waiting import LONG, eventually

from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.host_flags import HostFlags
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.space import Space
from tradefair.host.episode.setup import reopen_episode
from tradefair.host.server.quotas import Gate, Quotas

MIB = 2**20
# A few characters that store tens of thousands.
GREEDY = {"code": "'x' * 30000"}
FOUND = "SELECT seat, closes, LENGTH(body) + COALESCE(LENGTH(blob), 0), body FROM events"


def _charges(path: Path) -> Counter[str | None]:
    """Bytes in a trace by the seat that each event itself names as its caller."""
    found: Counter[str | None] = Counter()
    with sqlite3.connect(path) as db:
        for _, _, size, body in db.execute(FOUND):
            event = orjson.loads(body)
            found[event["seat"] if event["event"] == "tool_called" else None] += size
    return found


# --- the budget of a seat ---------------------------------------------------------------------------------------------


def test_a_budget_of_bytes_is_spent_as_a_budget_of_calls_is_and_told_once() -> None:
    stored, told = [0], list[bool]()
    gate = Gate(Quotas(bytes=100), stored=lambda: stored[0], on_spent=lambda: told.append(True))
    assert gate.enter("view_turn") is None
    stored[0] = 99
    gate.leave()
    assert not told
    assert gate.enter("view_turn") is None
    stored[0] = 100
    gate.leave()
    assert told == [True]
    refusal = gate.enter("claim")
    assert refusal is not None
    assert (refusal.error.code, refusal.error.retryable, refusal.retry_after_s) == ("call_limit", False, None)
    assert "100 bytes" in refusal.error.message
    assert gate.enter("await_turn") is None
    assert told == [True]
    assert Gate(Quotas(bytes=None), stored=lambda: 2**60).enter("claim") is None


async def test_a_seat_that_has_stored_its_share_is_lapsed_from_then_on_and_others_go_on(stage: Any) -> None:
    host = Host(stage.folder, quotas=Quotas(bytes=50_000))
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    token, _ = host.invite(episode.id, "P1")
    async with stage.hosted(host) as server, stage.at(server.url, token) as greedy:
        for letter in "xy":  # one result twice is stored once
            assert not (await greedy.call_tool("execute_code", {"code": f"'{letter}' * 30000"})).is_error
        refused = await greedy.call_tool("execute_code", GREEDY)
        assert refused.structured_content["code"] == "call_limit"
        for _ in range(3):
            assert (await episode.await_turn("P2", 15)).awaited
            await episode.call("P2", "claim", {"slices": 5})
        await stage.within(episode.wait_ended())
        assert (await greedy.call_tool("await_turn")).structured_content["over"] is True
        assert 50_000 <= episode.stored["P1"] < 100_000
        assert episode.stored["P2"] < 5_000
    lapsed = [event for event in stage.events(episode.path) if event["event"] == "seat_lapsed"]
    assert [(event["seat"], event["reason"]) for event in lapsed] == [("P1", "call_limit")] * 3


async def test_what_seats_have_stored_is_counted_from_the_log_after_a_restart(stage: Any) -> None:
    episode = await stage.episode("P1", "P2")
    await episode.call("P1", "execute_code", GREEDY)
    await episode.call("P1", "execute_code", GREEDY)  # stored once, and so charged once
    await episode.call("P1", "execute_code", {"code": "view_turn()"})  # its inner call is the seat's, too
    await episode.call("P2", "no_such_tool", {})
    await episode.call("P1", "claim", {"slices": 5})
    await episode.call("P2", "claim", {"slices": 5})  # closes the round, which is not P2's
    await episode.settled()
    before = episode.stored
    await episode.close()
    assert before == _charges(episode.path)
    assert before["P1"] > 30_000 > before["P2"] > 0
    assert before[None] > 0
    again = await reopen_episode(episode.path)
    assert again.stored == before
    host = Host(stage.folder, quotas=Quotas(bytes=30_000))
    host.add(again)
    async with stage.hosted(host):
        # Spent before the restart: the host stands in at once, for that seat alone.
        await again.call("P2", "claim", {"slices": 5})
        assert (await stage.within(again.await_turn("P2", 15))).round == 3
        assert host.gate(again.id, "P1").spent
        assert not host.gate(again.id, "P2").spent


async def test_an_episode_that_is_too_large_is_ended_and_the_trace_is_sound(stage: Any) -> None:
    host = Host(stage.folder, episode_bytes=50_000, quotas=Quotas(bytes=None))
    episode, small = await stage.episode("P1", "P2"), await stage.episode("P1", "P2")
    host.add(episode)
    host.add(small)
    token, _ = host.invite(episode.id, "P1")
    async with stage.hosted(host) as server, stage.at(server.url, token) as greedy:
        assert not (await greedy.call_tool("execute_code", GREEDY)).is_error
        assert episode.core.ended is None
        await small.call("P1", "view_turn", {})
        assert not (await greedy.call_tool("execute_code", {"code": "'y' * 30000"})).is_error
        assert await stage.within(episode.wait_ended()) == "truncated:storage_limit"
        assert small.core.ended is None
    checked = verify_file(episode.path)
    assert (checked.verdict in ("reproduced", "reproduced"), checked.sealed) == (True, True)


# --- a disk that is nearly full ---------------------------------------------------------------------------------------


async def test_on_a_nearly_full_disk_programs_notes_and_new_episodes_wait_and_the_rest_goes_on(
    stage: Any, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 64 * MIB) as disk:
        stage.folder = disk.folder
        async with plane(stage, keep_free=40 * MIB) as it, httpx2.AsyncClient() as http:
            ready = it.server.url.replace("/mcp", "/health/ready")
            assert (await http.get(ready)).status_code == 200
            made = await it.create(seats="all", count=1)
            waiting = await it.create(start=False)
            ballast = disk.folder / "much"
            ballast.write_bytes(bytes(30 * MIB))
            async with stage.at(made["url"], made["invitations"][0]["token"]) as client:
                await eventually(it.host.space.low, "a disk that is nearly full")
                answer = await http.get(ready)
                assert (answer.status_code, answer.json()["reasons"]) == (503, ["low_space: the disk is nearly full"])
                for tool, arguments in (("execute_code", GREEDY), ("add_note", {"text": "half"})):
                    refused = await client.call_tool(tool, arguments)
                    assert refused.is_error
                    assert refused.structured_content["code"] == "storage_unavailable"
                    assert refused.structured_content["retryable"] is True
                assert not (await client.call_tool("view_turn")).is_error
                assert not (await client.call_tool("claim", {"slices": 5})).is_error
                error = await it.refused(503, "POST", "/episodes", json={"market": "teaching"})
                assert (error["code"], error["retryable"]) == ("storage_unavailable", True)
                name = waiting["episodes"][0]["episode"]
                await it.refused(503, "POST", f"/episodes/{name}/start")
                ballast.unlink()
                await eventually(lambda: not it.host.space.low(), "a disk that has space")
                assert not (await client.call_tool("add_note", {"text": "half"})).is_error
                await it.create(seats="all")
                assert (await it.http.post(f"/episodes/{name}/start")).status_code == 200
                events = stage.events(it.host.episodes[made["episodes"][0]["episode"]].path)
                # What the host refuses for the sake of its disk is no event.
                assert not any(event.get("error") for event in events)


def test_the_system_is_asked_once_a_second_and_never_without_a_limit(tmp_path: Path) -> None:
    now = [0.0]
    with small_disk(tmp_path / "disk") as disk:
        space, none = Space(disk.folder, 200_000, clock=lambda: now[0]), Space(disk.folder, 0)
        assert not space.low()
        disk.fill()
        now[0] += 0.9
        assert not space.low()
        now[0] += 0.1
        assert space.low()
        assert not none.low()
    with pytest.raises(StorageUnavailable, match="nearly full"):
        Host(tmp_path, keep_free=2**62).check_room(1)


# --- seats ------------------------------------------------------------------------------------------------------------


async def test_an_order_of_more_seats_than_the_host_takes_is_refused(stage: Any) -> None:
    async with plane(stage, max_seats=1) as it:
        error = await it.refused(400, "POST", "/episodes", json={"market": "teaching", "scenario": "teaching/pie"})
        assert (error["code"], error["retryable"]) == ("too_many_seats", False)
        assert "has 2 seats" in error["message"]
        assert not it.host.episodes
        assert not it.host.pending
    async with plane(stage, max_seats=2) as it:
        await it.create(seats="all")


# --- the command line -------------------------------------------------------------------------------------------------


def test_zero_on_the_command_line_is_no_limit() -> None:
    assert HostFlags(byte_budget=0).quotas.bytes is None
    assert (HostFlags(byte_budget=9).quotas.bytes, HostFlags().quotas.bytes) == (9, 256 * MIB)


async def test_a_host_of_the_command_line_has_these_limits(stage: Any) -> None:
    given = options_file(stage.folder, max_seats=1, keep_free=2**60)
    options = ("--control-port", "0", *given, "--json", "--out")
    process = await asyncio.create_subprocess_exec(
        stage.tradefair, "host", *options, str(stage.folder / "hosted"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        report = orjson.loads(await stage.within(process.stdout.readline()))
        headers = {"Authorization": f"Bearer {report['control']['token']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=LONG) as http:
            ready = await http.get(report["url"].replace("/mcp", "/health/ready"))
            assert (ready.status_code, ready.json()["reasons"]) == (503, ["low_space: the disk is nearly full"])
            refused = await http.post(report["control"]["url"] + "/episodes", json={"market": "teaching"})
            assert refused.json()["error"]["code"] == "too_many_seats"
    finally:
        process.terminate()
        assert await stage.within(process.wait()) == 0
