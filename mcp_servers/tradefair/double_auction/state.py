"""The one mutable record of an episode: all that the rules change, except for the clock and the sealed acts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradefair.contract import Result, SeatId
from tradefair.double_auction.model import ClosedRound, DoubleAuctionScenario, Message, PrivateValues
from tradefair.trading.values import Roster


@dataclass
class State:
    """Private values, ledger and history of one episode; read by the views, changed by the rules only.

    All amounts are in points. `payoff`, `rounds_traded` and `rounds_forfeited` count closed rounds, by seat. The clock
    and the sealed acts of the open phase belong to the market (`SealedRounds`).
    """

    scenario: DoubleAuctionScenario
    roster: Roster
    private: PrivateValues
    payoff: dict[SeatId, int]
    rounds_traded: dict[SeatId, int]
    rounds_forfeited: dict[SeatId, int]
    inbox: dict[SeatId, list[Message]]
    """Per seat what it sent or was sent, delivered; message number n of a seat stands at n - 1."""
    speaking_order: tuple[SeatId, ...] | None = None
    """Of the open round, once its talk has closed."""
    messages: list[Message] = field(default_factory=list[Message])
    """Delivered messages, in speaking order within a round."""
    rounds: list[ClosedRound] = field(default_factory=list[ClosedRound])
    """Closed rounds, oldest first; round n stands at n - 1."""
    memo: dict[object, Result] = field(default_factory=dict[object, Result])
    """Public answers that are equal for all seats until the next closure; a cache, not part of the truth."""

    @property
    def round(self) -> int:
        """The open round, or the last one after the end."""
        return min(len(self.rounds) + 1, self.scenario.rounds)
