"""The event log on its own: atomic batches, the chain, blobs, keys, the lease; and the writer in front of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from tests.host.conftest import rows_from

from tradefair.contract import TraceError
from tradefair.contract.chain import canonical, digest, next_hash
from tradefair.contract.core import Record
from tradefair.contract.errors import StorageUnavailable
from tradefair.host.log import Row, Side, SqliteLog
from tradefair.host.writer import Writer
from tradefair.tracestore import Manifest, open_trace, sealed

MANIFEST = Manifest(canonical({"core": 1}), {"episode": "e"})


@pytest.fixture
async def log(tmp_path: Path) -> AsyncGenerator[SqliteLog]:
    made = await SqliteLog.create(tmp_path / "log.trace", MANIFEST, ())
    yield made
    await made.close()


async def test_a_batch_is_written_whole_or_not_at_all(log: SqliteLog) -> None:
    await log.append(rows_from(1, 2))
    with pytest.raises(StorageUnavailable):
        await log.append([*rows_from(3, 2), *rows_from(2, 1)])
    assert log.head.seq == 2
    assert len(await log.bodies()) == 2
    await log.append(rows_from(3, 1))
    assert log.head.seq == 3


async def test_a_batch_larger_than_one_statement_is_atomic_too(log: SqliteLog) -> None:
    await log.append(rows_from(1, 5_000))
    assert len(await log.bodies()) == 5_000
    with pytest.raises(StorageUnavailable):
        await log.append([*rows_from(5_001, 5_000), *rows_from(1, 1)])
    assert len(await log.bodies()) == 5_000
    await log.append(rows_from(5_001, 1))
    assert log.head.seq == 5_001


async def test_side_columns_blobs_and_keys_are_kept_beside_the_event(log: SqliteLog, tmp_path: Path) -> None:
    large = orjson.dumps({"rows": "x" * 3_000})
    record = Record(1, orjson.dumps({"seq": 1, "result": None, "result_ref": digest(large)}), (digest(large), large))
    side = Side("http", "inspector 2", "17", "00-abc", "person")
    await log.append([Row(record, "P1", "key", "request", 1_000, 42, side)])
    assert await log.call_keys() == {("P1", "key"): (1, "request")}
    assert (await log.event(1))["result"] == {"rows": "x" * 3_000}
    closure = Record(2, b"{}", None, closes=True)
    await log.append([Row(closure, "P1"), Row(Record(3, b"{  }"), "P1"), Row(Record(4, b"{ }"))])
    assert await log.sizes() == {"P1": len(record.body) + len(large) + 4, None: 2 + 3}
    with open_trace(tmp_path / "log.trace") as trace:
        row = next(iter(trace.side()))
        assert (row.seat, row.call_key, row.at_ms, row.latency_us) == ("P1", "key", 1_000, 42)
        assert (row.transport, row.client, row.request_id, row.traceparent, row.by) == side
        assert trace.blob(digest(large)) == large


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


async def test_the_writer_commits_what_is_queued_together(log: SqliteLog) -> None:
    desk = _Desk(log)
    assert desk.writer.submit(rows_from(1, 1), urgent=False) is None
    futures = [desk.writer.submit(rows_from(seq, 1), urgent=True) for seq in (2, 3)]
    await asyncio.wait_for(asyncio.gather(*(future for future in futures if future)), 5)
    assert desk.committed == [[1, 2, 3]]
    assert desk.writer.settled
    await desk.writer.close()


async def test_the_writer_commits_reads_after_a_while_when_nothing_urgent_comes(log: SqliteLog) -> None:
    desk = _Desk(log)
    desk.writer.submit(rows_from(1, 1), urgent=False)
    assert not desk.writer.settled
    await asyncio.wait_for(desk.heard.wait(), 5)
    assert log.head.seq == 1
    await desk.writer.close()


async def test_closing_the_writer_commits_the_rest(log: SqliteLog) -> None:
    desk = _Desk(log)
    desk.writer.submit(rows_from(1, 2), urgent=False)
    await desk.writer.close()
    assert desk.committed == [[1, 2]]


async def test_a_failed_commit_fails_everything_that_was_queued_on_top_of_it(log: SqliteLog) -> None:
    desk = _Desk(log)
    await log.append(rows_from(1, 1))
    bad = desk.writer.submit(rows_from(1, 1), urgent=True)
    assert bad is not None
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later = desk.writer.submit(rows_from(2, 1), urgent=True)
    assert later is not None
    for future in (bad, later):
        with pytest.raises(StorageUnavailable):
            await asyncio.wait_for(future, 5)
    await desk.writer.drain()
    assert (desk.failures, desk.committed, log.head.seq) == (1, [], 1)
    good = desk.writer.submit(rows_from(2, 1), urgent=True)
    assert good is not None
    await asyncio.wait_for(good, 5)
    assert log.head.seq == 2
    await desk.writer.close()
