"""The commands as real processes: stdio, the host, the shim between them, and what a desktop client is told."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp import Client, MCPError, StdioServerParameters, types
from tests.host.serving.by_hand import started
from tests.options_files import options_file
from tests.waiting import LONG, SOON

from tradefair.cli import run
from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.registry import HOST_FILE
from tradefair.host.episode import waiting
from tradefair.host.episode.orders import Order, checked
from tradefair.tracestore import open_trace

each_era = pytest.mark.parametrize("era", ["auto", "legacy"])

SERVE = ("serve", "teaching", "--scenario", "pie", "--seat", "P1", "--others", "half", "--seed", "7")


async def test_a_desktop_client_may_start_it_anywhere_with_no_environment(stage: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with started(stage, *SERVE, env={}, cwd=elsewhere) as server:
        await server.hello()
        assert (await server.call("claim", slices=5))["sealed"] == "claim"
        told = await server.leave()
    assert server.process.returncode == 0
    (trace,) = elsewhere.rglob("*.trace")
    with open_trace(trace) as opened:
        assert opened.seating().compared == ("P1",)
    assert str(trace) in told
    assert f"--resume {trace.relative_to(elsewhere)}" in told or f"--resume {trace}" in told


@pytest.mark.parametrize("seat", ["customer_0002", "business_0001"])
async def test_scripted_stand_ins_sit_where_other_agents_would(
    stage: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], seat: str
) -> None:
    told = ("marketplace", "--scenario", "marketplace/small_demo", "--seat", seat)
    assert run(["config", *told]) == 0
    assert f'"{seat}"' in capsys.readouterr().out
    async with started(stage, "serve", *told, "--seed", "3", "--out", str(tmp_path)) as server:
        await server.hello()
        await server.call("end_turn")
        turn = await server.call("await_turn", timeout_s=MAX_WAIT_S)
        assert (turn["awaited"], turn["round"]) == (True, 2 if seat.startswith("c") else 3)
        await server.leave()


async def test_garbage_between_calls_does_no_harm(stage: Any, tmp_path: Path) -> None:
    async with started(stage, *SERVE, "--out", str(tmp_path)) as server:
        await server.hello()
        for line in (b"", b"{", b"\xff\xfe", b"[1, 2]", b"null", b'{"jsonrpc": "2.0", "id": 77}', b"x" * 100_000):
            await server.send(line)
        nan = b'{"jsonrpc":"2.0","id":500,"method":"tools/call","params":{"name":"claim","arguments":{"slices":NaN}}}'
        await server.send(nan)
        while (answer := await server.line()).get("id") != 500:
            assert "error" in answer
        assert "error" in answer or answer["result"]["structuredContent"]["code"] == "invalid_arguments"
        # Half a surrogate pair is JSON, although the SDK's reader says it is none: it needs an answer too.
        await server.send(nan.replace(b"500", b"501").replace(b"NaN", b'"\\ud800"'))
        while (answer := await server.line()).get("id") != 501:
            assert "error" in answer
        assert answer["result"]["structuredContent"]["code"] == "bad_value"
        assert (await server.call("view_turn"))["awaited"] is True


async def test_a_killed_server_goes_on_where_it_stopped(stage: Any, tmp_path: Path) -> None:
    async with started(stage, *SERVE, "--out", str(tmp_path)) as server:
        await server.hello()
        params = {"name": "claim", "arguments": {"slices": 4}, "_meta": {"tradefair/call-key": "k1"}}
        acknowledged = (await server.ask("tools/call", **params))["result"]["structuredContent"]
        server.process.kill()
        await server.process.wait()
    (trace,) = tmp_path.glob("*.trace")
    async with started(stage, "serve", "teaching", "--resume", str(trace)) as server:
        await server.hello()
        assert (await server.call("view_turn"))["round"] == 2
        again = (await server.ask("tools/call", **params))["result"]["structuredContent"]
        assert again == acknowledged
        assert [row["claims"]["P1"] for row in (await server.call("view_history"))["rounds"]] == [4]


async def test_sigterm_closes_a_stdio_server_cleanly(stage: Any, tmp_path: Path) -> None:
    async with started(stage, *SERVE, "--out", str(tmp_path)) as server:
        await server.hello()
        await server.call("view_my_value")
        server.process.send_signal(signal.SIGTERM)
        assert await stage.within(server.process.wait()) == 0
    (trace,) = tmp_path.glob("*.trace")
    assert stage.events(trace)[-1]["tool"] == "view_my_value"
    assert not list(tmp_path.glob("*-wal"))


# --- the host -----------------------------------------------------------------------------------------------------


@each_era
async def test_a_host_is_played_over_http_and_goes_when_it_is_over(stage: Any, era: str, tmp_path: Path) -> None:
    given = options_file(tmp_path / "told", until_over=True, linger=40 * SOON)
    told = ("--seats", "all", "--seed", "7", "--json", *given)
    async with started(stage, "host", "teaching", "--scenario", "pie", *told, "--out", str(tmp_path)) as server:
        ready = await server.line()
        (episode,) = ready["episodes"]
        assert [seat["seat"] for seat in episode["seats"]] == ["P1", "P2"]
        assert episode["seed"] == 7
        one, two = (seat["token"] for seat in episode["seats"])
        assert all(token not in (tmp_path / "host.json").read_text() for token in (one, two))
        async with stage.at(ready["url"], one, era) as first, stage.at(ready["url"], two, era) as second:
            for _ in range(3):
                for client in (first, second):
                    await client.call_tool("claim", {"slices": 5})
            over = await first.call_tool("await_turn")
            assert over.structured_content["end_reason"].startswith("terminated:")
        told = await server.leave()
        assert server.process.returncode == 0
    assert f"episodes: 1 terminated:rounds_completed; traces in {tmp_path}" in told
    assert stage.events(Path(episode["trace"]))[-1]["event"] == "episode_ended"
    assert orjson.loads((tmp_path / "host.json").read_bytes())["tokens"] == []


@pytest.mark.parametrize("ending", [pytest.param(signal.SIGTERM), signal.SIGKILL])
async def test_a_restarted_host_takes_the_same_tokens(stage: Any, tmp_path: Path, ending: signal.Signals) -> None:
    async with started(stage, "host", "teaching", "--seats", "P1", "--json", "--out", str(tmp_path)) as server:
        ready = await server.line()
        token = ready["episodes"][0]["seats"][0]["token"]
        async with stage.at(ready["url"], token) as client:
            await client.call_tool("claim", {"slices": 4})
        server.process.send_signal(ending)
        code = await stage.within(server.process.wait())
        assert code == (0 if ending == signal.SIGTERM else -signal.SIGKILL)
    async with started(stage, "host", "--resume", str(tmp_path), "--json") as server:
        again = await server.line()
        assert again["episodes"][0]["seats"] == [{**ready["episodes"][0]["seats"][0], "token": None}]
        async with stage.at(again["url"], token) as client:
            rounds = (await client.call_tool("view_history")).structured_content["rounds"]
            assert [row["claims"]["P1"] for row in rounds] == [4]


async def test_a_host_that_cannot_go_on_leaves_the_registry_as_it_was(stage: Any) -> None:
    host = Host(stage.folder)
    over, torn = await stage.episode(), await stage.episode()
    with host.saved_once():
        for episode in (over, torn):
            host.add(episode)
            host.invite(episode.id, "P1")
        host.order(checked(Order(market="teaching", seed=7)), "waiting")
    await over.end("truncated:cancelled")
    await host.close()
    kept = (stage.folder / HOST_FILE).read_bytes()
    torn.path.write_bytes(b"torn")
    assert await asyncio.to_thread(run, ["host", "--resume", str(stage.folder)]) == 1
    assert (stage.folder / HOST_FILE).read_bytes() == kept


@each_era
async def test_connect_stands_for_a_hosted_seat(stage: Any, era: str, tmp_path: Path) -> None:
    async with started(stage, "host", "teaching", "--seats", "P1", "--json", "--out", str(tmp_path)) as server:
        ready = await server.line()
        token = ready["episodes"][0]["seats"][0]["token"]
        shim = StdioServerParameters(
            command=str(stage.tradefair), args=["connect", ready["url"]], env={"TRADEFAIR_TOKEN": token}
        )
        client: Any
        async with Client(shim, mode=era) as client, stage.at(ready["url"], token) as direct:
            assert client.instructions == direct.instructions
            assert (await client.list_tools()).tools == (await direct.list_tools()).tools
            assert (await client.list_resources()).resources == (await direct.list_resources()).resources
            key: Any = {"tradefair/call-key": "k"}
            first = await client.call_tool("claim", {"slices": 4}, meta=key)
            again = await client.call_tool("claim", {"slices": 4}, meta=key)
            assert first.structured_content == again.structured_content == {"round": 1, "sealed": "claim"}
            wrong = await client.call_tool("claim", {"slices": "x"})
            assert wrong.structured_content["code"] == "invalid_arguments"
            read = await client.read_resource("market://view_turn")
            assert orjson.loads(read.contents[0].text)["round"] == 2
            assert (await client.get_prompt("play_teaching")).messages
            waited = await client.call_tool("await_turn")
            assert waited.meta["tradefair/turn"]["round"] == 2


@each_era
async def test_connect_passes_on_what_the_host_announces(stage: Any, era: str, tmp_path: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.params.uri))

    async with started(stage, "host", "teaching", "--seats", "all", "--json", "--out", str(tmp_path)) as server:
        ready = await server.line()
        one, two = (seat["token"] for seat in ready["episodes"][0]["seats"])
        shim = StdioServerParameters(
            command=str(stage.tradefair), args=["connect", ready["url"]], env={"TRADEFAIR_TOKEN": one}
        )
        uris = ["market://view_turn", "market://view_history"]
        client: Any
        async with (
            AsyncExitStack() as streams,
            Client(shim, mode=era, message_handler=hear) as client,
            stage.at(ready["url"], two) as other,
        ):

            async def follow(uri: str) -> None:
                if era == "legacy":
                    await client.subscribe_resource(uri)
                else:
                    await streams.enter_async_context(client.listen(resource_subscriptions=[uri]))

            for uri in uris:
                await follow(uri)
            with pytest.raises(MCPError, match="offered no such resource"):
                await follow("market://P2/view_turn")
            await client.call_tool("claim", {"slices": 4})
            assert heard.empty()
            await other.call_tool("claim", {"slices": 4})
            assert {await stage.within(heard.get()) for _ in uris} == set(uris)
            assert (await client.call_tool("view_turn")).structured_content["round"] == 2
            assert heard.empty()


@each_era
async def test_connect_passes_on_progress_and_cancellation(
    stage: Any, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PROGRESS_S", SOON)
    host = Host(stage.folder)
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    token, _ = host.invite(episode.id, "P1")
    await episode.call("P1", "claim", {"slices": 4})
    async with stage.hosted(host) as server:
        shim = StdioServerParameters(
            command=str(stage.tradefair), args=["connect", server.url], env={"TRADEFAIR_TOKEN": token}
        )
        gate, told, left = host.gate(episode.id, "P1"), asyncio.Event(), asyncio.Event()

        def leave(leave: Any = gate.leave) -> None:
            leave()
            left.set()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.set()

        monkeypatch.setattr(gate, "leave", leave)
        client: Any
        async with Client(shim, mode=era) as client, asyncio.TaskGroup() as tasks:
            arguments = {"timeout_s": MAX_WAIT_S}
            waiter = tasks.create_task(client.call_tool("await_turn", arguments, progress_callback=hear))
            await stage.within(told.wait())
            assert gate.open == 1
            left.clear()
            waiter.cancel()
            # The host waits for this seat no longer, and the connection lives.
            await stage.within(left.wait())
            assert gate.open == 0
            assert (await client.call_tool("view_turn")).structured_content["awaited"] is False


# --- what a client is told ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", ["script", "python"])
async def test_the_printed_configuration_starts_a_server(stage: Any, tmp_path: Path, launcher: str) -> None:
    told = options_file(tmp_path, seed=3, set=["rounds=1"])
    made = subprocess.run(
        [stage.tradefair, "config", "teaching", *told, "--launcher", launcher],
        cwd=tmp_path,
        capture_output=True,
        timeout=LONG,
        check=True,
    )
    (entry,) = orjson.loads(made.stdout)["mcpServers"].values()
    assert Path(entry["command"]).is_absolute()
    async with started(stage, *entry["args"], env={}, cwd="/", command=entry["command"]) as server:
        await server.hello()
        await server.call("claim", slices=5)
        assert (await server.call("await_turn"))["over"] is True
        await server.leave()
    assert len(list((tmp_path / "runs").glob("*.trace"))) == 1
