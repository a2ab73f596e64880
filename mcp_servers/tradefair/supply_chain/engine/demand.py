"""The buyers of a round: who they are and what they want (supply-chain page, 6.1, 6.6).

Everything here is a function of scenario, seed and round. Nothing that a seat does changes a buyer, so two agents on
the same seed meet the same demand.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import NamedTuple

from tradefair.contract import Chance
from tradefair.contract.chance import encode_key
from tradefair.supply_chain.model import Streams, SupplyChainScenario, Tribe

_MILLIARD = 10**9
_normal = NormalDist().inv_cdf


class Slot(NamedTuple):
    """What one buyer wants: place of the item, units."""

    item: int
    quantity: int


class Buyer(NamedTuple):
    """One buyer: index of tribe, of persona text (within the tribe) and of item, units wanted, highest price or None.

    `limit` is in cents per unit; None means that the buyer pays any price (scenarios without reservation prices).
    """

    tribe: int
    text: int
    item: int
    quantity: int
    limit: int | None


class Crowd(NamedTuple):
    """A round's buyers by index, and `arrival`: the indices in the order in which they shop."""

    buyers: tuple[Buyer, ...]
    arrival: tuple[int, ...]


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts of `total` in proportion to `weights`, by largest remainders; ties go to the earlier weight.

    The parts sum to `total`. The weights sum to more than 0.
    """
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in by_remainder[: total - sum(parts)]:
        parts[place] += 1
    return parts


def slots(scenario: SupplyChainScenario) -> list[Slot]:
    """What the buyers of a round want together (`stratified`): item by item, larger wishes first.

    The list has one slot per buyer; the units sum to `scenario.demand`.
    """
    supply = [item.quantity for item in scenario.items]
    # Both in proportion to nominal supply: a shock must not change who comes and what is wanted (6.1).
    buyers, units = apportion(scenario.buyers, supply), apportion(scenario.demand, supply)
    # An item without a buyer would have demand that no buyer can express. The scenario has a buyer per item at least,
    # so the loop ends.
    while 0 in buyers:
        largest = max(range(len(buyers)), key=lambda place: (buyers[place], -place))
        buyers[largest] -= 1
        buyers[buyers.index(0)] += 1
    wanted: list[Slot] = []
    for item, (count, total) in enumerate(zip(buyers, units, strict=True)):
        each, more = divmod(total, count)
        wanted += [Slot(item, each + 1)] * more + [Slot(item, each)] * (count - more)
    return wanted


def draw_crowd(scenario: SupplyChainScenario, chance: Chance, number: int) -> Crowd:
    """The buyers of round `number`, with tribe, text, wish and price limit, and their order of arrival.

    The same scenario, seed and round give the same crowd, byte for byte.
    """
    count = scenario.buyers
    wishes = (_dealt if scenario.demand_split == "stratified" else _drawn)(scenario, chance, number)
    tribe_luck, text_luck = (_drawn_each(chance, stream, number, count) for stream in (Streams.TRIBE, Streams.TEXT))
    price_luck = _drawn_each(chance, Streams.RESERVATION, number, count) if scenario.reservation else []
    bounds = list(accumulate(tribe.weight for tribe in scenario.tribes))[:-1]
    buyers: list[Buyer] = []
    for place in range(count):
        # Cumulative weights in file order. The last bound is left out: weights may sum to a hair less than 1, and the
        # last tribe takes the rest.
        tribe = bisect_right(bounds, tribe_luck[place])
        group = scenario.tribes[tribe]
        text = int(text_luck[place] * len(group.texts))
        item, quantity = wishes[place]
        limit = None
        if scenario.reservation:
            limit = reservation_limit(scenario, group, scenario.items[item].base_cents, price_luck[place])
        buyers.append(Buyer(tribe, text, item, quantity, limit))
    return Crowd(tuple(buyers), _order(chance, Streams.ARRIVAL, number, count))


@lru_cache(maxsize=4)
def _keys(count: int) -> tuple[bytes, ...]:
    """Encoded buyer indices, made once: every stream of every round needs the same ones."""
    return tuple(encode_key(place) for place in range(count))


def _drawn_each(chance: Chance, stream: Streams, number: int, count: int) -> list[float]:
    """The uniform of every buyer by place."""
    return chance.under(stream, number).each(_keys(count))


def _order(chance: Chance, stream: Streams, number: int, count: int) -> tuple[int, ...]:
    """Buyer indices in ascending order of a stream's draw."""
    drawn = _drawn_each(chance, stream, number, count)
    # Equal draws are possible, if hardly: then the smaller index goes first.
    return tuple(sorted(range(count), key=lambda place: (drawn[place], place)))


def _dealt(scenario: SupplyChainScenario, chance: Chance, number: int) -> list[Slot]:
    """Wishes by buyer index: the slots, dealt in the order of stream `slot`."""
    dealt = [Slot(0, 0)] * scenario.buyers
    for slot, buyer in zip(slots(scenario), _order(chance, Streams.SLOT, number, scenario.buyers), strict=True):
        dealt[buyer] = slot
    return dealt


def _drawn(scenario: SupplyChainScenario, chance: Chance, number: int) -> list[Slot]:
    """Wishes by buyer index (`random`): an item each in proportion to supply; D is dealt evenly over the buyers.

    What does not divide evenly goes to the first buyers, one unit each.
    """
    luck = _drawn_each(chance, Streams.ITEM, number, scenario.buyers)
    # Whole units, so that no share is rounded.
    bounds = list(accumulate(item.quantity for item in scenario.items))
    each, more = divmod(scenario.demand, scenario.buyers)
    return [
        Slot(bisect_right(bounds, int(luck[place] * bounds[-1])), each + (place < more))
        for place in range(scenario.buyers)
    ]


def reservation_limit(scenario: SupplyChainScenario, tribe: Tribe, base_cents: int, u: float) -> int:
    """R_j in cents: base times a log-normal multiplier around the tribe's centre, clipped, rounded down (6.6).

    `u` in (0, 1) is the buyer's luck. Example: base 50.00, centre 1.3, σ = 0.15 and u = 0.1, 0.5, 0.975 give 53.63,
    65.00, 87.21.
    """
    low, high = scenario.reservation_clip
    multiplier = math.exp(math.log(tribe.reservation_centre) + scenario.reservation_sigma * _normal(u))
    # In milliardths: exp and log differ in the last bit between machines, and whole cents must not.
    return base_cents * round(min(max(multiplier, low), high) * _MILLIARD) // _MILLIARD


def draw_supply(scenario: SupplyChainScenario, chance: Chance, number: int) -> tuple[int, ...]:
    """Q_x(t): the units that the supplier offers in round `number`, by item index (6.1).

    Fixed supply is the catalogue's. A shock multiplies it by a log-normal factor of mean 1 before clipping, or takes an
    item off the market for the round.
    """
    if scenario.supply_mode == "fixed":
        return tuple(item.quantity for item in scenario.items)
    sigma, (low, high) = scenario.supply_sigma, scenario.supply_clip
    offered: list[int] = []
    for item in scenario.items:
        # −σ²/2 makes the mean of the factor 1, so that shocks do not change how scarce goods are on average.
        factor = math.exp(-sigma * sigma / 2 + sigma * _normal(chance.uniform(Streams.SUPPLY, number, item.id)))
        milliardths = round(min(max(factor, low), high) * _MILLIARD)
        # A draw with its own key: outages shift no other draw.
        gone = chance.uniform(Streams.OUTAGE, number, item.id) < scenario.outage_prob
        # Round half up in integers.
        offered.append(0 if gone else (2 * item.quantity * milliardths + _MILLIARD) // (2 * _MILLIARD))
    return tuple(offered)
