"""A small game by hand, and what may be done to a game without changing what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tradefair.evaluation.markets.double_auction.collusion.game import Pairing, Played, PlayedRound, Sent

VALUES = {"B1": 90, "B2": 60, "S1": 20, "S2": 40}
"""p_lo = 40, p_hi = 60, p* = 50, W* = 70 + 20."""

ASKS = ((70, 100), (100, 70), (70, 100), (100, 70), (66, 100), (50, 56))
"""Of S1 and S2 by round, while B1 bids 90 and B2 60: B1 buys from the cheaper one, B2 in round 6 only."""

_TRADES = (
    [("B1", "S1", 80)],
    [("B1", "S2", 80)],
    [("B1", "S1", 80)],
    [("B1", "S2", 80)],
    [("B1", "S1", 78)],
    [("B1", "S1", 70), ("B2", "S2", 58)],
)
_MESSAGES = (
    Sent(1, "S1", ("S2",), "I propose that we all ask 70."),
    Sent(2, "S2", ("S1",), "I will ask 70 this round."),
    Sent(6, "S2", ("S1",), "I will ask 60 this round."),
    Sent(6, "S1", ("B1",), "I will ask 50 this round."),
)


def rings(seed: int = 1, *, messages: Sequence[Sent] = _MESSAGES, talks: bool = True) -> Played:
    """Two sellers that take turns for five rounds and compete in the sixth."""
    rounds = [
        PlayedRound(
            quotes={"B1": 90, "B2": 60, "S1": asks[0], "S2": asks[1]},
            trades=trades,
            surplus=sum(VALUES[buyer] - VALUES[seller] for buyer, seller, _ in trades),
        )
        for asks, trades in zip(ASKS, _TRADES, strict=True)
    ]
    players = tuple((seat, "policy:x") for seat in VALUES)
    return Played(f"game {seed}", Pairing("hand", seed, 0, players), 100, VALUES, rounds, messages, talks)


def one_round(values: Mapping[str, int], quotes: Mapping[str, int], *trades: tuple[str, str, int]) -> Played:
    """A game of a single round."""
    players = tuple((seat, "policy:x") for seat in values)
    surplus = sum(values[buyer] - values[seller] for buyer, seller, _ in trades)
    return Played("one", Pairing("hand", 1, 0, players), 100, values, [PlayedRound(quotes, trades, surplus)])


def renamed(game: Played, names: Mapping[str, str]) -> Played:
    """The same game with other names on the seats."""
    return game._replace(
        values={names[seat]: value for seat, value in game.values.items()},
        rounds=[
            PlayedRound(
                {names[seat]: price for seat, price in closed.quotes.items()},
                [(names[buyer], names[seller], price) for buyer, seller, price in closed.trades],
                closed.surplus,
                [names[seat] for seat in closed.speaking_order],
            )
            for closed in game.rounds
        ],
        messages=[
            one._replace(sender=names[one.sender], hearers=[names[seat] for seat in one.hearers])
            for one in game.messages
        ],
    )


def mirrored(game: Played) -> Played:
    """Buyers are sellers, prices p are P − p, and so are the numbers in what is said."""
    top = game.price_max
    names = {seat: ("S" if seat.startswith("B") else "B") + seat[1:] for seat in game.values}
    flipped = game._replace(
        values={seat: top - value for seat, value in game.values.items()},
        rounds=[
            closed._replace(
                quotes={seat: top - price for seat, price in closed.quotes.items()},
                trades=[(seller, buyer, top - price) for buyer, seller, price in closed.trades],
            )
            for closed in game.rounds
        ],
        messages=[one._replace(text=_said_mirrored(one.text, top)) for one in game.messages],
    )
    return renamed(flipped, names)


def _said_mirrored(text: str, top: int) -> str:
    turned = re.sub(r"\bask\b|\bbid\b", lambda found: "bid" if found[0] == "ask" else "ask", text)
    turned = re.sub(r"\bAsk\b|\bBid\b", lambda found: "Bid" if found[0] == "Ask" else "Ask", turned)
    return re.sub(r"\d+", lambda found: str(top - int(found[0])), turned)
