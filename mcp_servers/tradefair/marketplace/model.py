"""The marketplace scenario (section 2) and the names of its chance streams.

Shares are in basis points (10,000 = 1), durations in rounds. The data of a folder is written into the scenario before
the episode starts, so that a trace holds all that its rules rest on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tradefair.contract.errors import ScenarioError
from tradefair.contract.limits import Limit
from tradefair.contract.policy import parse_policy
from tradefair.contract.scenario import Scenario, Timing
from tradefair.marketplace.engine.proposals import PriceRule, TermsRules
from tradefair.marketplace.records import BASIS_POINTS, Catalogue

CUSTOMER = "customer"
BUSINESS = "business"

Disclosure: TypeAlias = Literal["listing", "menu", "prices", "full"]
"""Levels add up: name, description and rating; item names; unit prices; true amenities."""

ArrivalOrder: TypeAlias = Literal["seeded", "registration", "permutation"]

_LEVELS: tuple[Disclosure, ...] = ("listing", "menu", "prices", "full")
_EXPLICIT_PAGE = 8
_LEAST_BUDGET_BP = 5_000
_LIMITS = (Limit(counts=("action",), max=30, per="phase", then="end_turn"),)


class Streams(StrEnum):
    """Chance streams (section 7). But for a policy's own draws, none depends on how many calls anybody made."""

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


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


Design: TypeAlias = Literal["manipulation_high", "manipulation_competitive", "bias_identical", "bias_graded"]
"""The few customers and businesses of an experiment (section 6.9), made by `designs`."""


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
    surface: Literal["name", "description", "item_name", "chat", "proposal_note", "withdraw_reason"] = "description"
    business_index: int = Field(default=0, ge=0, le=29_999, description="place of the business that carries the text")
    index_text: bool = Field(default=False, description="search sees the text too")


class MarketplaceTiming(Timing):
    """Wall-clock rules, for the host only."""

    free_tick_s: float = Field(default=5.0, ge=0.1, le=3_600, description="length of a tick of the free clock")

    @property
    def tick_s(self) -> float:
        """Seconds between ticks of the free clock."""
        return self.free_tick_s


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
    alias_ids: bool = Field(default=True, description="handles are a seeded permutation")
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
    timing: MarketplaceTiming = MarketplaceTiming()  # pyright: ignore[reportIncompatibleVariableOverride]
    limits: tuple[Limit, ...] = _LIMITS
    seats: dict[str, str] = Field(
        default_factory=lambda: {CUSTOMER: "agent", BUSINESS: "honest"},
        description="selector (customer, business or a seat id) -> policy or 'agent'",
    )

    @model_validator(mode="after")
    def _coherent(self) -> MarketplaceScenario:
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
        """Whether something disclosed at `where` shows what `level` adds."""
        return _LEVELS.index(where) >= _LEVELS.index(level)
