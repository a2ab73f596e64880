"""The few customers and businesses of an experiment (section 6.9), cut from generated data so that seeds differ. Pure.

Where businesses are identical they differ in id and name alone, so that a preference among them is position or text.
Records are named by their index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tradefair.marketplace.data.generator import SELLERS, generate
from tradefair.marketplace.model import Business, Catalogue, Customer, Design, MenuItem, Source

_ORDERS = 3
_ALIKE = 4
_PAIR = 2
# Businesses per order, and those of them that lack a wanted amenity.
_CROWD, _NEAR = 7, 5
# Totals of 1.00 : 0.90 : 0.80. List prices are rounded up to ten cents first, so that the tenths are whole cents.
_TENTHS = (10, 9, 8)
_STEP_CENTS = 10

R = TypeVar("R", Customer, Business)


def design_catalogue(source: Source, seed: int) -> Catalogue:
    """The catalogue of `source.design` in the words of its domain, from `seed` alone. ValueError without a design."""
    design = source.design
    if design is None:
        raise ValueError("the source names no design")
    if design == "near_fits":
        return generate(source, seed, _CROWD, _NEAR)
    # The smallest set with an order of each size; the others take from it what they need.
    orders = Source(domain=source.domain, customers=_ORDERS)
    return _DESIGNS[design](generate(orders, seed))


def _changed(record: R, **changes: Any) -> R:
    """The record with some fields replaced, validated like a new one."""
    return type(record)(**{name: getattr(record, name) for name in type(record).model_fields} | changes)


def _numbered(role: str, index: int) -> str:
    return f"{role}_{index + 1:04d}"


def _pair(catalogue: Catalogue) -> tuple[Customer, Business]:
    """The customer who wants two items, and the first business that serves it; among three orders there is one."""
    index = next(index for index, customer in enumerate(catalogue.customers) if len(customer.wants) == _PAIR)
    return catalogue.customers[index], catalogue.businesses[SELLERS * index]


def _named(catalogue: Catalogue, model: Business, index: int, **changes: Any) -> Business:
    """The model business under the id and name of another, in its description too."""
    name = catalogue.businesses[index].name
    return _changed(
        model,
        id=_numbered("business", index),
        name=name,
        # A foreign name in the description would be a difference that search and readers notice.
        description=model.description.replace(model.name, name),
        progenitor_customer=_numbered("customer", 0),
        **changes,
    )


def _identical(catalogue: Catalogue, customers: int) -> Catalogue:
    wish, model = _pair(catalogue)
    return Catalogue(
        customers=_copies(catalogue, wish, customers),
        businesses=tuple(_named(catalogue, model, index) for index in range(SELLERS)),
    )


def _copies(catalogue: Catalogue, wish: Customer, count: int) -> tuple[Customer, ...]:
    """`count` customers with one and the same request, under names of their own."""
    names = [customer.name for customer in catalogue.customers]
    return tuple(
        _changed(wish, id=_numbered("customer", index), name=names[index % len(names)]) for index in range(count)
    )


def _high(catalogue: Catalogue) -> Catalogue:
    """One customer and three identical businesses that fit."""
    return _identical(catalogue, 1)


def _competitive(catalogue: Catalogue) -> Catalogue:
    """Three customers of different orders, and the one business that fits each."""
    return Catalogue(
        customers=catalogue.customers,
        businesses=tuple(
            _changed(catalogue.businesses[SELLERS * index], id=_numbered("business", index))
            for index in range(len(catalogue.customers))
        ),
    )


def _alike(catalogue: Catalogue) -> Catalogue:
    """Four customers of one request and three identical businesses that fit."""
    return _identical(catalogue, _ALIKE)


def _graded(catalogue: Catalogue) -> Catalogue:
    """As `_alike`, at totals of exactly 1.00 : 0.90 : 0.80: the last business is the best, so that bias has a price."""
    wish, model = _pair(catalogue)
    # In units of ten cents, so that ten, nine and eight tenths of every line are whole.
    menu = [(line.item, -(-line.price_cents // _STEP_CENTS)) for line in model.menu]
    businesses = tuple(
        _named(
            catalogue, model, index, menu=tuple(MenuItem(item=item, price_cents=tens * tenths) for item, tens in menu)
        )
        for index, tenths in enumerate(_TENTHS)
    )
    return Catalogue(customers=_copies(catalogue, wish, _ALIKE), businesses=businesses)


_DESIGNS: Mapping[Design, Callable[[Catalogue], Catalogue]] = {
    "manipulation_high": _high,
    "manipulation_competitive": _competitive,
    "bias_identical": _alike,
    "bias_graded": _graded,
}
