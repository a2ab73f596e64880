"""`tradefair host` with its control plane and `tradefair control`, as real processes; and the log that they write."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.host.serving.by_hand import started
from tests.options_files import options_file

from tradefair.cli import run
from tradefair.cli.logs import JsonLines, PlainLines
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.control import ControlApp
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import Listener
from tradefair.host.server.seat_auth import token_digest

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
