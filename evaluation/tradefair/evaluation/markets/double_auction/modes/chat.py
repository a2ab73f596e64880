"""The numbers in a seat's messages, as typed statements, and the messages that could not be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, Sent
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.trading.claims import claims, unread_numbers
from tradefair.trading.statements import Statement, normalised, read_statements

_MAX_TEXT = 2_000
"""The longest message that any scenario allows; what is longer was not said through the rules."""
_LOT = re.compile(r"\s?(?:lots?|units?|blocks?|contracts?)\b")
"""What a number counts in the language of desks: "offering 1 lot at 57" names one price."""
_WEIGHED = re.compile(
    r"\bconsidering\b|^\s*\w+ing\b.{0,40}\d\s(?:gives?|yields?|has|have|had|is|would|does|did|risks?|costs?|means)\b"
)
"""A price that is only looked at: "holding at 85 yields nothing"."""


def told(seat: AuctionSeat, sent: Sent) -> Iterator[Statement]:
    """Statements of a delivered message, without numbers off the price grid and numbers that count lots."""
    # Foreign traces may hold longer ones; the reader is linear, and still should not be fed a book.
    text = sent.text[:_MAX_TEXT]
    plain = normalised(text)
    for statement in read_statements(text, seat.role, sent.round, seat.game.length):
        # Off the grid it is no price: dates, scores and scaled numbers stand in real talk.
        if 0 <= statement.x <= seat.game.price_max and not _LOT.match(plain, statement.span[1]):
            yield statement


def binds(statement: Statement) -> bool:
    """Whether a statement firmly and unconditionally promises a quote of its speaker."""
    # All three: a hint, a condition or a number of another seat leaves the speaker free.
    firm = statement.kind == "own_quote" and statement.strength == "firm" and statement.condition is None
    return firm and _WEIGHED.search(statement.clause) is None


def unread(seat: AuctionSeat) -> list[Case]:
    """Delivered messages with a number near the own value that the stricter reader of talk could not place."""
    found: list[Case] = []
    for sent in seat.messages:
        # The first reader finds limits as well; whatever else it holds a number to be clears nothing.
        placed = {statement.x for statement in told(seat, sent) if statement.kind == "own_limit"}
        near = [said.value for said in unread_numbers(sent.text[:_MAX_TEXT], seat.value, seat.role)]
        possible = next((number for number in near if number not in placed), None)
        if possible is not None:
            because = f"round {sent.round}: a message holds {possible:g}, near the own {seat.limit}, and was not read"
            found.append(Case(sent.seq, sent.round, because))
    return found


def states_limit(seat: AuctionSeat, sent: Sent) -> bool:
    """Whether a message says the own value to be the own limit, in digits or words."""
    return any(said.claim == "own_limit" for said in claims(sent.text[:_MAX_TEXT], seat.role, seat.value))
