"""Traders: what a trader decides on, and the mirror through which a trader written for a buyer plays a seller.

In buyer terms a seller with cost c is a buyer with value P - c, and every price p is P - p (double_auction page, 8.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tradefair.contract.policy import Draw

_NO_DRAW = Draw("none")


@dataclass(slots=True)
class TraderView:
    """Everything a trader may decide on: its own data and public quotes and trades. Index 0 is round 1.

    `round` is the open round, from 1; the lists hold the past rounds and only ever grow. `quotes` and `fills` are the
    seat's own quote and its price if it traded (null: none). `own` are the *other* quotes of its own side and `opp` the
    quotes of the opposite side, both best first (for a buyer: bids descending, asks ascending; for a seller: asks
    ascending, bids descending), so that the mirror keeps the order. `trades` are the prices in rank order. `mirrored`
    says that the numbers are a seller's in buyer terms. `draw` are the seat's own draws.
    """

    value: int
    price_max: int
    rounds: int
    round: int = 1
    quotes: list[int | None] = field(default_factory=list[int | None])
    fills: list[int | None] = field(default_factory=list[int | None])
    own: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    opp: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    trades: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    mirrored: bool = False
    draw: Draw = field(default=_NO_DRAW, compare=False)

    def close_round(
        self, quote: int | None, fill: int | None, own: Sequence[int], opp: Sequence[int], trades: Sequence[int]
    ) -> None:
        """Append the round that has just closed and open the next one; the sequences are kept, not copied."""
        self.quotes.append(quote)
        self.fills.append(fill)
        self.own.append(own)
        self.opp.append(opp)
        self.trades.append(trades)
        self.round += 1


class Trader(Protocol):
    """A pure decision for one seat of one episode; its state may depend only on the views it was shown."""

    def quote(self, view: TraderView) -> int | None:
        """The quote for the open round, or None to forfeit it."""
        ...


class MirroredPolicy:
    """Plays a seller's seat with a trader written for a buyer; mirrored twice, it quotes as the trader itself.

    The mirrored view grows with the seat's view: each past round is translated once. A view that is another object
    starts a new mirror.
    """

    def __init__(self, trader: Trader) -> None:
        self._trader = trader
        # The view that `_mirror` is made of; none before the first decision.
        self._source: TraderView | None = None
        self._mirror = TraderView(0, 0, 0)

    def quote(self, view: TraderView) -> int | None:
        """The mirrored quote P - b of the trader's decision b on the mirrored view."""
        # The trader rounds in mirrored terms, before its bid is turned back: replay of public logs confirms it (8.1).
        bid = self._trader.quote(self.mirrored(view))
        return None if bid is None else view.price_max - bid

    def mirrored(self, view: TraderView) -> TraderView:
        """The view as the trader is shown it."""
        top = view.price_max
        # By identity: the lists of one view only grow, so what was translated of it stays right.
        if view is not self._source:
            self._source = view
            self._mirror = TraderView(top - view.value, top, view.rounds, mirrored=not view.mirrored, draw=view.draw)
        mirror = self._mirror
        # Order is kept: best first for the seller is best first for the buyer of the mirror.
        for past in range(len(mirror.quotes), len(view.quotes)):
            quote, fill = view.quotes[past], view.fills[past]
            mirror.close_round(
                None if quote is None else top - quote,
                None if fill is None else top - fill,
                [top - price for price in view.own[past]],
                [top - price for price in view.opp[past]],
                [top - price for price in view.trades[past]],
            )
        # Not counted from the past rounds: a policy that joins in mid-game begins with an empty past in a later round.
        mirror.round = view.round
        return mirror
