"""Markets in which all seats act once per phase, unseen by each other: most of `Market` and `MarketType`, written once.

A sealed market with one phase per round writes `settle`, `default` and `resample`, its actions and its views:

    class Cournot(SealedRounds[int]):
        def __init__(self, scenario: CournotScenario, seed: int) -> None:
            super().__init__(seed, {"F1": "firm", "F2": "firm"}, scenario.rounds)
            self.scenario = scenario
            self.costs = {seat: 1 + int(9 * Chance(seed).uniform("cost", seat)) for seat in self.seats}
            self.profit = dict.fromkeys(self.seats, 0)
            self.rows = AppendOnly[Row]()

        def produce(self, seat: SeatId, quantity: int) -> None:     # what the action's tool calls
            self.seal(seat, quantity)

        def settle(self, acts: Mapping[SeatId, int]) -> tuple[BaseModel, BaseModel]: ...

**Attributes are the state.** Each attribute without a leading underscore is digested, and copied for
`perturbed`. It holds plain data: numbers, text, lists, tuples, sets, dicts, dataclasses, pydantic models, `AppendOnly`.
An attribute with a leading underscore is neither digested nor copied: keep only constants there (a `Chance`) and what
can be computed again. So a field that is added later cannot be missing in the digest.

**The order of arrival is invisible.** `settle` and `deliver` get the sealed acts in the order of `seats`, whichever
seat was first. A rule that must break a tie draws from `Chance` under a key of round and seat.

`teaching` is the model to copy. A market with a large state may keep a `digest` of its own (`double_auction` does).
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar, overload

import orjson
from pydantic import BaseModel, JsonValue

from tradefair.contract.chain import HASH_SIZE
from tradefair.contract.chance import Chance
from tradefair.contract.errors import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.evidence import EvidenceMap
from tradefair.contract.market import Clock, Closure, EndReason, InputRequest, LapseReason, Market
from tradefair.contract.scenario import SeatId, SeatSpec

Act = TypeVar("Act")
Item = TypeVar("Item")
M = TypeVar("M", bound=Market)

ROUNDS_COMPLETED: EndReason = "terminated:rounds_completed"


class AppendOnly(Sequence[Item]):
    """A list that only grows; it enters the digest as its length and a running hash, so its cost stays flat.

    For history: closed rounds, delivered messages. An item must not change once it is appended.
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._hash = hashlib.blake2b(digest_size=HASH_SIZE)

    def append(self, item: Item) -> None:
        """Add one item at the end."""
        # A list around the item: JSON numbers without brackets would run together (1, 23 and 12, 3).
        self._hash.update(_encoded([item]))
        self._items.append(item)

    def summary(self) -> list[int | str]:
        """Length and running hash: what the digest of the market holds."""
        return [len(self._items), self._hash.hexdigest()]

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __deepcopy__(self, memo: dict[int, Any]) -> AppendOnly[Item]:
        # Items never change, so both copies may share them; a hash of hashlib can be copied by its own method only.
        twin = AppendOnly[Item]()
        twin._items, twin._hash = list(self._items), self._hash.copy()
        return twin


class SealedRounds(ABC, Generic[Act]):
    """A live market of sealed rounds; `Act` is the type of a sealed act, a union where phases differ.

    A round consists of `phases`, one act per seat in each. The last phase settles the round; phases before it deliver
    something that changes no account, such as messages. The market adds `rules_view`, `turn_view` and `ending_facts`.
    """

    phases: tuple[str, ...] = ("act",)
    """Names of a round's phases, in order; set by the class, or through the constructor where a scenario decides."""

    def __init__(
        self, seed: int, roles: Mapping[SeatId, str], rounds: int, phases: tuple[str, ...] | None = None
    ) -> None:
        """Open round 1. `roles` maps seats to roles, in the order in which seats are asked and acts are settled."""
        self.seed = seed
        self.seats: dict[SeatId, SeatSpec] = {seat: SeatSpec(seat, role) for seat, role in roles.items()}
        self.rounds = rounds
        self.phases = phases or type(self).phases
        self.clock = Clock(1, self.phases[0], 0)
        self.terminated: EndReason | None = None
        self.read_marks: dict[SeatId, int] = {}
        self.sealed: dict[SeatId, Act] = {}
        # Derived from seats and sealed, so not state; see `awaited`.
        self._everyone = self._missing = frozenset(self.seats)
        # What has closed, whether or not the market keeps it.
        self._past = hashlib.blake2b(digest_size=HASH_SIZE)

    # --- what a market writes -----------------------------------------------------------------------------------------

    @abstractmethod
    def settle(self, acts: Mapping[SeatId, Act]) -> tuple[BaseModel, BaseModel]:
        """Close the round: change the state, return what all seats now see and the hidden truth for the trace.

        `acts` has one act per seat, in seat order. `clock` still shows the closing round. To end the episode before the
        last round set `terminated` here. Never raises for anything that an action has accepted.
        """

    def deliver(self, phase: str, acts: Mapping[SeatId, Act]) -> BaseModel:
        """Close a phase before the last: change the state, return what all seats now see (never a private message)."""
        raise NotImplementedError(f"{type(self).__name__} has several phases: write deliver for {phase!r}")

    @abstractmethod
    def default(self, seat: SeatId, phase: str) -> tuple[Act, str]:
        """The act that a silent seat is given in `phase`, and its name in the trace, such as `no_claim`."""

    def resample(self, seat: SeatId, chance: Chance) -> None:
        """Redraw everything that is private to `seat`: values, accounts that follow from them, its sealed act.

        Public results stay as they are, and what other seats were told. Draw values that differ from the old ones:
        the conformance kit compares what the other seats see in both worlds. A market that can only make such a world
        by playing the past again writes `perturbed` instead.
        """
        raise NotImplementedError(f"write resample for {type(self).__name__}")

    # --- acting -------------------------------------------------------------------------------------------------------

    def require_open(self, seat: SeatId) -> None:
        """Refuse an act that is not due. Call it first in an action that checks more than `seal` does.

        Which phases an action belongs to, its tool declares (`open`). Raises EpisodeOver, or IllegalAction:
        already_acted, wrong_phase.
        """
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        if seat in self.sealed:
            raise IllegalAction("already_acted", "one act per phase", hint="call await_turn", retryable=False)
        # A market may await some of its seats only, such as one speaker; it overrides `awaited`.
        if seat not in self.awaited():
            raise IllegalAction("wrong_phase", f"{seat} does not act now", hint="call await_turn")

    def seal(self, seat: SeatId, act: Act) -> None:
        """Keep the seat's act until its phase closes; final. Raises as `require_open`."""
        self.require_open(seat)
        self.sealed[seat] = act

    def awaited(self) -> frozenset[SeatId]:
        """The seats that have not acted in the open phase; none once the episode is over."""
        if self.terminated is not None:
            return frozenset()
        # Made again only after an act, by the acts that are new: the kernel asks several times per call, and markets
        # have up to 1,000 seats.
        new = len(self._missing) + len(self.sealed) - len(self.seats)
        if new:
            self._missing = self._missing.difference(islice(reversed(self.sealed), new))
        return self._missing

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Seal the default act of a silent seat; its name. HarnessFailure for a seat that is not awaited."""
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        # Sealed like any act: that a seat has lapsed shows when the phase closes, not before.
        act, name = self.default(seat, self.clock.phase)
        self.sealed[seat] = act
        return name

    def advance(self) -> Closure:
        """Close the open phase and open the next one. HarnessFailure while a seat is awaited or after the end."""
        closing, acts = self.clock, self._closing()
        if closing.phase == self.phases[-1]:
            closure = Closure("round", *self.settle(acts))
        else:
            closure = Closure("phase", self.deliver(closing.phase, acts))
        # After the market has settled: `settle` reads the closing round from the clock and may end the episode.
        self._open_next()
        # With the clock of the phase that has closed, not of the one that is open now.
        self._remember(closing, acts, closure)
        return closure

    # --- the steps of the above, for markets that do some of them otherwise -------------------------------------------

    def _closing(self) -> dict[SeatId, Act]:
        """The acts of the phase that may close now, in seat order."""
        if self.terminated is not None or self.awaited():
            raise HarnessFailure("a phase closes when no seat is awaited and the episode is not over")
        # Through the seats, not through the mapping: it has the order of arrival.
        return {seat: self.sealed[seat] for seat in self.seats if seat in self.sealed}

    def _open_next(self) -> None:
        """Move the clock; after the end it shows the round and phase that closed last."""
        number, phase, revision = self.clock
        if phase != self.phases[-1]:
            phase = self.phases[self.phases.index(phase) + 1]
        elif self.terminated is None and number >= self.rounds:
            self.terminated = ROUNDS_COMPLETED
        elif self.terminated is None:
            number, phase = number + 1, self.phases[0]
        self.clock = Clock(number, phase, revision + 1)
        # Emptied, not replaced: privileged policies hold this mapping.
        self.sealed.clear()
        self._missing = self._everyone

    def _remember(self, closing: Clock, acts: Mapping[SeatId, Act], closure: Closure) -> None:
        """Enter a closure into the running hash; a market with a digest of its own may spare the cost."""
        self._past.update(_encoded([closing, acts, closure]))

    # --- what the kernel asks ---------------------------------------------------------------------------------------

    def feed(self, source: str, payload: JsonValue) -> None:
        """Refuse every free-standing input: such a market takes none. Raises IllegalAction: unknown_source."""
        raise IllegalAction("unknown_source", f"{source[:40]} is not an input of this market", retryable=False)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """No named constants for `execute_code`."""
        return {}

    def news_mark(self, seat: SeatId) -> int:
        """The number of closures: nothing else reaches a seat."""
        return self.clock.revision

    def privileged(self) -> object:
        """The sealed acts by seat, for privileged policies: a live mapping, emptied by each closure."""
        return self.sealed

    def digest(self) -> bytes:
        """BLAKE2b-256 of all closures so far (a running hash) and of each attribute without a leading underscore.

        HarnessFailure names an attribute that is not plain data.
        """
        # A copy: asking for the digest must not change the next one.
        total = self._past.copy()
        for name, value in sorted(vars(self).items()):
            if name.startswith("_"):
                continue
            try:
                total.update(_encoded([name, value]))
            except TypeError as error:
                reason = f"{type(self).__name__}.{name} is no plain data, so it cannot be digested: {error}"
                raise HarnessFailure(f"{reason}; constants and caches begin with an underscore") from error
        return total.digest()

    def perturbed(self, seat: SeatId, salt: int) -> Self:
        """An independent copy with the same public past, in which everything private to the other seats differs."""
        # Attributes with an underscore stay shared: constants, and caches that are replaced, never changed.
        twin = copy.copy(self)
        # One deepcopy for all attributes: two that share an object share its copy too.
        vars(twin).update(
            copy.deepcopy({name: value for name, value in vars(self).items() if not name.startswith("_")})
        )
        # A hash object is changed in place: shared, the twin's closures would enter this market's digest.
        twin._past = self._past.copy()
        # A key of its own: the luck of the episode must not move with the salt.
        chance = Chance(f"sealed.perturb:{salt}")
        for other in self.seats:
            if other != seat:
                twin.resample(other, chance)
        return twin


class SealedType:
    """The parts of `MarketType` that a sealed market need not write; a market with errors or needs replaces them."""

    evidence_map: EvidenceMap = MappingProxyType({})
    errors: Mapping[str, str] = MappingProxyType({})

    def request(self, market: Any, seat: SeatId, tool: str, arguments: BaseModel) -> InputRequest | None:
        """No tool needs anything from outside."""
        return None

    def perturb_private(self, market: Any, seat: SeatId, salt: int) -> Any:
        """The market's `perturbed`: the same to `seat`, with other private data of all other seats."""
        return market.perturbed(seat, salt)


def _encoded(value: object) -> bytes:
    """Canonical JSON of state. TypeError for what is not plain data."""
    # Keys sorted: equal states must have equal bytes, whatever order their dicts were filled in.
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> object:
    """What orjson does not know by itself, as something that it knows."""
    match value:
        case BaseModel():
            return orjson.Fragment(value.__pydantic_serializer__.to_json(value))
        case AppendOnly():
            return value.summary()
        case tuple():
            # Named tuples come here too; their fields' names are not part of the state.
            return [*value]  # pyright: ignore[reportUnknownVariableType]
        case set() | frozenset():
            # By their encoding: members of a set have no order of their own, and str hashes differ between processes.
            return [orjson.Fragment(member) for member in sorted(map(_encoded, value))]  # pyright: ignore[reportUnknownArgumentType]
        case _:
            raise TypeError(f"a {type(value).__name__}")
