"""What buyers do: whom they notice, and where they buy (supply-chain page, 6.4, 6.7).

Attention is a draw without replacement with weights exp(λ·Sim/τ), done exactly by Gumbel top-K: no exponential is
taken, so nothing overflows. The luck of a buyer and a seat is the same whatever anybody posts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

from tradefair.contract.chance import Chance, encode_key
from tradefair.supply_chain.engine.demand import Crowd
from tradefair.supply_chain.model import Offer, Streams, SupplyChainScenario


class Visit(NamedTuple):
    """One visit of a buyer: place of the seat, units still wanted on arrival, units bought."""

    seat: int
    wanted: int
    bought: int


class Tally(NamedTuple):
    """One seat's market by item place; each visit is an attempt, a failed one if nothing was left."""

    attempts: list[int]
    failed: list[int]
    directed: list[int]
    sold: list[int]
    revenue: list[int]


class Shopping(NamedTuple):
    """The market step: tallies by seat, and by buyer whom it noticed (null: everybody) and whom it visited."""

    tallies: tuple[Tally, ...]
    noticed: tuple[tuple[int, ...] | None, ...]
    visits: tuple[tuple[Visit, ...], ...]


class Luck:
    """The Gumbel noise and price ties of one round's buyers, drawn once however often the round is played."""

    def __init__(self, chance: Chance, number: int, seats: Sequence[str]) -> None:
        self._chance = chance
        self._round = number
        self._seats = seats
        self._keys = [encode_key(seat) for seat in seats]
        self._noise: dict[int, list[float]] = {}

    def noise(self, buyer: int) -> list[float]:
        """-ln(-ln u) by seat place."""
        known = self._noise.get(buyer)
        if known is None:
            drawn = self._chance.uniforms(Streams.ATTENTION, self._round, buyer, n=len(self._seats))
            known = self._noise[buyer] = [-log(-log(u)) for u in drawn]
        return known

    def price_ties(self, buyer: int, seats: Iterable[int]) -> list[float]:
        """The order of a buyer's equal prices, lower first."""
        return self._chance.under(Streams.PRICE_TIE, self._round, buyer).each([self._keys[seat] for seat in seats])


def top_seats(pull: Sequence[float], noise: Sequence[float], active: Sequence[int], count: int) -> tuple[int, ...]:
    """The `count` seats of largest pull plus noise, in the order of the draw; ties by seat place.

    `pull` holds λ·Sim/τ of the active seats, in their order.
    """
    scores = [-part - noise[seat] for part, seat in zip(pull, active, strict=True)]
    first = sorted(range(len(scores)), key=scores.__getitem__)[:count]
    return tuple([active[place] for place in first])


def notice(
    scenario: SupplyChainScenario, luck: Luck, crowd: Crowd, offers: Sequence[Offer | None], active: Sequence[int]
) -> tuple[tuple[int, ...] | None, ...]:
    """V_j of every buyer over the active seats; null where it is all of them."""
    pulls: dict[int, list[float]] = {}
    sizes = [scenario.considered(tribe, len(active)) for tribe in range(len(scenario.tribes))]
    noticed: list[tuple[int, ...] | None] = []
    for place, buyer in enumerate(crowd.buyers):
        size = sizes[buyer.tribe]
        if size >= len(active):
            noticed.append(None)
            continue
        column = scenario.text_starts[buyer.tribe] + buyer.text
        pull = pulls.get(column)
        if pull is None:
            strength = scenario.tribes[buyer.tribe].sensitivity / scenario.temperature
            pull = pulls[column] = [strength * _similarity(offers[seat], column) for seat in active]
        noticed.append(top_seats(pull, luck.noise(place), active, size))
    return tuple(noticed)


def _similarity(offer: Offer | None, column: int) -> float:
    return 0.0 if offer is None or offer.row is None else offer.row[column]


def shop(
    luck: Luck,
    crowd: Crowd,
    noticed: Sequence[tuple[int, ...] | None],
    offers: Sequence[Offer | None],
    stock: Sequence[Sequence[int]],
    active: Sequence[int],
) -> Shopping:
    """Buyers in the order of arrival visit the noticed seats from the cheapest up, whatever these have left."""
    left = [list(units) for units in stock]
    tallies = tuple(Tally(*([0] * len(units) for _ in range(5))) for units in stock)
    visits: list[tuple[Visit, ...]] = [()] * len(crowd.buyers)
    for place in crowd.arrival:
        _, _, item, wanted, limit = crowd.buyers[place]
        if wanted == 0:
            continue
        posted = _posted(item, limit, offers, active if (seen := noticed[place]) is None else seen)
        if not posted:
            continue
        trail: list[Visit] = []
        for price, seat in _by_price(posted, luck, place):
            bought = min(wanted, left[seat][item])
            tally = tallies[seat]
            tally.attempts[item] += 1
            tally.directed[item] += wanted
            tally.failed[item] += bought == 0
            tally.sold[item] += bought
            tally.revenue[item] += bought * price
            left[seat][item] -= bought
            trail.append(Visit(seat, wanted, bought))
            wanted -= bought
            if wanted == 0:
                break
        visits[place] = tuple(trail)
    return Shopping(tallies, tuple(noticed), tuple(visits))


def _posted(item: int, limit: int | None, offers: Sequence[Offer | None], seen: Sequence[int]) -> list[tuple[int, int]]:
    """(price, seat) of those among `seen` that sell the item at a price that the buyer accepts."""
    found: list[tuple[int, int]] = []
    for seat in seen:
        offer = offers[seat]
        price = None if offer is None else offer.prices[item]
        if price is not None and (limit is None or price <= limit):
            found.append((price, seat))
    return found


def _by_price(posted: list[tuple[int, int]], luck: Luck, buyer: int) -> list[tuple[int, int]]:
    """From the cheapest up; equal prices by the buyer's luck, then by seat place."""
    posted.sort()
    if len({price for price, _ in posted}) == len(posted):
        return posted
    drawn = luck.price_ties(buyer, [seat for _, seat in posted])
    ranked = sorted((price, tie, seat) for (price, seat), tie in zip(posted, drawn, strict=True))
    return [(price, seat) for price, _, seat in ranked]
