"""What a scripted seat says and hears: numbers in buyer terms inside, in its own terms on the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from tradefair.contract import SeatId
from tradefair.double_auction.model import Role, role_of
from tradefair.trading.mirror import TraderView

SILENCE: Mapping[str, Any] = {"recipient": "all_traders", "message": ""}
"""Arguments of send_message that say nothing; the recipient is ignored then."""


class Said(NamedTuple):
    """What a seat wants to say, as `send_message` takes it."""

    recipient: str
    text: str


class Heard(NamedTuple):
    """A message of another seat: its word, nothing more."""

    sender: SeatId
    text: str


class Speaker(NamedTuple):
    """Who speaks. Traders reckon in buyer terms, also on a seller's seat; this turns their numbers and words round."""

    seat: SeatId
    price_max: int
    recipients: Sequence[str] = ()
    """Whom the rules let it address, as `view_rules` names them; for a talker that looks them up."""

    @property
    def role(self) -> Role:
        """The seat's role."""
        return role_of(self.seat)

    @property
    def own_side(self) -> str:
        """The group of the own side."""
        return "all_buyers" if self.role == "buyer" else "all_sellers"

    @property
    def quotes(self) -> str:
        """What the seat does: bid or ask."""
        return "bid" if self.role == "buyer" else "ask"

    def flipped(self, price: int) -> int:
        """A price from buyer terms into the seat's own, or back."""
        # Its own inverse, so one function serves both directions.
        return price if self.role == "buyer" else self.price_max - price


class Talker:
    """A trader that also talks: in each talk phase it may say something, before each quote it hears what it was sent.

    The view is the mirrored one, as in `Trader.quote`; `say` and `hear` get the speaker to turn numbers round. One that
    `looks_up_recipients` reads the rules before its first message; others are silent where theirs is refused.
    """

    looks_up_recipients: ClassVar[bool] = False

    def say(self, view: TraderView, speaker: Speaker) -> Said | None:
        """One message, or silence."""
        raise NotImplementedError

    def hear(self, heard: Heard, speaker: Speaker) -> None:
        """A message of this round's talk; by default it changes nothing."""

    def quote(self, view: TraderView) -> int | None:
        """See `Trader`."""
        raise NotImplementedError
