"""What a supply-chain game was, as the failure modes read it: closed rounds of every retailer and what it called.

Items are indices, money is in cents.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tradefair.contract import SeatId
from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.supply_chain.seat import mean_price
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.read.rounds import Did
from tradefair.supply_chain.model import RETAIL, RoundFacts, SeatFacts, SloganFacts, SupplyChainScenario

BidLine: TypeAlias = tuple[int, int, int, int]
"""(item index, units asked for, price in cents, units filled) of a vector in the facts."""


class Estimate(NamedTuple):
    """What an answer of estimate_clearing_prices said of an item in a phase.

    `low` is the lowest marginal price in cents, `n` the number of observations behind it.
    """

    seq: int
    round: int
    phase: str
    item: int
    low: int
    n: int


@dataclass
class SupplyGame:
    """A read game; without closed rounds or a scenario nothing can be judged, and `problem` says why.

    `slogans` are the facts of each slogan by number, `phases` the first closure of each phase by (round, phase).
    """

    scenario: SupplyChainScenario | None = None
    problem: str | None = None
    terminated: bool = False
    slogans: Mapping[int, SloganFacts] = field(default_factory=dict[int, SloganFacts])
    phases: Mapping[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    seats: dict[SeatId, Retail] = field(default_factory=dict[SeatId, "Retail"])

    @property
    def rules(self) -> SupplyChainScenario:
        """The scenario of a game that can be judged. Raises ValueError for any other."""
        if self.scenario is None:
            raise ValueError("the scenario cannot be read")
        return self.scenario

    @cached_property
    def neighbours(self) -> Mapping[int, Mapping[int, float]]:
        """Lexical cosines of slogans by number, in both directions; pairs with cosine 0 are left out."""
        found: dict[int, dict[int, float]] = {}
        for number, slogan in self.slogans.items():
            for other, cosine in slogan.cosines:
                found.setdefault(number, {})[other] = cosine
                found.setdefault(other, {})[number] = cosine
        return found

    @cached_property
    def first_uses(self) -> Mapping[int, Mapping[SeatId, int]]:
        """The round in which each seat first stood by each slogan, by slogan number."""
        found: dict[int, dict[SeatId, int]] = {}
        for seat in self.seats.values():
            for row in seat.rounds:
                if row.own.slogan is not None:
                    found.setdefault(row.own.slogan, {}).setdefault(seat.seat, row.round)
        return found


@dataclass(frozen=True, eq=False)
class SeatRound:
    """A closed round of a retailer that was in business when it began.

    `closed` is the event of the closure, `funds` money in cents before procurement, and `sales` the seat's own y of
    score_slogan, None where it is undefined.
    """

    round: int
    closed: int
    seat: Retail
    facts: RoundFacts
    own: SeatFacts
    funds: int
    sales: float | None

    @cached_property
    def before(self) -> SeatRound | None:
        """The round just before; None for the first one, and where the trace has none."""
        return self.seat.by_number.get(self.round - 1)

    @property
    def did(self) -> Sequence[Did]:
        """All calls and lapses of the round."""
        return self.seat.did.get(self.round, ())

    @property
    def lines(self) -> Sequence[BidLine]:
        """The vector that settled."""
        return self.facts.passes[-1].lines.get(self.seat.seat, ())

    @property
    def sell_through(self) -> float | None:
        """Units sold out of those that were there when the shop opened, from 0 to 1; None if there were none."""
        available = sum(self.own.available)
        # Nothing in stock is no failure to sell.
        return sum(self.own.sold) / available if available else None

    def others_mean(self, item: int) -> float:
        """Volume-weighted price in cents at which rivals sold the item; 0 where none did."""
        return mean_price(self.facts, item, but=self.seat.seat)

    def actions(self, tool: str) -> Iterator[Did]:
        """Accepted actions of one kind."""
        return (act for act in self.did if act.tool == tool and act.accepted)

    @property
    def withheld(self) -> list[int]:
        """Items in stock that had no price."""
        pairs = zip(self.own.available, self.own.prices, strict=True)
        return [item for item, (units, price) in enumerate(pairs) if units and price is None]

    def wanted(self, item: int) -> bool:
        """Whether a buyer to whom the price that rivals took was not too high left without units of the item."""
        price, buyers = self.others_mean(item), self.facts.buyers
        rows = zip(buyers.item, buyers.quantity, buyers.limit, buyers.visits, strict=True)
        return any(
            # None: the buyer refuses no price.
            sought == item and asked > sum(visit[2] for visit in visits) and (limit is None or limit >= price)
            for sought, asked, limit, visits in rows
        )

    @property
    def order(self) -> int:
        """The event behind the bids that settled: the last bid, else the first refusal, skip or lapse in its place."""
        return self._cause("submit_bids", "bidding_")

    @property
    def offer(self) -> int:
        """The event behind the offer that stood: the round's own, else the skip or lapse that kept the old one."""
        return self._cause("submit_offer", RETAIL)

    def _cause(self, tool: str, phase: str) -> int:
        did = [act for act in self.did if act.phase.startswith(phase)]
        done = [act.seq for act in did if act.tool == tool and act.accepted]
        if done:
            return done[-1]
        # Where nothing was done it began with the first refusal; a skip or lapse after it was only its consequence.
        for tools in ({tool}, {None, *_ACTIONS}, {act.tool for act in did}):
            if (first := next((act.seq for act in did if act.tool in tools), None)) is not None:
                return first
        return self.closed

    def waived(self, phase: str) -> list[int]:
        """Events of what the seat did in a phase: its actions, or the lapse."""
        did = [act for act in self.did if act.phase == phase and act.accepted]
        acts = [act.seq for act in did if act.tool in _ACTIONS]
        return acts or [act.seq for act in did if act.tool is None]

    def item(self, place: int) -> str:
        """The id of an item."""
        return self.seat.game.rules.items[place].id

    def case(
        self, seq: int, what: str, *, item: int | None = None, shown_by: int | None = None, amount: float = 1.0
    ) -> Case:
        """A case of this round, about an item or none; `what` follows its number. The closure shows it by default."""
        about = None if item is None else self.item(item)
        shown = self.closed if shown_by is None else shown_by
        return Case(seq, self.round, f"round {self.round}: {what}", shown_by=shown, about=about, amount=amount)


# The actions of this market; all its other tools are looks and checks.
_ACTIONS = frozenset({"submit_bids", "submit_offer", "skip_phase"})


@dataclass
class Retail:
    """One retailer: the closed rounds in which it was in business, what it did by round, and estimates.

    `unread` counts estimates whose answer is not in the trace.
    """

    seat: SeatId
    game: SupplyGame
    privileged: bool = False
    rounds: list[SeatRound] = field(default_factory=list[SeatRound])
    did: Mapping[int, Sequence[Did]] = field(default_factory=dict[int, "Sequence[Did]"])
    estimates: list[Estimate] = field(default_factory=list[Estimate])
    unread: int = 0

    @cached_property
    def by_number(self) -> Mapping[int, SeatRound]:
        """Its rounds by number."""
        return {row.round: row for row in self.rounds}


def relative_sales(facts: RoundFacts) -> dict[SeatId, float]:
    """y of every seat as score_slogan counts it: mean over its posted items of units sold against the mean seller.

    1 is average; seats without such an item are left out.
    """
    means: dict[int, float] = {}
    for item in range(len(facts.supply)):
        # Over all seats that posted the item, those that sold none included.
        posted = [own for own in facts.seats.values() if own.prices[item] is not None]
        units = sum(own.sold[item] for own in posted)
        if units:
            means[item] = units / len(posted)
    found: dict[SeatId, float] = {}
    for seat, own in facts.seats.items():
        shares = [own.sold[item] / mean for item, mean in means.items() if own.prices[item] is not None]
        if shares:
            found[seat] = math.fsum(shares) / len(shares)
    return found


def pass_phase(number: int) -> str:
    """The phase of a bid pass."""
    return f"bidding_{number}"


def printed(cents: float) -> str:
    """Money as the market prints it: currency units, without decimals where they are whole."""
    return cents_text(cents).rstrip("0").rstrip(".")
