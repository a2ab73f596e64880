"""Exports line by line, folders of traces, and what is opened of other files.

Also here:
- Prompts of a stranger's file are counted, measured and unpacked within bounds; each fault is one sentence.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.hostile_prompts import CASES_OF_PROMPTS
from tests.evaluation.playing import played

from tradefair.catalog import load_scenario
from tradefair.contract import TraceError
from tradefair.contract.chain import digest
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.store.replies import paired
from tradefair.evaluation.viewer.folder import Folder
from tradefair.teaching import MARKET
from tradefair.tracestore import (
    SCHEMA,
    Exchange,
    Ledger,
    Manifest,
    PromptCall,
    find_traces,
    jsonl_lines,
    open_trace,
    reader,
    sqlite_rows,
)
from tradefair.tracestore.prompts import read_prompts

_EMPTY_EVENT = b'{"hash":"' + b"0" * 64 + b'","event":{}}'


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of an export that has results of its own."""
    folder = tmp_path_factory.mktemp("exported")
    path = played(
        folder / "x.trace", "double_auction/bazaar", rounds=3, n_buyers=20, n_sellers=20, acceptance="per_seat"
    )
    with open_trace(path) as trace:
        found = list(jsonl_lines(trace))
        assert len(list(trace.blobs())) > 1
    return found


def write(path: Path, content: list[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in content))
    return path


def test_an_export_gives_every_result_by_its_digest(exported: list[bytes], tmp_path: Path) -> None:
    with open_trace(write(tmp_path / "x.trace.jsonl", exported)) as trace:
        for name, body in trace.blobs():
            assert trace.blob(name) == body
            assert digest(body) == name
        assert trace.blob("0" * 64) is None
        assert trace.blob("odd") is None


def _shorter(line: bytes) -> bytes:
    return line[:-40] + b'"}}'


def _under_another_name(line: bytes) -> bytes:
    return line[:20] + b"x" + line[21:]


@pytest.mark.parametrize("change", [_shorter, _under_another_name])
def test_a_result_that_has_changed_is_not_given(
    exported: list[bytes], tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    with open_trace(write(tmp_path / "whole.jsonl", exported)) as trace:
        names = [name for name, _ in trace.blobs()]
    changed = [change(line) if line.startswith(b'{"blob"') else line for line in exported]
    with open_trace(write(tmp_path / "x.jsonl", changed)) as trace, pytest.raises(TraceError):
        trace.blob(names[0])


def test_a_folder_lists_its_regular_files_and_no_link_out_of_it(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside.trace"
    (folder / "below" / "deeper").mkdir(parents=True)
    for path in (outside, folder / "b.trace", folder / "below" / "deeper" / "a.trace.jsonl", folder / "other.txt"):
        path.write_bytes(b"x")
    (folder / "inside.trace").symlink_to(folder / "b.trace")
    (folder / "out.trace").symlink_to(outside)
    (folder / "nowhere.trace").symlink_to(folder / "nowhere.trace")
    (folder / "below" / "round").symlink_to(folder)
    (folder / "named.trace").mkdir()
    os.mkfifo(folder / "pipe.trace")
    names = [str(path.relative_to(folder)) for path in find_traces(folder)]
    assert names == ["b.trace", "below/deeper/a.trace.jsonl", "inside.trace"]


def test_a_folder_of_too_many_traces_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"{number}.trace").write_bytes(b"x")
    monkeypatch.setattr(reader, "MAX_TRACES", 3)
    assert len(find_traces(tmp_path)) == 3
    monkeypatch.setattr(reader, "MAX_TRACES", 2)
    with pytest.raises(TraceError, match="more than 2 traces"):
        find_traces(tmp_path)


def test_folders_that_lie_very_deep_are_listed(tmp_path: Path) -> None:
    depth, top = 1_500, tmp_path / "top"
    top.mkdir()
    here = Path.cwd()
    try:
        os.chdir(top)
        for _ in range(depth):
            Path("d").mkdir()
            os.chdir("d")
        Path("x.trace").write_bytes(b"x")
        os.chdir(here)
        deep = top.joinpath(*["d"] * depth, "x.trace")
        assert find_traces(top) == [deep]
        assert [place.path for place in Folder(top).scan()] == [deep]
    finally:
        os.chdir(here)
        # pytest's own clearing away calls itself for each level.
        subprocess.run(["rm", "-r", str(top)], check=True)


def test_an_export_whose_first_event_does_not_say_who_plays_is_read_no_further(tmp_path: Path) -> None:
    core = Core.create(MARKET, load_scenario("teaching", "pie"), 1).manifest
    path = tmp_path / "a.trace.jsonl"
    # Read further, the last line would be refused for what it is.
    lines = [Manifest(core.model_dump_json().encode(), {}).to_json(), _EMPTY_EVENT, _EMPTY_EVENT, b"no event"]
    path.write_bytes(b"\n".join(lines))
    with open_trace(path) as trace, pytest.raises(TraceError, match="does not say who plays"):
        trace.seating()


@pytest.mark.parametrize("head", ["[1e308,'00']", "[80]", "{'80':1,'00':2}", "['80','00']", "[1e3,'00']", "[[1],'00']"])
def test_a_closed_head_in_an_export_is_a_number_and_a_hash(tmp_path: Path, head: str) -> None:
    path = tmp_path / "a.trace.jsonl"
    line = f'{{"closed_head":{head}}}'.replace("'", '"')
    path.write_bytes(b'{"about":{},"core":{}}\n' + line.encode())
    with open_trace(path) as trace, pytest.raises(TraceError, match="line 2 is not a closed head"):
        trace.closed_head()


SAYS = {
    "a_bomb_of_a_message": "message 1 of a model unpacks to more than 2,097,152 bytes",
    "a_bomb_of_an_answer": "answer 1 of a model unpacks to more than 2,097,152 bytes",
    "messages_that_add_up": "unpacks to more than 134,217,728 bytes",
    "lists_without_end": "hold more than 10,000,000 messages",
    "requests_without_end": "more than 50,000 requests to models",
    "messages_without_end": "more than 200,000 messages to models",
    "a_message_that_is_missing": "message 7 to a model is missing",
    "more_taken_over_than_there_was": "request 1 to a model is damaged",
    "lists_in_lists_in_a_message": "message 1 of a model is damaged",
    "other_types": "request 1 to a model is damaged",
}


@pytest.mark.parametrize("name", CASES_OF_PROMPTS)
def test_what_no_writer_writes_is_refused_in_one_sentence(name: str) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        CASES_OF_PROMPTS[name](database)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        calls = read_prompts(sqlite_rows(database, "prompt_parts"), sqlite_rows(database, "prompt_calls"), "S1")
        if name not in SAYS:
            assert len([call.messages for call in calls]) == 1
            return
        # Each message is looked at where it is new, as a page does.
        looks = (call.part(number) for call in calls for number in call.numbers[call.same :])
        with pytest.raises(TraceError) as refused:
            deque(looks, maxlen=0)
        assert SAYS[name] in str(refused.value)
        # Kilobytes. A bomb that was opened would take a gigabyte.
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_rows_give_back_what_was_written_whatever_the_requests_share() -> None:
    def exchange(*texts: str, **fields: Any) -> Exchange:
        return Exchange({"model": "m", **fields, "messages": [{"role": "user", "content": text} for text in texts]}, {})

    told = [
        ("B1", exchange("a", "b")),
        ("B2", exchange("b")),
        ("B1", exchange("a", "c", tools=[{"type": "function"}])),
        ("B1", exchange("a", "c", "a", tools=[])),
        ("B2", exchange("b", stop=None)),
    ]
    ledger = Ledger()
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for seat, asked in told:
            rows = ledger.rows(seat, [asked])
            database.executemany("INSERT INTO prompt_parts VALUES (?, ?, ?)", rows.parts)
            columns = "seat, call, same, parts, tools, params, answer"
            database.executemany(f"INSERT INTO prompt_calls ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows.calls)
            ledger.wrote(seat, rows)
        for seat in ("B1", "B2", None):
            calls = read_prompts(sqlite_rows(database, "prompt_parts"), sqlite_rows(database, "prompt_calls"), seat)
            found = [call.request for call in calls]
            wanted = [asked.request for owner, asked in told if seat in (None, owner)]
            assert found == wanted
            assert [list(request) for request in found] == [list(request) for request in wanted]
        # Fields that are as before are not written again.
        assert [len(params) for (params,) in database.execute("SELECT params FROM prompt_calls")][3:] == [
            0,
            len(b'{"model":"m","stop":null,"messages":null}'),
        ]


def test_requests_and_notes_are_paired_by_id_and_order() -> None:
    def call(named: str) -> PromptCall:
        return PromptCall("B1", named, (), 0, None, {}, {}, lambda number: number)

    def pairs(calls: str, notes: str) -> list[tuple[str | None, int | None]]:
        return [(prompt and prompt.call, place) for prompt, place in paired(map(call, calls), list(notes))]

    assert pairs("abc", "abc") == [("a", 0), ("b", 1), ("c", 2)]
    # An id may come twice, and either side may miss some.
    assert pairs("aba", "aba") == [("a", 0), ("b", 1), ("a", 2)]
    assert pairs("c", "abcd") == [(None, 0), (None, 1), ("c", 2), (None, 3)]
    assert pairs("axb", "ab") == [("a", 0), ("x", None), ("b", 1)]
    # In another order no note is shown twice.
    assert pairs("ba", "ab") == [(None, 0), ("b", 1), ("a", None)]
