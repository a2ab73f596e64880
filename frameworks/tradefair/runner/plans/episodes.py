"""From a plan to its episodes: pure, in a fixed order, each with the digest that names it.

Seeds are the outermost loop, so that a sweep that was stopped is balanced up to one seed; the scenarios and seatings of
one seed form a block on equal luck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Chance, Scenario, ScenarioError, SeatId, salts
from tradefair.contract.chain import canonical, digest
from tradefair.contract.kernel.players import seat_roles
from tradefair.contract.policy import parse_policy
from tradefair.files.user_files import parse_toml, text_file
from tradefair.host.seats.plans import STAND_IN, plan_seats
from tradefair.runner.plans.plan import MAX_EPISODES, Seating, SourcedPlan
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec, ReadyAgent, ready

LAW_CYCLE = (
    "heavy_tailed",
    "correlated_source",
    "uniform",
    "heavy_tailed",
    "correlated_source",
    "semi_bimodal",
    "heavy_tailed",
    "correlated_source",
    "uniform",
    "semi_bimodal",
)
"""The law of private values of a game, by the place of its seed modulo ten (double_auction page, 2)."""

# 48 bits: with a million episodes in one plan a clash of ids is still unlikely, and file names stay short.
_ID_DIGITS = 12
_PER_FOLDER = 1_000
# The stream's name is a part of every draw: another one would give all fields other seats.
_STREAM = "tournament"


class EpisodeSpec(NamedTuple):
    """One episode of a plan. `players` gives a label of the plan for every seat that the plan fills.

    `digest` names it: scenario with all of its content, rules version, seed, who sits where, and the key of the agents'
    own draws. `path` is relative to the folder of the sweep.
    """

    place: int
    digest: str
    variant: int
    seed: int
    players: Mapping[SeatId, str]
    path: str
    agent_key: int = 0

    @property
    def id(self) -> str:
        """The episode's id: 12 hex digits of its digest."""
        return self.digest[:_ID_DIGITS]


@dataclass(frozen=True)
class Variant:
    """One scenario with its content fixed: a scenario of the plan, a point of its grid, a law of the cycle."""

    market: str
    scenario: Scenario

    @cached_property
    def roles(self) -> dict[SeatId, str]:
        """The role of every seat, in the market's order."""
        return seat_roles(market_type(self.market), self.scenario)

    @cached_property
    def key(self) -> str:
        """Digest of the market, its rules version and the scenario's whole content.

        Two scenarios under one id that differ in any value have different keys.
        """
        kind = market_type(self.market)
        return digest(canonical([kind.name, kind.version, self.scenario.model_dump(mode="json")]))

    @property
    def folder(self) -> str:
        """Where its traces lie: `bargaining-pact`."""
        return self.scenario.id.replace("/", "-")


@dataclass(frozen=True)
class Workload:
    """What a plan comes to: variants and agents, and the episodes that refer to them."""

    name: str
    seeds: Sequence[int]
    variants: Sequence[Sequence[Variant]]
    """By the place of the seed modulo the number of rows (ten with a law cycle, else one): the scenarios of a block."""
    agents: Mapping[str, AgentSpec]
    seating: Seating
    count: int
    """Number of episodes."""
    agent_keys: Sequence[int] = (0,)
    """Each episode is played under each of these: other draws of its agents alone."""

    @property
    def flat(self) -> list[Variant]:
        """All variants; `EpisodeSpec.variant` is a place in this list."""
        return [variant for row in self.variants for variant in row]

    @cached_property
    def digest(self) -> str:
        """Digest of everything that decides which episodes there are.

        A folder belongs to the plan with this digest. Budgets, retries and the number of workers have no part in it.
        """
        # Agents count by what they are, not only by label: the same label may stand for another model later.
        said = [self.name, list(self.seeds), [[variant.key for variant in row] for row in self.variants]]
        # `shift` came with `dealt`; left out elsewhere, the digests of other plans are what they were before it.
        dealt = self.seating.kind == "dealt"
        seating = self.seating.model_dump(mode="json", exclude=None if dealt else {"shift"})
        # Left out where there are none, like `shift`.
        replicas = [] if self._single else [list(self.agent_keys)]
        return digest(canonical([salts.WORKLOAD, *said, self._identities, seating, *replicas]))

    @property
    def scripted(self) -> bool:
        """Whether every agent is a policy that plays natively."""
        return all(agent.framework == NATIVE for agent in self.agents.values())

    def episodes(self) -> Iterator[EpisodeSpec]:
        """Every episode, in the order of play.

        Seeds, then the scenarios of a block, then seatings, then replicas. Nothing is random here: a second walk gives
        the same episodes.
        """
        place, width = 0, len(self.variants[0])
        for number, seed in enumerate(self.seeds):
            row = number % len(self.variants)
            for column, variant in enumerate(self.variants[row]):
                for players, key in product(self.seatings(variant, seed), self.agent_keys):
                    # The place in the plan is no part of it, so that a longer plan finds the episodes of a shorter one.
                    found = digest(canonical([variant.key, seed, self._who(players), *([key] if key else [])]))
                    path = f"{variant.folder}/{self._subfolder(players, place)}/{found[:_ID_DIGITS]}.trace"
                    yield EpisodeSpec(place, found, row * width + column, seed, players, path, key)
                    place += 1

    @property
    def _single(self) -> bool:
        return [*self.agent_keys] == [0]

    @cached_property
    def _folders(self) -> dict[str, str]:
        """A folder for each label, told apart by a digest where its plain name does not."""
        # Cut to the length that a plan allows for a label: default labels may be longer.
        plain = {label: file_name(label)[:80] or "agent" for label in self.agents}
        often = Counter(plain.values())
        # Two labels may become equal when their special characters are replaced.
        return {
            label: name if often[name] == 1 else f"{name}-{digest(label.encode())[:8]}" for label, name in plain.items()
        }

    @cached_property
    def _identities(self) -> dict[str, str]:
        """What each label stands for; two plans that call different agents the same are told apart."""
        return {label: digest(canonical(agent.plain())) for label, agent in self.agents.items()}

    def _who(self, players: Mapping[SeatId, str]) -> dict[SeatId, list[str]]:
        return {seat: [label, self._identities[label]] for seat, label in players.items()}

    def _subfolder(self, players: Mapping[SeatId, str], place: int) -> str:
        """By agent where each plays by itself (`compare` takes two such folders), else a thousand to a folder."""
        if self.seating.kind == "fixed":
            # All seats of such an episode are played by the same agent, so any of them names it.
            return self._folders[next(iter(players.values()))]
        return f"{place // _PER_FOLDER:03}"

    def seatings(self, variant: Variant, seed: int) -> Iterator[Mapping[SeatId, str]]:
        """Who sits where in the games of one variant on one seed."""
        if self.seating.kind == "field":
            yield self._field(variant).draw(seed)
        elif self.seating.kind == "dealt":
            # Checks ask with seed 0, which the plan may not hold: the first deal stands for it.
            yield self._dealt(variant, self._places.get(seed, 0))
        elif self.seating.kind == "fixed":
            yield from self._fixed(variant, seed)
        else:
            yield from self._standing(variant)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {seed: place for place, seed in enumerate(self.seeds)}

    def _dealt(self, variant: Variant, place: int) -> Mapping[SeatId, str]:
        """The agents in turn over the seats, further on by the place of the seed.

        With `shift` 1 every agent sits in every seat once in as many seeds as there are agents.
        """
        labels, first = list(self.agents), place * self.seating.shift
        return {seat: labels[(first + number) % len(labels)] for number, seat in enumerate(variant.roles)}

    def _field(self, variant: Variant) -> Field:
        return self._fields[variant.market, tuple(variant.roles.items())]

    @cached_property
    def _fields(self) -> dict[tuple[str, tuple[tuple[SeatId, str], ...]], Field]:
        # Variants with the same seats share one field, and with it the same draw for a seed.
        shapes = {(variant.market, tuple(variant.roles.items())): variant for variant in self.flat}
        return {
            shape: Field(variant.roles, {label: plays(variant, agent) for label, agent in self.agents.items()})
            for shape, variant in shapes.items()
        }

    def _standing(self, variant: Variant) -> list[Mapping[SeatId, str]]:
        """The seatings of a block that no chance decides."""
        # Worked out once per variant: the pairs do not depend on the seed, and there may be many seeds.
        if variant.key not in self._seatings_by_variant:
            self._seatings_by_variant[variant.key] = list(self._pairs(variant))
        return self._seatings_by_variant[variant.key]

    @cached_property
    def _seatings_by_variant(self) -> dict[str, list[Mapping[SeatId, str]]]:
        return {}

    def _fixed(self, variant: Variant, seed: int) -> Iterator[Mapping[SeatId, str]]:
        """Each agent by itself; all meet the same seat on the same seed: where seats differ, every seat in its turn."""
        if variant.key not in self._agent_seats:
            self._agent_seats[variant.key] = _agent_seats(variant, self.seating)
        seats = self._agent_seats[variant.key]
        if variant.scenario.by_turns and self.seating.seats is None and len(seats) == 1:
            seats = [list(variant.roles)[seed % len(variant.roles)]]
        for label in self.agents:
            yield dict.fromkeys(seats, label)

    @cached_property
    def _agent_seats(self) -> dict[str, list[SeatId]]:
        return {}

    def _pairs(self, variant: Variant) -> Iterator[Mapping[SeatId, str]]:
        sides = _sides(variant)
        # Both ways round only with `seat_swap`: a pair is unordered until seats are given to it.
        pairs = list(combinations(self.agents, 2))
        if self.seating.self_play:
            pairs += [(label, label) for label in self.agents]
        for first, second in pairs:
            yield _facing(variant, sides, (first, second))
            if self.seating.seat_swap and first != second:
                yield _facing(variant, sides, (second, first))


class Field:
    """The agents of a field and the seats that they are drawn for; each may be able to play some roles only."""

    def __init__(self, roles: Mapping[SeatId, str], plays: Mapping[str, frozenset[str]]) -> None:
        self._roles = roles
        self._plays = plays
        if len(plays) < len(roles):
            raise ScenarioError(
                f"a field is drawn without replacement: {len(roles)} seats need as many [[agent]] entries, "
                f"and there are {len(plays)}"
            )
        # Roles that cannot be filled are found at once: whether they can does not depend on the seed.
        self.draw(0)

    def draw(self, seed: int) -> dict[SeatId, str]:
        """Who sits where on this seed; equal for all scenarios of a block that have the same seats.

        Raises ScenarioError when the roles cannot be filled.
        """
        # One stream for both shuffles: agents first, then seats. Another order would be another draw for every seed.
        luck = Chance(seed).uniforms(_STREAM, n=len(self._plays) + len(self._roles))
        labels = _shuffled(list(self._plays), luck[: len(self._plays)])
        taken: dict[str, SeatId] = {}
        for seat in _shuffled(list(self._roles), luck[len(self._plays) :]):
            if not self._place(seat, labels, taken, set()):
                raise ScenarioError(f"the field cannot fill {seat}: too few agents play a {self._roles[seat]}")
        seated = {seat: label for label, seat in taken.items()}
        return {seat: seated[seat] for seat in self._roles}

    def _place(self, seat: SeatId, labels: Sequence[str], taken: dict[str, SeatId], tried: set[str]) -> bool:
        """Seat the first free label at `seat`, else one that another label can replace. False where none can.

        Augmenting paths of bipartite matching: `tried` keeps a label from being moved twice on one path.
        """
        # Agents in the order of the shuffle, so that the draw decides and not the plan's order.
        able = [label for label in labels if label not in tried and self._roles[seat] in self._plays[label]]
        # Free agents first: moving one that is seated is tried only when no free one can play the role.
        for label in sorted(able, key=lambda label: label in taken):
            tried.add(label)
            if label not in taken or self._place(taken[label], labels, taken, tried):
                taken[label] = seat
                return True
        return False


def workload_of(sourced: SourcedPlan) -> Workload:
    """What a plan means; every scenario, agent and seating is checked. Raises ScenarioError."""
    plan, folder = sourced
    rows = len(LAW_CYCLE) if plan.seating.law_cycle else 1
    variants = [
        [
            variant
            for scenario in plan.plan.scenarios
            for point in _points(plan.grid)
            for variant in [variant_of(scenario, folder, point, LAW_CYCLE[row] if plan.seating.law_cycle else None)]
        ]
        for row in range(rows)
    ]
    entry = plan.plan
    work = Workload(
        entry.name, entry.all_seeds, variants, plan.agents, plan.seating, plan.count, agent_keys=entry.agent_keys
    )
    # Checking one row of variants is enough: the laws of the cycle change values and no seat.
    for variant in variants[0]:
        _check(variant, work)
    if work.count > MAX_EPISODES:
        raise ScenarioError(f"the plan means {work.count:,} episodes; at most {MAX_EPISODES:,} are allowed")
    return work


def _points(grid: Mapping[str, Sequence[JsonValue]]) -> list[dict[str, JsonValue]]:
    """Every combination of the grid's values, the last key varying fastest; one empty point without a grid."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def variant_of(name: str, folder: Path | None, point: Mapping[str, JsonValue], law: str | None = None) -> Variant:
    """A scenario, by its id or file below `folder`, with the values of a point of the grid. Raises ScenarioError."""
    overrides = dict(point) if law is None else {**point, "distribution": law}
    market = name.partition("/")[0]
    if name.endswith(".toml"):
        # A plan in a file names scenario files relative to itself.
        name = str((folder or Path()) / name)
        market = _market_of(name)
    try:
        return Variant(market, load_scenario(market, name, overrides))
    except ScenarioError as error:
        # The override came from the plan's `law_cycle`, which a message about `distribution` would not name.
        if law is not None and "distribution" in str(error):
            raise ScenarioError(f"law_cycle sets distribution = {law!r}, which does not fit: {error}") from None
        raise


def _market_of(file: str) -> str:
    """The market that a scenario's id begins with."""
    found = parse_toml(text_file(Path(file)), source=file).get("id")
    if not isinstance(found, str):
        raise ScenarioError(f"{file}: id: required, such as double_auction/mine")
    return found.partition("/")[0]


def _check(variant: Variant, work: Workload) -> None:
    """Check agents and seatings of a variant before anything is played. Raises ScenarioError."""
    kind = market_type(variant.market)
    for label, agent in work.agents.items():
        try:
            able = plays(variant, agent)
            # Made for nothing: a wrong model, key or option is found before the first episode.
            ready_in(variant, agent)
            if work.seating.kind == "dealt" and not able.issuperset(variant.roles.values()):
                raise ScenarioError(
                    f"a deal reaches every seat, and it plays {', '.join(sorted(able)) or 'no role'} only"
                )
        except ScenarioError as error:
            raise ScenarioError(f"[[agent]] {label}: {error}") from None
    # Seed 0 stands for all: a deal is checked above, a field draws only who can play, the rest is fixed.
    for players in work.seatings(variant, 0):
        for seat, label in players.items():
            if variant.roles[seat] not in plays(variant, work.agents[label]):
                raise ScenarioError(f"{label} does not play a {variant.roles[seat]}, and the plan seats it at {seat}")
        plan_seats(kind, variant.scenario, agents=list(players), others=STAND_IN)


def ready_in(variant: Variant, agent: AgentSpec) -> ReadyAgent:
    """The agent for all seats of a variant that it can play. Raises ScenarioError, HarnessFailure.

    Seats of other roles are left out; the seating decides later which of these it gets.
    """
    able = plays(variant, agent)
    roles = {seat: role for seat, role in variant.roles.items() if role in able}
    return ready(market_type(variant.market), agent, roles, scenario=variant.scenario)


def plays(variant: Variant, agent: AgentSpec) -> frozenset[str]:
    """The roles that an agent can play; all of them unless it is a policy for some.

    An agent that asks a model can play every role; only policies are made for some.
    """
    every = frozenset(variant.roles.values())
    if agent.policy is None:
        return every
    spec = market_type(variant.market).policies.get(parse_policy(agent.policy)[0])
    # An unknown policy passes here and is refused by `ready`, which names the known ones.
    return every if spec is None else spec.roles & every


def first_seat(variant: Variant, agent: AgentSpec) -> SeatId:
    """The first seat that the agent can play: of the agent's seats, else of all. Raises ScenarioError."""
    able, given = plays(variant, agent), plan_seats(market_type(variant.market), variant.scenario).agents
    found = next((seat for seat in (*given, *variant.roles) if variant.roles[seat] in able), None)
    if found is None:
        raise ScenarioError(f"{agent.label} can play no seat of {variant.scenario.id}")
    return found


def _agent_seats(variant: Variant, seating: Seating) -> list[SeatId]:
    """The seats that `fixed` gives to its agents. Raises ScenarioError where there is none."""
    # Of the seats that the scenario gives to agents, those that are not named are no agent's here.
    kind = market_type(variant.market)
    seats = plan_seats(kind, variant.scenario, agents=seating.seats, others=STAND_IN if seating.seats else None).agents
    if not seats:
        raise ScenarioError(f"{variant.scenario.id} has no agent's seat: name one with seating.seats")
    return seats


def _sides(variant: Variant) -> tuple[str, str]:
    """The two sides of a round robin: two roles, or two seats of one role. Raises ScenarioError for other markets."""
    sides = list(dict.fromkeys(variant.roles.values()))
    # Two seats of one role face each other as well, so here a side is a seat and not a role.
    if len(sides) == 1 and len(variant.roles) == 2:
        first, second = variant.roles
        return first, second
    if len(sides) != 2:
        raise ScenarioError(f"{variant.scenario.id} has {len(sides)} roles; a round robin needs two sides")
    return sides[0], sides[1]


def _facing(variant: Variant, sides: tuple[str, str], pair: tuple[str, str]) -> dict[SeatId, str]:
    """The first of a pair has the first side, in all of its seats.

    `sides` are two roles, or the two seats of a market with one role.
    """
    # A side is a role in most markets and a seat where there is one role only.
    return {seat: pair[0] if sides[0] in (role, seat) else pair[1] for seat, role in variant.roles.items()}


def _shuffled(items: list[str], luck: Sequence[float]) -> list[str]:
    """The items in the order of their draws."""
    return [item for _, item in sorted(zip(luck, items, strict=True))]


def file_name(label: str) -> str:
    """The label with every character that is unsafe in a file's name replaced by a hyphen."""
    # A leading dot would hide the folder, and a leading hyphen reads as an option.
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "-" for sign in label).strip(".-")
