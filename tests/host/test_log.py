"""The event log on its own: atomic batches, the chain, blobs, keys, the lease; and the writer in front of it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.host.conftest import beside_its_events, rows_from
from tests.waiting import LONG

from tradefair.contract import TraceError
from tradefair.contract.chain import canonical, next_hash
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.host.episode.log import Row, Side, SqliteLog
from tradefair.host.episode.pace import Pace
from tradefair.host.episode.writer import Writer
from tradefair.tracestore import Manifest, open_trace, sealed

MANIFEST = Manifest(canonical({"core": 1}), {"episode": "e"})


IN_THREAD = "in a thread"
ON_LOOP = "on the loop"


@pytest.fixture
async def log(tmp_path: Path) -> AsyncGenerator[SqliteLog]:
    made = await SqliteLog.create(tmp_path / "log.trace", MANIFEST, ())
    yield made
    await made.close()


@pytest.mark.parametrize("count", [2, 5_000])  # the larger one takes more than one statement
async def test_a_batch_is_written_whole_or_not_at_all(log: SqliteLog, count: int) -> None:
    await log.append(rows_from(1, count))
    with pytest.raises(StorageUnavailable):
        await log.append([*rows_from(count + 1, count), *rows_from(1, 1)])
    assert log.head.seq == len(await log.bodies()) == count
    await log.append(rows_from(count + 1, 1))
    assert log.head.seq == count + 1


async def test_side_columns_blobs_and_keys_are_kept_beside_the_event(log: SqliteLog, tmp_path: Path) -> None:
    side = Side("http", "inspector 2", "17", "00-abc", "person")
    first = await beside_its_events(log, side)
    with open_trace(tmp_path / "log.trace") as trace:
        row = next(iter(trace.side()))
        assert (row.seat, row.call_key, row.at_ms, row.latency_us) == ("P1", "key", 1_000, 42)
        assert (row.transport, row.client, row.request_id, row.traceparent, row.by) == side
        assert list(trace.blobs()) == [first.blob]


async def test_readers_see_committed_events_while_the_writer_goes_on(log: SqliteLog, tmp_path: Path) -> None:
    await log.append(rows_from(1, 2))
    with open_trace(tmp_path / "log.trace") as trace:
        assert [stored.seq for stored in trace.events()] == [1, 2]
        await log.append(rows_from(3, 1))
        assert [stored.seq for stored in trace.events(after=2)] == [3]


async def test_opening_goes_on_where_the_log_ended(log: SqliteLog, tmp_path: Path) -> None:
    path = tmp_path / "log.trace"
    await log.append(rows_from(1, 2))
    with pytest.raises(TraceError, match="open for writing"):
        await SqliteLog.open(path)
    with pytest.raises(TraceError, match="exists already"):
        await SqliteLog.create(path, MANIFEST, ())
    head = log.head
    await log.close()
    assert [item.name for item in tmp_path.iterdir()] == ["log.trace"]
    again = await SqliteLog.open(path)
    assert (again.head, again.manifest) == (head, MANIFEST)
    await again.close()


async def test_without_its_lock_file_a_log_takes_its_lease_again(log: SqliteLog, tmp_path: Path) -> None:
    (tmp_path / "log.trace.lock").unlink()
    assert (await log.append(rows_from(1, 1))).seq == 1
    with pytest.raises(TraceError, match="open for writing"):
        await SqliteLog.open(tmp_path / "log.trace")


async def test_two_writers_never_write_at_once_though_the_lock_file_is_removed(log: SqliteLog, tmp_path: Path) -> None:
    await log.append(rows_from(1, 1))
    (tmp_path / "log.trace.lock").unlink()
    other = await SqliteLog.open(tmp_path / "log.trace")
    with pytest.raises(StorageUnavailable, match="open for writing"):
        await log.append(rows_from(2, 1))
    head = await other.append(rows_from(2, 1))
    await other.close()
    with pytest.raises(StorageUnavailable, match="another process wrote"):
        await log.append(rows_from(2, 1))
    assert log.head == head
    last = await log.append(rows_from(3, 1))
    assert last.hash == next_hash(head.hash, b'{"seq":3}')


async def test_who_leaves_removes_no_lock_file_but_his_own(log: SqliteLog, tmp_path: Path) -> None:
    (tmp_path / "log.trace.lock").unlink()
    other = await SqliteLog.open(tmp_path / "log.trace")
    await log.close()
    with pytest.raises(TraceError, match="open for writing"):
        await SqliteLog.open(tmp_path / "log.trace")
    await other.close()


async def test_the_seal_covers_what_about_says(log: SqliteLog, tmp_path: Path) -> None:
    assert not log.manifest.sealed
    await log.seal({**log.manifest.about, "end_reason": "terminated:x"})
    with open_trace(tmp_path / "log.trace") as trace:
        assert trace.manifest.seal_holds
        assert trace.manifest.about["end_reason"] == "terminated:x"
        assert not trace.manifest._replace(about={**trace.manifest.about, "end_reason": "y"}).seal_holds


async def test_a_log_that_is_sealed_again_covers_later_notes_and_drops_what_signed_the_earlier_seal(
    log: SqliteLog, tmp_path: Path
) -> None:
    await log.append(rows_from(1, 3))
    await log.note("P1", {"kind": "plan"})
    await log.seal(log.manifest.about)
    with closing(sqlite3.connect(tmp_path / "log.trace")) as database, database:
        database.execute("INSERT INTO meta VALUES ('signature', '{}')")
    await log.note("P1", {"kind": "seat_report"})
    first = log.manifest.about["beside"]
    await log.close()
    with open_trace(tmp_path / "log.trace") as trace:
        about, signature = trace.manifest.about, trace.signature()
        assert sealed(about, trace.side_rows) == about
    assert [beside["agent_events"][0] for beside in (first, about["beside"])] == [1, 2]
    assert first["calls"] == about["beside"]["calls"]
    assert signature is None


async def test_a_folder_that_does_not_exist_is_a_storage_failure(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="No such file"):
        await SqliteLog.create(tmp_path / "missing" / "log.trace", MANIFEST, ())


# --- where a commit is made -------------------------------------------------------------------------------------------


def _watched(log: Any) -> list[tuple[str, str]]:
    """Statements of a log as they come, and where each is carried out."""
    loop, seen = threading.get_ident(), list[tuple[str, str]]()

    def note(statement: str) -> None:
        # A statement that has a trigger is named once more for that.
        if not seen or seen[-1][0] != statement:
            seen.append((statement, ON_LOOP if threading.get_ident() == loop else IN_THREAD))

    log._db.set_trace_callback(note)
    return seen


async def _committed(log: Any, first: int, count: int) -> None:
    """So many commits of one event each, made as the writer makes them."""
    for seq in range(first, first + count):
        if not log.append_now(rows_from(seq, 1)):
            await log.append(rows_from(seq, 1))


async def test_small_commits_are_made_on_the_loop_behind_a_first_one_that_is_not(log: Any) -> None:
    seen = _watched(log)
    await _committed(log, 1, 3)
    assert [where for statement, where in seen if "INSERT" in statement] == [IN_THREAD, ON_LOOP, ON_LOOP]
    assert log.head.seq == len(await log.bodies()) == 3
    assert not log.append_now(rows_from(4, 65))
    assert not log.append_now([Row(Record(4, b"x" * 65_537))])
    assert log.append_now(rows_from(4, 64))
    assert log.head.seq == 67


async def test_a_batch_that_fails_on_the_loop_leaves_the_log_as_it_was(log: Any) -> None:
    await _committed(log, 1, 2)
    with pytest.raises(StorageUnavailable, match="UNIQUE"):
        log.append_now([*rows_from(3, 1), *rows_from(2, 1)])
    assert (log.head.seq, len(await log.bodies())) == (2, 2)
    assert log.append_now(rows_from(3, 1))


async def test_no_checkpoint_is_made_on_the_loop_nor_the_commit_that_begins_the_file_again(
    log: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tradefair.host.episode.log._CHECKPOINT_BYTES", 100_000)
    assert log._db.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
    seen = _watched(log)
    await _committed(log, 1, 60)
    checkpoints = [index for index, (statement, _) in enumerate(seen) if "wal_checkpoint" in statement]
    assert len(checkpoints) > 3
    for index in checkpoints:
        assert [where for _, where in seen[index : index + 2]] == [IN_THREAD, IN_THREAD]
        assert seen[index + 1][0].startswith("INSERT")
    assert sum(where == IN_THREAD for _, where in seen) == 2 * len(checkpoints)
    # The log is begun again behind each: a third of it is larger than all that it holds now.
    assert Path(f"{tmp_path}/log.trace-wal").stat().st_size < 60 * 3 * 4_096 / 3


async def test_a_log_that_survives_the_loss_of_power_commits_in_its_thread(tmp_path: Path) -> None:
    made = await SqliteLog.create(tmp_path / "full.trace", MANIFEST, (), synchronous="FULL")
    await made.close()
    log: Any = await SqliteLog.open(tmp_path / "full.trace", synchronous="FULL")
    assert log._db.execute("PRAGMA synchronous").fetchone() == (2,)
    seen = _watched(log)
    await _committed(log, 1, 5)
    assert {where for statement, where in seen if statement.startswith("INSERT")} == {IN_THREAD}
    await log.close()


async def test_nothing_is_committed_on_the_loop_while_a_thread_uses_the_connection(log: Any) -> None:
    await _committed(log, 1, 1)
    begun, let = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        let.wait(LONG)

    working = asyncio.create_task(log._in_thread(work))
    await asyncio.to_thread(begun.wait, LONG)
    # It would land in that thread's transaction, and be taken back with it.
    assert not log.append_now(rows_from(2, 1))
    let.set()
    await working
    assert log.append_now(rows_from(2, 1))


async def test_without_its_lock_file_a_log_commits_nothing_on_the_loop(log: Any, tmp_path: Path) -> None:
    await _committed(log, 1, 1)
    (tmp_path / "log.trace.lock").unlink()
    assert not log.append_now(rows_from(2, 1))
    await _committed(log, 2, 1)
    assert log.append_now(rows_from(3, 1))


async def test_a_slow_disk_is_left_to_the_thread_for_a_minute(log: Any) -> None:
    await _committed(log, 1, 1)
    took, now = 0.004, 0.0

    def clock() -> float:
        nonlocal now
        now += took
        return now

    log._pace = Pace(clock)
    seen = _watched(log)
    await _committed(log, 2, 10)
    assert (log.slow, {where for _, where in seen}) == (False, {ON_LOOP})
    took = 0.006
    await _committed(log, 12, 2)
    assert not log.slow
    await _committed(log, 14, 1)
    assert (log.slow, seen[-1][1]) == (True, ON_LOOP)
    took = 0.0
    await _committed(log, 15, 3)
    assert {where for _, where in seen[-3:]} == {IN_THREAD}
    now += 59
    assert log.slow
    now += 1
    await _committed(log, 18, 1)
    assert (log.slow, seen[-1][1]) == (False, ON_LOOP)
    assert log.head.seq == len(await log.bodies()) == 18


def test_commits_that_lost_their_processor_make_no_disk_slow() -> None:
    now = 0.0

    def take(seconds: float) -> None:
        nonlocal now
        now += seconds

    pace = Pace(lambda: now)
    for seconds in (0.5, 0.5, 0.001) * 20:
        pace.timed(take, seconds)
    assert not pace.slow
    for seconds in (0.006, 0.006, 0.006):
        pace.timed(take, seconds)
    assert pace.slow


async def test_the_loop_does_not_wait_for_a_lock_and_the_thread_does(log: Any, tmp_path: Path) -> None:
    await _committed(log, 1, 1)
    with closing(sqlite3.connect(tmp_path / "log.trace", isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        assert log._db.execute("PRAGMA busy_timeout").fetchone() == (0,)
        assert not log.append_now(rows_from(2, 1))
        waiting = asyncio.create_task(log.append(rows_from(2, 1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        # Nothing else uses the connection meanwhile, and a caller that goes away changes nothing of that.
        noting = asyncio.create_task(log.note("P1", {"kind": "plan"}))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not log.append_now(rows_from(2, 1))
        assert not noting.done()
        stranger.execute("ROLLBACK")
    await asyncio.wait_for(noting, LONG)
    assert len(await log.bodies()) == log.head.seq == 2


async def test_a_late_note_is_sealed_although_its_caller_has_gone_away(log: Any, tmp_path: Path) -> None:
    await log.append(rows_from(1, 1))
    await log.seal(log.manifest.about)
    with closing(sqlite3.connect(tmp_path / "log.trace", isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        noting = asyncio.create_task(log.note("P1", {"kind": "plan"}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        noting.cancel()
        stranger.execute("ROLLBACK")
    await log.close()
    with open_trace(tmp_path / "log.trace") as trace:
        assert trace.manifest.about["beside"]["agent_events"][0] == len(list(trace.agent_events())) == 1


# --- the writer in front of it ----------------------------------------------------------------------------------------


class _Desk:
    """A writer over a log, and what it reported."""

    def __init__(self, log: SqliteLog) -> None:
        self.committed: list[list[int]] = []
        self.failures = 0
        self.heard = asyncio.Event()
        self.writer = Writer(log, self._on_commit, self._on_failure)

    def _on_commit(self, rows: Sequence[Row]) -> None:
        self.committed.append([row.record.seq for row in rows])
        self.heard.set()

    def _on_failure(self) -> None:
        self.failures += 1


async def test_the_writer_commits_what_is_queued_together(log: SqliteLog, way: str) -> None:
    desk = _Desk(log)
    assert desk.writer.submit(rows_from(1, 1), urgent=False) is None
    commits = [desk.writer.submit(rows_from(seq, 1), urgent=True) for seq in (2, 3)]
    await asyncio.wait_for(asyncio.gather(*(commit.wait() for commit in commits if commit)), LONG)
    assert desk.committed == [[1, 2, 3]]
    assert desk.writer.settled
    await desk.writer.close()


async def test_the_writer_commits_reads_after_a_while_when_nothing_urgent_comes(log: SqliteLog, way: str) -> None:
    desk = _Desk(log)
    desk.writer.submit(rows_from(1, 1), urgent=False)
    assert not desk.writer.settled
    await asyncio.wait_for(desk.heard.wait(), LONG)
    assert log.head.seq == 1
    await desk.writer.close()


async def test_closing_the_writer_commits_the_rest(log: SqliteLog, way: str) -> None:
    desk = _Desk(log)
    desk.writer.submit(rows_from(1, 2), urgent=False)
    await desk.writer.close()
    assert desk.committed == [[1, 2]]


async def test_a_failed_commit_fails_everything_that_was_queued_on_top_of_it(log: SqliteLog, way: str) -> None:
    desk = _Desk(log)
    await log.append(rows_from(1, 1))
    bad = desk.writer.submit(rows_from(1, 1), urgent=True)
    assert bad is not None
    if way == "thread":
        # Until the first is under way: the second is queued on top of it.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    later = desk.writer.submit(rows_from(2, 1), urgent=True)
    assert later is not None
    for commit in (bad, later):
        with pytest.raises(StorageUnavailable):
            await asyncio.wait_for(commit.wait(), LONG)
    await desk.writer.drain()
    assert (desk.failures, desk.committed, log.head.seq) == (1, [], 1)
    good = desk.writer.submit(rows_from(2, 1), urgent=True)
    assert good is not None
    await asyncio.wait_for(good.wait(), LONG)
    assert log.head.seq == 2
    await desk.writer.close()


@pytest.mark.parametrize("fault", [MemoryError(), OverflowError("an int")])
async def test_whatever_stops_a_commit_those_who_wait_are_told(
    log: Any, way: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def stop(*_: object) -> None:
        raise fault

    desk = _Desk(log)
    with monkeypatch.context() as broken:
        broken.setattr(log, "_insert", stop)
        commit = desk.writer.submit(rows_from(1, 1), urgent=True)
        assert commit is not None
        with pytest.raises(StorageUnavailable, match=r"MemoryError|an int"):
            await asyncio.wait_for(commit.wait(), LONG)
    assert desk.failures == 1
    desk.writer.submit(rows_from(1, 1), urgent=True)
    await asyncio.wait_for(desk.writer.close(), LONG)
    assert desk.committed == [[1]]


async def test_the_writer_closes_although_its_task_was_cancelled(log: Any, tmp_path: Path) -> None:
    desk = _Desk(log)
    begun, write = threading.Event(), log._write

    def writing(work: Callable[[], None]) -> None:
        begun.set()
        write(work)

    log._write = writing
    with closing(sqlite3.connect(tmp_path / "log.trace", isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        desk.writer.submit(rows_from(1, 1), urgent=True)
        # Its thread has begun; the lock keeps it from ending.
        assert await asyncio.to_thread(begun.wait, LONG)
        (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "tradefair-writer")
        task.cancel()
        await asyncio.wait_for(desk.writer.close(), LONG)
        stranger.execute("ROLLBACK")
    assert desk.failures == 1
    # What its thread has written is known all the same.
    assert len(await log.bodies()) == log.head.seq == 1
