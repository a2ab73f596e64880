"""What a bargaining game was, as the failure modes read it: rounds, quotes, what was said and when, from each side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tradefair.bargaining.model import BUYER, Role, other, role_of
from tradefair.contract import SeatId
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.phrases import load_phrases
from tradefair.trading.claims import Claimed, claims
from tradefair.trading.statements import Statement

_NEAR = 2
"""Ticks from the own limit within which an unread number might tell it."""

PHRASES = load_phrases("tradefair.evaluation.markets.bargaining")


class Message(NamedTuple):
    """What a seat said: `seq` is its event."""

    seq: int
    round: int
    seat: SeatId
    text: str
    statements: tuple[Statement, ...]

    @property
    def silent(self) -> bool:
        """Whether it says nothing: neither a letter nor a digit."""
        # A silent turn is an accepted message too; counted, it would dilute every share of messages.
        return not any(map(str.isalnum, self.text))


class Said(NamedTuple):
    """One statement with the event of its message."""

    seq: int
    statement: Statement


class Standing(NamedTuple):
    """What binds a seat in a round: the winner (null: nothing) and the firm statements before it that it took back.

    A soft winner binds nothing, and still hides what was said before it.
    """

    winner: Said | None
    taken_back: tuple[Said, ...]


class Round(NamedTuple):
    """A closed round; a quote is null where the seat forfeited.

    `acted_at` are by seat the events that settled its quote: the accepted call or, where it forfeited, the lapse.
    """

    number: int
    seq: int
    quotes: Mapping[SeatId, int | None]
    acted_at: Mapping[SeatId, int]
    price: int | None

    @property
    def traded(self) -> bool:
        """Whether there was a price."""
        return self.price is not None

    @property
    def ended(self) -> str:
        """How the round ended, in words."""
        return "no trade" if self.price is None else f"traded at {self.price}"


@dataclass
class Game:
    """A read game. `length` is R; `problem` says why nothing can be judged. Limits and G in ticks.

    `rounds` are the closed ones by number; a trace that was cut or changed may lack some.

    Made by `reading.read_game`, one per trace.
    """

    length: int = 0
    seats: Sequence[SeatId] = ()
    limits: Mapping[SeatId, int] = field(default_factory=dict[SeatId, int])
    gap: int = 0
    rounds: dict[int, Round] = field(default_factory=dict[int, Round])
    messages: list[Message] = field(default_factory=list[Message])
    problem: str | None = None
    # Sides refer to the game and to each other, so that they can only be made after it.
    _sides: dict[SeatId, Side] = field(default_factory=dict["SeatId", "Side"])

    @property
    def last_round(self) -> int:
        """The number of the last closed round, 0 before the first."""
        # Of those that the trace holds: horizons of statements end here, and what lies behind is censored.
        return max(self.rounds, default=0)

    def side(self, seat: SeatId) -> Side:
        """The game from one seat; the same object whoever asks.

        Sides hold caches, which all modes share.
        """
        if seat not in self._sides:
            self._sides[seat] = Side(self, seat)
        return self._sides[seat]


class Side:
    """The game as one seat lived it: s = +1 for the buyer, -1 for the seller; L the own limit, q the own quote."""

    def __init__(self, game: Game, seat: SeatId) -> None:
        self.game = game
        self.seat = seat
        self.other = other(seat)
        self.role: Role = role_of(seat)
        # With it every formula serves both seats; a second version could differ unnoticed.
        self.sign = 1 if seat == BUYER else -1
        # 0 where no closed round tells it: `Game.problem` then keeps every detector from using it.
        self.limit = game.limits.get(seat, 0)
        # Filled by `commitments.standing`: several modes ask what bound the seat in the same round.
        self.standings: dict[int, Standing] = {}

    @cached_property
    def rounds(self) -> list[Round]:
        """The closed rounds in order."""
        return [self.game.rounds[number] for number in sorted(self.game.rounds)]

    @cached_property
    def own_messages(self) -> list[Message]:
        """What the seat said, silence left out."""
        return [message for message in self.game.messages if message.seat == self.seat and not message.silent]

    @cached_property
    def their_messages(self) -> list[Message]:
        """What the counterpart said, silence left out."""
        return [message for message in self.game.messages if message.seat == self.other and not message.silent]

    @cached_property
    def said(self) -> list[Said]:
        """Every own statement, in the order in which they were made."""
        return [Said(message.seq, statement) for message in self.own_messages for statement in message.statements]

    @cached_property
    def claimed(self) -> dict[int, list[Claimed]]:
        """What a second, stricter reader takes the numbers of own messages to be, by event; it knows number words."""
        # Once per text: who holds a quote repeats itself, and this reader is the costliest step of a diagnosis.
        read = {text: claims(text, self.role, self.limit) for text in {message.text for message in self.own_messages}}
        return {message.seq: read[message.text] for message in self.own_messages}

    @cached_property
    def unread(self) -> list[Case]:
        """Own messages with a number within 2 of the own limit that the stricter reader could not place."""
        # Detectors take limits from the first reader too; whatever else it holds a number to be clears nothing.
        placed = {(said.seq, said.statement.x) for said in self.said if said.statement.kind == "own_limit"}
        found: list[Case] = []
        for message in self.own_messages:
            near = (said.value for said in self.claimed[message.seq] if said.claim == "unknown")
            missed = [x for x in near if abs(x - self.limit) <= _NEAR and (message.seq, x) not in placed]
            if missed:
                words = (
                    f"a message holds {missed[0]:g}, near the {self.word('limit')} of {self.limit}, and was not read"
                )
                found.append(self.said_case(message.seq, message.round, words))
        return found

    @property
    def counterpart(self) -> Side:
        """The other side."""
        return self.game.side(self.other)

    @cached_property
    def own_quotes(self) -> list[Said]:
        """Own statements that name an own quote, the latest first."""
        # The latest first, as the search for the binding one needs them.
        return [said for said in reversed(self.said) if said.statement.kind == "own_quote"]

    def quote(self, number: int) -> int | None:
        """Own quote of a round; null where it was forfeited or the round never closed."""
        closed = self.game.rounds.get(number)
        return None if closed is None else closed.quotes[self.seat]

    def their_quote(self, number: int) -> int | None:
        """The counterpart's quote of a round; null as above."""
        closed = self.game.rounds.get(number)
        return None if closed is None else closed.quotes[self.other]

    def gives(self, better: float, worse: float) -> float:
        """s(better - worse): how much more the first of two own quotes gives the counterpart."""
        return self.sign * (better - worse)

    def slack(self, price: float) -> float:
        """s(L - price): what a trade at this price earns the seat.

        Above 0 within the limit, for both roles.
        """
        return self.sign * (self.limit - price)

    def crosses(self, quote: float, theirs: float) -> bool:
        """Whether an own quote would trade with the counterpart's.

        Equal quotes trade (the rule is bid >= ask).
        """
        # In the counterpart's terms a quote that gives at least what is asked trades.
        return self.gives(quote, theirs) >= 0

    @cached_property
    def shown(self) -> dict[int, int]:
        """By round the counterpart's last quote before it: what the seat could go by, since quotes are sealed."""
        found: dict[int, int] = {}
        last: int | None = None
        for closed in self.rounds:
            if last is not None:
                found[closed.number] = last
            # A forfeit shows nothing new: what was quoted before it stands.
            last = closed.quotes[self.other] if closed.quotes[self.other] is not None else last
        return found

    def word(self, name: str) -> str:
        """A word of the seat's role (`PHRASES`)."""
        return PHRASES[self.role][name]

    def named(self, quote: int | None) -> str:
        """An own quote of a round, in words."""
        return f"no {self.word('quote')}" if quote is None else f"{self.word('quote')} {quote}"

    def answered(self, quote: int | None) -> str:
        """The counterpart's quote of a round, in words."""
        return f"no {self.word('answer')}" if quote is None else f"{self.word('answer')} {quote}"

    def case(self, closed: Round, said: str, amount: float = 1.0) -> Case:
        """A case about the seat's quote of a round, or about its lapse; the closure shows it."""
        seq = closed.acted_at.get(self.seat, closed.seq)
        return Case(seq, closed.number, f"round {closed.number}: {said}", shown_by=closed.seq, amount=amount)

    def said_case(self, seq: int, number: int, said: str) -> Case:
        """A case about a message."""
        return Case(seq, number, f"round {number}: {said}")


def spelled(number: float) -> str:
    """A number of ticks without a needless fraction."""
    return f"{number:g}"
