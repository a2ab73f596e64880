"""An auction as the failure modes read it: rounds of every seat, its calls, and its messages with their audience.

Prices and values are in points. A time is the number of an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from tradefair.contract import SeatId
from tradefair.double_auction.analysis import Fill, Hindsight, PlayedRound, flip, hindsight
from tradefair.double_auction.model import Role, RoundFacts
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.reading import TraceReading

_QUOTE: Mapping[Role, str] = {"buyer": "bid", "seller": "ask"}
_A: Mapping[Role, str] = {"buyer": "a bid", "seller": "an ask"}
_OTHER: Mapping[Role, Role] = {"buyer": "seller", "seller": "buyer"}

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


# Rounds are keys of mappings: compared by identity, since their seat cannot be hashed.
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
    def forfeited(self) -> bool:
        """Whether the seat had no quote in the book."""
        return self.quote is None

    @cached_property
    def seen(self) -> Hindsight | None:
        """What other quotes would have earned, with the rivals' quotes as they were; None where it is not known."""
        if self.played is None:
            return None
        seat = self.seat
        # Cached, since several modes ask for the same round and each look replays its clearing.
        return hindsight(seat.seat, seat.role, seat.value, self.played, seat.game.price_max)

    @property
    def missed(self) -> bool:
        """Whether a quote did not trade although one within the own value would have, and with a gain.

        The first round does not count, since no seat can know its rivals yet; a forfeited one has its own mode.
        """
        # In this order, since `seen` costs a replay of the round and is not needed for most.
        if self.round == 1 or self.traded or self.forfeited or self.seen is None:
            return False
        return bool(self.seen.best_within)

    @property
    def cause(self) -> int:
        """The event by which the seat decided this round.

        The quote; without one the refusal that was never repaired, else the lapse, else the last call of the turn.
        """
        if self.quoted is not None:
            return self.quoted
        seat = self.seat
        refused = seat.refused.get(self.round, [])[-1:]
        last = [calls[self.round] for calls in (seat.lapsed, seat.last_calls) if self.round in calls]
        return [*refused, *last, self.closed][0]

    @property
    def short_by(self) -> int:
        """Points by which a missed quote fell short of the nearest quote that would have traded; 0 where none would."""
        if self.quote is None:
            return 0
        # Of a missed round all of them pay: one that pays nothing lies at the value, and then none lies below it.
        nearest = min((first for first, _ in self._within), default=None)
        return 0 if nearest is None else nearest - self.seat.flipped(self.quote)

    @cached_property
    def better(self) -> str:
        """The best quote within the own value, in words: what it would have met and earned.

        What it met may have traded all the same, with a rival whose quote was equal and came first.
        """
        price, met, earned = self._best(self._within)
        role = self.seat.role
        return f"{_A[role]} of {price} would have traded with {_A[_OTHER[role]]} of {met} and earned {earned:g}"

    @property
    def left(self) -> float:
        """Points that a more modest offer would have kept: a quote better for the seat that still trades."""
        fills = self._modest
        return self._best(fills)[2] - self.seen.actual if fills and self.seen else 0.0

    def modest(self) -> str:
        """The best such quote, in words."""
        price, _, earned = self._best(self._modest)
        return f"{_A[self.seat.role]} of {price} would have traded for {earned:g}"

    @property
    def _modest(self) -> list[Fill]:
        # A quote that offers more may win a better partner: that is the luck of the ranks, and gives no price away.
        if self.quote is None:
            return []
        return self._fills(self.seat.flipped(self.quote))

    def _best(self, fills: Sequence[Fill]) -> tuple[int, int, float]:
        """Price and met quote of the fill that pays most, in the seat's terms, and its payoff."""
        first, met = min(fills, key=sum)
        seat = self.seat
        return seat.flipped(first), seat.flipped(met), (2 * seat.flipped(seat.value) - first - met) / 2

    def _fills(self, most: int) -> list[Fill]:
        """Quotes up to `most` that would have traded, in buyer terms."""
        if self.played is None:
            return []
        # Not kept: a market of 400 seats would hold a million.
        fills = self.played.faced(self.seat.role, self.seat.game.price_max).fills(self.seat.seat)
        return [fill for fill in fills if fill[0] <= most]

    @property
    def _within(self) -> list[Fill]:
        """Those within the own value."""
        return self._fills(self.seat.flipped(self.seat.value))

    def case(self, what: str, cost: float | None = None, **more: Any) -> Case:
        """A case of this round; `what` follows its number."""
        return Case(self.cause, self.round, f"round {self.round}: {what}", cost, shown_by=self.closed, **more)


@dataclass
class AuctionSeat:
    """One seat. `first_look` is the event of the first view_my_value; `refused` and `lapsed` are of quotes, by round.

    `last_calls` has the event of the last call of each round. `value` and `potential` in points; `unread` counts
    analyses of which the trace holds no answer.
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
    refused: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    lapsed: dict[int, int] = field(default_factory=dict[int, int])
    last_calls: dict[int, int] = field(default_factory=dict[int, int])
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


def runs(rounds: Sequence[SeatRound]) -> Iterator[list[SeatRound]]:
    """Stretches of consecutive rounds, of an ordered selection.

    Rounds of the selection are consecutive where their numbers are; the selection has to be in order.
    """
    run: list[SeatRound] = []
    for round_ in rounds:
        if run and round_.round != run[-1].round + 1:
            yield run
            run = []
        run.append(round_)
    if run:
        yield run
