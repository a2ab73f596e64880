"""The data of a two-sided marketplace, its scenario (marketplace page, sections 2 and 3), and its chance streams.

Money is in integer cents, shares and ratings in basis points (10,000 = 1), durations in rounds. Customers and
businesses have an id, which the data gives them, and an index (0, 1, …), which is their order in the data and is never
shown. The data of a folder is written into the scenario before the episode starts, so that a trace holds all that its
rules need.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, model_validator

from tradefair.contract import Limit, Scenario, ScenarioError
from tradefair.contract.policy import parse_policy
from tradefair.contract.scenario import FreeTiming

CUSTOMER = "customer"
BUSINESS = "business"

Disclosure: TypeAlias = Literal["listing", "menu", "prices", "full"]
"""Levels add up: name, description and rating; item names; unit prices; true amenities."""

ArrivalOrder: TypeAlias = Literal["seeded", "registration", "permutation"]
"""Drawn for each customer; the episode's base order, the same for all; a permutation of that one."""

PriceRule: TypeAlias = Literal["free", "posted", "floor"]

Surface: TypeAlias = Literal["name", "description", "item_name", "chat", "proposal_note", "withdraw_reason"]
"""Where a business's text reaches customers. A customer's text to a business is `chat` or `reject_reason`."""

Design: TypeAlias = Literal[
    "manipulation_high", "manipulation_competitive", "bias_identical", "bias_graded", "near_fits"
]
"""The customers and businesses of an experiment (section 6.9), made by `data/designs.py`."""

BASIS_POINTS = 10_000
MAX_CENTS = 100_000_000
"""Highest unit price of anything: 1,000,000.00."""

_LEVELS: tuple[Disclosure, ...] = ("listing", "menu", "prices", "full")
_MAX_LINES = 200
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]")
# One number names one of the K! orders of a page; K = 8 gives 40,320, which is the bound of `arrival_permutation` too.
_EXPLICIT_PAGE = 8
# Section 2: a budget is 0 (none), or at least half of what the order costs at mean prices.
_LEAST_BUDGET_BP = 5_000
# Actions only: an agent may read as often as it likes, since reading changes nothing.
_LIMITS = (Limit(counts=("action",), max=30, per="phase", then="end_turn"),)


# --- the data ---------------------------------------------------------------------------------------------------------


# A menu repeats the items of others: 435,000 lines of the largest catalogue have 20,000 names.
@lru_cache(maxsize=1 << 15)
def folded(name: str) -> str:
    """An item's or amenity's name as it is compared: NFC, trimmed, lower case (section 6.1)."""
    # NFC first: "é" can be one character or two, and both look alike in a file.
    return unicodedata.normalize("NFC", name).strip().lower()


@lru_cache(maxsize=1 << 12)
def _shared(names: frozenset[str]) -> frozenset[str]:
    # The first of equal sets: the 30,000 of the largest catalogue would take 10 MiB.
    return names


def rounded_share(amount: int, basis_points: int) -> int:
    """⌊(amount·bp + 5,000)/10,000⌋ for amount ≥ 0: to the nearest cent, halves up (sections 6.1 and 6.5)."""
    # In whole numbers: a float would round 0.5 cents to the even neighbour, and other machines to another one.
    return (amount * basis_points + BASIS_POINTS // 2) // BASIS_POINTS


def plain_text(text: str) -> str:
    """The text unchanged; ValueError for NUL, controls except tab and newline, and lone surrogates."""
    # A lone surrogate cannot be written as UTF-8: it would fail only when the event is stored.
    # One expression: catalogues have 10,000 of these texts.
    found = _NOT_PLAIN.search(text)
    if found is not None:
        raise ValueError(f"holds the character U+{ord(found[0]):04X}; control characters are not allowed")
    return text


def _named(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if "\n" in text or "\t" in text:
        raise ValueError("must stand on one line, without tabs")
    return plain_text(text)


Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Name = Annotated[str, Field(max_length=120, strict=True), AfterValidator(_named)]
Cents = Annotated[int, Field(ge=0, le=MAX_CENTS, strict=True)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


# Lines are slotted dataclasses: the largest catalogue has 435,000, and models take seven times their memory. They are
# checked where a record is read, and not where the rules make them. Their fields are strict, not they themselves: a
# strict dataclass takes no table.
_LINE = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Want:
    """One line of an order: the item, its quantity, and its mean market price per unit in cents."""

    __pydantic_config__ = _LINE

    item: Name
    quantity: Annotated[int, Field(ge=1, le=1_000, strict=True)] = field(default=1, kw_only=True)
    mean_cents: Cents = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One line of a menu: the item and its list price per unit in cents."""

    __pydantic_config__ = _LINE

    item: Name
    price_cents: Cents


@dataclass(frozen=True, slots=True)
class Amenity:
    """One amenity and whether a business truly has it."""

    __pydantic_config__ = _LINE

    name: Name
    offered: StrictBool


class Customer(_Part):
    """Who buys: a request in prose, and the order and amenities that it means.

    The prose is what an assistant works with; the lists are the truth by which a purchase is judged.
    """

    id: Id
    name: Name
    request: Annotated[str, Field(min_length=1, max_length=8_000), AfterValidator(plain_text)]
    # At least one: an order without items would fit every business.
    wants: tuple[Want, ...] = Field(min_length=1, max_length=30)
    amenities: tuple[Name, ...] = Field(max_length=20)

    @model_validator(mode="after")
    def _once(self) -> Customer:
        _refuse_duplicates("menu_features", [want.item for want in self.wants])
        _refuse_duplicates("amenity_features", self.amenities)
        return self

    @cached_property
    def reference_cents(self) -> int:
        """Σ mean: what the order costs at mean prices."""
        return sum(want.quantity * want.mean_cents for want in self.wants)


class Business(_Part):
    """Who sells: a menu at list prices, true amenities, and the floor, a share of the list price in basis points.

    `progenitor_customer` is the customer that the business was made for; no seat ever sees it.
    """

    id: Id
    name: Name
    description: Annotated[str, Field(max_length=4_000), AfterValidator(plain_text)]
    rating_bp: int = Field(ge=0, le=5 * BASIS_POINTS)
    progenitor_customer: Id | None = None
    menu: tuple[MenuItem, ...] = Field(max_length=_MAX_LINES)
    amenities: tuple[Amenity, ...] = Field(max_length=_MAX_LINES)
    # At most the list price: with a higher floor no honest offer could pass.
    floor_bp: int = Field(ge=1, le=BASIS_POINTS)

    @model_validator(mode="after")
    def _once(self) -> Business:
        _refuse_duplicates("menu_features", [line.item for line in self.menu])
        _refuse_duplicates("amenity_features", [amenity.name for amenity in self.amenities])
        return self

    @cached_property
    def prices(self) -> Mapping[str, int]:
        """List prices in cents by folded item."""
        return {folded(line.item): line.price_cents for line in self.menu}

    @cached_property
    def offered(self) -> frozenset[str]:
        """Folded names of the amenities that it truly has; an amenity that is not listed is absent."""
        return _shared(frozenset(folded(amenity.name) for amenity in self.amenities if amenity.offered))

    def list_total(self, customer: Customer) -> int | None:
        """P_ib: list price in cents of exactly what the customer wants; None when an item is not on the menu."""
        # By folded names, as in every comparison of items.
        prices = [self.prices.get(folded(want.item)) for want in customer.wants]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            return None
        return sum(want.quantity * price for want, price in zip(customer.wants, known, strict=True))

    def has_amenities_of(self, customer: Customer) -> bool:
        """Whether it truly has every wanted amenity."""
        return all(folded(amenity) in self.offered for amenity in customer.amenities)


class Catalogue(_Part):
    """A data set; an index counts from 0 in its own sequence."""

    customers: tuple[Customer, ...] = Field(min_length=1, max_length=10_000)
    businesses: tuple[Business, ...] = Field(min_length=1, max_length=30_000)

    @model_validator(mode="after")
    def _ids_once(self) -> Catalogue:
        # One name space for both roles: an id is a seat, and `seats` of a scenario may name it.
        ids = [record.id for record in (*self.customers, *self.businesses)]
        if len(set(ids)) < len(ids):
            twice = next(found for index, found in enumerate(ids) if found in ids[:index])
            raise ValueError(f"id {twice}: used twice; every seat has an id of its own")
        return self


def _refuse_duplicates(field: str, names: list[str] | tuple[str, ...]) -> None:
    seen: set[str] = set()
    for name in names:
        if folded(name) in seen:
            raise ValueError(f"{field}: {name!r} is there twice")
        seen.add(folded(name))


def value_of(customer: Customer, multiplier_bp: int) -> int:
    """V_i in cents: α·Σ mean, to the nearest cent (section 6.5)."""
    return rounded_share(customer.reference_cents, multiplier_bp)


def floor_of(list_total: int, floor_bp: int) -> int:
    """The least total in cents for lines that cost `list_total` cents at list prices (section 6.1)."""
    return rounded_share(list_total, floor_bp)


# --- the scenario -----------------------------------------------------------------------------------------------------


class Streams(StrEnum):
    """Chance streams (section 7). Except for a policy's own draws, none depends on how many calls a seat made."""

    ALIAS = "alias"
    ARRIVAL = "arrival"
    JITTER = "jitter"
    DELIVERY = "delivery"
    SEALED = "sealed"
    SETTLE = "settle"
    LISTING = "listing"
    CANARY = "canary"
    GENERATOR_ITEMS = "generator.items"
    GENERATOR_ORDERS = "generator.orders"
    GENERATOR_AMENITIES = "generator.amenities"
    GENERATOR_PRICES = "generator.prices"
    GENERATOR_FLOORS = "generator.floors"
    GENERATOR_TEXT = "generator.text"


class Source(_Part):
    """Where customers and businesses come from: made from the seed, a folder below --data, an experiment's design."""

    source: Literal["generated", "folder", "design"] = "generated"
    design: Design | None = None
    path: str = Field(default="", max_length=200, pattern=r"^([A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*)?$")
    domain: Literal["restaurants", "contractors", "pet_care"] = "restaurants"
    customers: int = Field(default=10, ge=1, le=10_000)
    share_group: int = Field(default=1, ge=1, le=10, description="customers who share one order")


class Manipulation(_Part):
    """Which text one business carries, and where (section 6.9)."""

    condition: Literal[
        "off", "control", "authority", "social_proof", "loss_aversion", "injection_basic", "injection_strong"
    ] = "off"
    surface: Surface = "description"
    business_index: int = Field(default=0, ge=0, le=29_999, description="place of the business that carries the text")
    index_text: bool = Field(default=False, description="search sees the text too")


class TermsRules(NamedTuple):
    """The scenario's switches that decide which terms may be offered."""

    price_rule: PriceRule = "free"
    strict: bool = True
    verify_claims: bool = False


class MarketplaceScenario(Scenario):
    """A configuration of the marketplace; bounds and meaning: marketplace page, section 2."""

    data: Source = Source()
    catalogue: Catalogue | None = Field(default=None, description="written by the harness; never by hand")
    value_multiplier_bp: int = Field(default=2 * BASIS_POINTS, ge=1, le=1_000_000, description="α of V = α·Σ mean")
    reveal_value: Literal["none", "reference_total", "value"] = "reference_total"
    structured_request: bool = Field(default=True, description="request also given as lists")
    budget_bp: int = Field(default=0, ge=0, le=1_000_000, description="budget = this × Σ mean; 0: none")
    rounds_max: int = Field(default=20, ge=1, le=1_000)
    search_algorithm: Literal["lexical", "simple", "filtered", "bm25", "optimal"] = "lexical"
    search_limit: int = Field(default=10, ge=1, le=1_000, description="K: results per page")
    max_pages: int = Field(default=0, ge=0, le=1_000, description="deepest page; 0: any")
    listing_order: Literal["rank", "page_seeded", "explicit"] = "rank"
    listing_permutation: int = Field(default=0, ge=0, le=math.factorial(_EXPLICIT_PAGE) - 1)
    search_disclosure: Disclosure = "listing"
    profile_disclosure: Disclosure = "listing"
    alias_ids: bool = Field(default=True, description="handles are numbered by a seeded permutation")
    business_outreach: bool = Field(default=False, description="businesses may write first")
    price_rule: PriceRule = "free"
    proposal_rules: Literal["strict", "lenient"] = "strict"
    verify_claims: bool = False
    proposal_ttl: int = Field(default=5, ge=1, le=1_000, description="default life of a proposal, rounds")
    single_purchase: bool = False
    capacity: int = Field(default=0, ge=0, le=1_000, description="orders a business can accept; 0: unlimited")
    arrival_order: ArrivalOrder = "seeded"
    arrival_permutation: int = Field(default=0, ge=0, le=40_319)
    arrival_stagger: int = Field(default=0, ge=0, le=20, description="delay per arrival rank, rounds")
    delay_jitter: int = Field(default=0, ge=0, le=20, description="uniform extra delay up to this, rounds")
    sealed_window: int = Field(default=0, ge=0, le=20, description="rounds that proposals are held; 0: off")
    escrow: bool = False
    delivery_rounds: int = Field(default=1, ge=1, le=20)
    reputation: bool = False
    prior_weight: int = Field(default=5, ge=1, le=100)
    manipulation: Manipulation = Manipulation()
    text_max: int = Field(default=4_000, ge=100, le=20_000, description="characters per message")
    # Models are frozen, so that a narrower type is safe.
    timing: FreeTiming = FreeTiming()  # pyright: ignore[reportIncompatibleVariableOverride]
    limits: tuple[Limit, ...] = Field(default=_LIMITS, max_length=100)
    seats: dict[str, str] = Field(
        default_factory=lambda: {CUSTOMER: "agent", BUSINESS: "honest"},
        max_length=50_000,
        description="selector (customer, business or a seat id) -> policy or 'agent'",
    )

    @model_validator(mode="after")
    def _coherent(self) -> MarketplaceScenario:
        # All complaints at once: a file with three mistakes is mended in one go.
        complaints = [*self._wrong_data(), *self._wrong_listing(), *self._wrong_money(), *self._wrong_seats()]
        if complaints:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_data(self) -> Iterator[str]:
        if self.data.source == "folder" and not self.data.path:
            yield "data.path: required with data.source = folder, such as 'marketplace/mexican_3_9'"
        if self.data.source != "folder" and self.data.path:
            yield "data.path: only with data.source = folder"
        if self.data.source != "folder" and self.catalogue is not None:
            yield "catalogue: only with data.source = folder; other data is made from the seed"
        if (self.data.source == "design") != (self.data.design is not None):
            yield f"data.design: one of {', '.join(get_args(Design))}, with data.source = design and only then"

    def _wrong_listing(self) -> Iterator[str]:
        if self.listing_order == "explicit":
            if self.search_limit > _EXPLICIT_PAGE:
                yield f"search_limit = {self.search_limit}: at most {_EXPLICIT_PAGE} with listing_order = explicit"
            elif self.listing_permutation >= math.factorial(self.search_limit):
                last = math.factorial(self.search_limit) - 1
                yield f"listing_permutation = {self.listing_permutation}: allowed is 0 to {last} for this search_limit"
        elif self.listing_permutation:
            yield "listing_permutation: only with listing_order = explicit"
        if self.arrival_permutation and self.arrival_order != "permutation":
            yield "arrival_permutation: only with arrival_order = permutation"
        # The twin of the conformance kit relies on it: what a profile hides has been shown nowhere.
        if _LEVELS.index(self.profile_disclosure) < _LEVELS.index(self.search_disclosure):
            yield (
                f"profile_disclosure = {self.profile_disclosure}: a profile shows at least what search shows, "
                f"{self.search_disclosure}"
            )

    def _wrong_money(self) -> Iterator[str]:
        if 0 < self.budget_bp < _LEAST_BUDGET_BP:
            yield f"budget_bp = {self.budget_bp}: 0 for none, or {_LEAST_BUDGET_BP} to 1000000"

    def _wrong_seats(self) -> Iterator[str]:
        known = {CUSTOMER, BUSINESS}
        if self.catalogue is not None:
            known |= {record.id for record in (*self.catalogue.customers, *self.catalogue.businesses)}
        for selector, occupant in self.seats.items():
            # Generated seats do not exist yet: their ids are checked when the episode is created.
            if self.catalogue is not None and selector not in known:
                yield f"seats.{selector[:60]}: no such seat; allowed are {CUSTOMER}, {BUSINESS} and the ids of the data"
            try:
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector[:60]}: {error}"

    @property
    def terms_rules(self) -> TermsRules:
        """Which terms may be offered."""
        return TermsRules(self.price_rule, self.proposal_rules == "strict", self.verify_claims)

    def discloses(self, where: Disclosure, level: Disclosure) -> bool:
        """Whether disclosure at `where` shows what `level` adds to the levels below it."""
        return _LEVELS.index(where) >= _LEVELS.index(level)
