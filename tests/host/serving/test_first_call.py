"""`serve` begins an episode with the first call; `--continue` goes on with the one that an earlier server left.

Also here:
- Spans of a served seat, in a process where OpenTelemetry is set up as an operator would.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp import Client, StdioServerParameters
from tests.host.serving.by_hand import started
from tests.waiting import SOON

from tradefair.cli.options import EpisodeFlags
from tradefair.contract import ScenarioError
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.asked import ask
from tradefair.host.commands.serve import unbegun
from tradefair.host.episode.unbegun import Unbegun
from tradefair.host.server import going_on
from tradefair.tracestore import open_trace

SERVE = ("serve", "teaching", "--scenario", "pie", "--seat", "P1", "--others", "half", "--seed", "7")
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
