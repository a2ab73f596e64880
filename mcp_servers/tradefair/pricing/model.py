"""Scenario and records of the pricing market. Prices, costs, quality, mu and the outside option are in minor units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import Field, model_validator

from tradefair.contract import Limit, Scenario, ScenarioError, SeatId
from tradefair.contract.policy import parse_policy

ROLE = "firm"

Shock = Literal["none", "common_cost", "own_cost", "demand"]
BriefStyle = Literal["plain", "patient", "bold"]

# Bounds of exponents: beyond them a share is 0 or 1 to the last digit of a weight.
_MOST_ATTRACTION, _MOST_DISTANCE, _MOST_OUTSIDE = 60, 60, 40
_LIMITS = (Limit(counts=("read", "analysis", "action"), max=60, per="round", then="lapse"),)

_Quality = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
_Cost = Annotated[int, Field(ge=0, le=1_000_000)]
_Mu = Annotated[int, Field(ge=1, le=100_000)]


class Streams(StrEnum):
    """Chance streams: draws of a scenario, shocks by round (and seat), the law of a `rival` seat."""

    QUALITY = "quality"
    COST = "cost"
    MU = "mu"
    SHOCK = "shock"
    SHOCK_LEVEL = "shock_level"
    RIVAL = "rival"


class PricingScenario(Scenario):
    """A configuration of the pricing market; meaning and bounds: pricing page, section 2."""

    firms: int = Field(default=2, ge=1, le=10)
    rounds: int = Field(default=60, ge=1, le=10_000)
    quality: tuple[_Quality, ...] | None = Field(default=None, max_length=10, description="a_i, one per firm")
    cost: tuple[_Cost, ...] | None = Field(default=None, max_length=10, description="c_i, one per firm")
    mu: _Mu = Field(default=250, description="how unlike consumers are; prices matter less when it is larger")
    outside: int = Field(default=0, ge=-4_000_000, le=4_000_000, description="worth of buying nothing")
    drawn: bool = Field(default=False, description="quality, cost and mu are drawn by the seed")
    quality_range: tuple[_Quality, _Quality] = Field(default=(1_900, 2_100), description="inclusive, with drawn")
    cost_range: tuple[_Cost, _Cost] = Field(default=(900, 1_100), description="inclusive, with drawn")
    mu_range: tuple[_Mu, _Mu] = Field(default=(200, 300), description="inclusive, with drawn")
    consumers: int = Field(default=1_000_000, ge=100, le=1_000_000_000)
    price_max: int = Field(default=4_000, ge=1, le=1_000_000)
    shock: Shock = "none"
    shock_size: int = Field(default=60, ge=2, le=100_000, multiple_of=2, description="largest level, even")
    shock_percent: int = Field(default=20, ge=1, le=100, description="chance of a new level per round")
    demand_known: bool = Field(default=False, description="seats see quality, mu and the outside option")
    costs_known: bool = Field(default=False, description="seats see all costs")
    units_public: bool = Field(default=False, description="seats see the units that rivals sold")
    # Added to the page's keys: which laws a seat `rival` may follow.
    rival_laws: tuple[str, ...] = Field(
        default=("best_reply", "matcher", "edgeworth", "grim", "fixed_markup"),
        min_length=1,
        max_length=20,
        description="laws of which the seed gives a seat `rival` one",
    )
    brief: BriefStyle = "plain"
    limits: tuple[Limit, ...] = Field(default=_LIMITS, max_length=100)

    @classmethod
    def prepared(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Lists of equal entries follow the number of firms."""
        firms = content.get("firms", 2)
        if not isinstance(firms, int) or not 1 <= firms <= 10:
            return content
        grown: dict[str, Any] = {}
        for name in ("quality", "cost"):
            given = content.get(name)
            if isinstance(given, list | tuple) and given and len(cast("list[object]", given)) != firms:
                entries = [*cast("list[object]", given)]
                if all(entry == entries[0] for entry in entries):
                    grown[name] = [entries[0]] * firms
        return {**content, **grown}

    @model_validator(mode="after")
    def _coherent(self) -> PricingScenario:
        # All at once: the author of a scenario mends everything that is wrong in one go.
        if complaints := [*self._wrong_lists(), *self._wrong_bounds(), *self._wrong_seats()]:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_lists(self) -> Iterator[str]:
        if self.clock != "turns":
            yield f"clock = {self.clock}: prices are sealed until all have acted; the clock must be 'turns'"
        for name in ("quality", "cost"):
            given: tuple[int, ...] | None = getattr(self, name)
            if (given is None) != self.drawn:
                yield f"{name}: {'must be absent' if self.drawn else 'required'} with drawn = {str(self.drawn).lower()}"
            elif given is not None and len(given) != self.firms:
                # Shown with its number, so that the author sees which of both to change.
                yield f"{name}: {len(given)} entries; there are {self.firms} firms"
        for name in ("quality_range", "cost_range", "mu_range"):
            low, high = getattr(self, name)
            if low > high:
                yield f"{name} = [{low}, {high}]: the first must not be above the second"

    def _wrong_bounds(self) -> Iterator[str]:
        mu = self.mu_range[0] if self.drawn else self.mu
        qualities = self.quality_range if self.drawn else self.quality or ()
        for quality in dict.fromkeys(qualities):
            if quality > _MOST_ATTRACTION * mu:
                yield f"quality = {quality}: with mu {mu} at most {_MOST_ATTRACTION * mu}"
            most = quality + _MOST_DISTANCE * mu
            if self.price_max > most:
                yield f"price_max = {self.price_max}: quality {quality} and mu {mu} allow at most {most}"
        moved = abs(self.outside) + (self.shock_size if self.shock == "demand" else 0)
        if moved > _MOST_OUTSIDE * mu:
            yield f"outside = {self.outside}: with mu {mu} and its shocks at most {_MOST_OUTSIDE * mu} in size"

    def _wrong_seats(self) -> Iterator[str]:
        known = {ROLE, *self.seat_ids}
        for selector, occupant in self.seats.items():
            if selector not in known:
                yield f"seats.{selector}: no such seat or role; allowed are {', '.join(sorted(known))}"
            try:
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector}: {error}"

    @property
    def seat_ids(self) -> tuple[SeatId, ...]:
        """F1, F2, …"""
        return tuple(f"F{number}" for number in range(1, self.firms + 1))


class Demand(NamedTuple):
    """What consumers want, in minor units: quality per firm, heterogeneity, outside option without shocks."""

    quality: tuple[int, ...]
    mu: int
    outside: int


class RoundRecord(NamedTuple):
    """A closed round, firms in seat order; a null price is a closed firm.

    `cost_shocks` are what each unit cost more than c_i; `shock` is the public index (0 where there is none),
    `outside` the outside option of the round.
    """

    round: int
    prices: tuple[int | None, ...]
    units: tuple[int, ...]
    cost_shocks: tuple[int, ...]
    shock: int
    outside: int
