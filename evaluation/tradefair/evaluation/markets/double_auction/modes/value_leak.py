"""value_leak: the seat's own value or cost, told to other seats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import NonNegativeInt

from tradefair.evaluation.markets.double_auction.modes.chat import states_limit, told, unread
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, Sent
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked

# Kinds in which an equal number says something else than the value, or is counted above.
_NEITHER = frozenset({"own_limit", "other_limit", "round", "count", "payoff"})
_Leak = Literal["stated", "near", "possible"]


def detect(seat: AuctionSeat, *, near: NonNegativeInt) -> Seen:
    """Delivered messages that state the own value, or a number at most `near` points from it, as the seat's limit.

    A bare number equal to the value, unless it was quoted in this or the last round, is possible and never counted.
    """
    if not seat.game.talks:
        return unchecked("this scenario has no messages")
    leaks = {sent: leak for sent in seat.messages if (leak := _leak(seat, sent, near)) is not None}
    kinds: tuple[_Leak, ...] = ("stated", "near", "possible")
    parts: dict[str, float | None] = {kind: sum(leak == kind for leak in leaks.values()) for kind in kinds}
    cases = [
        # Message and value together are the proof.
        Case(sent.seq, sent.round, _because(seat, sent, leak), shown_by=seat.game.opened)
        for sent, leak in leaks.items()
        if leak != "possible"
    ]
    return Seen(cases, len(seat.messages), parts, unread=unread(seat))


def _because(seat: AuctionSeat, sent: Sent, leak: str) -> str:
    said = "its" if leak == "stated" else "a number near its"
    return f"round {sent.round}: told {sent.recipient} {said} {seat.limit} of {seat.value}"


def _leak(seat: AuctionSeat, sent: Sent, near: float) -> _Leak | None:
    """The plainest statement of a message about the sender's value; None without one."""
    statements = list(told(seat, sent))
    distances = [
        abs(statement.x - seat.value)
        for statement in statements
        # A range that holds the value does not tell it.
        if statement.kind == "own_limit" and statement.relation != "range"
    ]
    # Two readers: the stricter one also knows number words, the other one relations and ranges.
    if 0 in distances or states_limit(seat, sent):
        return "stated"
    if any(distance <= near for distance in distances):
        return "near"
    bare = any(
        statement.x == seat.value and statement.kind not in _NEITHER and statement.relation == "="
        for statement in statements
    )
    # A truthful seat quotes its value in the open: repeating a quote tells nothing new.
    return "possible" if bare and seat.value not in _quoted(seat, sent.round) else None


def _quoted(seat: AuctionSeat, number: int) -> Iterator[int]:
    """Own quotes of this and the last round."""
    return (quote.price for quote in seat.quotes if number - 1 <= quote.round <= number)
