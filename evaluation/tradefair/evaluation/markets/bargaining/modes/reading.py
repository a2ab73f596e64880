"""One pass over a bargaining trace: messages, quotes and closures become a `Game`. What does not fit is skipped."""

from __future__ import annotations

from tradefair.bargaining.model import BUYER, SELLER, BargainingScenario, RoundFacts, role_of
from tradefair.evaluation.markets.bargaining.modes.play import Game, Message, Round
from tradefair.evaluation.read.rounds import Closed, Rounds, read_rounds
from tradefair.evaluation.reading import once_per_trace
from tradefair.tracestore import Trace
from tradefair.trading.statements import read_statements

MAX_TEXT = 8_000
"""Characters of a message that are read; no market lets more through."""

_SEATS = (BUYER, SELLER)


@once_per_trace
def read_game(trace: Trace) -> Game:
    """Read an opened trace.

    Read once per trace, however many modes and charts ask. `problem` is set where no limit is known.
    """
    read = read_rounds(trace, BargainingScenario, RoundFacts)
    seats = [seat for seat in _SEATS if seat in read.reading.conduct]
    if read.scenario is None:
        return Game(seats=seats, problem=read.problem)
    length = read.scenario.rounds
    messages = _messages(read, length)
    # Horizons reach to the last round: an absurd number in a forged closure must not cost memory.
    closed = [row for row in read.closed if 1 <= row.number <= length]
    if not closed:
        return Game(length, seats, messages=messages, problem="no closed round tells the own limits")
    # The first closure that can be typed: limits hold for the whole episode. Of a round that repeats the first, too.
    opening = closed[0].facts.opening
    limits = {BUYER: opening.buyer_value, SELLER: opening.seller_cost}
    rounds = {row.number: _round(read, row) for row in reversed(closed)}
    return Game(length, seats, limits, opening.buyer_value - opening.seller_cost, rounds, messages)


def _round(read: Rounds[BargainingScenario, RoundFacts], row: Closed[RoundFacts]) -> Round:
    """Quotes are those of the facts; `acted_at` has the events that were seen being accepted, and lapses."""
    record = row.facts.record
    settled = {seat: read.acted(seat, row.number, "submit_quote") or read.lapsed(seat, row.number) for seat in _SEATS}
    acted_at = {seat: seq for seat, seq in settled.items() if seq is not None}
    return Round(row.number, row.seq, {BUYER: record.bid, SELLER: record.ask}, acted_at, record.price)


def _messages(read: Rounds[BargainingScenario, RoundFacts], length: int) -> list[Message]:
    """Accepted messages in the order in which they were sent."""
    found: list[Message] = []
    for seat in _SEATS:
        for did in read.accepted(seat, None, "send_message"):
            text: object = did.arguments.get("text", "")
            if 1 <= did.round <= length and isinstance(text, str):
                statements = read_statements(text[:MAX_TEXT], role_of(seat), did.round, length)
                found.append(Message(did.seq, did.round, seat, text[:MAX_TEXT], tuple(statements)))
    return sorted(found, key=lambda message: message.seq)
