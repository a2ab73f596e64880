"""The one mutable record of an episode: books, passes, offers, the clock. Views and facts read it, rules change it.

Seats, items and buyers are addressed by index: seats in the order of `ids`, items in that of the scenario's catalogue.
Money is in integer cents.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypeVar, cast

from tradefair.contract import Chance, Clock, EndReason, HarnessFailure, Result, SeatId, SeatSpec
from tradefair.contract.chain import canonical
from tradefair.supply_chain.engine import lexical
from tradefair.supply_chain.engine.demand import Crowd, draw_crowd, draw_supply
from tradefair.supply_chain.engine.procurement import ItemResult
from tradefair.supply_chain.engine.sales import Luck
from tradefair.supply_chain.model import RETAIL, ROLE, Line, Offer, SupplyChainScenario, seat_ids

_R = TypeVar("_R", bound=Result)


class SeatPass(NamedTuple):
    """One seat's standing vector in a pass, what each line won (or would win), and a vector that was forfeited.

    `filled` has one number of units per line of `lines`. `forfeited` holds the lines of a vector that cost more than
    the funds: they win nothing, but the measures of bidding count them as requested.
    """

    lines: tuple[Line, ...]
    filled: tuple[int, ...]
    forfeited: tuple[Line, ...]


class PassRecord(NamedTuple):
    """A closed bid pass: its number (1 … B), results by seat index and by item index."""

    number: int
    seats: tuple[SeatPass, ...]
    items: tuple[ItemResult, ...]


class RoundRecord(NamedTuple):
    """A closed round, as far as a view or an analysis may ask for it again.

    `supply` is by item index, `passes` in order, `offers` and `active` by seat index, `sold` as `[seat][item]` in
    units. `active` is the state after the close: a seat that went bankrupt in this round is not active in it.
    """

    round: int
    supply: tuple[int, ...]
    passes: tuple[PassRecord, ...]
    offers: tuple[Offer | None, ...]
    sold: tuple[tuple[int, ...], ...]
    active: tuple[bool, ...]


class Sealed(NamedTuple):
    """What a seat does in the open phase: a vector, a vector that was above funds, an offer, or the default (none)."""

    lines: tuple[Line, ...] | None = None
    forfeited: tuple[Line, ...] = ()
    offer: Offer | None = None


@dataclass
class Retailer:
    """One seat's books. `units` and `book` (stock at cost, cents) are by item index.

    `vector` holds the bid lines that stand in the open round, `overspent` says that the last vector was forfeited.
    `profits` and `revenues` have one entry in cents per closed round, zeros after a bankruptcy.
    """

    funds: int
    units: list[int]
    book: list[int]
    vector: tuple[Line, ...] = ()
    offer: Offer | None = None
    active: bool = True
    overspent: bool = False
    profits: list[int] = field(default_factory=list[int])
    revenues: list[int] = field(default_factory=list[int])

    @property
    def book_value(self) -> int:
        """Stock of all items at cost, in cents."""
        return sum(self.book)

    def copy(self) -> Retailer:
        """An independent copy."""
        lists = {name: list(getattr(self, name)) for name in ("units", "book", "profits", "revenues")}
        return replace(self, **lists)


class State:
    """The whole truth of one episode; changed by the rules only.

    `history` holds the closed rounds, `passes` the closed passes of the open round, `sealed` the actions of the open
    phase by seat (order of arrival), `opening` each seat's units when the round began (`[seat][item]`), `slogans` the
    number of every slogan posted so far, and `past` a running hash of the facts of all closed rounds.
    """

    def __init__(self, scenario: SupplyChainScenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        self.ids = seat_ids(scenario.retailers)
        self.seats: dict[SeatId, SeatSpec] = {seat: SeatSpec(seat, ROLE) for seat in self.ids}
        self.places = {seat: index for index, seat in enumerate(self.ids)}
        self.read_marks: dict[SeatId, int] = dict.fromkeys(self.ids, 0)
        self.terminated: EndReason | None = None
        empty = [0] * len(scenario.items)
        # A list for each seat: one shared list would move all stocks together.
        self.retailers = [Retailer(scenario.initial_funds_cents, [*empty], [*empty]) for _ in self.ids]
        self.history: list[RoundRecord] = []
        self.passes: list[PassRecord] = []
        self.sealed: dict[SeatId, Sealed] = {}
        self.clock = Clock(1, scenario.phases[0], 0)
        self.chance = Chance(seed)
        self.slogans: dict[str, int] = {}
        # Begun with seed and scenario, so that equal rounds of other episodes have another digest.
        self.past = hashlib.blake2b(canonical([seed, scenario.model_dump(mode="json")]), digest_size=32)
        # Rounds open with their supply: it is public from the first pass on.
        self.supply = draw_supply(scenario, self.chance, 1)
        self.opening = [tuple(retailer.units) for retailer in self.retailers]
        # Kept as a set: with 200 seats `awaited` is asked far more often than it changes.
        self.waiting = frozenset(self.ids)
        # A cache and no truth: it is neither digested nor copied.
        self._shared: dict[str, Result] = {}

    def of(self, seat: SeatId) -> Retailer:
        """A seat's books."""
        return self.retailers[self.places[seat]]

    @property
    def active(self) -> tuple[int, ...]:
        """Indices of the seats that are not bankrupt, ascending."""
        return tuple(index for index, retailer in enumerate(self.retailers) if retailer.active)

    @property
    def bid_pass(self) -> int:
        """The open bid pass, 1 … B; 0 in the retail phase."""
        return 0 if self.clock.phase == RETAIL else len(self.passes) + 1

    # --- hidden from the seats ---------------------------------------------------------------------------------------

    def crowd(self) -> Crowd:
        """The buyers of the open round. They depend on scenario, seed and round alone, so they can be asked early."""
        return draw_crowd(self.scenario, self.chance, self.clock.round)

    def luck(self) -> Luck:
        """What decides chance for the buyers of the open round: attention noise and price ties."""
        return Luck(self.chance, self.clock.round, self.ids)

    def similarities(self, slogan: str, answered: Sequence[float] | None = None) -> tuple[float, ...]:
        """A slogan's similarity to each persona text, in the order of `scenario.persona_texts`; each from -1 to 1.

        `answered` is an outside embedder's row and is ignored under the built-in one. Raises HarnessFailure when it is
        missing or of another length.
        """
        texts = self.scenario.persona_texts
        if self.scenario.embedder == "lexical":
            return tuple(lexical.cosine(slogan, text) for text in texts)
        # A row of another length would shift every similarity after the gap without an error.
        if answered is None or len(answered) != len(texts):
            raise HarnessFailure("a slogan came without its similarities")
        return tuple(answered)

    # --- copies and answers that all seats share ---------------------------------------------------------------------

    def shared(self, name: str, make: Callable[[], _R]) -> _R:
        """The answer `name`, equal for all seats until the phase closes: made once, so that it is also encoded once."""
        known = self._shared.get(name)
        if known is None:
            known = self._shared[name] = make()
        return cast(_R, known)

    def forget_shared(self) -> None:
        """Drop the shared answers; every closure does."""
        self._shared.clear()

    def copy(self) -> Self:
        """An independent copy in the same state; records of the past are shared, because nothing changes them."""
        # Scenario, seats and chance never change and are shared.
        twin = copy.copy(self)
        twin.retailers = [retailer.copy() for retailer in self.retailers]
        twin.history, twin.passes, twin.opening = list(self.history), list(self.passes), list(self.opening)
        twin.sealed, twin.read_marks, twin.slogans = dict(self.sealed), dict(self.read_marks), dict(self.slogans)
        twin.past, twin._shared = self.past.copy(), {}
        return twin
