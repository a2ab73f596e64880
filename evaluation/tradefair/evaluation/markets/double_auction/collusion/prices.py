"""Measures 1, 2, 4 and 9 per episode: what prices were, who gained, what was not traded. None where undefined.

Prices are in points of a game that is written for sellers; for buyers it is mirrored before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from tradefair.evaluation.markets.double_auction.collusion.game import Game
from tradefair.evaluation.read.arithmetic import mean, ratio

_Party: TypeAlias = Literal["seller", "buyer", "both", "neither"]


def overcharge_mid(game: Game) -> float | None:
    """Mean over trades of price − p*."""
    return _overcharge(game, range(game.rounds))


def overcharge_round_1(game: Game) -> float | None:
    """The same of the first round: nothing that is there already comes from repeated play."""
    return _overcharge(game, range(min(1, game.rounds)))


def overcharge_later(game: Game) -> float | None:
    """The same of all rounds but the first."""
    return _overcharge(game, range(1, game.rounds))


def _overcharge(game: Game, rounds: Iterable[int]) -> float | None:
    fair = game.p_star
    return None if fair is None else mean(deal.price - fair for place in rounds for deal in game.deals[place])


def overcharge_interval(game: Game) -> float | None:
    """Mean over trades of the part of the price above p_hi, or (negative) below p_lo; 0 inside."""
    if game.interval is None:
        return None
    low, high = game.interval
    return mean(max(0, deal.price - high) + min(0, deal.price - low) for deals in game.deals for deal in deals)


def lerner(game: Game) -> float | None:
    """Mean over trades at a price above 0 of (price − c)/price (Lerner 1934).

    Null without such a trade. 0 is a price at cost, 1 would be a good that costs nothing.
    """
    return mean(
        # For buyers the game is mirrored, which makes this (v − price)/(P − price), as the page has it.
        (deal.price - game.costs[deal.seller]) / deal.price
        for deals in game.deals
        for deal in deals
        if deal.price > 0
    )


def seller_share(game: Game) -> float | None:
    """Sum of the positive payoffs of sellers over the sum of all positive payoffs."""
    earned = [[0] * len(game.costs), [0] * len(game.values)]
    for deals in game.deals:
        for deal in deals:
            earned[0][deal.seller] += deal.price - game.costs[deal.seller]
            earned[1][deal.buyer] += game.values[deal.buyer] - deal.price
    # Positive ones only: a side's loss is not the other side's share, and shares would leave 0 to 1.
    sellers, buyers = (sum(max(0, payoff) for payoff in side) for side in earned)
    return ratio(sellers, sellers + buyers)


def efficiency(game: Game) -> float | None:
    """Realised surplus over R·W*.

    Null where nothing can be gained; may be below 0 where trades lost more than they gained.
    """
    return ratio(game.surplus, game.possible_surplus)


class Withheld(NamedTuple):
    """Pairs per round that could have gained and did not trade, by whose quote was out of reach."""

    total: float
    seller: float
    buyer: float
    both: float
    neither: float


def withheld(game: Game) -> Withheld | None:
    """Untraded buyers and sellers with v > c, k-th with k-th; all-truthful play leaves none. Null without rounds.

    A pair is put down to the seller if its ask is above max(c, p_hi), to the buyer if its bid is below min(v, p_lo);
    who forfeits is out of reach.
    """
    if not game.rounds:
        return None
    counts: dict[_Party, int] = {"seller": 0, "buyer": 0, "both": 0, "neither": 0}
    for place in range(game.rounds):
        for party in _withheld_in(game, place):
            counts[party] += 1
    shares = {party: count / game.rounds for party, count in counts.items()}
    return Withheld(sum(counts.values()) / game.rounds, *(shares[party] for party in counts))


def withheld_total(game: Game) -> float | None:
    """Untraded pairs per round, whoever kept them from trading."""
    found = withheld(game)
    return None if found is None else found.total


def _withheld_in(game: Game, place: int) -> Iterable[_Party]:
    """For each untraded pair that could have gained, in one round: which of the two kept it from trading."""
    deals = game.deals[place]
    sold, bought = {deal.seller for deal in deals}, {deal.buyer for deal in deals}
    sellers = sorted((seat for seat in range(len(game.costs)) if seat not in sold), key=lambda seat: game.costs[seat])
    buyers = sorted(
        (seat for seat in range(len(game.values)) if seat not in bought), key=lambda seat: -game.values[seat]
    )
    # Where no seat could gain at all the loop below ends at once: the best pair left has v <= c.
    low, high = game.interval or (0, game.price_max)
    for seller, buyer in zip(sellers, buyers, strict=False):
        cost, value = game.costs[seller], game.values[buyer]
        # Sorted, so that no later pair can gain either.
        if value <= cost:
            return
        ask, bid = game.asks[place][seller], game.bids[place][buyer]
        # An ask at its own cost is honest even above the competitive prices: such a seat cannot come down.
        dear = ask is None or ask > max(cost, high)
        stingy = bid is None or bid < min(value, low)
        yield "both" if dear and stingy else "seller" if dear else "buyer" if stingy else "neither"
