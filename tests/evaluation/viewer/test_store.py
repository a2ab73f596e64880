"""The viewer of a shared store: rows follow what hosts write there, also after the server was away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.viewer.serving import Client, serving
from tests.host.postgres import Server, missing, running_server
from tests.waiting import until

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import TraceError
from tradefair.evaluation.viewer.mirror import StoreFolder
from tradefair.host.episode.setup import new_episode
from tradefair.host.episode.stores import logs_at
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore.store import psycopg_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def awaited(client: Client, holds: Callable[[dict[str, dict[str, Any]]], bool]) -> dict[str, dict[str, Any]]:
    """The rows as soon as they are so; each question lets the copies be renewed."""
    rows: dict[str, dict[str, Any]] = {}

    def so() -> bool:
        rows.clear()
        rows.update(client.rows())
        return holds(rows)

    until(so, "rows of the store")
    return rows


async def test_episodes_of_a_store_are_listed_followed_and_dropped(server: Server, tmp_path: Path) -> None:
    with closing(StoreFolder(server.dsn, tmp_path)) as folder, serving(folder) as client:
        assert client.rows() == {}
        kind, scenario = market_type("teaching"), load_scenario("teaching", "teaching/pie")
        plan = plan_seats(kind, scenario, agents=["P1"])
        episode = await new_episode(kind, scenario, 7, plan, Path(), logs=logs_at(server.dsn))
        name = f"{episode.id}.trace"
        row = awaited(client, lambda rows: name in rows)[name]
        # A copy cannot tell whether its host still lives.
        assert (row["state"], row["market"]) == ("open", "teaching")
        live, before = f"/trace/{row['id']}/live.json?after=0", episode.core.seq
        assert (await episode.call("P1", "view_rules", {})).status == "ok"
        # In a thread: the episode writes what it has noted in this one.
        await asyncio.to_thread(awaited, client, lambda _: client.ask(live).json()["count"] > before)
        assert client.ask(f"/trace/{row['id']}").status == 200
        await episode.end("truncated:cancelled")
        await episode.close()
        # While the server is away, what was copied stays.
        server.kill()
        assert name in client.rows()
        server.start()
        awaited(client, lambda rows: rows[name]["state"] == "ended")
        with psycopg_of().connect(server.dsn, autocommit=True) as connection:
            connection.execute("DELETE FROM tradefair_episodes")
        awaited(client, lambda rows: not rows)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_reached_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"postgresql://127\.0\.0\.1:1/markets"):
        StoreFolder("postgresql://someone:secret@127.0.0.1:1/markets", tmp_path)
