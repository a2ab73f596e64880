"""What opening a file may cost: files that were made to hurt whoever opens them, and files of killed writers.

Also here:
- Who writes a trace, asked without disturbing whoever does.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.playing import played
from tests.waiting import LONG, Loops

from tradefair.catalog import load_scenario
from tradefair.contract import TraceError
from tradefair.contract.chain import seal
from tradefair.contract.kernel.core import Core
from tradefair.teaching import MARKET
from tradefair.tracestore import CutShort, Trace, Written, locks, open_trace, trace_copy, write_trace
from tradefair.tracestore.locks import Lease, held

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


def test_a_schema_of_a_hundred_thousand_tables_is_not_parsed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA writable_schema = ON")
        rows = ((f"t{n}", f"t{n}", f"CREATE VIEW t{n} AS SELECT {n}") for n in range(100_000))
        database.executemany("INSERT INTO sqlite_master VALUES ('view', ?, ?, 0, ?)", rows)
    with cheap(), pytest.raises(TraceError, match="reading it does not end"):
        open_trace(path)


def test_events_that_are_missing_and_results_that_have_changed_end_the_reading(path: Path) -> None:
    run(path, "UPDATE events SET blob = ?, blob_digest = 'a' WHERE seq = 2", b"{}")
    with open_trace(path) as trace:
        assert trace.blob("b") is None
        with pytest.raises(TraceError, match="the stored result a has changed"):
            trace.blob("a")
    run(path, "DELETE FROM events WHERE seq = 3")
    for read in (lambda: list(trace.events()), lambda: trace.seated(after=0)):
        with open_trace(path) as trace, pytest.raises(TraceError, match="event 3 is missing: event 4"):
            read()


# --- sizes ----------------------------------------------------------------------------------------------------------


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


def test_a_sealed_trace_of_the_first_schema_is_read(path: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "first_name.trace"
    with open_trace(old) as trace:
        assert trace.schema == 1
        assert {row.by for row in trace.side()} == {None}
        assert trace.manifest.about["seal"] == seal(trace.manifest.about)
    with open_trace(path) as trace:
        assert trace.schema == 2


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


_KEEP = "import sys, pathlib; from tradefair.tracestore.locks import Lease; l = Lease(pathlib.Path(sys.argv[1])); "


def test_a_lock_says_who_writes_and_dies_with_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    assert held(path) is False
    script = _KEEP + "print('taken', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"taken\n"
        assert held(path) is True
        with pytest.raises(TraceError, match="open for writing"):
            Lease(path)
        writer.kill()
    # The file of a killed writer stays; nobody holds it.
    assert (tmp_path / "x.trace.lock").exists()
    assert held(path) is False
    lease = Lease(path)
    assert held(path) is True
    lease.release()
    assert held(path) is False
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_asked_is_not_known(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.trace.lock")
    (tmp_path / "else").write_text("")
    (tmp_path / "link.trace.lock").symlink_to(tmp_path / "else")
    (tmp_path / "folder.trace.lock").mkdir()
    assert {held(tmp_path / f"{name}.trace") for name in ("pipe", "link", "folder")} == {None}
    assert held(tmp_path / "no\0name.trace") is None


def test_five_hundred_probes_refuse_none_of_two_hundred_writers(tmp_path: Path) -> None:
    path, seen = tmp_path / "x.trace", set[bool | None]()
    begun, over = threading.Event(), threading.Event()

    def probe() -> None:
        for count in range(100_000):
            if count >= 500 and over.is_set():
                return
            seen.add(held(path))
            begun.set()

    asking = threading.Thread(target=probe)
    asking.start()
    assert begun.wait(LONG)
    for _ in range(200):
        Lease(path).release()
    over.set()
    asking.join(LONG)
    assert not asking.is_alive()
    assert seen <= {True, False}


def test_a_writer_waits_until_a_probe_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.trace"
    pauses: list[float] = []
    with (tmp_path / "x.trace.lock").open("w") as asked:
        fcntl.flock(asked, fcntl.LOCK_SH)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            fcntl.flock(asked, fcntl.LOCK_UN)

        monkeypatch.setattr(locks.time, "sleep", pause)
        Lease(path).release()
    assert pauses == [0.004]
