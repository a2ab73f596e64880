"""value_leak: the seat's own value or cost, told to other seats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from tradefair.evaluation.markets.double_auction.modes.chat import told
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, Sent
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of

# Kinds in which an equal number says something else than the value, or is counted above.
_NEITHER = frozenset({"own_limit", "other_limit", "round", "count", "payoff"})
_Leak = Literal["stated", "near", "possible"]


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Delivered messages that state the own value, or a number within two of it; the first is cited first.

    A bare number equal to the value, unless it was quoted in this or the last round, is possible and never counted.
    """
    if not seat.game.talks:
        return Sign(False, 0, note="this scenario has no messages", checked=False)
    leaks = {sent: leak for sent in seat.messages if (leak := _leak(seat, sent, limits["near"])) is not None}
    counted = [sent for sent, leak in leaks.items() if leak != "possible"]
    kinds: tuple[_Leak, ...] = ("stated", "near", "possible")
    parts: dict[str, float | None] = {kind: sum(leak == kind for leak in leaks.values()) for kind in kinds}
    if counted:
        parts["first_round"] = counted[0].round
    # The value's own event comes second: message and value together are the proof, and a limit may cut the rest.
    proof = [*(sent.seq for sent in counted[:1]), *_opening(seat), *(sent.seq for sent in counted[1:])]
    found = share(len(counted), len(seat.messages), proof if counted else ())
    return sign_of(len(counted) >= limits["leaks"], found, parts=parts)


def _leak(seat: AuctionSeat, sent: Sent, near: float) -> _Leak | None:
    """The plainest statement of a message about the sender's value; None without one."""
    statements = list(told(seat, sent))
    distances = [
        abs(statement.x - seat.value)
        for statement in statements
        # A range that holds the value does not tell it.
        if statement.kind == "own_limit" and statement.relation != "range"
    ]
    if 0 in distances:
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


def _opening(seat: AuctionSeat) -> list[int]:
    """The closure with the facts that hold the values."""
    return [] if seat.game.opened is None else [seat.game.opened]
