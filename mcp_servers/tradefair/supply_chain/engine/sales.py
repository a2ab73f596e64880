"""What buyers do: which seats they notice, and where they buy (supply-chain page, 6.4, 6.7).

Attention is a draw without replacement with weights exp(λ·Sim/τ), done exactly by Gumbel top-K: the K largest scores
λ·Sim/τ − ln(−ln u) are such a draw. No exponential is taken, so nothing overflows. The luck of a buyer and a seat is
keyed by round, buyer and seat, so it is the same whatever any seat posts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

from tradefair.contract import Chance
from tradefair.contract.chance import encode_key
from tradefair.supply_chain.engine.demand import Crowd
from tradefair.supply_chain.model import Offer, Streams, SupplyChainScenario


class Visit(NamedTuple):
    """One visit of a buyer: index of the seat, units still wanted on arrival, units bought."""

    seat: int
    wanted: int
    bought: int


class Tally(NamedTuple):
    """One seat's market step, each list by item index.

    `attempts` counts visits, `failed` those that found no unit, `directed` the units that visitors wanted on arrival;
    `sold` is in units, `revenue` in cents.
    """

    attempts: list[int]
    failed: list[int]
    directed: list[int]
    sold: list[int]
    revenue: list[int]


class Shopping(NamedTuple):
    """The result of the market step.

    `tallies` is by seat index. By buyer index: `noticed` holds the seats that the buyer noticed, in the order of the
    draw (None: all active seats), and `visits` its visits in order.
    """

    tallies: tuple[Tally, ...]
    noticed: tuple[tuple[int, ...] | None, ...]
    visits: tuple[tuple[Visit, ...], ...]


class Luck:
    """The Gumbel noise and price ties of one round's buyers, drawn once however often the round is played."""

    def __init__(self, chance: Chance, number: int, seats: Sequence[str]) -> None:
        self._chance = chance
        self._round = number
        self._seats = seats
        # Encoded once: every buyer draws under each of these keys.
        self._keys = [encode_key(seat) for seat in seats]
        self._noise: dict[int, list[float]] = {}

    def noise(self, buyer: int) -> list[float]:
        """Gumbel noise −ln(−ln u) of a buyer, by seat index."""
        known = self._noise.get(buyer)
        if known is None:
            drawn = self._chance.uniforms(Streams.ATTENTION, self._round, buyer, n=len(self._seats))
            known = self._noise[buyer] = [-log(-log(u)) for u in drawn]
        return known

    def price_ties(self, buyer: int, seats: Iterable[int]) -> list[float]:
        """The buyer's luck for the given seats, in their order; lower is visited first among equal prices."""
        return self._chance.under(Streams.PRICE_TIE, self._round, buyer).each([self._keys[seat] for seat in seats])


def top_seats(pull: Sequence[float], noise: Sequence[float], active: Sequence[int], count: int) -> tuple[int, ...]:
    """The `count` seats of largest pull plus noise, in the order of the draw; ties go to the smaller index.

    `active` holds seat indices and `pull` λ·Sim/τ of these seats, in the same order; `noise` is by seat index.
    """
    scores = [-part - noise[seat] for part, seat in zip(pull, active, strict=True)]
    # The sort is stable: equal scores keep the order of seats, as 6.4 asks.
    first = sorted(range(len(scores)), key=scores.__getitem__)[:count]
    return tuple([active[place] for place in first])


def notice(
    scenario: SupplyChainScenario, luck: Luck, crowd: Crowd, offers: Sequence[Offer | None], active: Sequence[int]
) -> tuple[tuple[int, ...] | None, ...]:
    """V_j of every buyer over the active seats: seat indices in the order of the draw, None where it is all of them.

    `offers` is by seat index. A seat without a slogan has similarity 0, and is noticed by chance like any other.
    """
    pulls: dict[int, list[float]] = {}
    # Per tribe, because ρ may differ by tribe; bankrupt seats shrink all of them.
    sizes = [scenario.considered(tribe, len(active)) for tribe in range(len(scenario.tribes))]
    noticed: list[tuple[int, ...] | None] = []
    for place, buyer in enumerate(crowd.buyers):
        size = sizes[buyer.tribe]
        # No draw is needed, and the trace stays small: None says the same as a list of all seats.
        if size >= len(active):
            noticed.append(None)
            continue
        # Seats pull all buyers of one persona text alike, so the pull is computed once per text, not once per buyer.
        column = scenario.text_starts[buyer.tribe] + buyer.text
        pull = pulls.get(column)
        if pull is None:
            strength = scenario.tribes[buyer.tribe].sensitivity / scenario.temperature
            pull = pulls[column] = [strength * _similarity(offers[seat], column) for seat in active]
        noticed.append(top_seats(pull, luck.noise(place), active, size))
    return tuple(noticed)


def _similarity(offer: Offer | None, column: int) -> float:
    """How close a seat's slogan is to one persona text; 0 without an offer or a slogan."""
    return 0.0 if offer is None or offer.row is None else offer.row[column]


def shop(
    luck: Luck,
    crowd: Crowd,
    noticed: Sequence[tuple[int, ...] | None],
    offers: Sequence[Offer | None],
    stock: Sequence[Sequence[int]],
    active: Sequence[int],
) -> Shopping:
    """Let the buyers shop, in the order of arrival, and return what every seat sold.

    A buyer visits the noticed seats that post its item at an accepted price, from the cheapest up, **whatever they have
    in stock**, until it has enough or the list ends. `stock` is `[seat][item]` in units and stays as it is.
    """
    # A copy: the facts need the stock before the buyers came.
    left = [list(units) for units in stock]
    tallies = tuple(Tally(*([0] * len(units) for _ in range(5))) for units in stock)
    visits: list[tuple[Visit, ...]] = [()] * len(crowd.buyers)
    for place in crowd.arrival:
        _, _, item, wanted, limit = crowd.buyers[place]
        # A buyer without a wish visits no shelf, so it counts nowhere as an attempt (6.1).
        if wanted == 0:
            continue
        posted = _posted(item, limit, offers, active if (seen := noticed[place]) is None else seen)
        if not posted:
            continue
        trail: list[Visit] = []
        for price, seat in _by_price(posted, luck, place):
            # A visit to an empty shelf counts as an attempt: what a seat posts without having it is seen to fail.
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
    """(price in cents, seat) of those among `seen` that sell the item at a price that the buyer accepts."""
    found: list[tuple[int, int]] = []
    for seat in seen:
        offer = offers[seat]
        price = None if offer is None else offer.prices[item]
        if price is not None and (limit is None or price <= limit):
            found.append((price, seat))
    return found


def _by_price(posted: list[tuple[int, int]], luck: Luck, buyer: int) -> list[tuple[int, int]]:
    """From the cheapest up; equal prices by the buyer's luck, then by seat index."""
    posted.sort()
    # Luck is only asked where prices are equal: draws are keyed, so those that are left out change no other.
    if len({price for price, _ in posted}) == len(posted):
        return posted
    drawn = luck.price_ties(buyer, [seat for _, seat in posted])
    ranked = sorted((price, tie, seat) for (price, seat), tie in zip(posted, drawn, strict=True))
    return [(price, seat) for price, _, seat in ranked]
