"""An auction as the failure modes read it: rounds of every seat, its calls, and its messages with their audience.

Prices and values are in points. A time is the number of an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from tradefair.contract import SeatId
from tradefair.double_auction.analysis import PlayedRound, flip
from tradefair.double_auction.model import Role, RoundFacts
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.reading import TraceReading

_QUOTE: Mapping[Role, str] = {"buyer": "bid", "seller": "ask"}

Audience: TypeAlias = Literal["own side", "other side", "all traders"]
"""The addressees of a message, seen from the sender."""


class Quote(NamedTuple):
    """An accepted quote and its event, in the seat's own terms."""

    seq: int
    round: int
    price: int


class Sent(NamedTuple):
    """A message that was delivered, so that its addressees could read it; silence is not a message."""

    seq: int
    round: int
    recipient: str
    audience: Audience
    text: str

    def reaches(self, seat: AuctionSeat) -> bool:
        """Whether a seat other than the sender is among its addressees."""
        # The three ways of the tool's `recipient`: one seat, all seats, or one side.
        return self.recipient in (seat.seat, "all_traders", f"all_{seat.role}s")


class Advice(NamedTuple):
    """An answer of expected_surplus: mean surplus per round by price, over `rounds_used` closed rounds."""

    seq: int
    round: int
    surplus: Mapping[int, float]
    rounds_used: int


# Compared by identity: a seat and its rounds hold each other.
@dataclass(frozen=True, eq=False)
class SeatRound:
    """A closed round of one seat. `closed` is the event that closed it, `quoted` that of the quote; None: forfeited.

    `payoff` is in points. `played` is None where the facts of the round do not fit the seat.
    """

    round: int
    closed: int
    quote: int | None
    quoted: int | None
    payoff: int
    traded: bool
    seat: AuctionSeat = field(repr=False)
    played: PlayedRound | None = field(repr=False)

    @property
    def cause(self) -> int:
        """The event by which the seat decided this round: its quote, or the closure where the trace holds none."""
        return self.closed if self.quoted is None else self.quoted

    @cached_property
    def open(self) -> tuple[int, int] | None:
        """The least offer within the own value that would have traded with a gain, and what it would have met.

        None without one. What it would have met may have traded all the same, with an equal rival that came first.
        """
        seat = self.seat
        if self.played is None:
            return None
        value, grid = seat.flipped(seat.value), seat.game.price_max
        # In buyer terms, the highest first: the last is the least offer that would have traded.
        first, met = next(reversed(self.played.faced(seat.role, grid).fills(seat.seat)), (grid + 1, grid + 1))
        return (seat.flipped(first), seat.flipped(met)) if first <= value and met < value else None

    def case(self, what: str) -> Case:
        """A case of this round; `what` follows its number."""
        return Case(self.cause, self.round, f"round {self.round}: {what}", shown_by=self.closed)


@dataclass
class AuctionSeat:
    """One seat. `first_look` is the event of the first view_my_value; `value` and `potential` are in points.

    `unread` counts analyses of which the trace holds no answer.
    """

    seat: SeatId
    role: Role
    game: AuctionGame = field(repr=False)
    value: int
    potential: int
    privileged: bool = False
    rounds: list[SeatRound] = field(default_factory=list[SeatRound])
    quotes: list[Quote] = field(default_factory=list[Quote])
    messages: list[Sent] = field(default_factory=list[Sent])
    advice: list[Advice] = field(default_factory=list[Advice])
    first_look: int | None = None
    unread: int = 0

    @property
    def quotes_as(self) -> str:
        """What the quotes of its role are called."""
        return _QUOTE[self.role]

    @property
    def limit(self) -> str:
        """What its private number is called."""
        return "value" if self.role == "buyer" else "cost"

    def case(self, quote: Quote, what: str, shown_by: int | None = None) -> Case:
        """A case of a quote; `what` follows its price."""
        because = f"round {quote.round}: {self.quotes_as} {quote.price}{what}"
        return Case(quote.seq, quote.round, because, shown_by=shown_by)

    def shade(self, price: int) -> int:
        """How far a price is better for the seat than its value; negative: through it.

        In points.
        """
        return self.value - price if self.role == "buyer" else price - self.value

    def flipped(self, price: int) -> int:
        """A price in buyer terms, or back."""
        return flip(price, self.game.price_max, self.role)

    @cached_property
    def quoted_at(self) -> Mapping[tuple[int, int], int]:
        """Events of the quotes, by round and price."""
        # Reversed, so that of two equal quotes of a round the first one's event stays.
        return {(quote.round, quote.price): quote.seq for quote in reversed(self.quotes)}


@dataclass
class AuctionGame:
    """A read auction. `length` is R; `numbers` are the closed rounds in order; `opened` is the event with the values.

    `closed` has the facts of the closed rounds as the trace has them, `played` the same rounds as hindsight reads them;
    `mean_prices` are of rounds with trades.
    """

    reading: TraceReading = field(default_factory=TraceReading)
    closed: list[RoundFacts] = field(default_factory=list[RoundFacts])
    played: list[PlayedRound] = field(default_factory=list[PlayedRound])
    length: int = 0
    price_max: int = 100
    talks: bool = False
    opened: int | None = None
    seats: dict[SeatId, AuctionSeat] = field(default_factory=dict[SeatId, AuctionSeat])
    numbers: list[int] = field(default_factory=list[int])
    mean_prices: dict[int, float] = field(default_factory=dict[int, float])

    @cached_property
    def last_prices(self) -> Mapping[int, float]:
        """Per closed round the mean price of the last round before it that had a trade."""
        found: dict[int, float] = {}
        last: float | None = None
        for number in self.numbers:
            if last is not None:
                # Before it is updated: a quote is measured by prices that the seat could know.
                found[number] = last
            last = self.mean_prices.get(number, last)
        return found
