"""The commands as real processes: stdio, the host, the shim between them, and what a desktop client is told.

Also here:
- `serve` begins an episode with the first call; `--continue` goes on with the one that an earlier server left.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
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
from tradefair.cli.options import EpisodeFlags
from tradefair.contract import ScenarioError
from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.asked import ask
from tradefair.host.commands.serve import unbegun
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.registry import HOST_FILE
from tradefair.host.episode import waiting
from tradefair.host.episode.orders import Order, checked
from tradefair.host.episode.unbegun import Unbegun
from tradefair.host.server import going_on
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


ROUNDS = 3


async def server(
    stage: Any, seed: int | None = 7, *overrides: str, seat: str = "P1", others: str = "half", go_on: bool = True
) -> Unbegun:
    """What one process of `serve` plays."""
    told = EpisodeFlags("teaching", "pie", others, seed, list(overrides), out=stage.folder / "out")
    return await unbegun(ask(told, seat, gathered=go_on), stage.sandbox, go_on=go_on)


async def one_call(
    stage: Any, tool: str, arguments: Any = None, *options: Any, key: str | None = None, **named: Any
) -> Any:
    """A call of a client that starts a process for each."""
    made = await server(stage, *options, **named)
    try:
        return await made.call(named.get("seat", "P1"), tool, arguments or {}, call_key=key)
    finally:
        await made.close()


def traces(stage: Any) -> list[Path]:
    return sorted((stage.folder / "out").glob("*.trace"))


async def test_who_only_looks_a_server_over_leaves_nothing(stage: Any, tmp_path: Path) -> None:
    async with started(stage, *SERVE, "--out", str(tmp_path / "out")) as process:
        await process.hello()
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            assert "result" in await process.ask(method)
        assert "result" in await process.ask("prompts/get", name="play_teaching")
        assert "result" in await process.ask("resources/subscribe", uri="market://view_turn")
        told = await process.leave()
        assert process.process.returncode == 0
    assert list(tmp_path.iterdir()) == []
    assert "the first call begins an episode" in told
    assert "--resume" not in told


async def test_a_client_with_a_process_per_call_finishes_one_episode(stage: Any) -> None:
    # Some frameworks make their first calls at once.
    tools = ("view_rules", "view_turn", "view_my_value") * 2
    first = await asyncio.gather(*(one_call(stage, tool) for tool in tools))
    assert [result.status for result in first] == ["ok"] * len(tools)
    while not (turn := await one_call(stage, "await_turn")).turn.over:
        assert turn.call is None
        assert (await one_call(stage, "claim", {"slices": 4})).status == "ok"
    (path,) = traces(stage)
    assert verify_file(path).verdict == "reproduced"
    assert [event["event"] for event in stage.events(path)].count("round_closed") == ROUNDS


async def test_calls_of_a_killed_server_are_there_for_the_next(stage: Any, tmp_path: Path) -> None:
    keyed: dict[str, Any] = {"name": "claim", "arguments": {"slices": 4}, "_meta": {"tradefair/call-key": "k"}}
    async with started(stage, *SERVE, "--continue", "--out", str(tmp_path / "out")) as process:
        await process.hello()
        acknowledged = await process.ask("tools/call", **keyed)
        process.process.kill()
        await process.process.wait()
    again = await server(stage)
    repeated = await again.call("P1", "claim", {"slices": 4}, call_key="k")
    assert repeated.body == b'{"round":1,"sealed":"claim"}'
    assert acknowledged["result"]["structuredContent"] == {"round": 1, "sealed": "claim"}
    assert again.core.market.clock.round == 2
    await again.close()
    assert len(traces(stage)) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ((8,), {}),
        ((7, "rounds=4"), {}),
        ((7,), {"seat": "P2"}),
        ((7,), {"others": "half(greed=1)"}),
        ((7,), {"go_on": False}),
    ],
)
async def test_another_game_is_another_episode(stage: Any, options: Any, named: Any) -> None:
    await one_call(stage, "claim", {"slices": 4})
    await one_call(stage, "view_turn", None, *options, **named)
    assert len(traces(stage)) == 2
    await one_call(stage, "claim", {"slices": 4})
    assert len(traces(stage)) == 2


async def test_without_a_seed_any_luck_goes_on(stage: Any) -> None:
    await one_call(stage, "claim", {"slices": 4}, 5)
    later = await one_call(stage, "view_turn", None, None)
    assert (later.turn.round, len(traces(stage))) == (2, 1)


async def test_what_another_process_plays_is_left_alone(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going_on, "_PATIENCE_S", SOON)
    playing = await server(stage)
    await playing.call("P1", "claim", {"slices": 4})
    assert (await one_call(stage, "view_turn")).turn.round == 1
    await playing.close()
    assert len(traces(stage)) == 2


async def test_the_end_is_told_for_a_minute_and_the_next_action_begins_another(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(ROUNDS):
        await one_call(stage, "claim", {"slices": 4})
    assert (await one_call(stage, "await_turn")).turn.over
    assert len(traces(stage)) == 1
    kept = await server(stage)
    assert (await kept.call("P1", "await_turn", {})).turn.over
    assert (await kept.call("P1", "claim", {"slices": 4})).status == "ok"
    assert kept.core.market.clock.round == 2
    await kept.close()
    assert len(traces(stage)) == 2
    monkeypatch.setattr(going_on, "_LINGER_S", 0.0)
    for _ in range(ROUNDS - 1):
        await one_call(stage, "claim", {"slices": 4})
    assert not (await one_call(stage, "await_turn")).turn.over
    assert [verify_file(path).verdict for path in traces(stage)] == ["reproduced"] * 3


async def test_who_lost_the_answer_of_the_last_action_can_still_ask_for_it(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going_on, "_LINGER_S", 0.0)
    for number in range(ROUNDS):
        await one_call(stage, "claim", {"slices": number}, key=f"k{number}")
    for number in (0, ROUNDS - 1):
        again = await one_call(stage, "claim", {"slices": number}, key=f"k{number}")
        assert (again.status, again.turn.over, again.body) == (
            "ok",
            True,
            b'{"round":%d,"sealed":"claim"}' % (number + 1),
        )
    assert len(traces(stage)) == 1
    assert (await one_call(stage, "claim", {"slices": 1}, key="fresh")).status == "ok"
    assert len(traces(stage)) == 2


async def test_damage_in_the_folder_is_passed_over(stage: Any) -> None:
    await one_call(stage, "claim", {"slices": 4})
    (stage.folder / "out" / "torn.trace").write_bytes(b"torn")
    (stage.folder / "out" / "gone.trace").symlink_to("nowhere")
    # A newer episode of the game, but not in this folder.
    elsewhere = EpisodeFlags("teaching", "pie", "half", 7, out=stage.folder / "elsewhere")
    other = await unbegun(ask(elsewhere, "P1", gathered=False), stage.sandbox, go_on=False)
    await other.call("P1", "view_turn", {})
    await other.close()
    (path,) = (stage.folder / "elsewhere").glob("*.trace")
    (stage.folder / "out" / "link.trace").symlink_to(path)
    assert (await one_call(stage, "view_turn")).turn.round == 2


async def test_what_is_wrong_is_said_before_any_call(stage: Any) -> None:
    with pytest.raises(ScenarioError):
        await server(stage, others="nobody")
    with pytest.raises(ScenarioError):
        await server(stage, -1)
    (stage.folder / "out").write_text("a file")
    with pytest.raises(StorageUnavailable):
        await server(stage)


# Spans go to a file, one JSON object a line; everything else is the command as it is.
SERVER = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
out = open(sys.argv.pop(1), "w", buffering=1)
provider = TracerProvider()
exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(None) + "\\n")
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from tradefair.cli import main
main()
"""
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_a_calls_span_names_the_event_that_it_became_and_holds_nobodys_words(stage: Any, tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    told = ["-c", SERVER, str(spans), *SERVE, "--out", str(tmp_path)]
    async with Client(StdioServerParameters(command=sys.executable, args=told)) as client:
        await stage.within(client.call_tool("claim", {"slices": 5}, meta={"traceparent": PARENT}))
        refused = await stage.within(client.call_tool("claim", {"slices": "all of the secret pie"}))
        assert refused.is_error
        await stage.within(client.call_tool("add_note", {"text": "words of the diary"}))
        noted = await stage.within(client.call_tool("view_notes"))
        assert "words of the diary" in noted.content[0].text
        await stage.within(client.read_resource("market://view_notes"))
        failed = await stage.within(client.call_tool("execute_code", {"code": "raise ValueError('words of code')"}))
        assert "words of code" in failed.structured_content["message"]
    found = [orjson.loads(line) for line in spans.read_text().splitlines()]
    claimed, wrong = (span for span in found if span["name"] == "tools/call claim")
    assert claimed["context"]["trace_id"] == "0x" + PARENT.split("-")[1]
    assert claimed["parent_id"] == "0x" + PARENT.split("-")[2]

    (path,) = tmp_path.glob("*.trace")
    with open_trace(path) as trace:
        episode = str(trace.manifest.about["episode"])
        events = {event["call"]: event for event in trace.decoded() if event["event"] == "tool_called"}
    for span, status, code in ((claimed, "ok", None), (wrong, "invalid", "invalid_arguments")):
        said = span["attributes"]
        event = events[said["gen_ai.tool.call.id"]]
        assert (said["tradefair.seat"], event["seat"], event["tool"]) == ("P1", "P1", "claim")
        assert (said["tradefair.market"], said["tradefair.scenario"]) == ("teaching", "teaching/pie")
        assert said["gen_ai.conversation.id"] == episode
        assert (said["tradefair.status"], said.get("tradefair.error_code")) == (status, code)
        assert said["network.transport"] == "pipe"
    assert not any(words in spans.read_text() for words in ("secret", "words of", "integer 0..1000"))
