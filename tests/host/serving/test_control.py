"""The control plane: what it does, whom it lets in, and how it says no.

Also here:
- `tradefair host` with its control plane and `tradefair control`, as real processes; and the log that they write.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import re
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from starlette.routing import Route
from tests.host.serving.by_hand import started
from tests.host.serving.planes import PIE, plane
from tests.options_files import options_file

from tradefair.cli import run
from tradefair.cli.logs import JsonLines, PlainLines
from tradefair.contract import ScenarioError, SeatError
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.control import CONTROL_BODY_LIMIT, ControlApp
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import Listener
from tradefair.host.doors.registry import HOST_FILE, load_host_file
from tradefair.host.doors.status_page import page
from tradefair.host.episode.orders import Terms, parse_labels
from tradefair.host.server.seat_auth import MAX_TOKENS, token_digest
from tradefair.tracestore import open_trace

# --- what it does ---------------------------------------------------------------------------------------------------


async def test_a_created_episode_is_played_with_the_tokens_that_were_shown_once(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create(seats="all", count=2)
        assert [line["seed"] for line in made["episodes"]] == [7, 8]
        assert len(made["invitations"]) == 4
        first = made["episodes"][0]["episode"]
        tokens = {one["seat"]: one["token"] for one in made["invitations"] if one["episode"] == first}
        async with stage.at(made["url"], tokens["P1"]) as client:
            assert (await client.call_tool("claim", {"slices": 5})).structured_content["sealed"] == "claim"
        shown = (await it.http.get(f"/episodes/{first}")).json()
        assert {seat["seat"]: (seat["awaited"], seat["calls"]) for seat in shown["seats"]} == {
            "P1": (False, 1),
            "P2": (True, 0),
        }
        text = (await it.http.get("/episodes")).text + (await it.http.get(f"/episodes/{first}")).text
        assert not any(token in text for token in tokens.values())
        assert not any(token in (stage.folder / HOST_FILE).read_text() for token in tokens.values())


async def test_an_episode_that_waits_for_its_start_takes_no_calls_before_it(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create(start=False)
        (name,) = [line["episode"] for line in made["episodes"]]
        token = made["invitations"][0]["token"]
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(headers=headers) as seat:
            early = await seat.post(made["url"], content=stage.post("tools/list"))
            assert (early.status_code, "Retry-After" in early.headers) == (503, True)
        assert not list(stage.folder.glob("*.trace"))
        assert (await it.http.get(f"/episodes/{name}")).json()["state"] == "pending"
        assert list(load_host_file(stage.folder).pending) == [name]
        assert (await it.http.post(f"/episodes/{name}/start")).json()["episode"]["state"] == "running"
        async with stage.at(made["url"], token) as client:
            assert (await client.call_tool("view_turn")).structured_content["awaited"] is True
        again = await it.refused(404, "POST", f"/episodes/{name}/start")
        assert again["code"] == "unknown_id"


async def test_a_seat_is_lapsed_only_while_it_is_awaited(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create(seats="all")
        name = made["episodes"][0]["episode"]
        told = [
            (await it.http.post(f"/episodes/{name}/lapse", json={"seat": seat, "reason": "retired"})).json()["lapsed"]
            for seat in ("P1", "P1", "P2")
        ]
        assert told == [True, False, True]
        lapsed = [event for event in stage.events(stage.folder / f"{name}.trace") if event["event"] == "seat_lapsed"]
        assert [(event["seat"], event["reason"]) for event in lapsed] == [("P1", "retired"), ("P2", "retired")]


async def test_the_operator_says_who_plays_before_the_start_and_while_it_goes_on(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create(seats="all", labels={"P1": "openai:one"}, start=False)
        (name,) = [line["episode"] for line in made["episodes"]]
        told = await it.http.post(f"/episodes/{name}/label", json={"labels": {"P2": "human \x1b[2J"}})
        assert told.json() == {"labels": {"P1": "openai:one", "P2": "human \\x1b[2J"}}
        await it.http.post(f"/episodes/{name}/start")
        episode = it.host.episode(name)
        first = episode.seating
        assert first.labels == {"P1": "openai:one", "P2": "human \\x1b[2J"}
        assert first.compared == ("P1", "P2")
        await it.http.post(f"/episodes/{name}/label", json={"labels": {"P1": "openai:two"}})
        shown = (await it.http.get(f"/episodes/{name}")).json()
        assert [seat["player"] for seat in shown["seats"]] == ["openai:two", "human \\x1b[2J"]
        with open_trace(episode.path) as trace:
            assert [seq for seq, _ in trace.seatings()] == [1, 2]
            assert trace.seating(1) == first
            assert trace.seating() == episode.seating
        await it.http.post(f"/episodes/{name}/cancel")
        assert verify_file(episode.path).sound


async def test_a_label_is_of_a_seat_from_outside_and_short(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create()
        path = f"/episodes/{made['episodes'][0]['episode']}/label"
        for labels in ({"P2": "x"}, {"P9": "x"}, {"P1": "x" * 201}, {"P1": ""}, {}):
            error = await it.refused(400, "POST", path, json={"labels": labels})
            assert error["code"] == "invalid_arguments"
        await it.refused(400, "POST", "/episodes", json={**PIE, "labels": {"P2": "x"}})
        assert [seq for seq, _ in _seatings(it.host.episode(made["episodes"][0]["episode"]).path)] == [1]


def _seatings(path: Path) -> list[tuple[int, Any]]:
    with open_trace(path) as trace:
        return trace.seatings()


async def test_a_cancelled_episode_is_sealed_and_takes_no_lapse_any_more(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create())["episodes"][0]["episode"]
        assert (await it.http.post(f"/episodes/{name}/cancel")).json() == {"end_reason": "truncated:cancelled"}
        verdict = verify_file(stage.folder / f"{name}.trace")
        assert (verdict.verdict, verdict.sealed) == ("reproduced", True)
        late = await it.refused(409, "POST", f"/episodes/{name}/lapse", json={"seat": "P1"})
        assert late["code"] == "episode_over"


async def test_an_export_of_a_running_episode_is_a_whole_trace(stage: Any, tmp_path: Path) -> None:
    async with plane(stage) as it:
        made = await it.create()
        name, token = made["episodes"][0]["episode"], made["invitations"][0]["token"]
        async with stage.at(made["url"], token) as client:
            await client.call_tool("claim", {"slices": 5})
            answer = await it.http.get(f"/episodes/{name}/export")
        copy = tmp_path / "copy.trace"
        copy.write_bytes(answer.content)
        assert verify_file(copy).verdict == "reproduced"
        assert [event["event"] for event in stage.events(copy)].count("round_closed") == 1


async def test_tokens_are_added_and_taken_away_while_the_host_runs(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create(invite=False))["episodes"][0]["episode"]
        assert (await it.http.get(f"/episodes/{name}")).json()["tokens"] == []
        seat = (await it.http.post(f"/episodes/{name}/invite", json={"seat": "P1"})).json()["invitations"][0]
        watch = (await it.http.post(f"/episodes/{name}/invite", json={"observer": True})).json()["invitations"][0]
        assert (seat["scope"], watch["scope"], watch["seat"]) == ("seat", "observer", None)
        assert (await it.http.delete(f"/grants/{seat['grant']}")).json() == {"grant": seat["grant"]}
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {seat['token']}"}) as http:
            assert (await http.post(it.server.url, content=stage.post("tools/list"))).status_code == 401


async def test_a_seat_has_so_many_tokens_and_revoking_one_makes_room(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create(invite=False))["episodes"][0]["episode"]
        path, wanted = f"/episodes/{name}/invite", {"seat": "P1"}
        granted = [it.host.tokens.issue(name, "P1")[1] for _ in range(MAX_TOKENS)]
        error = await it.refused(429, "POST", path, json=wanted)
        assert (error["code"], error["hint"]) == ("busy", "revoke some: GET /episodes/{id} lists them")
        assert (await it.http.post(path, json={"observer": True})).status_code == 201
        await it.http.delete(f"/grants/{granted[0].id}")
        assert (await it.http.post(path, json=wanted)).status_code == 201


async def test_an_export_finds_its_trace_in_a_folder_of_any_name(stage: Any) -> None:
    stage.folder = stage.folder / "100% #1?mode=rw"
    stage.folder.mkdir()
    async with plane(stage) as it:
        name = (await it.create())["episodes"][0]["episode"]
        exported = await it.http.get(f"/episodes/{name}/export")
        assert (exported.status_code, exported.content[:15]) == (200, b"SQLite format 3")


# --- how it says no -------------------------------------------------------------------------------------------------


async def test_without_its_token_there_is_only_401(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create())["episodes"][0]["episode"]
        del it.http.headers["Authorization"]
        paths = (
            ("GET", "/"),
            ("GET", "/episodes"),
            ("POST", "/episodes"),
            ("GET", f"/episodes/{name}"),
            ("GET", f"/episodes/{name}/export"),
            ("POST", f"/episodes/{name}/cancel"),
            ("DELETE", "/grants/x"),
        )
        for given in (None, "Bearer", "Bearer wrong", "Basic eDp5", "Basic !", "Bearer é", "Token x"):
            headers = {} if given is None else {b"Authorization": given.encode("latin-1")}
            for method, path in paths:
                answer = await it.http.request(method, path, headers=headers)
                assert answer.status_code == 401
                assert answer.json()["error"]["code"] == "unauthorized"
        assert it.host.episodes[name].core.ended is None


async def test_a_seats_token_opens_nothing_here_and_the_control_token_no_seat(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create(observers=1)
        name, control = made["episodes"][0]["episode"], it.http.headers["Authorization"]
        for one in made["invitations"]:
            password = base64.b64encode(f"any:{one['token']}".encode()).decode()
            for given in (f"Bearer {one['token']}", f"Basic {password}"):
                it.http.headers["Authorization"] = given
                for route in it.app.starlette.routes:
                    assert isinstance(route, Route)
                    path = route.path.format(episode=name, grant=one["grant"])
                    for method in route.methods or ():
                        answer = await it.http.request(method, path, json={"seat": "P1"})
                        assert answer.status_code == 401
        assert it.host.episodes[name].core.ended is None
        assert len(it.host.tokens.of(name)) == 2
        async with httpx2.AsyncClient(headers={"Authorization": control}) as http:
            assert (await http.post(made["url"], content=stage.post("tools/list"))).status_code == 401


async def test_a_browsers_password_opens_the_page_and_nothing_else(stage: Any) -> None:
    async with plane(stage) as it:
        await it.create()
        token = it.http.headers["Authorization"].removeprefix("Bearer ")
        it.http.headers["Authorization"] = "Basic " + base64.b64encode(f"any:{token}".encode()).decode()
        shown = await it.http.get("/")
        assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in shown.headers["content-security-policy"]
        await it.refused(401, "GET", "/episodes")
        await it.refused(401, "POST", "/episodes", json=PIE)


async def test_foreign_host_and_origin_headers_are_refused(stage: Any) -> None:
    async with plane(stage) as it:
        assert (await it.http.get("/episodes", headers={"Host": "evil.example"})).status_code == 421
        assert (await it.http.get("/episodes", headers={"Origin": "http://evil.example"})).status_code == 403


WRONG_BODIES: list[tuple[Any, str]] = [
    ({"market": "nope"}, "no market"),
    ({"scenario": "teaching/nope"}, "teaching/nope"),
    ({"scenario": "/etc/passwd.toml"}, "scenario"),
    ({"overrides": {"slices": -3}}, "slices"),
    ({"seats": ["P9"]}, "P9"),
    ({"others": "nope"}, "nope"),
    ({"seed": -1}, "seed"),
    ({"seed": "7"}, "seed"),
    ({"count": 0}, "count"),
    ({"count": True}, "count"),
    ({"observers": 99}, "observers"),
    ({"unknown": 1}, "unknown"),
    ({"seed": 2**63 - 1, "count": 2}, "2^63"),
]


async def test_what_cannot_be_made_is_refused_by_name_and_leaves_nothing(stage: Any) -> None:
    async with plane(stage) as it:
        for wrong, named in WRONG_BODIES:
            error = await it.refused(400, "POST", "/episodes", json={**PIE, **wrong})
            assert error["code"] == "invalid_arguments"
            assert named in error["message"]
        assert not it.host.episodes
        assert not it.host.pending
        assert list(it.host.tokens) == []


async def test_garbage_and_bodies_without_end_are_refused(stage: Any) -> None:
    async with plane(stage) as it:
        for content in (b"{", b"[]", b"null", b"\xff", b'"x"', b"[" * 50_000):
            await it.refused(400, "POST", "/episodes", content=content)
        await it.refused(413, "POST", "/episodes", content=b" " * (CONTROL_BODY_LIMIT + 1))
        for path in ("/nothing", "/episodes/x/y", "/episodes/"):
            await it.refused(404, "GET", path)
        await it.refused(405, "PUT", "/episodes")
        for query in ("state=odd", "limit=0", "limit=-1", "limit=9999999999", f"limit=0001{'9' * 5_000}", "limit=x"):
            await it.refused(400, "GET", f"/episodes?{query}")


async def test_what_is_not_there_is_said_so(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create())["episodes"][0]["episode"]
        for method, path, body in (
            ("GET", "/episodes/nope", None),
            ("GET", "/episodes/nope/export", None),
            ("POST", "/episodes/nope/cancel", None),
            ("POST", "/episodes/nope/start", None),
            ("POST", "/episodes/nope/invite", {"seat": "P1"}),
            ("POST", f"/episodes/{name}/invite", {"seat": "P9"}),
            ("POST", f"/episodes/{name}/lapse", {"seat": "P9"}),
            ("DELETE", "/grants/nope", None),
        ):
            assert (await it.refused(404, method, path, json=body))["code"] == "unknown_id"
        both = await it.refused(400, "POST", f"/episodes/{name}/invite", json={"seat": "P1", "observer": True})
        assert "not both" in both["message"]


async def test_a_full_host_takes_no_more_and_a_draining_one_neither(stage: Any) -> None:
    async with plane(stage, max_episodes=2) as it:
        first = (await it.create())["episodes"][0]["episode"]
        error = await it.refused(429, "POST", "/episodes", json={**PIE, "count": 2})
        assert (error["code"], error["retryable"]) == ("busy", True)
        await it.create()
        await it.refused(429, "POST", "/episodes", json=PIE)
        await it.http.post(f"/episodes/{first}/cancel")
        await it.host.retire(first)
        await it.create()
        it.host.draining = True
        assert "going down" in (await it.refused(503, "POST", "/episodes", json=PIE))["message"]


async def test_a_market_without_public_reads_has_no_observers(stage: Any) -> None:
    async with plane(stage) as it:
        error = await it.refused(404, "POST", "/episodes", json={"market": "retail", "observers": 1})
        assert "nothing to show to an observer" in error["message"]
        assert not it.host.episodes
        assert not it.host.pending


# --- the registry -----------------------------------------------------------------------------------------------------


async def test_orders_tokens_and_times_to_live_are_in_the_registry(stage: Any) -> None:
    async with plane(stage) as it:
        it.host.set_control("d" * 64)
        waiting = (await it.create(start=False, ttl_s=50.0, observers=1))["episodes"][0]["episode"]
        running = (await it.create(ttl_s=60.0))["episodes"][0]["episode"]
        await it.host.close()
        file = load_host_file(stage.folder)
    assert (list(file.pending), list(file.traces)) == ([waiting], [running])
    assert file.pending[waiting].seed == 7
    assert (dict(file.terms), file.control) == ({running: Terms(ttl_s=60)}, "d" * 64)
    assert sorted((grant.episode == waiting, grant.scope) for grant in file.tokens) == [
        (False, "seat"),
        (True, "observer"),
        (True, "seat"),
    ]


async def test_a_dropped_order_takes_its_tokens_with_it(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create(start=False))["episodes"][0]["episode"]
        assert (await it.http.post(f"/episodes/{name}/cancel")).json() == {"end_reason": None}
        assert list(it.host.tokens) == []
        with pytest.raises(SeatError):
            await it.host.start(name)


async def test_a_broken_trace_cannot_be_exported_as_a_whole_one(stage: Any) -> None:
    async with plane(stage) as it:
        name = (await it.create())["episodes"][0]["episode"]
        await it.host.cancel(name)
        await it.host.retire(name)
        assert (await it.http.get(f"/episodes/{name}/export")).status_code == 200
        it.host.past[name].trace.write_bytes(b"SQLite format 3\x00 and then nothing")
        with pytest.raises(sqlite3.DatabaseError), sqlite3.connect(it.host.past[name].trace) as database:
            database.execute("SELECT 1 FROM meta")
        assert (await it.refused(503, "GET", f"/episodes/{name}/export"))["code"] == "storage_unavailable"


async def test_an_episode_on_a_slow_disk_says_so(stage: Any) -> None:
    async with plane(stage) as it:
        made = await it.create()
        name = made["episodes"][0]["episode"]
        assert (await it.http.get(f"/episodes/{name}")).json()["slow_disk"] is False
        episode: Any = it.host.episodes[name]
        episode._log._pace._rests_until = float("inf")
        assert (await it.http.get(f"/episodes/{name}")).json()["slow_disk"] is True
        assert (await it.http.get("/episodes")).json()["episodes"][0]["slow_disk"] is True


async def test_the_page_shows_what_came_from_outside_as_text(stage: Any) -> None:
    async with plane(stage) as it:
        await it.create()
        status = (await it.http.get("/episodes")).json()
        from tradefair.host.doors.status import HostStatus

        status["episodes"][0]["scenario"] = "<script>alert(1)</script>"
        shown = page(HostStatus.model_validate_json(orjson.dumps(status)), "http://<b>/mcp")
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
        assert "<b>" not in shown


def test_labels_of_a_command_line_are_read_or_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse_labels(["B1=openai:gpt-5/react", " S1 = a=b "]) == {"B1": "openai:gpt-5/react", "S1": "a=b"}
    for text in ("B1", "=x", "B1=", f"B1={'x' * 201}"):
        with pytest.raises(ScenarioError, match="write SEAT=LABEL"):
            parse_labels([text])
    told = ["host", "teaching", "--scenario", "pie", "--others", "half", "--out", str(tmp_path / "out")]
    assert run([*told, *options_file(tmp_path, label=["P2=x"])]) == 2
    assert "seats that are played from outside (P1), not for 'P2'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


TOKEN = "a-token-of-the-operator-0123456789"


@asynccontextmanager
async def hosted(stage: Any, *arguments: str, token: str = TOKEN) -> AsyncGenerator[tuple[Any, Any]]:
    """A host process and what it said when it was ready."""
    environment = {**os.environ, "TRADEFAIR_CONTROL_TOKEN": token}
    logged = options_file(stage.folder, log_format="json", log_level="info")
    words = ("host", "--control-port", "0", "--json", *logged, *arguments)
    async with started(stage, *words, env=environment) as server:
        yield server, await server.line()


async def control(ready: Any, *words: str, token: str = TOKEN) -> Any:
    """One command; its answer."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "tradefair"),
        "control",
        *words,
        "--json",
        env={**os.environ, "TRADEFAIR_CONTROL_URL": ready["control"]["url"], "TRADEFAIR_CONTROL_TOKEN": token},
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return orjson.loads(told)


async def test_episodes_are_made_watched_and_ended_by_commands(stage: Any, tmp_path: Path) -> None:
    async with hosted(stage, "--out", str(tmp_path / "host")) as (server, ready):
        made = await control(
            ready, "create", "teaching", "--seats", "all", "--seed", "7", *options_file(tmp_path, observers=1)
        )
        name = made["episodes"][0]["episode"]
        tokens = {one["seat"]: one["token"] for one in made["invitations"]}
        async with stage.at(made["url"], tokens["P1"]) as client:
            await client.call_tool("claim", {"slices": 5})
        assert (await control(ready, "change", name, "--lapse", "P2"))["lapsed"] is True
        async with stage.at(made["url"], tokens[None]) as watcher:
            assert len((await watcher.call_tool("view_history")).structured_content["rounds"]) == 1
        shown = await control(ready, "status", name)
        assert (shown["round"], [token["scope"] for token in shown["tokens"]]) == (2, ["seat", "seat", "observer"])
        again = (await control(ready, "invite", name, "--seat", "P2"))["invitations"][0]
        await control(ready, "invite", "--revoke", again["grant"])
        assert (await control(ready, "change", name, "--end", "cancel"))["end_reason"] == "truncated:cancelled"
        status = await control(ready, "status", "--state", "ended")
        assert [line["episode"] for line in status["episodes"]] == [name]
        copy = tmp_path / "copy.trace"
        environment = {"TRADEFAIR_CONTROL_URL": ready["control"]["url"], "TRADEFAIR_CONTROL_TOKEN": TOKEN}
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in environment.items():
                patch.setenv(variable, value)
            assert await asyncio.to_thread(run, ["control", "export", name, "--out", str(copy)]) == 0
            assert await asyncio.to_thread(run, ["control", "export", name, "--out", str(copy)]) == 3
            assert await asyncio.to_thread(run, ["control", "status", "nope"]) == 2
            patch.setenv("TRADEFAIR_CONTROL_TOKEN", "wrong")
            assert await asyncio.to_thread(run, ["control", "status"]) == 2
        assert verify_file(copy).verdict == "reproduced"
        server.process.send_signal(signal.SIGTERM)
        told = await server.leave()
    said = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert {"episode started", "episode ended", "draining"} <= {line["message"] for line in said}
    assert all({"time", "level", "logger"} <= line.keys() for line in said)
    assert not any(token in told for token in (TOKEN, *tokens.values()))


async def test_a_token_is_shown_with_the_grant_that_revokes_it(
    stage: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(stage.folder, sandbox=stage.sandbox)
    async with stage.hosted(host) as server:
        listener = Listener(lambda names: ControlApp(host, token_digest(TOKEN), server.url, names).starlette)
        serving = asyncio.create_task(listener.serve())
        monkeypatch.setenv("TRADEFAIR_CONTROL_URL", listener.url)
        monkeypatch.setenv("TRADEFAIR_CONTROL_TOKEN", TOKEN)
        assert await asyncio.to_thread(run, ["control", "create", "teaching"]) == 0
        shown = re.search(r"(tf_\S+) \(grant (\w+)\)", capsys.readouterr().out)
        assert shown is not None
        assert host.tokens.find(shown[1]) is not None
        assert await asyncio.to_thread(run, ["control", "invite", "--revoke", shown[2]]) == 0
        assert host.tokens.find(shown[1]) is None
        listener.stop()
        await stage.within(serving)


async def test_orders_tokens_and_the_control_plane_survive_a_kill(stage: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "host")
    async with hosted(stage, "--out", folder, token="") as (server, ready):
        token = ready["control"]["token"]
        assert len(token) > 40
        begun = await control(ready, "create", "teaching", token=token)
        waiting = await control(
            ready, "create", "teaching", "--seed", "7", *options_file(tmp_path, start=False), token=token
        )
        async with stage.at(begun["url"], begun["invitations"][0]["token"]) as client:
            await client.call_tool("claim", {"slices": 5})
        server.process.kill()
        await server.process.wait()
    name = waiting["episodes"][0]["episode"]
    async with hosted(stage, "--resume", folder, token="") as (server, ready):
        assert ready["control"]["token"] is None
        assert (await control(ready, "status", name, token=token))["state"] == "pending"
        assert (await control(ready, "change", name, "--start", token=token))["episode"]["seed"] == 7
        for made in (begun, waiting):
            async with stage.at(ready["url"], made["invitations"][0]["token"]) as client:
                assert (await client.call_tool("view_turn")).structured_content["awaited"] is True
        # Killed at once: the registry may not know yet that the episode has begun, but its trace is there.
        server.process.kill()
        await server.process.wait()
    async with hosted(stage, "--resume", folder, token="") as (_, ready):
        assert (await control(ready, "status", name, token=token))["state"] == "running"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["control", "status"], "TRADEFAIR_CONTROL_URL"),
        (["control", "status", "--url", "http://127.0.0.1:9"], "no token"),
        (["control", "create", "teaching", "--url", "http://127.0.0.1:9", "--config", "set_x.toml"], "override"),
        (["control", "change", "e1"], "name one of --start, --label, --lapse and --end"),
        (["control", "invite"], "name an episode, or with --revoke a grant"),
        (["host", "teaching", "--control-port", "0", "--config", "short.toml"], "at least 20"),
    ],
)
def test_what_a_command_lacks_is_named(
    words: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRADEFAIR_CONTROL_URL", raising=False)
    monkeypatch.delenv("TRADEFAIR_CONTROL_TOKEN", raising=False)
    short = tmp_path / "token"
    short.write_text("short")
    monkeypatch.chdir(tmp_path)
    Path("set_x.toml").write_text('set = ["x"]', encoding="utf-8")
    Path("short.toml").write_text(f'control-token-file = "{short}"', encoding="utf-8")
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        assert run(words) == 2
    finally:
        root.handlers[:], root.level = before
    assert named in capsys.readouterr().err


def test_a_line_of_the_log_is_one_object_with_what_the_call_gave() -> None:
    record = logging.makeLogRecord({"name": "tradefair.host", "levelname": "INFO", "msg": "ended %s", "args": ("e1",)})
    record.episode = "e1"
    record.odd = {"\udc80": object}
    told = json.loads(JsonLines().format(record))
    assert (told["message"], told["level"], told["episode"]) == ("ended e1", "info", "e1")
    assert "\n" not in JsonLines().format(record)
    assert PlainLines().format(record).startswith("INFO tradefair.host: ended e1 episode=e1")
