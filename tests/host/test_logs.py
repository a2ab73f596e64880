"""What every log keeps, in a file and in a shared store."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import count
from pathlib import Path

import pytest
from tests.host.conftest import rows_from
from tests.host.postgres import missing

from tradefair.contract.chain import canonical, next_hash
from tradefair.contract.errors import StorageUnavailable, TraceError
from tradefair.host.episode.log import EventLog, Head, LogStore
from tradefair.host.episode.stores import logs_at
from tradefair.tracestore import Manifest, open_trace

pytestmark = pytest.mark.network

MANIFEST = Manifest(canonical({"core": 1}), {"episode": "e"})
_names = count(1)


@pytest.fixture(params=["files", "store"])
def logs(request: pytest.FixtureRequest) -> LogStore:
    if request.param == "files":
        return logs_at(None)
    if why := missing():
        pytest.skip(why)
    return logs_at(request.getfixturevalue("server").dsn)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"log-{next(_names)}.trace"


@pytest.fixture
async def log(logs: LogStore, path: Path) -> AsyncGenerator[EventLog]:
    made = await logs.create(path, MANIFEST, ())
    yield made
    await made.close()


async def test_a_batch_moves_the_head_along_the_chain(log: EventLog) -> None:
    assert log.head == Head(0, MANIFEST.first_hash)
    rows = rows_from(1, 3)
    head = MANIFEST.first_hash
    for row in rows:
        head = next_hash(head, row.record.body)
    assert await log.append(rows) == log.head == Head(3, head)
    assert await log.bodies() == [row.record.body for row in rows]


async def test_one_key_of_a_seat_can_be_stored_once(log: EventLog) -> None:
    rows = [row._replace(seat="P1", call_key="k", request_digest="r") for row in rows_from(1, 2)]
    with pytest.raises(StorageUnavailable):
        await log.append(rows)
    await log.append([rows[0], rows[1]._replace(seat="P2")])
    assert set(await log.call_keys()) == {("P1", "k"), ("P2", "k")}


async def test_the_head_of_the_last_closure_moves_with_the_closure(logs: LogStore, log: EventLog, path: Path) -> None:
    await log.append([row._replace(record=row.record._replace(closes=True)) for row in rows_from(1, 1)])
    closed = (1, log.head.hash.hex())
    await log.append(rows_from(2, 1))
    with open_trace(logs.reading(path)) as trace:
        assert trace.closed_head() == closed


def test_an_address_that_no_store_has_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(TraceError, match=r"there is no store 'mysql://'; did you mean postgresql"):
        logs_at("mysql://market@db.example/markets")
