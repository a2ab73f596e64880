"""The scripted runner: a whole episode of policies in memory, pure and synchronous, without a host or a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from tradefair.contract.chain import canonical, first_hash, next_hash
from tradefair.contract.core import Core, Record
from tradefair.contract.errors import HarnessFailure, ScenarioError
from tradefair.contract.event import ManifestCore
from tradefair.contract.market import MarketType
from tradefair.contract.policy import Draw, Policy, parse_policy
from tradefair.contract.replay import Replayed
from tradefair.contract.scenario import Scenario
from tradefair.contract.seats import SeatId, SeatSpec
from tradefair.host.scripted import Scripted


class Playthrough:
    """One finished episode. `at` takes it up again at any place between two commands."""

    def __init__(self, market_type: MarketType, core: Core, bodies: list[bytes]) -> None:
        self.market_type = market_type
        self.scenario = core.scenario
        self.seed = core.manifest.seed
        self.manifest: ManifestCore = core.manifest
        self.core = core
        self.bodies = bodies

    @cached_property
    def head(self) -> str:
        """The chain's hash after the last event: equal for equal episodes, byte by byte."""
        head = first_hash(canonical(self.manifest.model_dump(mode="json")))
        for body in self.bodies:
            head = next_hash(head, body)
        return head.hex()

    @cached_property
    def places(self) -> list[int]:
        """The numbers of events after which a seat decides; `at` takes one of them."""
        follower = self.follower()
        found: list[int] = []
        for number, body in enumerate(self.bodies, 1):
            step = follower.step(body)
            waits_for_call = step.event["event"] == "input" and step.event["for"] is not None
            if not follower.due() and not waits_for_call and follower.core.ended is None:
                found.append(number)
        return found

    def spread(self, count: int) -> list[int]:
        """At most `count` places, evenly over the episode, the first and the last among them."""
        places = self.places
        if len(places) <= count or count < 2:
            return places[:count] if count < 2 else places
        return [places[index * (len(places) - 1) // (count - 1)] for index in range(count)]

    def follower(self) -> Replayed:
        """A fresh episode that can be stepped through the events."""
        return Replayed(Core(self.market_type, self.manifest, self.scenario))

    def at(self, place: int) -> Core:
        """The episode as it was after `place` events; the caller may do with it what it likes."""
        follower = self.follower()
        for body in self.bodies[:place]:
            follower.step(body)
        return follower.core


def play_scripted(
    market_type: MarketType,
    scenario: Scenario,
    seed: int,
    policies: str | Mapping[str, str] = "random_legal",
) -> Playthrough:
    """Play to the end. `policies` is one spelling for all seats, or spellings by seat id or role.

    Raises ScenarioError for an unknown policy, HarnessFailure for a tool that fails or a seat that nobody plays.
    """
    core = Core.create(market_type, scenario, seed)
    makers: dict[SeatId, Callable[[], Policy]] = {}
    privileged: set[SeatId] = set()
    for spec in core.market.seats.values():
        spelling = policies if isinstance(policies, str) else policies.get(spec.id, policies.get(spec.role, ""))
        makers[spec.id] = policy_maker(market_type, spec, spelling, seed)
        if market_type.policies[parse_policy(spelling)[0]].privileged:
            privileged.add(spec.id)
    scripted = Scripted(makers, privileged=frozenset(privileged))
    records: list[Record] = list(core.start().records)
    while core.ended is None:
        played = scripted.run(core)
        if not played:
            raise HarnessFailure(f"nobody can act in round {core.market.clock.round}, and the episode is not over")
        records += played
    return Playthrough(market_type, core, [record.body for record in records])


def policy_maker(
    market_type: MarketType, spec: SeatSpec, spelling: str, seed: int, policy_key: int = 0
) -> Callable[[], Policy]:
    """Makes a seat's policy afresh. Raises ScenarioError when the market has none of this name for its role."""
    name, params = parse_policy(spelling)
    known = market_type.policies.get(name)
    if known is None or spec.role not in known.roles:
        raise ScenarioError(f"{market_type.name} has no policy {name!r} for the role {spec.role}")
    return partial(known.make, params, Draw.of(seed, spec.id, policy_key))
