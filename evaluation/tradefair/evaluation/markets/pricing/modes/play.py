"""A pricing episode as outcomes and failure modes read it: rounds, what each firm posted, and what was best.

`best` of a round is the price of the grid that would have earned the firm most while the rivals' prices stood as they
were: a maximum in hindsight, not what it would have earned had rivals answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, cast

from tradefair.contract import SeatId
from tradefair.contract.money import cents_text
from tradefair.evaluation.modes.calls import mapped
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.reading import TraceReading, once_per_trace, read_with
from tradefair.pricing.answers.results import RoundFacts
from tradefair.pricing.engine import equilibrium
from tradefair.pricing.engine.demand import units_sold
from tradefair.tracestore import Trace

_MAX_ROUNDS, _MAX_FIRMS = 10_000, 10


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
    """What never changes in an episode: demand, grid, what firms are told, the scenario's shock."""

    quality: tuple[int, ...]
    cost: tuple[int, ...]
    mu: int
    outside: int
    consumers: int
    price_max: int
    demand_known: bool
    shock_size: int
    rounds: int


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
            world.consumers * part * (price - cost)
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
            world.consumers,
            world.price_max,
        )
        prices = [*period.prices]
        prices[self.place] = price
        units = units_sold(prices, world.quality, world.mu, period.outside, world.consumers)[self.place]
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
    reading, watcher = read_with(trace, lambda reading: _Watcher(set(reading.conduct)))
    return watcher.finish(reading) if watcher else Game(problem="the manifest cannot be read")


class _Watcher:
    """Keeps accepted prices, lapses and answers of profit_if; rounds are typed at the end."""

    def __init__(self, seats: set[SeatId]) -> None:
        self._seats = seats
        self._posted: dict[tuple[SeatId, int], int] = {}
        self._lapsed: dict[tuple[SeatId, int], int] = {}
        self._asked: dict[tuple[SeatId, int], dict[str, dict[int, tuple[int, int]]]] = {}

    def __call__(self, seq: int, event: Mapping[str, Any]) -> None:
        seat, number = event.get("seat"), event.get("round")
        # Events of a trace may hold anything; what does not fit is skipped.
        if seat not in self._seats or not isinstance(number, int) or not 1 <= number <= _MAX_ROUNDS:
            return
        if event.get("event") == "seat_lapsed":
            self._lapsed[seat, number] = seq
        if event.get("event") != "tool_called" or event.get("status") != "ok":
            return
        if event.get("tool") == "set_price":
            # The first accepted one: the rules accept no second, a forged trace might.
            self._posted.setdefault((seat, number), seq)
        elif event.get("tool") == "profit_if" and (seat, number) not in self._posted:
            result = mapped(event.get("result"))
            rows: object = result.get("rows")
            rivals = str(sorted(mapped(result.get("rivals")).items(), key=str))
            kept = self._asked.setdefault((seat, number), {}).setdefault(rivals, {})
            for row in map(mapped, cast("list[object]", rows)) if isinstance(rows, list) else ():
                price, profit = row.get("price"), row.get("profit")
                if isinstance(price, int) and isinstance(profit, int):
                    kept[price] = (seq, profit)

    def finish(self, reading: TraceReading) -> Game:
        """The game that these events and the facts of the closures make."""
        seats = list(reading.conduct)
        periods: list[Period] = []
        opening = None
        for facts in reading.rounds:
            closed = reading.typed(facts, RoundFacts)
            number = len(periods) + 1
            if closed is None or list(closed.prices) != seats or len(seats) > _MAX_FIRMS or number > _MAX_ROUNDS:
                continue
            opening = opening or closed.opening
            posted = {seat: seq for seat in seats if (seq := self._posted.get((seat, number))) is not None}
            lapsed = {seat: seq for seat in seats if (seq := self._lapsed.get((seat, number))) is not None}
            columns = (closed.prices, closed.units, closed.costs, closed.profits)
            prices, units, costs, profits = (tuple(column.get(seat) for seat in seats) for column in columns)
            if None in units or None in costs or None in profits:
                continue
            asked = {seat: [*rows.values()] for seat in seats if (rows := self._asked.get((seat, number)))}
            periods.append(
                Period(
                    number,
                    facts.seq,
                    prices,
                    units,  # pyright: ignore[reportArgumentType]
                    costs,  # pyright: ignore[reportArgumentType]
                    profits,  # pyright: ignore[reportArgumentType]
                    closed.index,
                    closed.outside,
                    {**lapsed, **posted},
                    posted,
                    asked,
                )
            )
        world = _world(reading, opening, seats)
        if world is None or not periods:
            return Game(seats, problem="no closed round tells demand and costs")
        return Game(seats, world, periods)


def _world(reading: TraceReading, opening: Any, seats: Sequence[SeatId]) -> World | None:
    """Demand and grid from the first closure and the scenario; None where they do not tell, or cannot be computed."""
    if opening is None or reading.core is None or set(opening.quality) != set(seats) != set(opening.cost):
        return None
    scenario = reading.core.scenario

    def number(name: str, default: int) -> int:
        value = scenario.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    world = World(
        tuple(opening.quality[seat] for seat in seats),
        tuple(opening.cost[seat] for seat in seats),
        opening.mu,
        opening.outside,
        number("consumers", 1_000_000),
        number("price_max", 4_000),
        scenario.get("demand_known") is True,
        number("shock_size", 0) if scenario.get("shock") not in (None, "none") else 0,
        number("rounds", 0),
    )
    # Beyond these a forged trace would overflow: no scenario goes there.
    sane = 1 <= world.mu <= 100_000 and 1 <= world.consumers <= 10**9 and 1 <= world.price_max <= 10**6
    return world if sane and all(abs(a) <= 60 * world.mu for a in world.quality) else None
