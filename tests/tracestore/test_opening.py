"""What opening a file may cost: files that were made to hurt whoever opens them, and files of killed writers."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.playing import played
from tests.waiting import Loops

from tradefair.catalog import load_scenario
from tradefair.contract import TraceError
from tradefair.contract.chain import seal
from tradefair.contract.kernel.core import Core
from tradefair.teaching import MARKET
from tradefair.tracestore import CutShort, NotATrace, Trace, Written, jsonl_lines, open_trace, trace_copy, write_trace

# Many times what the slowest of these files takes, in loops of CPU time.
LOOPS = 20
GIB = 1 << 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("whole") / "whole.trace", "teaching/pie", "half")


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "x.trace"))


@contextmanager
def cheap() -> Generator[None]:
    watch = Loops()
    yield
    assert watch.taken() < LOOPS


def read(path: Path) -> Trace:
    """Everything that a trace holds, once."""
    with open_trace(path) as trace:
        for part in (trace.events(), trace.side(), trace.notes(), trace.blobs()):
            for _ in part:
                pass
        trace.check_structure()
        return trace


def run(path: Path, script: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        if values:
            database.execute(script, values)
        else:
            database.executescript(script)


_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (f"DROP TABLE meta; CREATE VIEW meta AS {_ENDLESS} SELECT x AS key, x AS value FROM n", "it has a view `meta`"),
        (f"CREATE VIEW more AS {_ENDLESS} SELECT zeroblob(1000000) FROM n", "it has a view `more`"),
        ("CREATE TABLE more (a)", "it has a table `more`"),
        ("CREATE VIRTUAL TABLE more USING fts5(a)", "it has a table `more"),
        ("CREATE INDEX more ON events (at_ms)", "it has an index `more`"),
        ("CREATE TRIGGER more AFTER INSERT ON meta BEGIN SELECT 1; END", "it has a trigger `more`"),
        ("ALTER TABLE events ADD COLUMN more TEXT", "its table `events` is not that of a trace"),
        ("ALTER TABLE events ADD COLUMN more TEXT AS (hex(body))", "its table `events` is not that of a trace"),
        ("DROP INDEX blobs; CREATE INDEX blobs ON events (blob_digest COLLATE NOCASE)", "its index `blobs`"),
        ("DROP TRIGGER keep_sealed_head", "it lacks the trigger `keep_sealed_head`"),
        ("DROP TABLE events", "it lacks the "),
    ],
)
def test_a_file_with_another_schema_is_no_trace_and_nothing_of_it_runs(path: Path, script: str, sentence: str) -> None:
    run(path, script)
    with cheap(), pytest.raises(NotATrace, match="not a trace: " + sentence):
        open_trace(path)


def test_a_schema_of_a_hundred_thousand_tables_is_not_parsed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA writable_schema = ON")
        rows = ((f"t{n}", f"t{n}", f"CREATE VIEW t{n} AS SELECT {n}") for n in range(100_000))
        database.executemany("INSERT INTO sqlite_master VALUES ('view', ?, ?, 0, ?)", rows)
    with cheap(), pytest.raises(TraceError, match="reading it does not end"):
        open_trace(path)


def test_two_rows_of_the_manifest_under_one_name_are_damage(path: Path) -> None:
    run(path, "INSERT INTO meta VALUES ('abouu', ?)", b'{"other":1}')
    path.write_bytes(path.read_bytes().replace(b"abouu", b"about"))
    with pytest.raises(TraceError, match="two rows have the key `about`"):
        open_trace(path)


def test_a_row_of_the_manifest_that_no_trace_has_is_damage(path: Path) -> None:
    run(path, "INSERT INTO meta VALUES ('more', ?)", b"1")
    with pytest.raises(TraceError, match="a row `more`"):
        open_trace(path)


def test_rows_that_go_round_in_a_circle_of_pages_are_damage(path: Path) -> None:
    # As many bytes of both stand in the row itself: what follows is in whole pages of 4,092 bytes.
    long, longer = 20_000, 20_000 + 90 * 4_092
    for _ in range(20):
        run(path, "INSERT INTO agent_events (seat, body) VALUES ('P1', ?)", bytes(long))
    raw, page = bytearray(path.read_bytes()), 4_096
    # The sizes of a body stand in its row as variable integers of three bytes; those of the longer one have as many.
    for was, now in ((2 * long + 12, 2 * longer + 12), (long + 8, longer + 8)):
        assert raw.count(_varint(was)) >= 20
        raw = raw.replace(_varint(was), _varint(now))
    # Every last page of a body leads back to the page before it.
    for number in range(1, len(raw) // page + 1):
        at = (number - 1) * page
        following = int.from_bytes(raw[at : at + 4], "big")
        if 1 < following <= len(raw) // page and not any(raw[at + 4 : at + page]):
            after = (following - 1) * page
            if not any(raw[after : after + page]):
                raw[after : after + 4] = number.to_bytes(4, "big")
    path.write_bytes(raw)
    with cheap(), open_trace(path) as trace, pytest.raises(TraceError, match="they share pages"):
        list(trace.notes())


def _varint(value: int) -> bytes:
    return bytes([0x80 | value >> 14, 0x80 | value >> 7 & 0x7F, value & 0x7F])


def test_events_that_are_missing_and_results_that_have_changed_end_the_reading(path: Path) -> None:
    run(path, "UPDATE events SET blob = ?, blob_digest = 'a' WHERE seq = 2", b"{}")
    with open_trace(path) as trace:
        assert trace.blob("b") is None
        with pytest.raises(TraceError, match="the stored result a has changed"):
            trace.blob("a")
    run(path, "DELETE FROM events WHERE seq = 3")
    with open_trace(path) as trace, pytest.raises(TraceError, match="event 3 is missing: event 4"):
        list(trace.events())


def test_an_index_that_names_other_rows_is_found_before_it_is_used(path: Path) -> None:
    run(path, "UPDATE events SET blob = ?, blob_digest = 'aaaa' WHERE seq = 2", b"{}")
    raw = path.read_bytes()
    assert raw.count(b"aaaa") == 2
    at = raw.index(b"aaaa", raw.index(b"aaaa") + 1)
    path.write_bytes(raw[:at] + b"aaab" + raw[at + 4 :])
    with open_trace(path) as trace, pytest.raises(TraceError, match="its structure is damaged"):
        trace.check_structure()


# --- sizes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "size", "sentence"),
    [
        ("UPDATE meta SET value = zeroblob(?) WHERE key = 'core'", 8 << 20, "the manifest's core has"),
        ("UPDATE meta SET value = zeroblob(?) WHERE key = 'about'", 4 << 20, "the manifest's about has"),
        ("UPDATE events SET body = zeroblob(?) WHERE seq = 3", 8 << 20, "event 3 has"),
        ("UPDATE events SET blob_digest = 'a', blob = zeroblob(?) WHERE seq = 3", 1 << 20, "a stored result has"),
        ("INSERT INTO agent_events (seat, body) VALUES ('P1', zeroblob(?))", 4 << 20, "note 1 has"),
        ("UPDATE events SET client = zeroblob(?) WHERE seq = 3", 16 << 20, "too big"),
    ],
)
def test_what_is_larger_than_a_trace_holds_is_not_decoded(path: Path, script: str, size: int, sentence: str) -> None:
    run(path, script, size + 1)
    with cheap(), pytest.raises(TraceError, match=sentence):
        read(path)


def _instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """What stands in the place of the file."""

    def made(path: Path) -> None:
        path.unlink()
        make(path)

    return made


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


NO_TRACES: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: os.truncate(path, 5 * GIB), "5,368,709,120 bytes; at most 4,294,967,296 are read"),
    (_instead(os.mkfifo), "a FIFO, not a file"),
    (_instead(lambda path: path.symlink_to("/dev/zero")), "a device, not a file"),
    (_instead(os.mkdir), "a folder, not a file"),
    (_instead(_socket), "cannot be read"),
    (_instead(lambda path: path.symlink_to(path)), "cannot be read"),
    (lambda path: path.write_bytes(b"\x28\xb5\x2f\xfd1234"), "unpack it first: zstd -d x.trace"),
    (lambda path: path.write_bytes(b""), "neither SQLite nor JSONL"),
    (lambda path: os.mkfifo(f"{path}-journal"), "its -journal file: a FIFO"),
    (lambda path: os.symlink("/dev/zero", f"{path}-wal"), "its -wal file: a link"),
    (lambda path: os.symlink("/etc/hosts", f"{path}-shm"), "its -shm file: a link"),
]


@pytest.mark.network
@pytest.mark.parametrize(("make", "sentence"), NO_TRACES)
def test_what_is_no_file_of_a_bounded_size_is_no_trace(
    path: Path, make: Callable[[Path], object], sentence: str
) -> None:
    make(path)
    with cheap(), pytest.raises(NotATrace, match=sentence):
        open_trace(path)


# --- files that a writer has open, or had ---------------------------------------------------------------------------


@contextmanager
def writing(path: Path) -> Generator[sqlite3.Connection]:
    """Somebody who has the trace open for writing, its seal taken off, and has noted something in its log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        ((about,),) = writer.execute("SELECT value FROM meta WHERE key = 'about'")
        kept = {key: value for key, value in orjson.loads(about).items() if key != "seal"}
        writer.execute("UPDATE meta SET value = ? WHERE key = 'about'", (orjson.dumps(kept),))
        writer.execute("INSERT INTO agent_events (seat, body) VALUES ('P1', '{}')")
        yield writer


def state(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def test_a_trace_that_is_written_to_is_followed(path: Path) -> None:
    with writing(path) as writer, open_trace(path) as trace:
        assert (len(list(trace.notes())), trace.manifest.sealed, trace.incomplete) == (1, False, None)
        writer.execute("INSERT INTO agent_events (seat, body) VALUES ('P1', '{}')")
        assert len(list(trace.notes())) == 2
        trace.freeze()
        writer.execute("INSERT INTO agent_events (seat, body) VALUES ('P1', '{}')")
        assert len(list(trace.notes())) == 2


@pytest.mark.parametrize("suffixes", [("", "-wal", "-shm"), ("", "-wal")])
def test_the_log_of_a_killed_writer_is_read_and_left_as_it_is(
    path: Path, tmp_path: Path, suffixes: tuple[str, ...]
) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()
    with writing(path):
        for suffix in suffixes:
            shutil.copy(f"{path}{suffix}", killed / f"x.trace{suffix}")
    before = state(killed)
    assert read(killed / "x.trace").incomplete is None
    with open_trace(killed / "x.trace") as trace:
        assert len(list(trace.notes())) == 1
    assert state(killed) == before


def test_a_copy_without_its_log_says_so_and_gets_none(path: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    with writing(path) as writer:
        writer.execute("PRAGMA wal_checkpoint")
        shutil.copy(path, alone / "x.trace")
    before = state(alone)
    with open_trace(alone / "x.trace") as trace:
        assert "without its -wal file" in str(trace.incomplete)
    assert state(alone) == before


def test_a_copy_of_a_trace_whose_tables_are_still_in_its_log_has_lost_its_end(tmp_path: Path) -> None:
    begun = tmp_path / "begun.trace"
    with closing(sqlite3.connect(begun)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE meta (a)")
        shutil.copy(begun, tmp_path / "x.trace")
    with pytest.raises(CutShort, match="copied while it was written"):
        open_trace(tmp_path / "x.trace")


def test_the_exported_copy_of_a_running_episode_lacks_nothing(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.trace"
    with writing(path):
        copy.write_bytes(trace_copy(path))
    with open_trace(copy) as trace:
        assert (trace.incomplete, len(list(trace.notes()))) == (None, 1)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy.trace", "x.trace"]


def _cut_off(path: Path, folder: Path) -> Path:
    """A copy as a writer leaves it that is killed while it changes the file, its rollback journal beside it."""
    folder.mkdir()
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
        writer.execute("UPDATE events SET body = zeroblob(2000)")
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", folder / f"x.trace{suffix}")
    return folder / "x.trace"


def test_what_a_killed_writer_left_half_written_is_taken_back_in_a_copy(path: Path, tmp_path: Path) -> None:
    cut = _cut_off(path, tmp_path / "cut")
    before = state(cut.parent)
    with open_trace(path) as trace, open_trace(cut) as back:
        assert list(back.events()) == list(trace.events())
    assert state(cut.parent) == before


def test_a_journal_that_names_another_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    cut, named = _cut_off(path, tmp_path / "cut"), tmp_path / "cut" / "kept"
    named.write_bytes(b"")
    name = str(named).encode()
    with Path(f"{cut}-journal").open("ab") as journal:
        journal.write(name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big"))
        journal.write(bytes.fromhex("d9d505f920a163d7"))
    before = state(cut.parent)
    with pytest.raises(NotATrace, match="its journal names another file"):
        open_trace(cut)
    assert state(cut.parent) == before


def test_a_sealed_trace_of_the_first_schema_is_read(path: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "first_name.trace"
    with open_trace(old) as trace:
        assert trace.schema == 1
        assert {row.by for row in trace.side()} == {None}
        assert trace.manifest.about["seal"] == seal(trace.manifest.about)
    with open_trace(path) as trace:
        assert trace.schema == 2


@pytest.mark.parametrize(
    ("seats", "sentence"),
    [
        ([{"id": f"B{number}", "role": "buyer"} for number in range(10_001)], "at most 10000 items"),
        ([{"id": "B" * 41, "role": "buyer"}], "at most 40 characters"),
    ],
)
def test_a_core_names_a_bounded_number_of_seats(path: Path, seats: list[object], sentence: str) -> None:
    with open_trace(path) as trace:
        core = orjson.loads(trace.manifest.core_bytes)
    run(path, "UPDATE meta SET value = ? WHERE key = 'core'", orjson.dumps({**core, "seats": seats}))
    with cheap(), open_trace(path) as trace, pytest.raises(TraceError, match=sentence):
        _ = trace.manifest.core


def test_a_key_that_is_there_twice_makes_the_manifest_damaged(path: Path, tmp_path: Path) -> None:
    with open_trace(path) as trace:
        about, export = orjson.dumps(trace.manifest.about), list(jsonl_lines(trace))
    twice = b'{"end_reason":"another",' + about[1:]
    run(path, "UPDATE meta SET value = ? WHERE key = 'about'", twice)
    with pytest.raises(TraceError, match="about is damaged"):
        open_trace(path)
    copy = tmp_path / "x.trace.jsonl"
    copy.write_bytes(b"\n".join([export[0].replace(about, twice), *export[1:]]))
    with pytest.raises(TraceError, match="not a manifest"):
        open_trace(copy)


def test_a_row_beside_the_chain_is_bounded_wherever_it_is_read(path: Path) -> None:
    run(path, "INSERT INTO agent_events (seat, body) VALUES ('P1', zeroblob(?))", (4 << 20) + 1)
    with open_trace(path) as trace, pytest.raises(TraceError, match="a row of agent_events has 4,194,305 bytes"):
        list(trace.side_rows("agent_events") or ())


def test_a_name_in_the_schema_that_is_no_text_is_damage(path: Path) -> None:
    raw = path.read_bytes().replace(b"CREATE TABLE meta", b"CREATE TABLE m\xecta")
    path.write_bytes(raw.replace(b"tablemeta", b"tablem\xecta"))
    with pytest.raises(TraceError):
        open_trace(path)


@pytest.mark.parametrize(
    "said", [{"compared": ["S9"]}, {"players": {}}, {"players": {"P1": {"label": "x"}, "S9": {"label": "x"}}}]
)
def test_a_seating_that_names_other_seats_does_not_say_who_plays(said: dict[str, Any], tmp_path: Path) -> None:
    core = Core.create(MARKET, load_scenario("teaching", "pie"), 1)
    first = core.start().records[0]
    event = orjson.loads(first.body)
    event["seating"] |= said
    path = tmp_path / "a.trace"
    write_trace(path, core.manifest, {}, [Written(first._replace(body=orjson.dumps(event)))])
    with open_trace(path) as trace, pytest.raises(TraceError, match="does not say who plays"):
        trace.seating()
