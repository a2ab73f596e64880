"""One pass over a trace of the double auction, for its failure modes and for what it tells the general ones.

Never raises for the content of a trace: what cannot be used is left out, and the outcome's findings say what it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import SeatId
from tradefair.double_auction.analysis import PlayedRound
from tradefair.double_auction.model import DoubleAuctionScenario, OpeningFacts, Role, RoundFacts, SurplusEstimate
from tradefair.evaluation.markets.double_auction.modes.play import (
    Advice,
    AuctionGame,
    AuctionSeat,
    Audience,
    Quote,
    SeatRound,
    Sent,
)
from tradefair.evaluation.read.rounds import Closed, Rounds, read_rounds
from tradefair.evaluation.reading import once_per_trace
from tradefair.tracestore import Trace

_GROUPS: Mapping[str, Role] = {"all_buyers": "buyer", "all_sellers": "seller"}


_ADVICE = "expected_surplus"


@once_per_trace
def read_auction(trace: Trace) -> AuctionGame:
    """An opened trace as a game; one without a closed round has no seats."""
    return _Maker(read_rounds(trace, DoubleAuctionScenario, RoundFacts, (_ADVICE,))).made()


class _Maker:
    """Puts calls and facts together.

    Needs the whole trace: values are in the first closure, and messages count once their talk has closed.
    """

    def __init__(self, read: Rounds[DoubleAuctionScenario, RoundFacts]) -> None:
        self._read, self._reading = read, read.reading
        core = read.reading.core
        self._roles: dict[SeatId, Role] = {}
        for seat in core.seats if core else ():
            self._roles[seat.id] = "buyer" if seat.role == "buyer" else "seller"
        self.game = AuctionGame(reading=read.reading)
        if (rules := read.scenario) is not None:
            self.game.length, self.game.price_max, self.game.talks = rules.rounds, rules.price_max, rules.chat.enabled

    def made(self) -> AuctionGame:
        """The whole game."""
        rounds: dict[int, tuple[Closed[RoundFacts], PlayedRound]] = {}
        for row in self._read.closed:
            played = self._played(row.facts)
            self.game.closed.append(row.facts)
            self.game.played.append(played)
            # A second closure of the same round is not read: the first is the one that play went on from.
            rounds.setdefault(row.number, (row, played))
        opening = next(((row.seq, row.facts.opening) for row, _ in rounds.values() if row.facts.opening), None)
        # Without the values no seat can be judged, and the game stays without seats.
        if opening is not None:
            self.game.opened = opening[0]
            self._seat(opening[1])
        for number in sorted(rounds):
            self._take(*rounds[number])
        return self.game

    def _seat(self, opening: OpeningFacts) -> None:
        excused = self._reading.seating.privileged
        for seat, role in self._roles.items():
            # Left out and not guessed: a value of 0 would make every quote a breach.
            if seat not in opening.values:
                continue
            looks = [did.seq for did in self._read.accepted(seat, None, "view_my_value")]
            advice = self._advice(seat)
            self.game.seats[seat] = AuctionSeat(
                seat,
                role,
                self.game,
                value=opening.values[seat],
                potential=opening.potentials.get(seat, 0),
                privileged=seat in excused,
                quotes=[
                    Quote(did.seq, did.round, price)
                    for did in self._read.accepted(seat, None, "submit_quote")
                    if isinstance(price := did.arguments.get("price"), int)
                ],
                messages=self._messages(seat, role),
                advice=advice,
                # The first look is enough: values do not change within an episode.
                first_look=min(looks, default=None),
                # Counted, so that a finding can say what it did not see: digest-only traces keep no answers.
                unread=len(self._read.accepted(seat, None, _ADVICE)) - len(advice),
            )

    def _advice(self, seat: SeatId) -> list[Advice]:
        """Answers of expected_surplus with a row at least."""
        return [
            Advice(did.seq, did.round, {row.price: row.mean_surplus for row in answer.rows}, answer.rounds_used)
            for did, answer in self._read.answers(seat, None, _ADVICE, SurplusEstimate)
            if answer.rows
        ]

    def _messages(self, seat: SeatId, role: Role) -> list[Sent]:
        """What others could read: a message is delivered when its talk closes.

        In the order of the calls. Silence and messages to unknown recipients are left out.
        """
        found: list[Sent] = []
        for did in self._read.accepted(seat, None, "send_message"):
            recipient, text = did.arguments.get("recipient"), did.arguments.get("message")
            # A message without a letter or digit is silence: nothing was said.
            if not isinstance(recipient, str) or not isinstance(text, str) or not any(map(str.isalnum, text)):
                continue
            audience = self._audience(role, recipient)
            # A talk phase that never closed delivered nothing: its messages leaked nothing and promised nothing.
            if audience is not None and (did.round, "talk") in self._read.phases:
                found.append(Sent(did.seq, did.round, recipient, audience, text))
        return found

    def _audience(self, role: Role, recipient: str) -> Audience | None:
        if recipient == "all_traders":
            return "all traders"
        told = _GROUPS.get(recipient) or self._roles.get(recipient)
        if told is None:
            return None
        return "own side" if told == role else "other side"

    def _played(self, closed: RoundFacts) -> PlayedRound:
        """Quotes of the two sides apart, in points; the order as it was, since it breaks ties between equal quotes."""
        sides = {role: {s: p for s, p in closed.quotes.items() if self._roles.get(s) == role} for role in _SIDES}
        return PlayedRound(sides["buyer"], sides["seller"], closed.quote_order)

    def _take(self, row: Closed[RoundFacts], played: PlayedRound) -> None:
        game, closed = self.game, row.facts
        game.numbers.append(closed.round)
        if closed.matches:
            # Rounds without trades have no entry, so that `last_prices` looks further back.
            game.mean_prices[closed.round] = sum(match.price for match in closed.matches) / len(closed.matches)
        # A forged round may lack a seat in its order; its fills could not be told.
        known = frozenset(closed.quote_order)
        traded = {seat for match in closed.matches for seat in (match.buyer, match.seller)}
        for name, seat in game.seats.items():
            quote = closed.quotes.get(name)
            seat.rounds.append(
                SeatRound(
                    round=closed.round,
                    closed=row.seq,
                    quote=quote,
                    quoted=None if quote is None else seat.quoted_at.get((closed.round, quote)),
                    payoff=closed.payoff.get(name, 0),
                    traded=name in traded,
                    seat=seat,
                    # Null makes `open` null: the seat's round is kept, only what stood open is unknown.
                    played=played if name in known else None,
                )
            )


_SIDES: tuple[Role, ...] = ("buyer", "seller")
