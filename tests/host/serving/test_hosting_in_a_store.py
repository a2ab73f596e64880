"""A host whose traces lie in a shared store: it, its control plane and the database's server, which is killed too."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from tests.host.postgres import Server, missing
from tests.host.serving.by_hand import started
from tests.options_files import options_file
from tests.waiting import LONG, eventually

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.registry import HOST_FILE
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import StorePlace, open_trace, stored_traces

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

ROUNDS = 10
SEED = 7
CONTROL_TOKEN = "a-token-of-the-operator-0123456789"
GAME = ("teaching", "--scenario", "pie", "--set", f"rounds={ROUNDS}", "--seed", str(SEED), "--others", "half")
_numbers = count(1)


@pytest.fixture
def dsn(server: Server) -> str:
    """An empty database of the test's own, by an address with a password in it."""
    import psycopg

    name = f"markets{next(_numbers)}"
    with psycopg.connect(server.dsn, autocommit=True) as operator:
        operator.execute(f"CREATE DATABASE {name}".encode())
    return server.dsn.replace("tradefair@", "tradefair:hunter2@").replace("/postgres", f"/{name}")


class Hosted(NamedTuple):
    """A host process, what it said when it was ready, and its control plane."""

    process: Any
    ready: Any
    control: httpx2.AsyncClient

    @property
    def tokens(self) -> dict[str, Any]:
        (episode,) = self.ready["episodes"]
        return {seat["seat"]: seat["token"] for seat in episode["seats"]}

    async def until(self, status: int) -> Any:
        """Wait until it says that it is ready (200), or is not (503); the reasons."""
        url = self.ready["url"].removesuffix("/mcp") + "/health/ready"
        async with httpx2.AsyncClient(timeout=LONG) as anybody:

            async def answered() -> httpx2.Response | None:
                answer = await anybody.get(url)
                return answer if answer.status_code == status else None

            # It asks its store every few seconds.
            answer = await eventually(answered, f"the status {status}")
            assert answer is not None
            return answer.json()["reasons"]


@asynccontextmanager
async def hosted(stage: Any, *arguments: str) -> AsyncGenerator[Hosted]:
    environment = {**os.environ, "TRADEFAIR_CONTROL_TOKEN": CONTROL_TOKEN}
    async with started(stage, "host", "--control-port", "0", "--json", *arguments, env=environment) as process:
        ready = await process.line()
        headers = {"Authorization": f"Bearer {CONTROL_TOKEN}"}
        async with httpx2.AsyncClient(base_url=ready["control"]["url"], headers=headers, timeout=LONG) as control:
            yield Hosted(process, ready, control)


async def killed(it: Hosted, dsn: str) -> None:
    """kill -9, and wait until the database has noticed: it frees the leases then."""
    import psycopg

    it.process.process.kill()
    await it.process.process.wait()
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    with psycopg.connect(dsn, autocommit=True) as operator:
        await eventually(lambda: operator.execute(held).fetchall() == [(0,)], "a lease that is free")


async def claim(client: Any, number: int) -> Any:
    """The claim of a round, with the key that it has whenever it is repeated."""
    meta: Any = {"tradefair/call-key": f"claim-{number}"}
    return await client.call_tool("claim", {"slices": number % 7}, meta=meta)


async def uninterrupted(folder: Path) -> list[bytes]:
    """The events of the same game in a file, with nothing in between."""
    kind, scenario = market_type("teaching"), load_scenario("teaching", "pie", {"rounds": ROUNDS})
    plan = plan_seats(kind, scenario, agents=["P1"], others="half")
    episode = await new_episode(kind, scenario, SEED, plan, folder)
    for number in range(1, ROUNDS + 1):
        assert (await episode.call("P1", "claim", {"slices": number % 7})).status == "ok"
    await episode.close()
    with open_trace(episode.path) as trace:
        return [stored.body for stored in trace.events()]


async def test_a_hosted_game_outlives_its_host_and_its_store_and_has_the_bytes_of_one_in_a_file(
    stage: Any, server: Server, dsn: str, tmp_path: Path
) -> None:
    folder, copy, acknowledged = tmp_path / "host", tmp_path / "copy.trace", dict[int, Any]()

    async def play(it: Hosted, token: str, first: int, last: int) -> None:
        async with stage.at(it.ready["url"], token) as client:
            for number in range(1, last + 1):  # those before `first` are repeats
                answer = await claim(client, number)
                assert not answer.is_error, answer.structured_content
                assert (number < first) is (number in acknowledged)
                assert acknowledged.setdefault(number, answer.structured_content) == answer.structured_content

    async with hosted(stage, *GAME, "--seats", "P1", *options_file(tmp_path, store=dsn), "--out", str(folder)) as it:
        (told,) = it.ready["episodes"]
        token, name, place = it.tokens["P1"], told["episode"], StorePlace(dsn, told["episode"])
        assert (it.ready["folder"], it.ready["store"]) == (str(folder), str(StorePlace(dsn, "")))
        assert told["trace"] == str(place)
        await play(it, token, 1, 3)
        copy.write_bytes((await it.control.get(f"/episodes/{name}/export")).content)
        assert (verify_file(copy).verdict, verify_file(copy).sealed) == ("reproduced", False)
        await killed(it, dsn)
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == [HOST_FILE]
    assert "hunter2" not in (folder / HOST_FILE).read_text()

    async with hosted(stage, "--resume", str(folder)) as it:
        assert it.tokens == {"P1": None}
        await play(it, token, 4, 6)
        server.kill()
        try:
            async with stage.at(it.ready["url"], token) as client:
                lost = (await claim(client, 7)).structured_content
                assert (lost["code"], lost["retryable"]) == ("storage_unavailable", True)
            for method, path, body in (
                ("GET", f"/episodes/{name}/export", None),
                ("POST", f"/episodes/{name}/lapse", {"seat": "P1"}),
                ("POST", "/episodes", {"market": "teaching"}),
            ):
                refused = await it.control.request(method, path, json=body)
                assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_unavailable")
                assert "hunter2" not in refused.text
            assert await it.until(503) == ["storage: the store cannot be reached"]
            assert (await it.control.get("/episodes")).json()["pending"] == 0
        finally:
            server.start()
        await play(it, token, 7, ROUNDS)
        assert await it.until(200) == []
        shown = (await it.control.get(f"/episodes/{name}")).json()
        assert (shown["end_reason"], shown["trace"]) == ("terminated:rounds_completed", str(place))
        copy.write_bytes((await it.control.get(f"/episodes/{name}/export")).content)
        it.process.process.send_signal(signal.SIGTERM)
        said = await it.process.leave()
    assert f"traces in {StorePlace(dsn, '')}" in said
    assert "hunter2" not in said

    verdict = await asyncio.to_thread(verify_file, place.url)
    assert (verdict.verdict, verdict.sealed, stored_traces(dsn)) == ("reproduced", True, [place])
    assert await asyncio.to_thread(run, ["verify", place.url]) == 0
    assert verify_file(copy).sealed
    with open_trace(place.url) as stored, open_trace(copy) as copied:
        assert list(stored.events()) == list(copied.events())
        bodies, events = [one.body for one in stored.events()], list(stored.decoded())
    claims = Counter(event["round"] for event in events if event.get("tool") == "claim" and event["seat"] == "P1")
    assert claims == dict.fromkeys(range(1, ROUNDS + 1), 1)
    assert bodies == await uninterrupted(tmp_path / "calm")


async def test_orders_begin_in_the_store_and_a_kill_in_mid_start_is_found_out_there(
    stage: Any, dsn: str, tmp_path: Path
) -> None:
    folder = tmp_path / "host"
    async with hosted(stage, *options_file(tmp_path, store=dsn), "--out", str(folder)) as it:
        made = (await it.control.post("/episodes", json={"market": "teaching", "start": False, "count": 2})).json()
        waiting, begun = [line["episode"] for line in made["episodes"]]
        before = (folder / HOST_FILE).read_bytes()
        await it.control.post(f"/episodes/{begun}/start")
        assert stored_traces(dsn) == [StorePlace(dsn, begun)]
        await killed(it, dsn)
    (folder / HOST_FILE).write_bytes(before)  # as if the kill had come before the registry was written
    async with hosted(stage, "--resume", str(folder), *options_file(tmp_path, store=dsn)) as it:
        states = {line["episode"]: line["state"] for line in (await it.control.get("/episodes")).json()["episodes"]}
        assert states == {begun: "running", waiting: "pending"}
        assert (await it.control.post(f"/episodes/{begun}/cancel")).json() == {"end_reason": "truncated:cancelled"}
        it.process.process.send_signal(signal.SIGTERM)
        assert "to go on: tradefair host --resume" in await it.process.leave()
    assert (await asyncio.to_thread(verify_file, f"{dsn}#{begun}")).sealed


async def test_while_the_store_is_away_a_host_does_not_go_on_and_its_registry_stays(
    stage: Any, server: Server, dsn: str, tmp_path: Path
) -> None:
    folder = tmp_path / "host"
    async with hosted(stage, *GAME, *options_file(tmp_path, store=dsn), "--out", str(folder)) as it:
        it.process.process.send_signal(signal.SIGTERM)
        await it.process.leave()
    kept = (folder / HOST_FILE).read_bytes()
    server.kill()
    try:
        fresh = (*GAME, *options_file(tmp_path, store=dsn), "--out", str(tmp_path / "fresh"))
        for words in (("--resume", str(folder)), fresh):
            async with started(stage, "host", *words) as refused:
                told = await refused.leave()
                assert refused.process.returncode == 3
            assert str(StorePlace(dsn, "")) in told
            assert (told.count("\n"), "hunter2" in told) == (1, False)
    finally:
        server.start()
    assert (folder / HOST_FILE).read_bytes() == kept
    assert not (tmp_path / "fresh").exists()
    async with hosted(stage, "--resume", str(folder)) as it:
        assert it.tokens == {"P1": None}
