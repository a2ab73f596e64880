"""What a seat said in numbers, as typed statements."""

from __future__ import annotations

from collections.abc import Iterator

from fairground.evaluation.diagnostics.double_auction.play import AuctionSeat, Sent
from fairground.trading.statements import Statement, read_statements

__all__ = ["told"]

_MAX_TEXT = 2_000
"""The longest message that any scenario allows; what is longer was not said through the rules."""


def told(seat: AuctionSeat, sent: Sent) -> Iterator[Statement]:
    """The statements of a delivered message whose number lies on the grid."""
    for one in read_statements(sent.text[:_MAX_TEXT], seat.role, sent.round, seat.game.length):
        if 0 <= one.x <= seat.game.price_max:
            yield one
