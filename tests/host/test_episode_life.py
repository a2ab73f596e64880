"""How an episode begins and ends: what it lets go of, which timers it leaves, what it says of time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.host.conftest import break_log
from tests.waiting import LONGER, SOON, Stopwatch

from tradefair.catalog import load_scenario
from tradefair.contract import Closure
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Core
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import FILES, Row
from tradefair.host.seats.scripted import Scripted
from tradefair.marketplace import MARKET as MARKETPLACE
from tradefair.teaching import MARKET
from tradefair.testing.playthrough import policy_maker
from tradefair.tracestore import Manifest, open_trace


async def fail(*_: Any) -> Any:
    raise StorageUnavailable("the cable is out")


# --- time -----------------------------------------------------------------------------------------------------------


async def test_the_recorded_latency_is_between_zero_and_the_elapsed_time_of_the_call(table: Any) -> None:
    waited_us = 0

    async def appraisal(payload: Any) -> Any:
        nonlocal waited_us
        watch = Stopwatch()
        await asyncio.to_thread(sum, range(300_000))
        waited_us = watch.us()
        return "tasty"

    episode = await table.create(services={"appraisal": appraisal})
    elapsed_us: dict[int, int] = {}
    for tool, arguments in (
        ("view_my_value", {}),
        ("appraise", {}),
        ("claim", {"slices": 99}),
        ("claim", {"slices": 4}),
    ):
        watch = Stopwatch()
        await episode.call("P1", tool, arguments)
        elapsed_us[episode.core.seq] = watch.us()
    appraised = list(elapsed_us)[1]
    await episode.close()
    with open_trace(episode.path) as trace:
        latency_us = {row.seq: row.latency_us for row in trace.side() if row.seq in elapsed_us}
    assert latency_us.keys() == elapsed_us.keys()
    assert [seq for seq, us in latency_us.items() if us is None or not 0 <= us <= elapsed_us[seq]] == []
    assert (latency_us[appraised] or 0) >= waited_us > 0


# --- the beginning --------------------------------------------------------------------------------------------------


def full_store(made: list[Any]) -> Any:
    """Makes logs that take no event, and lists them."""
    store: Any = type(FILES)()
    create = store.create

    async def created(path: Path, manifest: Manifest, first: Sequence[Row]) -> Any:
        log = await create(path, manifest, first)
        log.append = fail
        made.append(log)
        return log

    store.create = created
    return store


def alone() -> Scripted:
    """Both seats scripted: they play before the episode is handed over."""
    seats = Core.create(MARKET, load_scenario("teaching", "pie"), 7).market.seats.values()
    return Scripted({seat.id: policy_maker(MARKET, seat, "half", 7) for seat in seats})


async def test_an_episode_that_cannot_begin_gives_back_its_log_and_leaves_no_task(table: Any) -> None:
    path, logs = table.folder / "pie.trace", list[Any]()
    with pytest.raises(StorageUnavailable):
        await Episode.create(path, MARKET, table.pie(), 7, episode_id="pie", scripted=alone(), logs=full_store(logs))
    tasks = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("tradefair")]
    try:
        again = await table.reopen(path)  # TraceError while another writer holds the log
    finally:
        await logs[0].close()  # or its thread would never end
    assert tasks == []
    assert (await again.call("P1", "claim", {"slices": 4})).status == "ok"


# --- the end --------------------------------------------------------------------------------------------------------


async def test_whoever_ends_an_episode_waits_until_it_is_sealed(table: Any) -> None:
    episode = await table.create()
    seal, asked, let = episode._log.seal, asyncio.Event(), asyncio.Event()

    async def slow_seal(about: Any) -> None:
        asked.set()
        await let.wait()
        await seal(about)

    episode._log.seal = slow_seal
    first = asyncio.create_task(episode.end("truncated:cancelled"))
    await table.within(asked.wait())
    second = asyncio.create_task(episode.end("truncated:cancelled"))  # the end is in the log, the seal is not
    for _ in range(20):
        await asyncio.sleep(0)
    seen = (first.done(), second.done(), episode.manifest.sealed)
    let.set()  # before anything can fail: closing waits for the seal
    await table.within(asyncio.gather(first, second))
    assert seen == (False, False, False)
    assert episode.manifest.sealed
    assert await table.within(episode.wait_ended()) == "truncated:cancelled"


class Timers:
    """Timers that were set in the running loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop = asyncio.get_running_loop()
        self._handles: list[tuple[str, asyncio.TimerHandle]] = []
        self._call_later = self._loop.call_later
        monkeypatch.setattr(self._loop, "call_later", self._noted)

    def _noted(self, delay: float, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        handle = self._call_later(delay, callback, *args)
        self._handles.append((getattr(callback, "__name__", ""), handle))
        return handle

    def running(self) -> list[str]:
        now = self._loop.time()
        return [name for name, handle in self._handles if not handle.cancelled() and handle.when() > now]


@pytest.fixture
async def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    return Timers(monkeypatch)


async def test_a_closed_episode_leaves_no_deadline(table: Any, timers: Timers) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": LONGER}))
    assert timers.running() == ["_deadline_passed"]
    await episode.close()
    assert timers.running() == []


async def test_a_round_that_closes_while_the_episode_is_closed_leaves_no_deadline(table: Any, timers: Timers) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": LONGER}))
    await episode.call("P1", "claim", {"slices": 4})
    last = asyncio.create_task(episode.call("P2", "claim", {"slices": 4}))
    await asyncio.sleep(0)
    await table.within(episode.close())  # commits the claim, and with it the round
    assert (await table.within(last)).status == "ok"
    assert timers.running() == []


async def test_a_rebuild_that_ends_while_the_episode_is_closed_leaves_no_deadline(table: Any, timers: Timers) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": LONGER}))
    mend = break_log(episode._log)
    lost = await table.within(episode.call("P1", "claim", {"slices": 4}))
    assert lost.error.code == "storage_unavailable"
    mend()
    await table.within(episode.close())
    assert timers.running() == []


async def test_a_closed_episode_does_not_try_to_seal_again(
    table: Any, timers: Timers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tradefair.host.episode.episode._SEAL_AGAIN_S", LONGER)
    episode = await table.create()
    episode._log.seal = fail
    await table.within(episode.end("truncated:cancelled"))
    assert timers.running() == ["_begin_sealing"]
    await episode.close()
    assert timers.running() == []


# --- ticks of the free clock ----------------------------------------------------------------------------------------


async def _free(table: Any, tick_s: float, market: Any = MARKETPLACE, **overrides: Any) -> Any:
    """A marketplace under the free clock in which no seat is scripted."""
    scenario = load_scenario(
        "marketplace", "small_demo", {"clock": "free", "timing.free_tick_s": tick_s, "alias_ids": False, **overrides}
    )
    path = table.folder / "free.trace"
    episode = await Episode.create(path, market, scenario, 7, episode_id="free", scripted=Scripted({}))
    table.opened.append(episode)
    return episode


def _unreadable(log: Any, times: int) -> Iterator[int]:
    """A log whose next `times` reads fail; counts all reads."""
    bodies, reads = log.bodies, count()

    async def read() -> Any:
        return await (bodies() if next(reads) >= times else fail())

    log.bodies = read
    return reads


async def test_a_closed_episode_leaves_no_tick(table: Any, timers: Timers) -> None:
    episode = await _free(table, LONGER)
    assert timers.running() == ["_tick"]
    await episode.close()
    assert timers.running() == []


@pytest.mark.parametrize("unreadable", [0, 2])
async def test_a_tick_that_could_not_be_written_comes_again(table: Any, unreadable: int) -> None:
    episode = await _free(table, 2 * SOON, rounds_max=3)
    log = episode._log
    append, reads = log.append, _unreadable(log, unreadable)

    async def lose(*_: Any) -> Any:
        log.append = append
        raise StorageUnavailable("the cable is out")

    log.append = lose
    assert await table.within(episode.wait_ended()) == "truncated:max_rounds"
    assert next(reads) > unreadable
    await episode.close()
    ticks = [event["round"] for event in table.events(episode) if event["event"] == "input"]
    assert ticks == [1, 2, 3]
    assert table.verdict(episode.path) == "reproduced"


class _UnclosableType(type(MARKETPLACE)):
    """Its second round cannot be closed."""

    def create(self, scenario: Any, seed: int) -> Any:
        market: Any = super().create(scenario, seed)
        advance = market.advance

        def fail_in_round_2() -> Closure:
            if market.clock.round == 2:
                raise ZeroDivisionError
            return advance()

        market.advance = fail_in_round_2
        return market


@pytest.mark.parametrize("unreadable", [0, 2])
async def test_a_tick_that_cannot_close_the_round_ends_the_episode(table: Any, unreadable: int) -> None:
    episode = await _free(table, 2 * SOON, _UnclosableType())
    _unreadable(episode._log, unreadable)
    assert await table.within(episode.wait_ended()) == "truncated:harness_failure"
    await episode.close()
    events = table.events(episode)
    assert [event["seq"] for event in events] == list(range(1, episode.core.seq + 1))
    assert [event["round"] for event in events if event["event"] == "round_closed"] == [1]
