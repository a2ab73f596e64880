"""Scenario and records of the order book market. Prices are integer ticks, quantities integers, cash is in ticks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from tradefair.contract import Limit, Scenario, ScenarioError, SeatId
from tradefair.contract.policy import parse_policy
from tradefair.contract.scenario import FreeTiming, checked_content
from tradefair.order_book.engine.book import Side

Kind = Literal["schedules", "asset"]
Arrival = Literal["sweeps", "random", "rotation", "ticks"]
Role = Literal["buyer", "seller", "trader"]

MAX_PRICE = 100_000
# Calls per step in the mean; a limit is per period, so it grows with the steps of one.
_CALLS_PER_STEP, _LEAST_CALLS = 50, 400
_MOST_STEPS = 30_000
"""Of a period with awaited seats. Its facts are one event, which readers take up to 8 MiB: two messages a step of some
115 bytes each."""
_UNIT_STEPS = 30

_Price = Annotated[int, Field(ge=1, le=MAX_PRICE)]
_Schedule = Annotated[tuple[_Price, ...], Field(min_length=1, max_length=20)]
_Schedules = Annotated[tuple[_Schedule, ...], Field(min_length=1, max_length=200)]
_Endowment = tuple[Annotated[int, Field(ge=0, le=10_000_000)], Annotated[int, Field(ge=0, le=10_000)]]


class Streams(StrEnum):
    """Chance streams."""

    VALUE = "value"
    COST = "cost"
    ARRIVAL = "arrival"
    DIVIDEND = "dividend"


_LISTS = ("values", "costs")
"""Fields with a list of units per seat: of buyers, of sellers."""


class OrderBookScenario(Scenario):
    """A configuration of the order book; meaning and bounds: order book page, section 2."""

    # A narrower type for a frozen field is safe: nothing replaces a scenario's timing.
    timing: FreeTiming = FreeTiming()  # pyright: ignore[reportIncompatibleVariableOverride]
    kind: Kind = "schedules"
    buyers: int = Field(default=4, ge=1, le=200)
    sellers: int = Field(default=4, ge=1, le=200)
    units: int = Field(default=3, ge=1, le=20, description="units that each seat may buy or sell per period")
    values: _Schedules | None = Field(default=None, description="unit values, one list per buyer, falling")
    costs: _Schedules | None = Field(default=None, description="unit costs, one list per seller, rising")
    value_range: tuple[_Price, _Price] = Field(default=(60, 180), description="inclusive")
    cost_range: tuple[_Price, _Price] = Field(default=(20, 140), description="inclusive")
    min_trades: int = Field(default=3, ge=0, le=4_000, description="redrawn until as many units can gain")
    min_potential: int = Field(default=20, ge=0, le=1_000_000, description="redrawn until `focus` can earn as much")
    focus: SeatId = "B1"
    traders: int = Field(default=9, ge=2, le=200, description="seats of the asset market")
    endowments: tuple[_Endowment, ...] = Field(
        default=((225, 3), (585, 2), (945, 1)), min_length=1, max_length=200, description="(cash, shares), in turn"
    )
    dividends: tuple[Annotated[int, Field(ge=0, le=10_000)], ...] = Field(
        default=(0, 8, 28, 60), min_length=1, max_length=20, description="equally likely, per share and period"
    )
    final_value: int = Field(default=0, ge=0, le=100_000, description="paid per share after the last period")
    periods: int = Field(default=5, ge=1, le=100)
    price_max: int = Field(default=200, ge=10, le=MAX_PRICE)
    arrival: Arrival = "sweeps"
    sweeps: int = Field(default=8, ge=1, le=1_000, description="turns of every seat per period; ticks under `ticks`")
    steps: int | None = Field(default=None, ge=1, le=100_000, description="of a period under `random`; 30 per unit")
    one_order: bool = Field(default=True, description="a new order replaces the seat's resting one")
    max_orders: int = Field(default=20, ge=1, le=100, description="resting orders of one seat")
    max_quantity: int = Field(default=1, ge=1, le=1_000)
    after_trade: Literal["keep", "clear"] = "keep"
    budget_constraint: bool = Field(default=False, description="orders through the own value are refused")
    identities: bool = Field(default=False, description="trades name seats")
    limits: tuple[Limit, ...] = Field(default=(), max_length=100, description="default: 50 calls per step")

    @classmethod
    def prepared(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content with what an asset market has by default, and with the limit that goes with its steps."""
        asset = {"one_order": False, "max_quantity": 10} if content.get("kind") == "asset" else {}
        found = {**asset, **content}
        if "limits" not in found:
            try:
                calls = checked_content(cls, {**found, "limits": []}, source="").calls_per_period
            except ScenarioError:
                return found  # validation says what is wrong
            counts = ["read", "analysis", "action"]
            found["limits"] = [{"counts": counts, "max": calls, "per": "round", "then": "lapse"}]
        return found

    @model_validator(mode="after")
    def _coherent(self) -> OrderBookScenario:
        # All at once: the author of a scenario mends everything that is wrong in one go.
        if complaints := [*self._wrong_schedules(), *self._wrong_clock(), *self._wrong_seats()]:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_schedules(self) -> Iterator[str]:
        if self.kind == "asset":
            yield from (f"{name}: only with kind = schedules" for name in _LISTS if getattr(self, name) is not None)
            return
        if (self.values is None) != (self.costs is None):
            yield "values, costs: both or neither"
        for name, seats, sign in zip(_LISTS, (self.buyers, self.sellers), (-1, 1), strict=True):
            yield from self._wrong_lists(name, seats, sign)
        for name in ("value_range", "cost_range"):
            low, high = getattr(self, name)
            if low > high:
                yield f"{name} = [{low}, {high}]: the first must not be above the second"
            elif self.values is None and high > self.price_max:
                yield f"{name} = [{low}, {high}]: above price_max = {self.price_max}"
        if self.focus not in self.roster:
            yield f"focus = {self.focus}: no such seat"

    def _wrong_lists(self, name: str, seats: int, sign: int) -> Iterator[str]:
        """What is wrong with given values (`sign` −1: they fall) or costs."""
        lists: Any = getattr(self, name)
        if lists is None:
            return
        if len(lists) != seats:
            yield f"{name}: {len(lists)} lists; there are {seats} {'buyers' if sign < 0 else 'sellers'}"
        for number, units in enumerate(lists, 1):
            if sorted(units, key=lambda unit: sign * unit) != list(units):
                yield f"{name}.{number}: must {'fall' if sign < 0 else 'rise'} from unit to unit"
            if max(units) > self.price_max:
                yield f"{name}.{number}: {max(units)} is above price_max = {self.price_max}"

    def _wrong_clock(self) -> Iterator[str]:
        steps = self.steps_per_period
        if self.arrival != "ticks" and steps > _MOST_STEPS:
            yield f"sweeps, steps: {steps:,} steps a period; at most {_MOST_STEPS:,}"
        if (self.clock == "free") != (self.arrival == "ticks"):
            yield f"clock = {self.clock}, arrival = {self.arrival}: the free clock goes with ticks, and with them only"

    def _wrong_seats(self) -> Iterator[str]:
        known = {*self.roster, *self.roster.values()}
        for selector, occupant in self.seats.items():
            if selector not in known:
                yield f"seats.{selector}: no such seat or role; allowed are {', '.join(sorted(known)[:20])}"
            try:
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector}: {error}"

    @property
    def roster(self) -> dict[SeatId, Role]:
        """Seats and their roles, in the order in which seats are asked where nothing else says."""
        if self.kind == "asset":
            return {f"T{number}": "trader" for number in range(1, self.traders + 1)}
        buyers: dict[SeatId, Role] = {f"B{number}": "buyer" for number in range(1, self.buyers + 1)}
        return {**buyers, **{f"S{number}": "seller" for number in range(1, self.sellers + 1)}}

    @property
    def steps_per_period(self) -> int:
        """Steps of a period; under `ticks` ticks."""
        if self.arrival == "ticks":
            return self.sweeps
        if self.arrival != "random":
            return self.sweeps * len(self.roster)
        if self.steps is not None:
            return self.steps
        if self.kind == "asset":
            endowments = self.endowments
            return _UNIT_STEPS * sum(endowments[at % len(endowments)][1] for at in range(self.traders))
        if self.values is not None and self.costs is not None:
            return _UNIT_STEPS * sum(map(len, (*self.values, *self.costs)))
        return _UNIT_STEPS * self.units * (self.buyers + self.sellers)

    @property
    def calls_per_period(self) -> int:
        """Calls of a seat that are allowed by default; of random steps it may be asked twice its part."""
        own = self.sweeps if self.arrival != "random" else -(-2 * self.steps_per_period // len(self.roster))
        return min(1_000_000, max(_LEAST_CALLS, _CALLS_PER_STEP * own))

    def fundamental(self, period: int) -> float:
        """What a share will have paid in the mean from this period on, FV_t."""
        return sum(self.dividends) * (self.periods - period + 1) / len(self.dividends) + self.final_value


class Trade(NamedTuple):
    """A trade at the resting order's price; `number` counts from 1 over the episode."""

    number: int
    period: int
    step: int
    price: int
    quantity: int
    aggressor: Side
    taker: SeatId
    maker: SeatId
    order: int


class Message(NamedTuple):
    """What a seat told the book: an order (number, side, limit price, quantity, whether it may rest) or a cancel.

    `act` is order, reduce or cancel; of the last two `quantity` is what was taken off the book (0: a resting order was
    given again as it is). `fills` are (order, price, quantity) of resting orders.
    """

    step: int
    seat: SeatId
    act: Literal["order", "reduce", "cancel"]
    order: int
    side: Side
    price: int
    quantity: int
    rest: bool
    fills: tuple[tuple[int, int, int], ...]


class Shout(NamedTuple):
    """An order as it arrived, for beliefs; `accepted`: it traded at once. `number` counts from 1 over the episode."""

    number: int
    seat: SeatId
    side: Side
    price: int
    accepted: bool
