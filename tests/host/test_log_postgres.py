"""Logs in a PostgreSQL store: the promises of a file, with a real server that is killed and started again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.host.conftest import beside_its_events, rows_from
from tests.host.postgres import Server, missing
from tests.waiting import LONG

from tradefair.cli import run
from tradefair.contract import TraceError
from tradefair.contract.chain import canonical
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import Row, Side
from tradefair.host.episode.log_postgres import PostgresLog, PostgresStore
from tradefair.host.seats.scripted import Scripted
from tradefair.teaching import MARKET
from tradefair.tracestore import Exchange, Manifest, StorePlace, fetch_trace, open_trace, sealed, stored_traces
from tradefair.tracestore.store import psycopg_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

# A name with characters that PostgreSQL does not keep.
SIDE = Side("http", "odd\x00\ud800", "17", "00-abc", "person")
MANIFEST = Manifest(canonical({"core": 1}), {"episode": "e"})
_CHILD = Path(__file__).with_name("postgres_child.py")
_names = count(1)


@pytest.fixture
def place(server: Server) -> StorePlace:
    """An episode that is not there yet."""
    return StorePlace(server.dsn, f"episode-{next(_names)}")


@pytest.fixture
async def log(place: StorePlace) -> AsyncGenerator[PostgresLog]:
    made = await PostgresLog.create(place, MANIFEST, ())
    yield made
    await made.close()


async def test_a_batch_of_any_size_is_written_whole_or_not_at_all(log: PostgresLog) -> None:
    await log.append(rows_from(1, 5_000))
    with pytest.raises(StorageUnavailable):
        await log.append([*rows_from(5_001, 5_000), *rows_from(1, 1)])
    assert (log.head.seq, len(await log.bodies())) == (5_000, 5_000)
    assert (await log.append(rows_from(5_001, 1))).seq == 5_001


async def test_side_columns_blobs_keys_and_notes_are_kept_beside_the_event(log: PostgresLog, place: StorePlace) -> None:
    first = await beside_its_events(log, SIDE)
    await log.note("P1", {"kind": "model_call"})
    with open_trace(place.url) as trace:
        row = next(iter(trace.side()))
        assert (row.seat, row.call_key, row.at_ms, row.latency_us) == ("P1", "key", 1_000, 42)
        assert row[5:] == ("http", "odd\ufffd?", "17", "00-abc", "person")
        assert [(name, trace.blob(name)) for name, _ in trace.blobs()] == list(trace.blobs()) == [first.blob]
        assert list(trace.agent_events()) == [{"seat": "P1", "kind": "model_call"}]


async def test_readers_see_what_is_committed_and_a_frozen_one_what_was(log: PostgresLog, place: StorePlace) -> None:
    await log.append(rows_from(1, 2))
    with open_trace(place.url) as trace, open_trace(place.url) as frozen:
        frozen.freeze()
        await log.append(rows_from(3, 1))
        assert [stored.seq for stored in trace.events()] == [1, 2, 3]
        assert [stored.seq for stored in trace.events(after=2)] == [3]
        assert [stored.seq for stored in frozen.events()] == [1, 2]


async def test_a_second_writer_is_refused_and_opening_goes_on_where_the_log_ended(
    log: PostgresLog, place: StorePlace
) -> None:
    await log.append(rows_from(1, 2))
    with pytest.raises(TraceError, match="open for writing in another process"):
        await PostgresLog.open(place)
    with pytest.raises(TraceError, match="open for writing in another process"):
        await PostgresLog.create(place, MANIFEST, ())
    head = log.head
    await log.close()
    with pytest.raises(TraceError, match="exists already"):
        await PostgresLog.create(place, MANIFEST, ())
    again = await PostgresLog.open(place)
    assert (again.head, again.manifest) == (head, MANIFEST)
    await again.close()


async def test_a_log_that_is_closed_can_be_opened_at_once(server: Server) -> None:
    import psycopg

    place = StorePlace(server.dsn, f"e{next(_names)}")
    await (await PostgresLog.create(place, MANIFEST, ())).close()
    # Another session, connected already: the server learns of a session's end a moment late, in about one of 12.
    with psycopg.connect(server.dsn, autocommit=True) as other:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        for _ in range(60):
            log = await PostgresLog.open(place)
            assert other.execute(held).fetchone() == (1,)
            await log.close()
            assert other.execute(held).fetchone() == (0,)


async def test_the_seal_covers_what_about_says_and_what_was_noted(
    log: PostgresLog, place: StorePlace, tmp_path: Path
) -> None:
    await log.append([Row(Record(1, b'{"seq":1}'), "P1", "key", "request", 1_000, 42, SIDE)])
    await log.note("P1", {"kind": "plan"})
    await log.seal({**log.manifest.about, "end_reason": "terminated:x"})
    await log.note("P1", {"kind": "seat_report"})
    await log.close()
    with open_trace(place.url) as trace:
        assert trace.manifest.seal_holds
        assert trace.manifest.about["beside"]["agent_events"][0] == 2
        about = trace.manifest.about
    # The store numbers the notes of all its episodes together; a copy counts its own from 1.
    with open_trace(fetch_trace(place, tmp_path)) as copy:
        assert sealed(about, copy.side_rows) == about


async def test_prompts_are_kept_with_their_note_and_copied_with_the_trace(
    log: PostgresLog, place: StorePlace, tmp_path: Path
) -> None:
    def exchange(*texts: str, call: str) -> Exchange:
        messages = [{"role": "user", "content": text} for text in texts]
        return Exchange({"model": "m", "messages": messages}, {"status": 200, "body": {}}, call)

    # Another episode of the store numbers its own messages.
    other = await PostgresLog.create(StorePlace(place.dsn, f"{place.episode}-other"), MANIFEST, ())
    await other.note("P1", {"kind": "model_call"}, [exchange("z", call="0")])
    await other.close()
    await log.note("P1", {"kind": "model_call"}, [exchange("a", call="1")])
    await log.note("P2", {"kind": "model_call"}, [exchange("a", "b", call="odd\x00\ud800")])
    await log.note("P1", {"kind": "model_call"}, [exchange("a", "c", call="3")])
    await log.close()
    with open_trace(place.url) as trace:
        calls = list(trace.prompts())
        assert [(call.call, list(call.numbers), call.same) for call in calls] == [
            ("1", [1], 0), ("odd\ufffd?", [1, 2], 0), ("3", [1, 3], 1),
        ]  # fmt: skip
        assert [message["content"] for message in calls[2].messages] == ["a", "c"]
        assert [call.params for call in calls] == [{"model": "m", "messages": None}] * 3
    # Opened again it goes on with its numbers; a table that is gone takes the note and leaves the prompt.
    again = await PostgresLog.open(place)
    await again.note("P1", {"kind": "model_call"}, [exchange("a", "d", call="4")])
    with open_trace(place.url) as trace:
        assert list(list(trace.prompts("P1"))[-1].numbers) == [1, 4]
        notes = len(list(trace.notes()))
    with psycopg_of().connect(place.dsn, autocommit=True) as connection:
        connection.execute("ALTER TABLE tradefair_prompt_calls RENAME TO gone")
        await again.note("P1", {"kind": "model_call"}, [exchange("e", call="5")])
        connection.execute("ALTER TABLE gone RENAME TO tradefair_prompt_calls")
    await again.note("P1", {"kind": "model_call"}, [exchange("a", "f", call="6")])
    with open_trace(place.url) as trace:
        assert len(list(trace.notes())) == notes + 2
        assert [call.call for call in trace.prompts("P1")] == ["1", "3", "4", "6"]
        assert [message["content"] for message in list(trace.prompts("P1"))[-1].messages] == ["a", "f"]
    await again.seal({**again.manifest.about, "end_reason": "terminated:x"})
    await again.close()
    with open_trace(place.url) as trace, open_trace(fetch_trace(place, tmp_path)) as copy:
        about = trace.manifest.about
        assert (about["beside"]["prompt_parts"][0], about["beside"]["prompt_calls"][0]) == (5, 5)
        assert sealed(about, copy.side_rows) == about
        assert [call.request for call in copy.prompts()] == [call.request for call in trace.prompts()]


async def test_a_log_that_was_changed_is_not_gone_on_with(log: PostgresLog, place: StorePlace) -> None:
    import psycopg

    await log.append(rows_from(1, 3))
    await log.close()
    with psycopg.connect(place.dsn, autocommit=True) as meddler:
        meddler.execute("UPDATE tradefair_events SET body = 'x' WHERE episode = %s AND seq = 2", (place.episode,))
    with pytest.raises(TraceError, match="event 2 has changed"):
        await PostgresLog.open(place)
    assert (await asyncio.to_thread(verify_file, place.url)).verdict == "damaged"


async def test_a_server_that_was_restarted_between_two_batches_is_not_noticed(log: PostgresLog, server: Server) -> None:
    await log.append(rows_from(1, 2))
    server.kill()
    server.start()
    assert (await log.append(rows_from(3, 1))).seq == 3
    assert len(await log.bodies()) == 3
    with pytest.raises(TraceError, match="open for writing"):
        await PostgresLog.open(log._place)  # pyright: ignore[reportPrivateUsage]


async def test_while_the_server_is_down_nothing_is_written_and_afterwards_it_goes_on(
    log: PostgresLog, server: Server
) -> None:
    await log.append(rows_from(1, 1))
    server.kill()
    try:
        for _ in range(2):
            with pytest.raises(StorageUnavailable):
                await log.append(rows_from(2, 1))
    finally:
        server.start()
    assert log.head.seq == 1
    assert (await log.append(rows_from(2, 1))).seq == 2


async def test_who_lost_the_lease_to_another_writer_writes_no_more(log: PostgresLog, place: StorePlace) -> None:
    import psycopg

    await log.append(rows_from(1, 1))
    with psycopg.connect(place.dsn, autocommit=True) as operator:
        mine = (log._name,)  # pyright: ignore[reportPrivateUsage]
        operator.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s", mine
        )
    other = await PostgresLog.open(place)
    with pytest.raises(StorageUnavailable, match="the lease is lost"):
        await log.append(rows_from(2, 1))
    head = await other.append(rows_from(2, 1))
    await other.close()
    with pytest.raises(StorageUnavailable, match="written to while the connection was gone"):
        await log.append(rows_from(2, 1))
    assert log.head == head
    assert (await log.append(rows_from(3, 1))).seq == 3


async def test_no_password_is_told(server: Server) -> None:
    secret = server.dsn.replace("tradefair@", "nobody:hunter2@").replace("/postgres", "/nowhere?connect_timeout=3")
    place = StorePlace(secret, "e")
    with pytest.raises(StorageUnavailable) as refused:
        await PostgresLog.create(place, MANIFEST, ())
    verdict = await asyncio.to_thread(verify_file, place.url)
    assert verdict.verdict == "not_a_trace"
    for told in (str(refused.value), verdict.sentence, verdict.path):
        assert "hunter2" not in told
    assert f"postgresql://127.0.0.1:{server.port}/nowhere#e" in str(refused.value)


CALLS: list[tuple[str, dict[str, Any]]] = [
    call for number in range(3) for call in (("claim", {"slices": 99}), ("claim", {"slices": number + 2}))
]


async def _played(table: Any, name: str, store: PostgresStore | None = None, *, stop: bool = False) -> Path:
    """A whole episode; with `stop` it is closed and opened again after every call."""
    logs: dict[str, Any] = {} if store is None else {"logs": store}
    path = table.folder / f"{name}.trace"

    def scripted() -> Scripted:
        return table.scripted({"P2": "half"}, table.pie(), MARKET, 7)

    episode = await Episode.create(path, MARKET, table.pie(), 7, episode_id=name, scripted=scripted(), **logs)
    for number, (tool, arguments) in enumerate(CALLS):
        answer = await episode.call("P1", tool, arguments, call_key=f"key-{number}")
        assert answer.error is None or answer.error.code == "too_many_slices"
        if stop:
            await episode.close()
            episode = await Episode.open(path, MARKET, scripted=scripted(), **logs)
    assert episode.core.ended is not None
    await episode.close()
    return path


@pytest.mark.parametrize("stop", [False, True])
async def test_an_episode_in_a_store_has_the_bytes_of_one_in_a_file_and_is_verified_evaluated_and_exported(
    table: Any, server: Server, tmp_path: Path, stop: bool
) -> None:
    name = f"pie-{next(_names)}"
    store = PostgresStore(server.dsn)
    file = await _played(table, name)
    file = file.rename(tmp_path / "file.trace")
    await _played(table, name, store, stop=stop)
    url = f"{server.dsn}#{name}"
    assert StorePlace(server.dsn, name) in stored_traces(server.dsn)
    with open_trace(file) as one, open_trace(url) as other:
        assert list(one.events()) == list(other.events())
        assert one.closed_head() == other.closed_head()
        assert one.manifest.about["head_hash"] == other.manifest.about["head_hash"]
    verdict = await asyncio.to_thread(verify_file, url)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", True)
    out = tmp_path / "exported"
    assert await asyncio.to_thread(run, ["export", url, "-o", str(out / "one.trace.jsonl")]) == 0
    assert verify_file(out / "one.trace.jsonl").verdict == "reproduced"
    assert await asyncio.to_thread(run, ["verify", url]) == 0
    fetched = await asyncio.to_thread(fetch_trace, StorePlace.of(url), out)
    assert verify_file(fetched) == replace(verdict, path=str(fetched))
    with open_trace(fetched) as one, open_trace(url) as other:
        assert list(one.side()) == list(other.side())
        assert list(one.notes()) == list(other.notes())
    evaluated = await asyncio.to_thread(evaluate_file, url)
    assert evaluated == evaluate_file(fetched)._replace(path=str(StorePlace.of(url)))
    assert evaluated.outcome is not None
    assert await asyncio.to_thread(run, ["evaluate", url]) == 0


async def test_an_episode_outlives_its_server(table: Any, server: Server) -> None:
    calm = await _played(table, f"calm-{next(_names)}")
    name = f"pie-{next(_names)}"
    scripted = table.scripted({"P2": "half"}, table.pie(), MARKET, 7)
    store = PostgresStore(server.dsn)
    path = table.folder / f"{name}.trace"
    episode = await Episode.create(path, MARKET, table.pie(), 7, episode_id=name, scripted=scripted, logs=store)
    for number, (tool, arguments) in enumerate(CALLS):
        server.kill()
        lost = await episode.call("P1", tool, arguments, call_key=f"key-{number}")
        assert (lost.status, lost.error and lost.error.code) == ("failed", "storage_unavailable")
        server.start()
        assert (await episode.call("P1", tool, arguments, call_key=f"key-{number}")).status in ("ok", "rejected")
    assert episode.core.ended is not None
    await episode.close()
    with open_trace(calm) as one, open_trace(f"{server.dsn}#{name}") as other:
        assert list(one.events()) == list(other.events())
        assert other.manifest.seal_holds


async def test_many_that_find_no_tables_make_them_once(server: Server) -> None:
    import psycopg

    with psycopg.connect(server.dsn, autocommit=True) as operator:
        operator.execute("CREATE DATABASE fresh")
    dsn = server.dsn.replace("/postgres", "/fresh")
    assert not PostgresStore(dsn).holds(Path("e0.trace"))
    logs = await asyncio.gather(*(PostgresLog.create(StorePlace(dsn, f"e{n}"), MANIFEST, ()) for n in range(8)))
    for log in logs:
        await log.close()
    assert len(stored_traces(dsn)) == 8
    PostgresStore(dsn).remove(Path("e0.trace"))
    assert not PostgresStore(dsn).holds(Path("e0.trace"))
    assert PostgresStore(dsn).holds(Path("e1.trace"))


async def test_kill_9_of_the_owner_frees_the_lease_and_loses_nothing_that_was_acknowledged(
    server: Server, table: Any
) -> None:
    name = f"killed-{next(_names)}"
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(_CHILD), server.dsn, name, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    acknowledged = [orjson.loads(await asyncio.wait_for(child.stdout.readline(), LONG)) for _ in range(20)]
    child.kill()
    await asyncio.wait_for(child.wait(), LONG)
    place = StorePlace(server.dsn, name)
    log = await asyncio.wait_for(_when_free(place), LONG)
    keys = await log.call_keys()
    await log.close()
    assert [("P1", one["key"]) in keys for one in acknowledged] == [True] * 20
    assert (await asyncio.to_thread(verify_file, place.url)).verdict == "reproduced"


async def _when_free(place: StorePlace) -> PostgresLog:
    """The server notices a dead client when it reads from it; that is a matter of milliseconds."""
    while True:
        try:
            return await PostgresLog.open(place)
        except TraceError as error:
            if "open for writing" not in str(error):
                raise
