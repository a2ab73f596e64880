"""One pass over a bargaining trace: messages, quotes and closures become a `Game`. What does not fit is skipped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.bargaining.model import BUYER, SELLER, RoundFacts, role_of
from tradefair.contract import SeatId
from tradefair.evaluation.markets.bargaining.modes.play import Game, Message, Round
from tradefair.evaluation.modes.calls import mapped
from tradefair.evaluation.reading import TraceReading, once_per_trace, read_with
from tradefair.tracestore import Trace
from tradefair.trading.statements import read_statements

MAX_TEXT = 8_000
"""Characters of a message that are read; no market lets more through."""

_SEATS = (BUYER, SELLER)
_MAX_ROUNDS = 200


@once_per_trace
def read_game(trace: Trace) -> Game:
    """Read an opened trace.

    Read once per trace, however many modes and charts ask. `problem` is set where no limit is known.
    """
    reading, watcher = read_with(trace, lambda reading: _Watcher(_length(reading)))
    return watcher.finish(reading) if watcher else Game(problem="the manifest cannot be read")


def _length(reading: TraceReading) -> int:
    """The scenario's number of rounds; 0 where it is missing or beyond what a scenario allows."""
    asked: object = reading.core.scenario.get("rounds") if reading.core else None
    # Horizons reach to the last round: an absurd length in a forged manifest must not cost memory.
    return asked if isinstance(asked, int) and not isinstance(asked, bool) and 1 <= asked <= _MAX_ROUNDS else 0


class _Watcher:
    """Keeps accepted messages and the events of accepted quotes; rounds are typed at the end."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._messages: list[Message] = []
        self._acted: dict[tuple[SeatId, int], int] = {}
        self._lapsed: dict[tuple[SeatId, int], int] = {}

    def __call__(self, seq: int, event: Mapping[str, Any]) -> None:
        seat, number = event.get("seat"), event.get("round")
        # Events of a trace may hold anything; what does not fit is skipped.
        if seat not in _SEATS or not isinstance(number, int) or not 1 <= number <= _MAX_ROUNDS:
            return
        if event.get("event") == "seat_lapsed":
            # The latest: a seat that lapsed in the talk of a round may do so again where a quote is due.
            self._lapsed[seat, number] = seq
        if event.get("event") != "tool_called" or event.get("status") != "ok":
            return
        if event.get("tool") == "submit_quote":
            # The first accepted one: the rules accept no second, a forged trace might.
            self._acted.setdefault((seat, number), seq)
        elif event.get("tool") == "send_message":
            text = mapped(event.get("arguments")).get("text", "")
            if isinstance(text, str):
                self._messages.append(self._message(seq, seat, number, text[:MAX_TEXT]))

    def _message(self, seq: int, seat: SeatId, number: int, text: str) -> Message:
        # Without a known length "the rest of the game" ends with the round of the message.
        read = read_statements(text, role_of(seat), number, self._length or number)
        return Message(seq, number, seat, text, tuple(read))

    def finish(self, reading: TraceReading) -> Game:
        """The game that these events and the facts of the closures make.

        Quotes are those of the facts; `acted_at` has the events of those that were seen being accepted, and of lapses.
        """
        acted = {**self._lapsed, **self._acted}
        rounds: dict[int, Round] = {}
        opening = None
        for facts in reading.rounds:
            closed = reading.typed(facts, RoundFacts)
            if closed is None or not 1 <= closed.record.round <= _MAX_ROUNDS or closed.record.round in rounds:
                continue
            # The first closure that can be typed: limits hold for the whole episode.
            opening, record = opening or closed.opening, closed.record
            rounds[record.round] = Round(
                record.round,
                facts.seq,
                {BUYER: record.bid, SELLER: record.ask},
                {seat: acted[seat, record.round] for seat in _SEATS if (seat, record.round) in acted},
                record.price,
            )
        seats = [seat for seat in _SEATS if seat in reading.conduct]
        if opening is None:
            return Game(self._length, seats, messages=self._messages, problem="no closed round tells the own limits")
        limits = {BUYER: opening.buyer_value, SELLER: opening.seller_cost}
        # `rounds` is not empty: `opening` came from one of them.
        length = self._length or max(rounds)
        return Game(length, seats, limits, opening.buyer_value - opening.seller_cost, rounds, self._messages)
