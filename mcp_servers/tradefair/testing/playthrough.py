"""The scripted runner: a whole episode of policies in memory, pure and synchronous, without a host or a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar

import orjson
from pydantic import JsonValue

from tradefair.contract import (
    Draw,
    HarnessFailure,
    InputRequest,
    LapseReason,
    MarketType,
    Policy,
    Scenario,
    ScenarioError,
    SeatId,
    SeatSpec,
)
from tradefair.contract.chain import canonical, first_hash, next_hash
from tradefair.contract.kernel.core import Core, Done, Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.replay import Replayed
from tradefair.contract.market import Market
from tradefair.contract.policy import parse_policy
from tradefair.host.seats.scripted import Scripted
from tradefair.testing.authors_code import NoEnd

_T = TypeVar("_T")

# Even a short scenario may close many phases by right; only far above this is it a loop.
MIN_CLOSURES = 10_000
CLOSURES_PER_PHASE = 50
MAX_EVENTS = 200_000

Service: TypeAlias = Callable[[JsonValue], JsonValue]
"""Stands for an outside service in the checks: the same payload must give the same answer."""


class BoundedCore(Core):
    """A Core that stops a game without an end; `run` of the scripted seats would never return from one.

    The bound is `max(10_000, 50 x rounds x phases x seats)` closures, or 200,000 events: far above what any scenario
    with an end needs, and reached within seconds.
    """

    def __init__(
        self, market_type: MarketType, manifest: ManifestCore, scenario: Scenario, market: Market | None = None
    ) -> None:
        super().__init__(market_type, manifest, scenario, market)
        rounds = getattr(scenario, "rounds", 1)
        self._closures = 0
        # Phases are not known beforehand: they are counted as they are met, and multiplied in `_close`.
        self._most = CLOSURES_PER_PHASE * max(rounds if isinstance(rounds, int) else 1, 1) * len(self.market.seats)
        self._phases: set[str] = set()

    def call(self, seat: SeatId, name: str, arguments: object, **options: Any) -> Done:
        """As in `Core`; raises NoEnd after too many events."""
        self._count_events()
        return super().call(seat, name, arguments, **options)

    def lapse(self, seat: SeatId, reason: LapseReason) -> Done:
        """As in `Core`; raises NoEnd after too many events."""
        self._count_events()
        return super().lapse(seat, reason)

    def _count_events(self) -> None:
        """Raise NoEnd after `MAX_EVENTS` events: seats may act without an end within one phase."""
        if self.seq > MAX_EVENTS:
            raise NoEnd(f"no end after {self.seq:,} events: {self._open()} is open")

    # Also reached while no seat is awaited, when Core closes phase after phase within one command.
    def _close(self, records: list[Record]) -> None:
        """As in `Core`; raises NoEnd after too many closures."""
        self._closures += 1
        self._phases.add(self.market.clock.phase)
        if self._closures > max(MIN_CLOSURES, self._most * len(self._phases)):
            raise NoEnd(f"no end after {self._closures - 1:,} closures: {self._open()} is open")
        super()._close(records)

    def _open(self) -> str:
        """Round and phase that are open, for the message of NoEnd."""
        clock = self.market.clock
        return f"round {clock.round}, phase {clock.phase!r}"


class Playthrough:
    """One episode, finished unless it was cut short. `at` goes back to any event number between two commands.

    `bodies` are the events' bytes in order: `bodies[number - 1]` is event `number`. `core` is the
    episode at its end.
    """

    def __init__(self, market_type: MarketType, core: Core, bodies: list[bytes]) -> None:
        self.market_type = market_type
        self.scenario = core.scenario
        self.seed = core.manifest.seed
        self.manifest: ManifestCore = core.manifest
        self.core = core
        self.bodies = bodies

    @cached_property
    def head(self) -> str:
        """The chain's hash after the last event in hexadecimal digits: equal for equal episodes, byte by byte."""
        head = first_hash(canonical(self.manifest.model_dump(mode="json")))
        for body in self.bodies:
            head = next_hash(head, body)
        return head.hex()

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Every event as plain data, in order: `events[number - 1]` is event `number`."""
        return [orjson.loads(body) for body in self.bodies]

    @cached_property
    def awaited(self) -> Mapping[int, frozenset[SeatId]]:
        """The seats that are awaited after each event after which a seat decides, by event number.

        Computed by one replay of the whole episode; events in the middle of a command are not among the keys.
        """
        follower = self.follower()
        found: dict[int, frozenset[SeatId]] = {}
        for number, body in enumerate(self.bodies, 1):
            step = follower.step(body)
            waits_for_call = step.event["event"] == "input" and step.event["for"] is not None
            # Between the events of one command the state is incomplete, and a call cannot be made there.
            if not follower.due() and not waits_for_call and follower.core.ended is None:
                found[number] = follower.core.market.awaited()
        return found

    @cached_property
    def places(self) -> list[int]:
        """The numbers of events after which a seat decides, in order; `at` takes one of them."""
        return list(self.awaited)

    @cached_property
    def openings(self) -> list[int]:
        """The places at which a phase has just been opened: no seat has acted in it."""
        closing = ("episode_started", "phase_closed", "round_closed")
        return [place for place in self.places if self.events[place - 1]["event"] in closing]

    def spread(self, count: int) -> list[int]:
        """At most `count` places, evenly over the episode, the first and the last among them."""
        return evenly(self.places, count)

    def follower(self) -> Replayed:
        """A fresh episode that can be stepped through the events. It is bounded like the one that was played."""
        return Replayed(BoundedCore(self.market_type, self.manifest, self.scenario))

    def at(self, place: int) -> Core:
        """The episode as it was after `place` events, played again from the start; the caller may change it freely."""
        follower = self.follower()
        for body in self.bodies[:place]:
            follower.step(body)
        return follower.core


def play_scripted(
    market_type: MarketType,
    scenario: Scenario,
    seed: int,
    policies: str | Mapping[str, str] = "random_legal",
    *,
    services: Mapping[str, Service] | None = None,
    events: int | None = None,
) -> Playthrough:
    """Play to the end, or until there are so many `events` (the playthrough is unfinished then).

    `policies` is one policy for all seats, or policies by seat id or role, such as `half(greed=1)`. `services` answer
    what policies ask of outside services, by source. Raises ScenarioError for an unknown policy, HarnessFailure for a
    tool that fails or a seat that no policy plays, NoEnd for a game that does not end.
    """
    core = BoundedCore.create(market_type, scenario, seed)
    makers: dict[SeatId, Callable[[], Policy]] = {}
    privileged: set[SeatId] = set()
    for spec in core.market.seats.values():
        # Ids come before roles: one seat can be given a policy of its own.
        policy_text = policies if isinstance(policies, str) else policies.get(spec.id, policies.get(spec.role, ""))
        makers[spec.id] = policy_maker(market_type, spec, policy_text, seed)
        if market_type.policies[parse_policy(policy_text)[0]].knows_hidden(scenario):
            privileged.add(spec.id)
    scripted = Scripted(makers, privileged=frozenset(privileged))
    if services:
        scripted.answer = partial(_answer, services)
    records: list[Record] = list(core.start().records)
    while core.ended is None and (events is None or core.seq < events):
        played = scripted.run(core)
        # `run` returns nothing when all awaited seats are without a policy; going on would loop without an end.
        if not played:
            raise HarnessFailure(f"no seat can act in round {core.market.clock.round}, and the episode is not over")
        records += played
    return Playthrough(market_type, core, [record.body for record in records])


def _answer(services: Mapping[str, Service], request: InputRequest) -> JsonValue:
    return services[request.source](request.payload)


def evenly(items: Sequence[_T], count: int) -> list[_T]:
    """At most `count` of the items, evenly over all, the first and (from two on) the last among them."""
    if len(items) <= count or count < 2:
        return list(items[:count])
    return [items[index * (len(items) - 1) // (count - 1)] for index in range(count)]


def policy_maker(
    market_type: MarketType, spec: SeatSpec, policy_text: str, seed: int, policy_key: int = 0
) -> Callable[[], Policy]:
    """Makes a seat's policy afresh, each time with the same draws. `policy_key` chooses other draws.

    Raises ScenarioError when the market has no policy of this name for the seat's role.
    """
    name, params = parse_policy(policy_text)
    known = market_type.policies.get(name)
    if known is None or spec.role not in known.roles:
        raise ScenarioError(f"{market_type.name} has no policy {name!r} for the role {spec.role}")
    return partial(known.make, params, Draw.of(seed, spec.id, policy_key))
