"""Seats: roles in a market with rights and private information."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from tradefair.contract.errors import SeatError

SeatId: TypeAlias = str

# No newline and no dot: a noted hash ends the seat with a newline (chain.py), and call ids are split at dots (core.py).
_SEAT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MAX_SEAT_ID = 40
"""Characters of the longest seat id."""


class SeatSpec(NamedTuple):
    """One seat of a market: its id (`B1`) and its role (`buyer`)."""

    id: SeatId
    role: str


class Addressee:
    """Marks an argument that names the recipient of a message: `to: Annotated[SeatId, Addressee()]`.

    No other argument of a tool names a seat. The mark leaves no trace in the tool's schema.
    """


def check_seat_id(text: str) -> SeatId:
    """`text` as a seat id; SeatError when it cannot be one."""
    if len(text) > MAX_SEAT_ID or not _SEAT_ID.fullmatch(text):
        raise SeatError(
            f"{text[:80]!r} is not a seat id: a letter, then letters, digits, - or _, at most {MAX_SEAT_ID}"
        )
    return text


def natural_order(seat: SeatId) -> tuple[str, int]:
    """Sort key that puts B2 before B10 and all B before all S; an id without a number comes before B1."""
    head = seat.rstrip("0123456789")
    tail = seat[len(head) :]
    return head, int(tail) if tail else -1
