"""The one mutable record of an episode: all that the rules change, except for the clock and the sealed acts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradefair.bargaining.model import BUYER, SELLER, BargainingScenario, Message, PrivateLimits, RoundRecord
from tradefair.contract import SeatId


@dataclass
class State:
    """Private limits, ledger and history of one episode; read by the views, changed by the rules only.

    Amounts are in ticks; `profit` is cumulative over closed rounds. The clock and the sealed acts of the open phase
    belong to the market (`SealedRounds`).
    """

    scenario: BargainingScenario
    private: PrivateLimits
    order: tuple[SeatId, ...] | None = None
    """Speaking order of the open round; null without chat."""
    messages: list[Message] = field(default_factory=list[Message])
    """What was said, in the order of speaking; message number n stands at n - 1."""
    lapsed: set[SeatId] = field(default_factory=set[SeatId])
    """Seats that let the quote of the open round lapse, also where their own limit was quoted for them."""
    rounds: list[RoundRecord] = field(default_factory=list[RoundRecord])
    """Closed rounds, oldest first; round n stands at n - 1."""
    profit: dict[SeatId, int] = field(default_factory=lambda: {BUYER: 0, SELLER: 0})
