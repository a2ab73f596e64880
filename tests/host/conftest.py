"""Episodes of the teaching market on real logs, closed after each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from pydantic import JsonValue
from tests.host.postgres import Server, running_server
from tests.waiting import LONG

from tradefair.catalog import load_scenario
from tradefair.contract import MarketType, Policy, Scenario
from tradefair.contract.chain import digest
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode import log as host_log
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import Row, Side
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.scripted import Scripted
from tradefair.host.seats.services import Services
from tradefair.teaching import MARKET
from tradefair.testing.playthrough import policy_maker
from tradefair.tracestore import open_trace

T = TypeVar("T")

SEED = 7


def pie(preset: str = "pie", **overrides: JsonValue) -> Scenario:
    """A teaching scenario."""
    return load_scenario("teaching", preset, overrides)


async def within(answer: Awaitable[T]) -> T:
    """Bounded wait."""
    return await asyncio.wait_for(answer, LONG)


def rows_from(first: int, count: int) -> list[Row]:
    """So many small events of a log."""
    return [Row(Record(seq, b'{"seq":%d}' % seq)) for seq in range(first, first + count)]


async def beside_its_events(log: Any, side: Side) -> Record:
    """Write what is kept beside events, some with side columns; the first, whose result is a blob. All but the columns
    is as it was given."""
    large = orjson.dumps({"rows": "x" * 3_000})
    first = Record(1, orjson.dumps({"seq": 1, "result": None, "result_ref": digest(large)}), (digest(large), large))
    await log.append([Row(first, "P1", "key", "request", 1_000, 42, side)])
    assert await log.call_keys() == {("P1", "key"): (1, "request")}
    assert (await log.event(1))["result"] == {"rows": "x" * 3_000}
    closure = Record(2, b"{}", None, closes=True)
    await log.append([Row(closure, "P1"), Row(Record(3, b"{  }"), "P1"), Row(Record(4, b"{ }"))])
    assert await log.sizes() == {"P1": len(first.body) + len(large) + 4, None: 2 + 3}
    return first


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server of the module's own; its tests skip where `missing` says why."""
    with running_server() as running:
        yield running


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all programs of a module."""
    with Sandbox() as shared:
        yield shared


def commit_by(way: str, patch: Callable[[str, object], None]) -> None:
    """Small batches are committed on the event loop however slow the disk is, or all in a thread."""
    if way == "thread":
        patch("tradefair.host.episode.log.SMALL_ROWS", 0)
    else:
        patch("tradefair.host.episode.pace.SLOW_S", float("inf"))


@pytest.fixture(params=["loop", "thread"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of committing."""
    commit_by(request.param, monkeypatch.setattr)
    return request.param


def break_log(log: Any) -> Callable[[], None]:
    """From here on no commit of this log is made, on the loop or in a thread; returns what mends it."""

    async def fail(*_: object) -> None:
        raise StorageUnavailable("the cable is out")

    def fail_now(*_: object) -> bool:
        if host_log.SMALL_ROWS:
            raise StorageUnavailable("the cable is out")
        return False

    def mend() -> None:
        del log.append, log.append_now

    log.append, log.append_now = fail, fail_now
    return mend


@dataclass
class Appraiser:
    """An outside service that answers when it is let."""

    asked: list[JsonValue] = field(default_factory=list[JsonValue])
    called: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, payload: JsonValue) -> JsonValue:
        self.asked.append(payload)
        self.called.set()
        await self.let.wait()
        return f"opinion {len(self.asked)}"


@dataclass
class Table:
    """Opens episodes in one folder."""

    folder: Path
    opened: list[Episode] = field(default_factory=list[Episode])

    pie = staticmethod(pie)
    within = staticmethod(within)

    async def create(
        self,
        scenario: Scenario | None = None,
        *,
        market: MarketType = MARKET,
        name: str = "pie",
        seed: int = SEED,
        scripted: Mapping[str, str | Callable[[], Policy]] | None = None,
        services: Mapping[str, Any] | None = None,
        sandbox: Sandbox | None = None,
    ) -> Episode:
        """A fresh episode; `scripted` maps seats to policies."""
        wanted = scenario or pie()
        episode = await Episode.create(
            self.folder / f"{name}.trace",
            market,
            wanted,
            seed,
            episode_id=name,
            scripted=self.scripted(scripted, wanted, market, seed),
            services=Services(services),
            sandbox=sandbox,
        )
        self.opened.append(episode)
        return episode

    async def reopen(
        self,
        path: Path,
        *,
        market: MarketType = MARKET,
        seed: int = SEED,
        scripted: Mapping[str, str | Callable[[], Policy]] | None = None,
        services: Mapping[str, Any] | None = None,
    ) -> Episode:
        """Go on with a closed (or killed) episode."""
        episode = await Episode.open(
            path, market, scripted=self.scripted(scripted, pie(), market, seed), services=Services(services)
        )
        self.opened.append(episode)
        return episode

    @staticmethod
    def scripted(
        policies: Mapping[str, str | Callable[[], Policy]] | None, scenario: Scenario, market: MarketType, seed: int
    ) -> Scripted:
        seats = market.create(scenario, seed).seats
        return Scripted(
            {
                seat: partial(policy_maker, market, seats[seat], policy, seed)() if isinstance(policy, str) else policy
                for seat, policy in (policies or {}).items()
            }
        )

    async def close(self) -> None:
        for episode in self.opened:
            with suppress(Exception):
                await episode.close()

    @staticmethod
    def events(episode: Episode | Path) -> list[dict[str, Any]]:
        """What the log holds."""
        with open_trace(episode if isinstance(episode, Path) else episode.path) as trace:
            return list(trace.decoded())

    @staticmethod
    def side(episode: Episode) -> list[Any]:
        """What lies next to the log's events."""
        with open_trace(episode.path) as trace:
            return list(trace.side())

    @staticmethod
    def bodies(path: Path) -> list[bytes]:
        with open_trace(path) as trace:
            return [stored.body for stored in trace.events()]

    @staticmethod
    def verdict(path: Path) -> str:
        """What verify says of a trace."""
        return verify_file(path).verdict

    @staticmethod
    def data(result: Any) -> Any:
        """The answer's plain data."""
        return orjson.loads(result.body)


@pytest.fixture
async def table(tmp_path: Path) -> AsyncGenerator[Table]:
    made = Table(tmp_path)
    yield made
    await made.close()


@pytest.fixture
def appraiser() -> Appraiser:
    return Appraiser()
