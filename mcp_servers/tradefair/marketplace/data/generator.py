"""Made-up data sets with the structure of the published ones (marketplace page, section 11). Pure, from the seed alone.

Every order is served by three businesses and by no other: all three have its items, two have its amenities too. (The
design `near_fits` has more of both kinds, in drawn order.) Texts come from `data/words.toml`; no language model writes
any. Bounds of menus, amenities, floors and prices are near those of the published sets. Every list of draws is keyed by
(entity, number), so that one text more moves no price.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count, permutations, product
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

from tradefair.contract import Chance
from tradefair.contract.money import to_minor
from tradefair.marketplace.model import (
    BASIS_POINTS,
    Amenity,
    Business,
    Catalogue,
    Customer,
    MenuItem,
    Source,
    Streams,
    Want,
)

SELLERS = 3
"""Businesses per order; the last one lacks an amenity."""

# A third of all orders has each size, as nearly as their number allows.
_SIZES = (1, 2, 3)
# Items that no order may contain remain after the baskets: every menu is filled up with them.
_SPARE_ITEMS = 300
_LEAST_DISTRACTORS, _MOST_DISTRACTORS = 10, 15
_LEAST_AMENITIES, _MOST_AMENITIES = 2, 4
# Percent of the list price.
_LEAST_FLOOR, _MOST_FLOOR = 60, 95
# Cents of a mean price, each with equal chance.
_ENDINGS = (49, 95, 99, 0)
_CENTS = 100
_LEAST_DIGITS = 4
_SENTENCES = 2
_quantile = NormalDist().inv_cdf
# One set for all records: each of its own would be as large as the rest of the record.
_CUSTOMER_FIELDS, _BUSINESS_FIELDS = set(Customer.model_fields), set(Business.model_fields)

T = TypeVar("T")


class _Domain(NamedTuple):
    """The words of a domain; mean prices from `low` to `high` cents, their deviation as a share of the mean."""

    low: int
    high: int
    deviation: float
    kind: str
    verb: str
    modifiers: tuple[str, ...]
    cores: tuple[str, ...]
    amenities: tuple[str, ...]


class _Counts(NamedTuple):
    """How many customers there are, and how many of them share an order; businesses per order, and how many of those
    lack a wanted amenity."""

    customers: int
    share_group: int
    sellers: int = SELLERS
    lacking: int = 1


class _Order(NamedTuple):
    """The items and amenities that a customer, or a whole share group, wants."""

    wants: tuple[Want, ...]
    amenities: tuple[str, ...]


def generate(source: Source, seed: int, sellers: int = SELLERS, lacking: int = 1) -> Catalogue:
    """`source.customers` customers in share groups, and `sellers` businesses per group, from `seed` alone.

    All of these have the items of the order, `lacking` of them lack an amenity.

    Customers of a group share items and amenities, not the wording of their request. Records are shared between
    episodes of the same source and seed; they cannot be changed.
    """
    return _generated(source.domain, _Counts(source.customers, source.share_group, sellers, lacking), seed)


@lru_cache(maxsize=4)
def _generated(name: str, counts: _Counts, seed: int) -> Catalogue:
    # Rounded up: the last group may be smaller.
    chance = Chance(seed)
    domain = _domain(name)
    groups = -(-counts.customers // counts.share_group)
    # Always enough: windows of one, two and three items advance by at most as many, two on average; the spare items
    # cover what is skipped.
    stock = _items(chance, domain, 2 * counts.customers + _SPARE_ITEMS)
    baskets, distractors = _baskets(chance, stock, groups)
    orders = [_Order(basket, _wanted_amenities(chance, domain, index)) for index, basket in enumerate(baskets)]
    customers = tuple(
        _customer(chance, domain, counts, index, orders[index // counts.share_group])
        for index in range(counts.customers)
    )
    # Not checked again, here and below: it is valid by construction (a test validates it), and has 10,000 records.
    businesses = tuple(_businesses(chance, domain, counts, orders, distractors))
    return Catalogue.model_construct(customers=customers, businesses=businesses)


# --- words ----------------------------------------------------------------------------------------------------------


@cache
def _words() -> dict[str, Any]:
    path = files("tradefair.marketplace").joinpath("data", "words.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _domain(name: str) -> _Domain:
    row = _words()["domain"][name]
    low, high = map(to_minor, row["mean_price"])
    lists = (tuple(row[key]) for key in ("modifiers", "cores", "amenities"))
    return _Domain(low, high, row["deviation_percent"] / 100, row["kind"], row["verb"], *lists)


def _names(firsts: Sequence[str], lasts: Sequence[str], least: int) -> list[str]:
    """At least `least` names, all of equal length in words: one of `firsts`, or two different ones, before a last."""
    # Never both lengths in one set: a name inside another would be found by a search for the other.
    if least <= len(firsts) * len(lasts):
        return [f"{first} {last}" for first, last in product(firsts, lasts)]
    return [f"{first} {second} {last}" for (first, second), last in product(permutations(firsts, 2), lasts)]


def _listed(words: Sequence[str]) -> str:
    """A, B and C."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _id(role: str, index: int, total: int) -> str:
    return f"{role}_{index + 1:0{max(_LEAST_DIGITS, len(str(total)))}d}"


# --- chance: every stream is drawn from by lists, under (entity, number) ----------------------------------------------


def _permuted(things: Sequence[T], draws: Sequence[float]) -> list[T]:
    """`things` in random order: by uniform, ties by index."""
    return [things[index] for index in sorted(range(len(things)), key=draws.__getitem__)]


def _sampled(things: Sequence[T], draws: Sequence[float]) -> list[T]:
    """As many different `things` as there are uniforms, in random order."""
    # Fisher and Yates without a copy of the list: `moved` holds only the entries that a swap has displaced.
    moved: dict[int, int] = {}
    taken: list[T] = []
    for index, draw in enumerate(draws):
        other = index + int(draw * (len(things) - index))
        taken.append(things[moved.get(other, other)])
        moved[other] = moved.get(index, index)
    return taken


def _picked(things: Sequence[T], draw: float) -> T:
    return things[int(draw * len(things))]


def _between(least: int, most: int, draw: float) -> int:
    """A whole number from least to most, both included."""
    return least + int(draw * (most - least + 1))


# --- items and orders -----------------------------------------------------------------------------------------------


def _items(chance: Chance, domain: _Domain, needed: int) -> list[Want]:
    """`needed` items in random order, with mean prices uniform among those of the domain with a random ending."""
    names = _names(domain.modifiers, domain.cores, needed)
    shuffled = _permuted(names, chance.uniforms(Streams.GENERATOR_ITEMS, "names", 0, n=len(names)))
    draws = chance.uniforms(Streams.GENERATOR_PRICES, "means", 0, n=2 * needed)
    return [
        Want(name, mean_cents=_mean(domain, draws[2 * index], draws[2 * index + 1]))
        for index, name in enumerate(shuffled[:needed])
    ]


def _mean(domain: _Domain, draw: float, ending_draw: float) -> int:
    """A mean price in cents. The ending is drawn first: only then are the whole units that keep it within bounds
    known."""
    ending = _picked(_ENDINGS, ending_draw)
    lowest = -((ending - domain.low) // _CENTS)
    highest = (domain.high - ending) // _CENTS
    return _between(lowest, highest, draw) * _CENTS + ending


def _baskets(chance: Chance, stock: Sequence[Want], groups: int) -> tuple[list[tuple[Want, ...]], list[Want]]:
    """The wants of every group `[group]`, and the items that no group wants.

    Orders of one item take consecutive items; a window of two advances by one or two, a window of three by one to
    three. After each kind one item less than its size is skipped, so that no order lies within another.
    """
    # Rounded up; the surplus is cut off below.
    per_size = -(-groups // len(_SIZES))
    steps = iter(chance.uniforms(Streams.GENERATOR_ORDERS, "steps", 0, n=len(_SIZES) * per_size))
    baskets: list[tuple[Want, ...]] = []
    start = 0
    for size in _SIZES:
        for _ in range(per_size):
            baskets.append(tuple(stock[start : start + size]))
            start += _between(1, size, next(steps))
        start += size - 1
    # Shuffled before it is cut, or the last sizes would always lose the surplus.
    order = chance.uniforms(Streams.GENERATOR_ORDERS, "groups", 0, n=len(baskets))
    return _permuted(baskets, order)[:groups], list(stock[start:])


def _wanted_amenities(chance: Chance, domain: _Domain, index: int) -> tuple[str, ...]:
    how_many, *draws = chance.uniforms(Streams.GENERATOR_AMENITIES, "order", index, n=3)
    return tuple(_sampled(domain.amenities, draws[: _between(1, 2, how_many)]))


# --- customers ------------------------------------------------------------------------------------------------------


def _customer(chance: Chance, domain: _Domain, counts: _Counts, index: int, order: _Order) -> Customer:
    # Greeting and closing are filler on purpose: a request is a worse query than the names of its items.
    words = _words()["customers"]
    first, last, greeting, template, closing, *shuffle = chance.uniforms(
        Streams.GENERATOR_TEXT, "customer", index, n=5 + len(order.amenities)
    )
    request = _picked(words["templates"], template).format(
        kind=domain.kind,
        verb=domain.verb,
        items=_listed([f"'{want.item}' ({want.quantity})" for want in order.wants]),
        amenities=_listed(_permuted(order.amenities, shuffle)),
    )
    return Customer.model_construct(
        _fields_set=_CUSTOMER_FIELDS,
        id=_id("customer", index, counts.customers),
        name=f"{_picked(words['first_names'], first)} {_picked(words['last_names'], last)}",
        request=f"{_picked(words['greetings'], greeting)} {request} {_picked(words['closings'], closing)}",
        wants=order.wants,
        amenities=order.amenities,
    )


# --- businesses -----------------------------------------------------------------------------------------------------


def _businesses(
    chance: Chance, domain: _Domain, counts: _Counts, orders: Sequence[_Order], distractors: Sequence[Want]
) -> Iterator[Business]:
    sellers = counts.sellers
    total = sellers * len(orders)
    words = _words()["businesses"]
    names = _names(words["adjectives"], words["nouns"], total)
    names = _permuted(names, chance.uniforms(Streams.GENERATOR_TEXT, "names", 0, n=len(names)))
    offered = {name: (Amenity(name, offered=False), Amenity(name, offered=True)) for name in domain.amenities}
    for group, order in enumerate(orders):
        priced = _order_prices(chance, domain, order, group, sellers)
        lacking = _lacking(chance, counts, group)
        for number, own in enumerate(priced):
            index = sellers * group + number
            # A near-fit has all items and lacks an amenity: the trap for whoever compares prices alone.
            on = _amenities_on(chance, domain, order, index, lacking=number in lacking)
            # Two decimals, as in the published data.
            (floor,) = chance.uniforms(Streams.GENERATOR_FLOORS, "business", index, n=1)
            yield Business.model_construct(
                _fields_set=_BUSINESS_FIELDS,
                id=_id("business", index, total),
                name=names[index],
                description=_description(chance, names[index], index),
                # 1.0 for all (section 11): at the start the base order is the episode's permutation alone.
                rating_bp=BASIS_POINTS,
                progenitor_customer=_id("customer", group * counts.share_group, counts.customers),
                menu=_menu(chance, domain, own, distractors, index),
                amenities=tuple(offered[name][name in on] for name in domain.amenities),
                floor_bp=_between(_LEAST_FLOOR, _MOST_FLOOR, floor) * _CENTS,
            )


def _lacking(chance: Chance, counts: _Counts, group: int) -> frozenset[int]:
    """Which of an order's sellers lack an amenity: the last one of three, drawn where there are more."""
    numbers = range(counts.sellers)
    if counts.sellers == SELLERS:
        return frozenset(numbers[-counts.lacking :])
    draws = chance.uniforms(Streams.GENERATOR_AMENITIES, "lacking", group, n=counts.sellers)
    return frozenset(_permuted(numbers, draws)[: counts.lacking])


@lru_cache(maxsize=1 << 14)
def _price(cents: int) -> int:
    # One object for all lines of this price: as many as there are lines take 13 MiB.
    return max(1, cents)


def _line(domain: _Domain, want: Want, draw: float) -> MenuItem:
    """An item at a price that is normal around its mean, at least a cent."""
    # By the inverse of the normal law: one uniform per price, so that a price's draw moves no other.
    return MenuItem(want.item, _price(round(want.mean_cents * (1 + domain.deviation * _quantile(draw)))))


def _order_prices(chance: Chance, domain: _Domain, order: _Order, group: int, sellers: int) -> list[list[MenuItem]]:
    """The wanted items at each seller's prices, `[seller][item]`, drawn again until the sellers' totals differ."""
    # Equal totals would make the best business ambiguous.
    size = len(order.wants)
    for attempt in count():
        draws = iter(chance.uniforms(Streams.GENERATOR_PRICES, "order", group, attempt, n=sellers * size))
        priced = [[_line(domain, want, next(draws)) for want in order.wants] for _ in range(sellers)]
        if len({sum(line.price_cents for line in lines) for lines in priced}) == sellers:
            return priced
    raise AssertionError("unreachable: the loop has no end")


def _menu(
    chance: Chance, domain: _Domain, own: Sequence[MenuItem], distractors: Sequence[Want], index: int
) -> tuple[MenuItem, ...]:
    how_many, *draws = chance.uniforms(
        Streams.GENERATOR_ITEMS, "business", index, n=1 + 2 * _MOST_DISTRACTORS + len(own)
    )
    extra = _between(_LEAST_DISTRACTORS, _MOST_DISTRACTORS, how_many)
    others = _sampled(distractors, draws[:extra])
    prices = chance.uniforms(Streams.GENERATOR_PRICES, "business", index, n=extra)
    lines = [*own, *(_line(domain, want, draw) for want, draw in zip(others, prices, strict=True))]
    return tuple(_permuted(lines, draws[_MOST_DISTRACTORS:]))


def _amenities_on(chance: Chance, domain: _Domain, order: _Order, index: int, *, lacking: bool) -> set[str]:
    how_many, *draws = chance.uniforms(Streams.GENERATOR_AMENITIES, "business", index, n=1 + _MOST_AMENITIES)
    on = {*_sampled(domain.amenities, draws[: _between(_LEAST_AMENITIES, _MOST_AMENITIES, how_many)]), *order.amenities}
    return on - {order.amenities[0]} if lacking else on


def _description(chance: Chance, name: str, index: int) -> str:
    words = _words()["businesses"]
    opening, *draws = chance.uniforms(Streams.GENERATOR_TEXT, "business", index, n=1 + _SENTENCES)
    return " ".join((_picked(words["openings"], opening).format(name=name), *_sampled(words["sentences"], draws)))
