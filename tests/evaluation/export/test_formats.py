"""Exports beside JSONL: spans, transcripts, tables; and that a seat's export holds only what the seat saw."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.evaluation.foreign.export import FORMATS, export_lines
from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.foreign.interchange.otlp_names import SCHEMA_URL
from tradefair.evaluation.store import QUERIES, TABLES
from tradefair.evaluation.store.in_duckdb import ParquetTables
from tradefair.host.episode.episode import Episode
from tradefair.tracestore import open_trace

Play = Callable[..., Path]
Json = dict[str, Any]


def lines(path: Path, form: str, seat: str | None = None) -> list[Json]:
    with open_trace(path) as trace:
        return [orjson.loads(line) for line in export_lines(trace, form=form, seat=seat)]


def spans(path: Path, seat: str | None = None) -> list[Json]:
    found: list[Json] = []
    for line in lines(path, "otlp", seat):
        (resource,) = line["resourceSpans"]
        (scoped,) = resource["scopeSpans"]
        assert resource["schemaUrl"] == scoped["schemaUrl"] == SCHEMA_URL
        found += scoped["spans"]
    return found


def said(span: Json) -> Json:
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def calls(path: Path, seat: str | None = None) -> list[Json]:
    with open_trace(path) as trace:
        events = [event for event in trace.decoded() if event["event"] == "tool_called"]
    return [event for event in events if seat in (None, event["seat"])]


@pytest.fixture
async def talked(tmp_path: Path) -> Path:
    """Two seats, refusals of several kinds, a program with inner calls, and what models are noted to have said."""
    path = tmp_path / "talk.trace"
    kind = market_type("teaching")
    episode = await Episode.create(path, kind, load_scenario("teaching", "talk"), 3, episode_id="talk-1")
    await episode.note("P1", {"kind": "model_call", "model": "m", "text": "let us see", "calls": [], "input_tokens": 1})
    reply: Json = {"kind": "model_call", "model": "m", "text": "I look and say", "calls": ["view_my_value", "say"]}
    await episode.note("P1", {**reply, "input_tokens": 7, "output_tokens": 3, "latency_s": 0.5})
    await episode.call("P1", "view_my_value", {})
    await episode.call("P1", "say", {"text": "for P2 only"})
    await episode.call("P2", "say", {"text": ""})
    await episode.call("P2", "add_note", {"text": "P2's secret"})
    await episode.call("P2", "claim", {"slices": "x"})
    await episode.call("P2", "nosuch", {})
    await episode.close()
    return path


# --- spans ----------------------------------------------------------------------------------------------------------


def test_every_call_is_one_span_below_its_seat_below_the_episode(talked: Path) -> None:
    found = {span["spanId"]: span for span in spans(talked)}
    tools = [span for span in found.values() if said(span).get("gen_ai.operation.name") == "execute_tool"]
    assert [said(span)["gen_ai.tool.call.id"] for span in tools] == [call["call"] for call in calls(talked)]
    for span in tools:
        agent = found[span["parentSpanId"]]
        assert said(agent)["gen_ai.operation.name"] == "invoke_agent"
        assert said(agent)["tradefair.seat"] == said(span)["tradefair.seat"]
        assert "parentSpanId" not in found[agent["parentSpanId"]]
    assert len({span["traceId"] for span in found.values()}) == 1


def test_a_refusal_is_a_tool_error_and_nothing_else_is(talked: Path) -> None:
    for span in spans(talked):
        attributes = said(span)
        refused = attributes.get("tradefair.status", "ok") != "ok"
        assert (attributes.get("error.type") == "tool_error") == refused
        assert (span.get("status", {}).get("code") == 2) == refused
    assert {said(span).get("tradefair.error_code") for span in spans(talked)} >= {"invalid_arguments", None}


def test_replies_are_chat_spans_that_end_where_their_first_call_begins(talked: Path) -> None:
    chats = [span for span in spans(talked) if span["name"].startswith("chat")]
    assert [said(span).get("gen_ai.usage.input_tokens") for span in chats] == ["1", "7"]
    value = next(span for span in spans(talked) if span["name"] == "execute_tool view_my_value")
    assert chats[1]["endTimeUnixNano"] == value["startTimeUnixNano"]
    assert int(chats[1]["endTimeUnixNano"]) - int(chats[1]["startTimeUnixNano"]) == 500_000_000


def test_times_are_logical_where_none_were_kept_and_ids_are_always_the_same(play: Play) -> None:
    path = play("teaching/pie", "half", seats={})
    found = spans(path)
    assert found == spans(path)
    assert max(int(span["endTimeUnixNano"]) for span in found) <= 1_000_000 * 1_000
    assert lines(path, "otlp")[0]["resourceSpans"][0]["resource"]["attributes"][1]["value"] == {
        "stringValue": "logical"
    }
    assert len({span["spanId"] for span in found}) == len(found)


# --- transcripts ----------------------------------------------------------------------------------------------------


def test_a_transcript_has_what_the_seat_did_and_was_answered_in_order(talked: Path) -> None:
    transcript = next(line for line in lines(talked, "openai") if line["seat"] == "P1")
    messages = transcript["messages"]
    assert [message["role"] for message in messages][:4] == ["assistant", "assistant", "tool", "tool"]
    assert messages[0]["content"] == "let us see"
    assert messages[1]["content"] == "I look and say"
    named = [call["function"]["name"] for call in messages[1]["tool_calls"]]
    assert named == ["view_my_value", "say"]
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert asked == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def test_a_transcript_shows_closures_to_every_seat_and_calls_to_their_own(play: Play) -> None:
    path = play("double_auction/smoke", "zip", seats={})
    for transcript in lines(path, "openai"):
        own = calls(path, transcript["seat"])
        asked = [call for message in transcript["messages"] for call in message.get("tool_calls", ())]
        assert [orjson.loads(call["function"]["arguments"]) for call in asked] == [call["arguments"] for call in own]
        public = [message for message in transcript["messages"] if message["role"] == "user"]
        assert sum('"round_closed"' in message["content"] for message in public) == 3
        assert "facts" not in str(public)


# --- tables ---------------------------------------------------------------------------------------------------------


def test_parquet_has_a_row_for_every_call_and_the_facts_of_every_round(play: Play, tmp_path: Path) -> None:
    paths = [play("double_auction/smoke", "zip", seed=seed, seats={}, name=f"s{seed}") for seed in (1, 2)]
    exported = export_files(paths, form="parquet", output=tmp_path / "tables")
    assert exported.rows["calls"] == sum(len(calls(path)) for path in paths)
    assert exported.rows["facts"] == 2 * 4
    assert exported.rows["outcomes"] > 0
    assert exported.problems == []
    with ParquetTables(tmp_path / "tables", threads=1) as tables:
        assert {row[0] for row in tables.run(QUERIES["outcomes"]).rows} == {"s1", "s2"}
    assert {item.name for item in (tmp_path / "tables").iterdir()} == {"export.json", *TABLES}


def test_the_same_traces_give_the_same_bytes_and_an_older_export_is_replaced(play: Play, tmp_path: Path) -> None:
    path = play("teaching/pie", "half", seats={})
    export_files([path], form="parquet", output=tmp_path / "tables")
    before = {item: item.read_bytes() for item in sorted((tmp_path / "tables").rglob("*.parquet"))}
    export_files([path], form="parquet", output=tmp_path / "tables")
    assert {item: item.read_bytes() for item in sorted((tmp_path / "tables").rglob("*.parquet"))} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(ScenarioError, match="no earlier export"):
        export_files([path], form="parquet", output=tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").exists()


def test_two_traces_of_one_episode_are_told_apart(play: Play, tmp_path: Path) -> None:
    path = play("teaching/pie", "half", seats={}, name="one")
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / "one.trace"
    again.write_bytes(path.read_bytes())
    export_files([path, again], form="parquet", output=tmp_path / "tables")
    with ParquetTables(tmp_path / "tables", threads=1) as tables:
        assert {row[0] for row in tables.run(QUERIES["outcomes"]).rows} == {"one", "one~2"}


def test_one_bad_trace_is_a_problem_and_does_not_stop_the_others(play: Play, tmp_path: Path) -> None:
    good, bad = play("teaching/pie", "half", seats={}), tmp_path / "bad.trace"
    bad.write_bytes(b"no trace")
    for form in FORMATS:
        exported = export_files([bad, good], form=form, output=tmp_path / form)
        assert [problem.path for problem in exported.problems] == [str(bad)]
        assert exported.traces == 1
        with pytest.raises(TraceError) if form != "parquet" else nullcontext():
            export_files([bad], form=form, output=tmp_path / f"{form}-bad")


def test_without_the_extra_the_message_names_it(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = play("teaching/pie", "half", seats={})
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ScenarioError, match=r"pip install 'tradefair\[analytics\]'"):
        export_files([path], form="parquet", output=tmp_path / "tables")
    assert sorted(item.name for item in tmp_path.iterdir()) == [path.name]


# --- compressed, several --------------------------------------------------------------------------------------------


def test_a_compressed_export_holds_the_same_lines(play: Play, tmp_path: Path) -> None:
    import zstandard

    path = play("teaching/pie", "half", seats={})
    export_files([path], form="jsonl", output=tmp_path / "x.jsonl")
    export_files([path], form="jsonl.zst", output=tmp_path / "x.zst")
    packed = io.BytesIO((tmp_path / "x.zst").read_bytes())
    assert zstandard.ZstdDecompressor().stream_reader(packed).read() == (tmp_path / "x.jsonl").read_bytes()


def test_several_traces_go_into_a_folder_under_names_that_differ(play: Play, tmp_path: Path) -> None:
    path = play("teaching/pie", "half", seats={}, name="a")
    (tmp_path / "deeper").mkdir()
    other = tmp_path / "deeper" / "a.trace"
    other.write_bytes(path.read_bytes())
    export_files([path, other], form="jsonl", output=tmp_path / "out")
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == ["a.trace.jsonl", "deeper-a.trace.jsonl"]
    with pytest.raises(ScenarioError, match="name it with -o"):
        export_files([path, other], form="jsonl")


# --- one seat -------------------------------------------------------------------------------------------------------


def everything(path: Path, form: str, seat: str, place: Path) -> Iterator[bytes]:
    """All bytes of an export; names of files and of the episode are the same for both traces."""
    export_files([path], form=form, output=place, seat=seat)
    for item in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if item.is_file():
            yield item.read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_in_a_seats_export_depends_on_what_only_others_know(
    form: str, play_quotes: Play, tmp_path: Path
) -> None:
    rounds = [{"B1": 60, "B2": 55, "S1": 30, "S2": 50}, {"B1": 58, "S1": 31, "S2": 90}]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one = play_quotes((90, 60), (20, 50), rounds, name="1/same")
    other = play_quotes((90, 77), (3, 64), rounds, name="2/same")
    shown = [list(everything(path, form, "B1", tmp_path / f"out{path.parent.name}")) for path in (one, other)]
    assert shown[0] == shown[1]
    theirs = [list(everything(path, form, "B2", tmp_path / f"own{path.parent.name}")) for path in (one, other)]
    assert theirs[0] != theirs[1]


@pytest.mark.parametrize("form", ["jsonl", "otlp", "openai"])
def test_a_seats_export_holds_no_word_of_another_seat(form: str, talked: Path, tmp_path: Path) -> None:
    raw = b"".join(everything(talked, form, "P1", tmp_path / "out"))
    assert b"secret" not in raw
    assert b"P2" not in raw.replace(b"for P2 only", b"")
    assert b"for P2 only" in raw
    with pytest.raises(SeatError, match="P1, P2"):
        export_files([talked], form=form, output=tmp_path / "none", seat="P9")


def test_a_seats_tables_hold_its_calls_and_no_hidden_truth(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/smoke", "zip", seats={})
    exported = export_files([path], form="parquet", output=tmp_path / "tables", seat="S1")
    assert exported.rows["calls"] == len(calls(path, "S1"))
    assert exported.rows["outcomes"] == 0
    import duckdb

    def read(columns: str, table: str) -> list[Any]:
        with duckdb.connect(":memory:") as database:
            database.execute(f"SELECT DISTINCT {columns} FROM '{tmp_path}/tables/{table}/*.parquet'")
            return database.fetchall()

    assert read("seat", "calls") == read("seat", "seats") == [("S1",)]
    assert read("facts", "facts") == [("",)]
    assert read("seed", "episodes") == [("",)]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.jsonl", b'{"'),
        ("x.OTLP.json", b'{"resourceSpans"'),
        ("x.openai.jsonl", b'{"'),
        ("x.jsonl.zst", b"\x28\xb5\x2f\xfd"),
        ("noname", b'{"'),
    ],
)
def test_the_suffix_gives_the_format(talked: Path, tmp_path: Path, name: str, start: bytes) -> None:
    assert run(["export", str(talked), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)
    if name == "x.openai.jsonl":
        assert b'"messages"' in (tmp_path / name).read_bytes()


def test_the_suffix_of_a_folder_of_tables_is_parquet(talked: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    assert run(["export", str(talked), "-o", str(tmp_path / "x.parquet")]) == 0
    assert list((tmp_path / "x.parquet").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("x.parquet", "jsonl", "--format jsonl contradicts 'x.parquet'"),
        ("x.jsonl", "parquet", "--format parquet contradicts 'x.jsonl'"),
        ("x.openai.jsonl", "otlp", "--format otlp contradicts 'x.openai.jsonl'"),
        ("x.csv", None, ".atif.jsonl, .atif.json, .inspect.json, .jsonl.zst, .jsonl, .parquet; it ends in '.csv'"),
        ("x.jsonl", "jsnl", "there is no export format 'jsnl'; did you mean jsonl"),
    ],
)
def test_a_format_that_contradicts_the_suffix_is_usage_and_writes_nothing(
    talked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, form: str | None, said: str
) -> None:
    asked = [] if form is None else ["--format", form]
    assert run(["export", str(talked), "-o", str(tmp_path / name), *asked]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / name).exists()
