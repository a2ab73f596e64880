"""What models were sent is kept in the trace: byte for byte, for the seat alone, and never at the cost of play.

Also here:
- Limits `offer` and `reply`: what stands in a graph's requests, in its record, and in a replay of them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
import pytest
from tests.evaluation.export.test_reimport import again, figures
from tests.options_files import options_file
from tests.outside import Answer, Asked, endpoint
from tests.play_specs import events_of, preset_spec
from tests.waiting import LONG

from tradefair.agents.rounds import find_view
from tradefair.catalog import market_type
from tradefair.cli import run
from tradefair.contract import Brief, Draw, HarnessFailure, ScenarioError, TraceError
from tradefair.contract.kernel.players import AgentRecord, Limits, seat_policy
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.report.transcript import NO_MODEL, NOT_KEPT, transcript_of
from tradefair.frameworks import EXTRAS
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models import ModelEndpoint, parse_model
from tradefair.frameworks.models.endpoint import MAX_REPLY
from tradefair.frameworks.models.serving import Address, open_address
from tradefair.frameworks.openai_loop import OpenAILoop
from tradefair.host.episode.log import SqliteLog
from tradefair.runner.fork.fork import ForkSpec, fork_episode
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode, resume_episode
from tradefair.tracestore import Exchange, Ledger, Manifest, PromptCall, open_trace
from tradefair.tracestore.prompts import PART_LIMIT

POLICY = "policy:zip"
OURS = ("react", "reflection", "plan_and_act", "openai_loop")


def prompts_of(path: Path, seat: str | None = None) -> list[PromptCall]:
    with open_trace(path) as trace:
        return list(trace.prompts(seat))


@asynccontextmanager
async def overheard(heard: list[bytes], monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[tuple[Address, str]]:
    """The policy behind an endpoint, and a URL in front of it at which the bytes of every request are kept."""
    policy = seat_policy(market_type("double_auction"), POLICY, "buyer", Draw.of(7, "B1"))
    async with open_address(parse_model(POLICY).with_policy(policy)) as address:

        def passed_on(asked: Asked) -> Answer:
            heard.append(asked.body)
            headers = {"authorization": asked.headers["authorization"], "content-type": "application/json"}
            place = f"{address.base_url}/chat/completions"
            answer = httpx2.post(place, content=asked.body, headers=headers, trust_env=False, timeout=LONG)
            return Answer(answer.status_code, answer.text)

        monkeypatch.setenv("OPENAI_API_KEY", address.api_key)
        with endpoint(passed_on) as url:
            yield address, f"{url}/v1"


def _frameworks() -> list[Any]:
    extra = [
        pytest.param(name, marks=pytest.mark.skipif(find_spec(known.module) is None, reason=name))
        for name, known in EXTRAS.items()
    ]
    return [*OURS, *extra]


@pytest.mark.parametrize("framework", _frameworks())
async def test_each_request_comes_back_byte_for_byte(
    duel: Callable[..., PlaySpec], monkeypatch: pytest.MonkeyPatch, framework: str
) -> None:
    heard: list[bytes] = []
    async with overheard(heard, monkeypatch) as (address, url):
        path = (await play_episode(duel(AgentSpec(framework, f"openai:{POLICY}", base_url=url)))).path
    calls = prompts_of(path, "B1")
    assert [call.request_bytes for call in calls] == heard
    assert len(heard) >= 6
    # The answer is the endpoint's, and each has a note of its own.
    assert {call.answer["body"]["object"] for call in calls} == {"chat.completion"}
    with open_trace(path) as trace:
        assert [call.call for call in calls] == [
            note["reply"] for note in trace.agent_events() if note["kind"] == "model_call"
        ]
    # Keys and addresses are in none of it, packed or not.
    rows = sqlite3.connect(path).execute("SELECT body FROM prompt_parts UNION ALL SELECT answer FROM prompt_calls")
    content = b"".join([path.read_bytes(), *(zlib.decompress(body) for (body,) in rows)])
    assert address.api_key.encode() not in content
    assert b"uthorization" not in content


@pytest.mark.parametrize("framework", _frameworks())
async def test_a_key_of_the_agent_alone_is_the_seed_of_its_requests(
    duel: Callable[..., PlaySpec], monkeypatch: pytest.MonkeyPatch, framework: str
) -> None:
    heard: list[bytes] = []
    agent = AgentSpec(framework, f"openai:{POLICY}")
    async with overheard(heard, monkeypatch) as (_, url):
        played = await play_episode(replace(duel(replace(agent, base_url=url)), agent_key=3))
    assert {orjson.loads(body)["seed"] for body in heard} == {3}
    assert [call.request_bytes for call in prompts_of(played.path, "B1")] == heard
    # The trace answers again under the same key, and under no other.
    again = replace(duel(replace(agent, replay=str(played.path))), agent_key=3)
    with open_trace(played.path) as first, open_trace((await play_episode(again)).path) as second:
        assert [event["event"] for event in first.decoded()] == [event["event"] for event in second.decoded()]
    with pytest.raises(HarnessFailure, match="seed differs: asked 4, recorded 3"):
        await play_episode(replace(again, agent_key=4))


class Elsewhere:
    """A framework of others: it has a client of its own, which tells nobody what it sends."""

    name = "elsewhere"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        assert model is not None
        return await OpenAILoop().play(seat, replace(model, prompts=None), brief, limits)


def _seated(made: type[Elsewhere | OpenAILoop], seat: str) -> Elsewhere | OpenAILoop:
    return made()


@pytest.mark.network
async def test_a_framework_with_a_client_of_its_own_is_heard_through_the_gateway(duel: Callable[..., PlaySpec]) -> None:
    paths: list[Path] = []
    for made in (Elsewhere, OpenAILoop):
        spec = duel(AgentSpec("openai_loop", POLICY), folder=made.name)
        named = replace(spec.agent.spec, framework=made.name)
        agent = replace(spec.agent, spec=named, make=partial(_seated, made))
        paths.append((await play_episode(replace(spec, agent=agent))).path)
    theirs, ours = map(prompts_of, paths)
    assert [(call.call, call.request_bytes) for call in theirs] == [(call.call, call.request_bytes) for call in ours]
    assert len(ours) == 6


@pytest.mark.network
@pytest.mark.parametrize("framework", OURS)
async def test_a_run_is_replayed_from_its_trace(duel: Callable[..., PlaySpec], told: Any, framework: str) -> None:
    first = (await play_episode(duel(AgentSpec(framework, POLICY)))).path
    again = (await play_episode(duel(AgentSpec(framework, replay=str(first)), folder="again"))).path
    assert told(again).events[1:] == told(first).events[1:]
    # The replay keeps them, too, and they are the same requests.
    assert [call.request for call in prompts_of(again)] == [call.request for call in prompts_of(first)]


async def test_a_recording_is_an_export_of_the_trace(duel: Callable[..., PlaySpec], tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    agent = AgentSpec("react", POLICY, record=str(calls))
    path = (await play_episode(duel(agent))).path
    lines = [orjson.loads(line) for line in calls.read_bytes().splitlines()]
    assert [line["kind"] for line in lines if line["kind"] in ("model_calls", "seat")] == ["model_calls", "seat"]
    assert sum(line["kind"] == "call" for line in lines) == len(prompts_of(path))
    before = calls.read_bytes()
    # What the file holds already is not added again: a repeated run adds its line of the seat only.
    await play_episode(duel(agent, folder="again"))
    added = [orjson.loads(line) for line in calls.read_bytes().removeprefix(before).splitlines()]
    assert [line["kind"] for line in added] == ["seat"]


async def test_prompts_can_be_left_out(duel: Callable[..., PlaySpec], tmp_path: Path) -> None:
    path = (await play_episode(duel(AgentSpec("react", POLICY, prompts=False)))).path
    assert prompts_of(path) == []
    with open_trace(path) as trace:
        mine, other = transcript_of(trace, ["B1", "S1"])
    assert (mine["kept"], mine["remark"]) == (False, NOT_KEPT)
    assert (other["kept"], other["remark"], other["calls"]) == (False, NO_MODEL, [])
    # The replies of its notes are there all the same.
    assert mine["calls"][-1]["answer"]["calls"] == [["", "submit_quote", ""]]
    assert all(call["events"] for call in mine["calls"])
    with pytest.raises(ScenarioError, match="leave `prompts = false` out"):
        duel(AgentSpec("react", POLICY, prompts=False, record=str(path.with_suffix(".jsonl"))))
    command = [
        "play",
        "teaching",
        "--agent",
        "react",
        *options_file(tmp_path, prompts=False),
        "--no-references",
        "--out",
    ]
    assert await asyncio.to_thread(run, [*command, str(tmp_path / "quiet")]) == 0
    assert prompts_of(next((tmp_path / "quiet").glob("*.trace"))) == []


async def test_the_transcript_shows_what_was_new_and_what_it_led_to(duel: Callable[..., PlaySpec]) -> None:
    path = (await play_episode(duel(AgentSpec("react", POLICY)))).path
    with open_trace(path) as trace:
        events = {event["seq"]: event for event in trace.decoded()}
        (seat,) = transcript_of(trace, ["B1"])
    assert (seat["kept"], seat["remark"], len(seat["tools"])) == (True, "", 1)
    first, second, third = seat["calls"][:3]
    assert [seat["messages"][index]["role"] for index in first["shown"]] == ["system", "user"]
    assert first["new"] == first["shown"]
    # The second goes on with the first: its two messages, then the reply and what the market answered.
    assert (first["same"], second["same"], second["new"]) == (0, 2, [2, 3])
    reply, answer = (seat["messages"][index] for index in second["shown"])
    assert reply["calls"] == first["answer"]["calls"]
    assert answer["answers"] == reply["calls"][0][0]
    # Another round begins with the same system prompt.
    assert (third["round"], third["same"]) == (2, 1)
    assert {call["tools"] for call in seat["calls"]} == {0}
    assert "submit_quote" in seat["tools"][0]["names"]
    for call in seat["calls"]:
        (seq,) = call["events"]
        made = events[seq]
        assert (made["seat"], made["tool"], made["round"]) == ("B1", call["answer"]["calls"][0][1], call["round"])


@pytest.mark.network
async def test_a_run_that_is_resumed_keeps_both_parts(duel: Callable[..., PlaySpec]) -> None:
    whole = prompts_of((await play_episode(duel(AgentSpec("react", POLICY)))).path)
    spec = duel(AgentSpec("react", POLICY, faults="500@4.."), folder="broken")
    with pytest.raises(HarnessFailure):
        await play_episode(spec)
    (broken,) = spec.folder.glob("*.trace")
    kept = len(prompts_of(broken))
    assert 0 < kept < len(whole)
    await resume_episode(broken)
    after = prompts_of(broken)
    assert [call.request for call in after[:kept]] == [call.request for call in whole[:kept]]
    # The agent has begun anew: it takes nothing over, and messages that are stored already are not stored again.
    assert after[kept].same == 0
    assert after[kept].messages[0] == whole[0].messages[0]
    assert after[kept].numbers[0] == 1
    assert verify_file(broken).verdict == "reproduced"


@pytest.mark.network
async def test_a_request_that_was_repeated_is_kept_once_with_the_answer_that_came(
    duel: Callable[..., PlaySpec],
) -> None:
    plain = prompts_of((await play_episode(duel(AgentSpec("react", POLICY)))).path)
    faults = AgentSpec("react", POLICY, faults="429@2,500@4,drop@6")
    repeated = prompts_of((await play_episode(duel(faults, folder="faults"))).path)
    assert [call.request for call in repeated] == [call.request for call in plain]
    assert {call.answer["status"] for call in repeated} == {200}


async def test_forks_keep_the_prompts_of_what_they_play_themselves(
    duel: Callable[..., PlaySpec], tmp_path: Path
) -> None:
    agent = AgentSpec("react", POLICY)
    path = (await play_episode(duel(agent))).path
    with open_trace(path) as trace:
        at = next(event["seq"] for event in trace.decoded() if event["round"] == 2 and event.get("seat") == "B1")
    forked = (await fork_episode(ForkSpec(path, tmp_path / "forked", at, agent))).futures[0].fork
    with open_trace(forked) as trace:
        asked = [note["reply"] for note in trace.agent_events() if note["kind"] == "model_call"]
    assert [call.call for call in prompts_of(forked)] == asked
    assert asked[0].startswith("r2")
    assert verify_file(forked).verdict == "reproduced"


# --- as they are stored --------------------------------------------------------------------------------------------


def exchange(*texts: str, call: str = "r1.0", **fields: Any) -> Exchange:
    messages = [{"role": "user", "content": text} for text in texts]
    return Exchange({"model": "m", "messages": messages, **fields}, {"status": 200, "body": {"choices": []}}, call)


@pytest.fixture
async def log(tmp_path: Path) -> AsyncGenerator[SqliteLog]:
    spec = preset_spec("teaching", "pie", AgentSpec("react", "policy:half"), tmp_path)
    with open_trace((await play_episode(spec)).path) as trace:
        manifest = Manifest(trace.manifest.core_bytes, {"episode": "e"})
    opened = await SqliteLog.create(tmp_path / "log.trace", manifest, ())
    yield opened
    await opened.close()


def calls_in(folder: Path) -> list[PromptCall]:
    return prompts_of(folder / "log.trace")


async def test_a_message_is_stored_once_and_a_long_one_is_cut(log: SqliteLog, tmp_path: Path) -> None:
    long = "é" * PART_LIMIT
    await log.note("B1", {"kind": "x"}, [exchange("a", "b", call="1"), exchange("a", "b", "a", long, call="2")])
    await log.note("B2", {"kind": "x"}, [exchange("b", call="3", temperature=0.1)])
    one, two, three = calls_in(tmp_path)
    assert (one.numbers, two.numbers, three.numbers) == ((1, 2), (1, 2, 1, 3), (2,))
    assert (one.same, two.same, three.same) == (0, 2, 0)
    assert three.request_bytes == b'{"model":"m","messages":[{"role":"user","content":"b"}],"temperature":0.1}'
    cut = two.messages[3]
    assert (cut["role"], cut["cut"]) == ("user", 2 * PART_LIMIT + len('{"role":"user","content":""}'))
    assert long.startswith(cut["content"])
    assert len(cut["content"]) == PART_LIMIT // 2
    # The same long message again is the same part.
    await log.note("B1", {"kind": "x"}, [exchange(long, call="4")])
    assert calls_in(tmp_path)[3].numbers == (3,)


@pytest.mark.parametrize("broken", ["prompt_parts", "prompt_calls"])
async def test_what_cannot_be_kept_does_not_stop_play(log: SqliteLog, tmp_path: Path, broken: str) -> None:
    """A table that takes nothing stands for a disk that is full in the middle of a batch."""
    await log.note("B1", {"kind": "first"}, [exchange("a", call="1")])
    with closing(sqlite3.connect(tmp_path / "log.trace")) as database, database:
        database.execute(f"CREATE TRIGGER full BEFORE INSERT ON {broken} BEGIN SELECT raise(FAIL, 'disk is full'); END")
    await log.note("B1", {"kind": "second"}, [exchange("a", "b", call="2")])
    with closing(sqlite3.connect(tmp_path / "log.trace")) as database, database:
        database.execute("DROP TRIGGER full")
    await log.note("B1", {"kind": "third"}, [exchange("a", "b", "c", call="3")])
    with open_trace(tmp_path / "log.trace") as trace:
        assert [note["kind"] for note in trace.agent_events()] == ["first", "second", "third"]
    # Nothing of the second was kept, and the third counts from the first.
    one, three = calls_in(tmp_path)
    assert (one.call, three.call, three.same) == ("1", "3", 1)
    assert [message["content"] for message in three.messages] == ["a", "b", "c"]


async def test_a_note_that_is_given_up_leaves_no_transaction_open(log: SqliteLog, tmp_path: Path) -> None:
    for turns in range(12):
        noting = asyncio.create_task(log.note("B1", {"kind": "x"}, [exchange(str(turns), call=str(turns))]))
        for _ in range(turns):
            await asyncio.sleep(0)
        noting.cancel()
        await asyncio.wait([noting])
        await log.seal({"episode": str(turns)})
        with open_trace(tmp_path / "log.trace") as trace:
            assert trace.manifest.about["episode"] == str(turns)


def test_what_no_writer_can_write_again_is_left_out() -> None:
    deep: Any = "x"
    for _ in range(2_000):
        deep = [deep]
    ledger = Ledger()
    rows = ledger.rows("B1", [exchange("a", tools=deep), exchange("b", call="2")])
    assert [call[1] for call in rows.calls] == ["2"]


# --- who sees it ---------------------------------------------------------------------------------------------------


@pytest.fixture
async def two(tmp_path: Path) -> Path:
    """Two seats of one episode, each with a model."""
    spec = preset_spec("teaching", "pie", AgentSpec("react", "policy:half"), tmp_path / "two", agents=["P1", "P2"])
    return (await play_episode(spec)).path


async def test_messages_are_printed_for_a_seat_and_a_round(
    two: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["trace", str(two), "messages", "--seat", "P2", "--round", "2"]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert shown.splitlines()[0] == "P2 · round 2, claim · r2.0"
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []
    assert "as before  1 message\n" in shown
    assert "tools      " in shown
    assert "\ncalls      claim {" in shown
    assert "P1 ·" not in shown
    assert "round 1, claim" not in shown
    assert run(["trace", str(two), "messages", "--json"]) == 0
    told = orjson.loads(capsysbinary.readouterr().out)
    assert [(seat["seat"], seat["kept"]) for seat in told["seats"]] == [("P1", True), ("P2", True)]
    assert run(["trace", str(two), "messages", "--seat", "P9"]) == 2
    assert "there is no seat 'P9'" in capsysbinary.readouterr().err.decode()


async def test_the_export_of_a_seat_holds_nothing_of_another_seat_s_prompts(two: Path, tmp_path: Path) -> None:
    own, other = ({number for call in prompts_of(two, seat) for number in call.numbers} for seat in ("P1", "P2"))
    with closing(sqlite3.connect(two)) as database:
        parts = {
            n: (digest, zlib.decompress(body)) for n, digest, body in database.execute("SELECT * FROM prompt_parts")
        }
    secrets = [parts[number] for number in other - own]
    # Everything but what both are told, such as the tools.
    assert len(secrets) >= 5
    for form in ("jsonl", "otlp", "openai", "parquet"):
        out = tmp_path / form
        assert await asyncio.to_thread(run, ["export", str(two), "--seat", "P1", "--format", form, "-o", str(out)]) == 0
        files = [path for path in (out, *out.rglob("*")) if path.is_file()]
        content = b"".join(path.read_bytes() for path in files)
        assert content
        for digest, text in secrets:
            said = orjson.dumps(orjson.loads(text).get("content"))[1:-1]
            assert digest not in content
            assert digest.hex().encode() not in content
            assert len(said) < 40 or said not in content
    seat = orjson.loads((tmp_path / "openai").read_bytes())
    assert seat["as_sent"]
    sent = [
        orjson.loads(parts[number][1])["content"] for number in own if parts[number][1].startswith(b'{"role":"user"')
    ]
    assert sent
    assert set(sent) <= {message["content"] for message in seat["messages"]}


async def test_a_transcript_in_openai_s_shape_holds_each_message_once_and_answers_every_call(
    duel: Callable[..., PlaySpec], tmp_path: Path
) -> None:
    path = (await play_episode(duel(AgentSpec("react", POLICY, window="cleared_results(k=1)")))).path
    out = tmp_path / "talk.jsonl"
    command = ["export", str(path), "--format", "openai", "--seat", "B1", "-o", str(out)]
    assert await asyncio.to_thread(run, command) == 0
    messages = orjson.loads(out.read_bytes())["messages"]
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert not waiting
    replies = [message for message in messages if message["role"] == "assistant"]
    assert len(replies) == len(prompts_of(path, "B1"))
    texts = [message["content"] for message in messages if message["role"] in ("system", "user")]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("window", ["full_round", "cleared_results(k=1)"])
async def test_a_transcript_of_what_was_sent_comes_back_to_the_same_general_findings(
    duel: Callable[..., PlaySpec], tmp_path: Path, window: str
) -> None:
    path = (await play_episode(duel(AgentSpec("react", POLICY, window=window)))).path
    traces = await asyncio.to_thread(again, path, "openai", tmp_path)
    (back,) = (trace for trace in traces if "B1" in trace.name)
    before = {key: found for key, found in figures(path).items() if key[0] == "B1"}
    assert before
    assert figures(back) == before


GRAPHS = ("react", "reflection", "plan_and_act")


class Request(NamedTuple):
    phase: str
    tools: list[str]
    params: dict[str, Any]


async def play(folder: Path, agent: AgentSpec) -> Path:
    spec = preset_spec("teaching", "talk", agent, folder, seed=1, settings={"rounds": 2}, agents=["P1"])
    return (await play_episode(spec)).path


def requests(path: Path) -> list[Request]:
    """What the model was sent, request by request."""
    found: list[Request] = []
    with open_trace(path) as trace:
        for call in trace.prompts():
            texts = [str(call.part(number).get("content") or "") for number in call.numbers]
            view = next(view for text in reversed(texts) if (view := find_view(text)) is not None)
            tools: Any = [] if call.tools is None else call.part(call.tools)
            found.append(Request(view.phase, [tool["function"]["name"] for tool in tools], dict(call.params)))
    return found


@pytest.mark.parametrize("graph", GRAPHS)
async def test_a_model_is_offered_the_open_actions_and_after_its_looks_nothing_else(tmp_path: Path, graph: str) -> None:
    useful = AgentSpec(graph, "policy:half", offer="useful(reads=0)")
    acting = [asked for asked in requests(await play(tmp_path / "useful", useful)) if asked.tools]
    assert {(asked.phase, *asked.tools) for asked in acting} == {("talk", "say"), ("claim", "claim")}
    looking = AgentSpec(graph, "policy:half", offer="useful(reads=9)")
    first = next(asked for asked in requests(await play(tmp_path / "looking", looking)) if asked.tools)
    assert {"view_my_value", "add_note", "say"} <= {*first.tools}
    assert not {"claim", "await_turn"} & {*first.tools}


@pytest.mark.parametrize("graph", GRAPHS)
async def test_a_graph_offers_everything_and_bounds_every_reply_unless_it_is_told_otherwise(
    tmp_path: Path, graph: str
) -> None:
    asked = requests(await play(tmp_path, AgentSpec(graph, "policy:half")))
    assert {len(request.tools) for request in asked if request.tools} == {12}
    # Planners and reflectors, too.
    assert {request.params.get("max_tokens") for request in asked} == {MAX_REPLY}


@pytest.mark.network
@pytest.mark.parametrize(("bound", "sent"), [(0, None), (77, 77)])
async def test_a_replay_asks_under_the_bound_of_its_recording(tmp_path: Path, bound: int, sent: int | None) -> None:
    first = await play(tmp_path / "first", AgentSpec("react", "policy:half", max_reply=bound))
    assert {request.params.get("max_tokens") for request in requests(first)} == {sent}
    # Recordings of earlier releases have no bound; nobody has to say so.
    again = await play(tmp_path / "again", AgentSpec("react", replay=str(first)))
    assert events_of(again)[1:] == events_of(first)[1:]


def test_an_agent_that_is_offered_less_is_another_one_and_is_taken_up_as_such() -> None:
    plain = AgentSpec("react", "openai:m", "http://127.0.0.1:1/v1")
    useful = dataclasses.replace(plain, offer="useful(reads=2)", max_reply=400)
    assert useful.recorded().options == {"offer": "useful(reads=2)", "max_reply": 400}
    assert AgentSpec.of_record(AgentRecord.model_validate_json(useful.recorded().model_dump_json())) == useful
    assert (plain.label, useful.label) == ("react/openai:m", "react+useful(reads=2)/openai:m")
    # The default is no option, however it was said.
    assert dataclasses.replace(plain, offer="all").recorded() == plain.recorded()
    assert dataclasses.replace(plain, offer="all").label == plain.label


@pytest.mark.parametrize("options", [{"offer": 3}, {"max_reply": "x"}, {"max_reply": True}, {"offer": ["all"]}])
def test_a_strangers_record_is_not_believed(options: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="damaged"):
        AgentSpec.of_record(AgentRecord(framework="react", model="openai:m", options=options))


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (AgentSpec("react", "policy:half", offer="some"), "no offer: write all or useful"),
        (AgentSpec("openai_loop", "policy:half", offer="all"), "--limit offer is an option of our graphs"),
        (AgentSpec("openai_loop", "policy:half", max_reply=0), "--limit reply is an option of our graphs"),
    ],
)
def test_what_cannot_be_offered_is_said_before_anything_is_written(agent: AgentSpec, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        ready(market_type("teaching"), agent, {"P1": "eater"})
