"""Small traces that were written whole: another form of the file, the same trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.evaluation.playing import played

from tradefair.contract.kernel.core import Record
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.log import SqliteLog
from tradefair.tracestore import Written, open_trace, write_trace
from tradefair.tracestore.beside import PROMPTS, SIDE_TABLES
from tradefair.tracestore.fetching import trace_copy
from tradefair.tracestore.source import NotATrace


def everything(path: Path) -> list[object]:
    """What a reader gets of a trace, apart from the name of its file."""
    with open_trace(path) as trace:
        beside = {name: list(trace.side_rows(name) or ()) for name in SIDE_TABLES}
        closed, events = trace.closed_head(), list(trace.events())
        trace.check_structure()
        return [trace.manifest, trace.schema, closed, events, beside, list(trace.notes()), list(trace.blobs())]


def rewritten(path: Path, into: Path, records: Sequence[Record] | None = None) -> Path:
    """The same trace in the compact form, or with other records."""
    with open_trace(path) as trace:
        manifest, stored, side = trace.manifest, list(trace.events()), list(trace.side())
        closing = {1: False}
        for event in trace.decoded():
            closing[event["seq"]] = event["event"] in ("phase_closed", "round_closed", "episode_ended")
    found = records or [Record(event.seq, event.body, None, closing[event.seq]) for event in stored]
    about = {key: value for key, value in manifest.about.items() if key not in ("beside", "seal")}
    write_trace(
        into, manifest.core, about, [Written(r, at_ms=s.at_ms) for r, s in zip(found, side, strict=True)], compact=True
    )
    return into


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return played(tmp_path / "large.trace", "teaching/pie", "half")


@pytest.fixture
def small(large: Path, tmp_path: Path) -> Path:
    return rewritten(large, tmp_path / "small.trace")


def test_a_small_trace_says_what_a_large_one_says_in_a_quarter_of_the_bytes(large: Path, small: Path) -> None:
    assert everything(small) == everything(large)
    assert small.stat().st_size * 4 < large.stat().st_size
    assert verify_file(small).verdict == "reproduced"


def test_a_small_trace_is_copied_like_any_other(small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.trace"
    copy.write_bytes(trace_copy(small, PROMPTS))
    assert everything(copy) == everything(small)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE agent_events (id INTEGER PRIMARY KEY, seat TEXT NOT NULL, body BLOB NOT NULL)",
        "ALTER TABLE events ADD COLUMN blob",
        "ALTER TABLE events DROP COLUMN client",
        "CREATE INDEX more ON events (at_ms)",
        "CREATE TRIGGER more AFTER INSERT ON meta BEGIN SELECT 1; END",
        "DROP TABLE meta",
    ],
)
def test_a_small_trace_has_its_two_tables_and_nothing_else(small: Path, statement: str) -> None:
    with closing(sqlite3.connect(small)) as database:
        database.execute(statement)
    with pytest.raises(NotATrace, match="not a trace"):
        open_trace(small)


def test_a_changed_byte_of_a_small_trace_names_its_event(small: Path) -> None:
    with closing(sqlite3.connect(small)) as database, database:
        database.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '\"ok\"', '\"no\"') AS BLOB) WHERE seq = 3"
        )
    verdict = verify_file(small)
    assert verdict.verdict == "damaged"
    assert "event 3" in verdict.sentence


def test_what_stands_beside_a_small_trace_is_sealed(small: Path) -> None:
    with closing(sqlite3.connect(small)) as database, database:
        database.execute("UPDATE events SET client = 'another' WHERE seq = 2")
    assert "calls" in verify_file(small).sentence


def test_a_trace_with_a_large_result_or_many_events_is_not_small(large: Path, tmp_path: Path) -> None:
    with open_trace(large) as trace:
        count = len(list(trace.events()))
    blob = Record(1, b"{}", ("ab" * 32, b"[]"))
    padded = Record(count, b'{"x":"' + b"x" * 32_768 + b'"}')
    for number, odd in (("blob", blob), ("long", padded)):
        others = [Record(seq, b"{}") for seq in range(1, count + 1) if seq != odd.seq]
        path = rewritten(large, tmp_path / f"{number}.trace", sorted([*others, odd]))
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'agent_events'").fetchone() == (1,)


async def test_whoever_opens_the_log_of_a_small_trace_finds_all_tables(large: Path, small: Path) -> None:
    before = everything(small)
    log = await SqliteLog.open(small)
    assert await log.sizes()
    await log.note("P1", {"kind": "later"})
    await log.close()
    assert everything(small)[:4] == [log.manifest, *before[1:4]]
    with open_trace(small) as trace:
        assert [note["kind"] for note in trace.agent_events()] == ["later"]
        trace.check_structure()
    assert verify_file(small).verdict == "reproduced"
