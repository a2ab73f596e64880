"""One pass over a trace of the double auction, for its failure modes and for what it tells the general ones.

Never raises for the content of a trace: what cannot be used is left out, and the outcome's findings say what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.contract import SeatId
from tradefair.double_auction.analysis import PlayedRound
from tradefair.double_auction.model import OpeningFacts, Role, RoundFacts
from tradefair.evaluation.markets.double_auction.modes.play import (
    Advice,
    AuctionGame,
    AuctionSeat,
    Audience,
    Quote,
    SeatRound,
    Sent,
)
from tradefair.evaluation.modes.calls import listed, mapped
from tradefair.evaluation.read.rounds import answer_of
from tradefair.evaluation.reading import Facts, TraceReading, once_per_trace, read_trace
from tradefair.tracestore import Trace

_GROUPS: Mapping[str, Role] = {"all_buyers": "buyer", "all_sellers": "seller"}


@once_per_trace
def read_auction(trace: Trace) -> AuctionGame:
    """An opened trace as a game; one without a closed round has no seats."""
    watcher = _Watcher(trace)
    reading = read_trace(trace, lambda _: watcher)
    return _Maker(reading, watcher).made()


class _Calls:
    """What one seat called."""

    def __init__(self) -> None:
        self.quotes: list[Quote] = []
        self.sent: list[tuple[int, int, str, str]] = []
        self.advice: list[Advice] = []
        self.first_look: int | None = None
        self.unread = 0


class _Watcher:
    """Takes the events as they come, hostile ones too.

    The reader calls it with the number of every event. It keeps what facts do not hold: calls, and which talks closed.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.calls: dict[SeatId, _Calls] = {}
        self.delivered: set[int] = set()

    def __call__(self, seq: int, event: dict[str, Any]) -> None:
        number, kind = event.get("round"), event.get("event")
        # True is an int in Python; a trace may hold anything.
        if not isinstance(number, int) or isinstance(number, bool):
            return
        if kind == "phase_closed" and event.get("phase") == "talk":
            self.delivered.add(number)
        seat = event.get("seat")
        if kind == "tool_called" and isinstance(seat, str):
            self._take(self.calls.setdefault(seat, _Calls()), seq, number, event)

    def _take(self, calls: _Calls, seq: int, number: int, event: Mapping[str, Any]) -> None:
        arguments, accepted = mapped(event.get("arguments")), event.get("status") == "ok"
        match event.get("tool"):
            case "submit_quote" if accepted:
                price = arguments.get("price")
                if isinstance(price, int):
                    calls.quotes.append(Quote(seq, number, price))
            case "send_message" if accepted:
                recipient, text = arguments.get("recipient"), arguments.get("message")
                # A message without a letter or digit is silence: nothing was said.
                if isinstance(recipient, str) and isinstance(text, str) and any(map(str.isalnum, text)):
                    calls.sent.append((seq, number, recipient, text))
            # The first look is enough: values do not change within an episode.
            case "view_my_value" if accepted and calls.first_look is None:
                calls.first_look = seq
            case "expected_surplus" if accepted:
                advice = self._advice(seq, number, event)
                if advice is None:
                    # Counted, so that a finding can say what it did not see: digest-only traces keep no answers.
                    calls.unread += 1
                else:
                    calls.advice.append(advice)
            case _:
                pass

    def _advice(self, seq: int, number: int, event: Mapping[str, Any]) -> Advice | None:
        """An answer's rows; None when the trace keeps only its digest, or it is none.

        Rows with a price and a mean surplus only; a hostile answer may hold anything.
        """
        answer = mapped(answer_of(self._trace, event))
        used, rows = answer.get("rounds_used"), [mapped(row) for row in listed(answer.get("rows"))]
        surplus = {
            row["price"]: float(row["mean_surplus"])
            for row in rows
            if isinstance(row.get("price"), int) and isinstance(row.get("mean_surplus"), (int, float))
        }
        return Advice(seq, number, surplus, used) if surplus and isinstance(used, int) else None


class _Maker:
    """Puts calls and facts together.

    Needs the whole trace: values are in the first closure, and messages count once their talk has closed.
    """

    def __init__(self, reading: TraceReading, watcher: _Watcher) -> None:
        self._reading = reading
        self._watcher = watcher
        core = reading.core
        self._roles: dict[SeatId, Role] = {}
        for seat in core.seats if core else ():
            self._roles[seat.id] = "buyer" if seat.role == "buyer" else "seller"
        scenario = core.scenario if core else {}
        self.game = AuctionGame(
            reading=reading,
            length=_whole(scenario.get("rounds"), 0),
            price_max=_whole(scenario.get("price_max"), 100),
            talks=mapped(scenario.get("chat")).get("enabled") is True,
        )

    def made(self) -> AuctionGame:
        """The whole game."""
        rounds: dict[int, tuple[Facts, RoundFacts, PlayedRound]] = {}
        for facts in self._reading.rounds:
            closed = self._reading.typed(facts, RoundFacts)
            if closed is not None:
                played = self._played(closed)
                self.game.closed.append(closed)
                self.game.played.append(played)
                # A second closure of the same round is not read: the first is the one that play went on from.
                rounds.setdefault(closed.round, (facts, closed, played))
        opening = next(((facts.seq, closed.opening) for facts, closed, _ in rounds.values() if closed.opening), None)
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
            calls = self._watcher.calls.get(seat, _Calls())
            self.game.seats[seat] = AuctionSeat(
                seat,
                role,
                self.game,
                value=opening.values[seat],
                potential=opening.potentials.get(seat, 0),
                privileged=seat in excused,
                quotes=calls.quotes,
                messages=self._messages(role, calls),
                advice=calls.advice,
                first_look=calls.first_look,
                unread=calls.unread,
            )

    def _messages(self, role: Role, calls: _Calls) -> list[Sent]:
        """What others could read: a message is delivered when its talk closes.

        In the order of the calls. Silence and messages to unknown recipients are left out.
        """
        found: list[Sent] = []
        for seq, number, recipient, text in calls.sent:
            audience = self._audience(role, recipient)
            # A talk phase that never closed delivered nothing: its messages leaked nothing and promised nothing.
            if audience is not None and number in self._watcher.delivered:
                found.append(Sent(seq, number, recipient, audience, text))
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

    def _take(self, facts: Facts, closed: RoundFacts, played: PlayedRound) -> None:
        game = self.game
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
                    closed=facts.seq,
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


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
