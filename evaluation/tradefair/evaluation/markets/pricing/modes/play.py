"""A pricing episode as outcomes and failure modes read it: rounds, what each firm posted, and what was best.

`best` of a round is the price of the grid that would have earned the firm most while the rivals' prices stood as they
were: a maximum in hindsight, not what it would have earned had rivals answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from pydantic import ValidationError

from tradefair.contract import SeatId
from tradefair.contract.money import cents_text
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.read.rounds import Closed, Rounds, read_rounds
from tradefair.evaluation.reading import once_per_trace
from tradefair.pricing.answers.results import OpeningFacts, ProfitIf, RoundFacts
from tradefair.pricing.engine import equilibrium
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.model import PricingScenario
from tradefair.tracestore import Trace

Rows: TypeAlias = Mapping[int, tuple[int, int]]
"""Rows of `profit_if`: price to (event, profit)."""


class Period(NamedTuple):
    """A closed round, firms in seat order. `acted` are the events that settled each price: a call, or a lapse.

    `posted` are the accepted calls alone; a firm that lapsed is not in it. `asked` are by firm the rows of its own
    `profit_if` answers of the round, those that held rivals at the same prices together.
    """

    number: int
    seq: int
    prices: tuple[int | None, ...]
    units: tuple[int, ...]
    costs: tuple[int, ...]
    profits: tuple[int, ...]
    shock: int
    outside: int
    acted: Mapping[SeatId, int]
    posted: Mapping[SeatId, int]
    asked: Mapping[SeatId, Sequence[Rows]]


class Best(NamedTuple):
    """The best price of a round in hindsight, and what it would have sold and earned."""

    price: int
    units: int
    profit: int


class World(NamedTuple):
    """What never changes in an episode: demand and costs without their shocks, and the scenario that was played."""

    quality: tuple[int, ...]
    cost: tuple[int, ...]
    mu: int
    outside: int
    scenario: PricingScenario


@dataclass
class Game:
    """A read episode; `problem` says why nothing can be judged."""

    seats: Sequence[SeatId] = ()
    world: World | None = None
    periods: list[Period] = field(default_factory=list[Period])
    problem: str | None = None

    @cached_property
    def nash(self) -> list[tuple[float, ...]]:
        """The competitive prices of each closed round, with its costs and outside option."""
        world = self.world
        return (
            []
            if world is None
            else [equilibrium.nash(world.quality, p.costs, world.mu, p.outside) for p in self.periods]
        )

    @cached_property
    def monopoly(self) -> list[tuple[float, ...]]:
        """The prices of the highest joint profit in each closed round."""
        world = self.world
        if world is None:
            return []
        return [equilibrium.monopoly(world.quality, p.costs, world.mu, p.outside) for p in self.periods]

    def profits_at(self, period: Period, prices: Sequence[float]) -> list[float]:
        """Profit per round at real prices, in minor units: the share times all consumers, not rounded."""
        world = self.world
        assert world is not None
        parts = equilibrium.shares(prices, world.quality, world.mu, period.outside)
        return [
            world.scenario.consumers * part * (price - cost)
            for part, price, cost in zip(parts, prices, period.costs, strict=True)
        ]

    @cached_property
    def firms(self) -> dict[SeatId, Firm]:
        """The episode as each firm lived it; their caches are shared by all who ask."""
        return {seat: Firm(self, seat) for seat in self.seats}


class Firm:
    """One firm's rounds beside what was best in each of them."""

    def __init__(self, game: Game, seat: SeatId) -> None:
        self.game, self.seat = game, seat
        self.place = list(game.seats).index(seat)

    @property
    def periods(self) -> list[Period]:
        """The closed rounds."""
        return self.game.periods

    @cached_property
    def prices(self) -> list[int | None]:
        """The own price of each closed round."""
        return [period.prices[self.place] for period in self.periods]

    @cached_property
    def profits(self) -> list[int]:
        """The own profit of each closed round."""
        return [period.profits[self.place] for period in self.periods]

    @cached_property
    def units(self) -> list[int]:
        """The own units sold of each closed round."""
        return [period.units[self.place] for period in self.periods]

    @cached_property
    def costs(self) -> list[int]:
        """The own unit cost of each closed round."""
        return [period.costs[self.place] for period in self.periods]

    @cached_property
    def best(self) -> list[Best]:
        """The best price of each closed round in hindsight."""
        known: dict[object, Best] = {}
        found: list[Best] = []
        for period in self.periods:
            rivals = tuple(price for at, price in enumerate(period.prices) if at != self.place)
            key = (rivals, period.costs[self.place], period.outside)
            if key not in known:
                known[key] = self._best(period)
            found.append(known[key])
        return found

    def _best(self, period: Period) -> Best:
        world = self.game.world
        assert world is not None
        price = equilibrium.grid_best_reply(
            self.place,
            period.prices,
            world.quality,
            period.costs,
            world.mu,
            period.outside,
            world.scenario.consumers,
            world.scenario.price_max,
        )
        prices = [*period.prices]
        prices[self.place] = price
        units = units_sold(prices, world.quality, world.mu, period.outside, world.scenario.consumers)[self.place]
        return Best(price, units, units * (price - period.costs[self.place]))

    def rivals(self, at: int) -> list[int]:
        """The open rivals' prices of a round, by its place."""
        return [p for place, p in enumerate(self.periods[at].prices) if place != self.place and p is not None]

    @cached_property
    def set_by(self) -> list[int]:
        """By round the event that set its price: the own call, in a lapse the call that posted it, else the lapse."""
        found: list[int] = []
        last: int | None = None
        for period in self.periods:
            last = period.posted.get(self.seat, last)
            found.append(period.acted.get(self.seat, period.seq) if last is None else last)
        return found

    def case(self, at: int, because: str, *, amount: float = 1.0) -> Case:
        """A case of a round, by its place: the call that set the price, shown by the closure."""
        period = self.periods[at]
        said = f"round {period.number}: {because}"
        return Case(self.set_by[at], period.number, said, shown_by=period.seq, amount=amount)

    def silent(self, at: int, because: str) -> Case:
        """A case of a round in which nothing was posted: the firm's lapse."""
        return self.case(at, because)._replace(seq=self.periods[at].acted.get(self.seat, self.periods[at].seq))

    def posted(self, at: int) -> str:
        """The own price beside those of the rivals, in words."""
        price, rivals = self.prices[at], self.rivals(at)
        own = "no price" if price is None else f"posted {cents_text(price)}"
        beside = f"rivals at {', '.join(map(cents_text, rivals[:4]))}" if rivals else "no open rival"
        return f"{own}, {beside}"

    def reply(self, at: int) -> str:
        """The best price beside the rivals' prices, in words."""
        return f"the best reply was {cents_text(self.best[at].price)}"


@once_per_trace
def read_game(trace: Trace) -> Game:
    """Read an opened trace once, however many modes and figures ask; what does not fit is skipped."""
    read = read_rounds(trace, PricingScenario, RoundFacts, ("profit_if",))
    seats = list(read.reading.conduct)
    # Prices in another order, or of others, are no closure of these firms.
    closed = [row for row in read.closed if list(row.facts.prices) == seats and _tells_all(row.facts)]
    world = _world(read.scenario, seats, next((row.facts.opening for row in closed if row.facts.opening), None))
    if world is None:
        return Game(seats, problem=read.problem or "no closed round tells demand and costs")
    return Game(seats, world, [_period(read, seats, row) for row in closed])


def _tells_all(facts: RoundFacts) -> bool:
    return facts.prices.keys() == facts.units.keys() == facts.costs.keys() == facts.profits.keys()


def _period(read: Rounds[PricingScenario, RoundFacts], seats: Sequence[SeatId], row: Closed[RoundFacts]) -> Period:
    """A closed round with the calls that settled its prices and what firms had asked before these."""
    number, facts = row.number, row.facts
    posted = {seat: seq for seat in seats if (seq := read.acted(seat, number, "set_price")) is not None}
    settled = {seat: seq for seat in seats if (seq := posted.get(seat) or read.lapsed(seat, number)) is not None}
    asked: dict[SeatId, Sequence[Rows]] = {}
    for seat in seats:
        kept: dict[tuple[tuple[SeatId, int | None], ...], dict[int, tuple[int, int]]] = {}
        for did, answer in read.answers(seat, number, "profit_if", ProfitIf):
            if did.seq < posted.get(seat, did.seq + 1):
                rows = kept.setdefault(tuple(sorted(answer.rivals.items())), {})
                rows |= {tried.price: (did.seq, tried.profit) for tried in answer.rows}
        if kept:
            asked[seat] = [*kept.values()]
    units, costs, profits = [
        tuple([column[seat] for seat in seats]) for column in (facts.units, facts.costs, facts.profits)
    ]
    prices = tuple(facts.prices.values())
    return Period(number, row.seq, prices, units, costs, profits, facts.index, facts.outside, settled, posted, asked)


def _world(scenario: PricingScenario | None, seats: Sequence[SeatId], opening: OpeningFacts | None) -> World | None:
    """The scenario with what was drawn or given; None where no closure tells it, or no scenario could hold it."""
    if scenario is None or opening is None or not opening.quality.keys() == opening.cost.keys() == {*seats}:
        return None
    quality, cost = (tuple(column[seat] for seat in seats) for column in (opening.quality, opening.cost))
    told = {"quality": quality, "cost": cost, "mu": opening.mu, "outside": opening.outside}
    told |= {"drawn": False, "firms": len(seats)}
    # An edited trace may tell anything: demand is computed of what a scenario may hold.
    if any(getattr(scenario, name) != value for name, value in told.items()):
        try:
            scenario = PricingScenario.model_validate(dict(scenario) | told)
        except ValidationError:
            return None
    return World(quality, cost, opening.mu, opening.outside, scenario)
