"""The typed data of a two-sided marketplace: what customers want, what businesses offer, and what it is worth.

Money is in integer cents, factors and ratings in basis points (10,000 = 1). Customers and businesses are addressed by
their place (0, 1, …), which is their registration order; ids are those of the data.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

BASIS_POINTS = 10_000
MAX_CENTS = 100_000_000
"""Highest unit price of anything: 1,000,000.00."""

_MAX_LINES = 200
_MAX_CONTROL = 0x20


def folded(name: str) -> str:
    """An item's or amenity's name as it is compared: NFC, trimmed, lower case."""
    return unicodedata.normalize("NFC", name).strip().lower()


def rounded_share(amount: int, basis_points: int) -> int:
    """⌊(amount·bp + 5,000)/10,000⌋ for amount ≥ 0: to the nearest cent, halves up (sections 6.1 and 6.5)."""
    return (amount * basis_points + BASIS_POINTS // 2) // BASIS_POINTS


def plain_text(text: str) -> str:
    """The text as it is; ValueError for NUL, controls but tab and newline, and lone surrogates."""
    for char in text:
        if (ord(char) < _MAX_CONTROL and char not in "\t\n") or 0xD800 <= ord(char) <= 0xDFFF:
            raise ValueError(f"holds the character U+{ord(char):04X}; control characters are not allowed")
    return text


def _named(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if "\n" in text or "\t" in text:
        raise ValueError("must stand on one line, without tabs")
    return plain_text(text)


Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Name = Annotated[str, Field(max_length=120), AfterValidator(_named)]
Cents = Annotated[int, Field(ge=0, le=MAX_CENTS)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Want(_Record):
    """One line of an order: the item, how many, and the mean market price of one in cents."""

    item: Name
    quantity: int = Field(default=1, ge=1, le=1_000)
    mean_cents: Cents


class MenuItem(_Record):
    """One line of a menu: the item and the list price of one in cents."""

    item: Name
    price_cents: Cents


class Amenity(_Record):
    """One amenity and whether a business truly has it."""

    name: Name
    offered: bool


class Customer(_Record):
    """Who buys: a request in prose, and the order and amenities that it stands for."""

    id: Id
    name: Name
    request: Annotated[str, Field(min_length=1, max_length=8_000), AfterValidator(plain_text)]
    wants: tuple[Want, ...] = Field(min_length=1, max_length=30)
    amenities: tuple[Name, ...] = Field(max_length=20)

    @model_validator(mode="after")
    def _once(self) -> Customer:
        _each_once("menu_features", [want.item for want in self.wants])
        _each_once("amenity_features", self.amenities)
        return self

    @cached_property
    def reference_cents(self) -> int:
        """Σ mean: what the order costs at mean prices."""
        return sum(want.quantity * want.mean_cents for want in self.wants)


class Business(_Record):
    """Who sells: a menu at list prices, true amenities, and the share of the list price below which it does not go."""

    id: Id
    name: Name
    description: Annotated[str, Field(max_length=4_000), AfterValidator(plain_text)]
    rating_bp: int = Field(ge=0, le=5 * BASIS_POINTS)
    progenitor_customer: Id | None = None
    menu: tuple[MenuItem, ...] = Field(max_length=_MAX_LINES)
    amenities: tuple[Amenity, ...] = Field(max_length=_MAX_LINES)
    floor_bp: int = Field(ge=1, le=BASIS_POINTS)

    @model_validator(mode="after")
    def _once(self) -> Business:
        _each_once("menu_features", [line.item for line in self.menu])
        _each_once("amenity_features", [amenity.name for amenity in self.amenities])
        return self

    @cached_property
    def prices(self) -> Mapping[str, int]:
        """List prices in cents by folded item."""
        return {folded(line.item): line.price_cents for line in self.menu}

    @cached_property
    def offered(self) -> frozenset[str]:
        """Folded names of the amenities that it truly has; what is not listed it has not."""
        return frozenset(folded(amenity.name) for amenity in self.amenities if amenity.offered)

    def list_total(self, customer: Customer) -> int | None:
        """P_ib: list price in cents of exactly what the customer wants, or None when an item is not on the menu."""
        prices = [self.prices.get(folded(want.item)) for want in customer.wants]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            return None
        return sum(want.quantity * price for want, price in zip(customer.wants, known, strict=True))

    def has_amenities_of(self, customer: Customer) -> bool:
        """Whether it truly has every wanted amenity."""
        return all(folded(amenity) in self.offered for amenity in customer.amenities)


class Catalogue(_Record):
    """A data set in registration order."""

    customers: tuple[Customer, ...] = Field(min_length=1, max_length=10_000)
    businesses: tuple[Business, ...] = Field(min_length=1, max_length=30_000)

    @model_validator(mode="after")
    def _ids_once(self) -> Catalogue:
        ids = [record.id for record in (*self.customers, *self.businesses)]
        if len(set(ids)) < len(ids):
            twice = next(found for place, found in enumerate(ids) if found in ids[:place])
            raise ValueError(f"id {twice}: used twice; every seat has an id of its own")
        return self


def _each_once(field: str, names: list[str] | tuple[str, ...]) -> None:
    seen: set[str] = set()
    for name in names:
        if folded(name) in seen:
            raise ValueError(f"{field}: {name!r} is there twice")
        seen.add(folded(name))


def value_of(customer: Customer, multiplier_bp: int) -> int:
    """V_i in cents: α·Σ mean, to the nearest cent (section 6.5)."""
    return rounded_share(customer.reference_cents, multiplier_bp)


def floor_of(list_total: int, floor_bp: int) -> int:
    """The least total in cents for an order of this list total (section 6.1)."""
    return rounded_share(list_total, floor_bp)
