"""Games of the teaching market straight on Core, without a host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pytest
from pydantic import JsonValue

from tradefair.catalog import load_scenario
from tradefair.contract.kernel.core import Answer, Core, Done
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.replay import Replayed, Step, replay
from tradefair.contract.market import LapseReason, MarketType
from tradefair.contract.scenario import Limit
from tradefair.teaching import MARKET


class Game:
    """A Core, and every event that it wrote."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.bodies: list[bytes] = []
        self.blobs: list[tuple[str, bytes]] = []
        self.keep(core.start())

    @property
    def manifest(self) -> ManifestCore:
        return self.core.manifest

    @property
    def events(self) -> list[dict[str, Any]]:
        return [orjson.loads(body) for body in self.bodies]

    @property
    def tags(self) -> list[str]:
        return [event["event"] for event in self.events]

    def keep(self, done: Done) -> Answer | None:
        for record in done.records:
            self.bodies.append(record.body)
            assert record.seq == len(self.bodies)
            if record.blob is not None:
                self.blobs.append(record.blob)
        return done.answer

    def call(self, seat: str, tool: str, arguments: object = None, **options: Any) -> Answer:
        answer = self.keep(self.core.call(seat, tool, {} if arguments is None else arguments, **options))
        assert answer is not None
        return answer

    def data(self, seat: str, tool: str, **arguments: Any) -> Any:
        """The result of a call that must be carried out."""
        answer = self.call(seat, tool, arguments)
        assert answer.body is not None, answer.error
        return orjson.loads(answer.body)

    def code(self, seat: str, tool: str, arguments: object = None) -> str:
        """The error code of a call that must be refused."""
        answer = self.call(seat, tool, arguments)
        assert answer.error is not None, answer.body
        return answer.error.code

    def lapse(self, seat: str, reason: LapseReason = "deadline") -> None:
        self.keep(self.core.lapse(seat, reason))

    def round(self, first: int = 4, second: int = 5) -> None:
        """Both claim."""
        for seat, slices in (("P1", first), ("P2", second)):
            assert self.call(seat, "claim", {"slices": slices}).status == "ok"

    def replayed(self, bodies: Iterable[bytes] | None = None) -> int:
        """How many events re-execution reproduces; raises what replay raises."""
        return sum(1 for _ in self.steps(bodies))

    def steps(self, bodies: Iterable[bytes] | None = None) -> Iterator[Step]:
        """Re-execution, event by event."""
        stored = self.bodies if bodies is None else bodies
        return replay(self.core.market_type, self.manifest, stored, dict(self.blobs).get)

    def follower(self) -> Replayed:
        """A fresh Core that has followed the whole log."""
        follower = Replayed(Core.restore(self.core.market_type, self.manifest), dict(self.blobs).get)
        for body in self.bodies:
            follower.step(body)
        return follower


Play = Callable[..., Game]


@pytest.fixture
def play() -> Play:
    """Begins a game: `play("talk", rounds=2, limits=[…], market=…)`."""

    def begin(
        preset: str = "pie",
        *,
        seed: int = 7,
        market: MarketType = MARKET,
        limits: Iterable[Limit] = (),
        **overrides: JsonValue,
    ) -> Game:
        given: Any = [limit.model_dump(mode="json") for limit in limits]
        scenario = load_scenario("teaching", preset, {**overrides, **({"limits": given} if given else {})})
        return Game(Core.create(market, scenario, seed))

    return begin
