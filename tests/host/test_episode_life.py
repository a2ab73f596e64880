"""How an episode begins and ends: what it lets go of, which timers it leaves, what it says of time.

Also here:
- A connection with a thread of its own: what is done there is done whole, and nothing waits for it in vain.
- The collector of cycles: no pass while a market is made, none through what lives on, and nothing is kept for good.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.host.conftest import break_log
from tests.waiting import LONG, LONGER, SOON, Stopwatch

from tradefair.catalog import load_scenario
from tradefair.contract import Closure
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Core
from tradefair.host.doors.collecting import collect, without_passes
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.apart import Apart
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import FILES, Row
from tradefair.host.episode.orders import Order, checked
from tradefair.host.seats.scripted import Scripted
from tradefair.marketplace import MARKET as MARKETPLACE
from tradefair.teaching import MARKET
from tradefair.testing.playthrough import policy_maker
from tradefair.tracestore import Manifest, open_trace
from tradefair.tracestore.append import connect


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


def opened(path: Path) -> Apart:
    return Apart(lambda: connect(path))


async def test_work_is_done_in_one_thread_and_whole_though_its_caller_goes(tmp_path: Path) -> None:
    apart = opened(tmp_path / "a.db")
    await apart
    go, names = threading.Event(), list[str]()

    def work() -> int:
        go.wait(LONG)
        names.append(threading.current_thread().name)
        apart.own.execute("CREATE TABLE t (n)")
        apart.own.execute("INSERT INTO t VALUES (7)")
        return 7

    left = apart.run(work)
    left.cancel()
    go.set()
    assert await apart.run(lambda: apart.own.execute("SELECT n FROM t").fetchall()) == [(7,)]
    assert await apart.run(lambda: threading.current_thread().name) == names[0]
    with pytest.raises(sqlite3.OperationalError):
        await apart.run(lambda: apart.own.execute("SELECT n FROM missing"))
    await apart.close()


async def test_what_is_queued_is_done_before_it_is_closed_and_nothing_afterwards(tmp_path: Path) -> None:
    apart = opened(tmp_path / "a.db")
    await apart
    queued = apart.run(lambda: apart.own.execute("SELECT 1").fetchone())
    await asyncio.gather(apart.close(), apart.close())
    assert await queued == (1,)
    with pytest.raises(sqlite3.ProgrammingError):
        await apart.run(lambda: 1)
    await apart.close()


async def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        await opened(tmp_path / "missing" / "a.db")


def test_what_nobody_closes_holds_no_process(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from tradefair.host.episode.apart import Apart
from tradefair.tracestore.append import connect
async def leave():
    global kept
    kept = Apart(lambda: connect(sys.argv[1]))
    await kept
asyncio.run(leave())
"""
    place = str(tmp_path / "a.db")
    subprocess.run([sys.executable, "-c", program, place], timeout=LONG, check=True)


class _Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        self.ring = self


@pytest.fixture
def passes() -> Generator[list[int]]:
    """The generations that passes went through; they come after every tenth object."""
    seen, thresholds = list[int](), gc.get_threshold()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    gc.set_threshold(10)
    try:
        yield seen
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
        gc.unfreeze()


def test_no_pass_is_made_inside_and_none_goes_through_what_was_made(passes: list[int]) -> None:
    with without_passes():
        passes.clear()
        with without_passes():
            rings = [_Ring() for _ in range(100)]
        rings += [_Ring() for _ in range(100)]
        assert passes == []
    assert gc.isenabled()
    # Left out: a pass no longer sees it.
    assert not any(ring is seen for seen in gc.get_objects() for ring in rings[:1])
    assert [_Ring() for _ in range(100)]
    assert 0 in passes


def test_what_was_left_out_is_freed_once_nothing_refers_to_it() -> None:
    with without_passes():
        ring = _Ring()
    gone = weakref.ref(ring)
    del ring
    gc.collect()
    assert gone() is not None
    try:
        collect()
        assert gone() is None
    finally:
        gc.unfreeze()


async def test_a_host_makes_its_markets_without_a_pass(tmp_path: Path, passes: list[int]) -> None:
    host = Host(tmp_path)
    host.order(checked(Order(market="teaching", seed=1, seats="all")), "e1")
    passes.clear()
    episode = await host.start("e1")
    assert len(passes) < 20  # thousands of objects: hundreds of passes
    made = weakref.ref(episode.core)
    await episode.end("truncated:cancelled")
    await host.retire("e1")
    await host.close()
    del episode, host
    collect()
    assert made() is None
