"""Charts of the order book: the path of prices, traded units, the book at a moment, what seats earned.

Of shares also mean prices beside what a share is worth, and who held how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.charts.chart import MAX_POINTS, Axis, BarChart, Bars, Chart, Line, XYChart
from tradefair.evaluation.charts.schedules import competitive, supply_and_demand
from tradefair.evaluation.markets.order_book.modes.play import Filled, Game, Period, read_game
from tradefair.evaluation.markets.order_book.outcomes import earned
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.reading import agent_seats, read_trace
from tradefair.order_book.answers.results import OpeningFacts, OrderFact, PeriodFacts
from tradefair.tracestore import Trace

_PRICE = Axis(label="price", unit="ticks")
_PERIOD = Axis(label="period")
_LEVELS = 15
"""Prices of each side in the chart of the book."""


def charts(trace: Trace) -> list[Chart]:
    """The charts that the closed periods allow; none before the first."""
    reading, game = read_trace(trace), read_game(trace)
    if game.opening is None:
        return []
    under_test = [seat for seat in agent_seats(reading.seating) if seat in game.seats]
    closed = [facts for row in reading.rounds if (facts := reading.typed(row, PeriodFacts)) is not None]
    return [
        _path(game, under_test),
        *([_bubble(game), _holdings(game)] if game.asset else [_units(game)]),
        *(ladder for seat in under_test if (ladder := _ladder(seat, closed, game)) is not None),
        _earned(game),
    ]


def _path(game: Game, under_test: Sequence[SeatId]) -> XYChart:
    """Every trade by step over the range of best quotes; bands are competitive prices, steps the fundamental value."""
    starts, total = dict[int, int](), 0
    for period in game.periods:
        starts[period.number] = total
        total += period.steps
    steps, fills = game.steps[-MAX_POINTS:], game.fills[-MAX_POINTS:]
    at = [float(starts.get(step.period, 0) + step.step) for step in steps]

    def dots(name: str, chosen: Iterable[Filled]) -> Line:
        listed = list(chosen)
        x = [float(starts.get(fill.period, 0) + fill.step) for fill in listed]
        return Line(name=name, x=x, y=[float(fill.price) for fill in listed], mark="dots")

    lines = [
        Line(name="best ask", x=at, y=[step.best_ask for step in steps], mark="step", faint=True, shade_to="best bid"),
        Line(name="best bid", x=at, y=[step.best_bid for step in steps], mark="step", faint=True),
        dots("trades", (fill for fill in fills if not {fill.buyer, fill.seller} & {*under_test})),
        *(dots(f"{seat} traded", (fill for fill in fills if seat in (fill.buyer, fill.seller))) for seat in under_test),
    ]
    opening = game.opening
    assert opening is not None
    if game.asset:
        known = [(float(starts[row.number]), game.rules.fundamental(row.number)) for row in game.periods]
        # Held until the last step, or the value of the last period would have no width.
        known += [(float(total), known[-1][1])]
        lines.append(Line(name="fundamental value", x=[x for x, _ in known], y=[y for _, y in known], mark="step"))
    return XYChart(
        id="path",
        title="Trades and quotes",
        note="A dot is a trade; shaded: from the best bid to the best ask, where there were both.",
        x=Axis(label="step"),
        y=_PRICE,
        lines=lines,
        bands=[] if game.asset else competitive(opening.p_lo, opening.p_hi),
    )


def _units(game: Game) -> XYChart:
    """Supply and demand of a period; a dot stands in the middle of each unit that was traded, once per period."""
    opening = game.opening
    assert opening is not None
    wanted, offered = _ranked(game, opening, "buyer"), _ranked(game, opening, "seller")
    # As many periods as a line has points for: 200 seats may have 20 units each.
    recent = game.periods[-max(1, MAX_POINTS // max(len(wanted), len(offered), 1)) :]
    return XYChart(
        id="supply_and_demand",
        title="Supply, demand and the units that were traded",
        note="Values fall and costs rise with every unit. A dot is a unit that was traded; its number: in how many "
        f"of the last {len(recent)} periods.",
        x=Axis(label="units per period"),
        y=_PRICE,
        lines=[
            *supply_and_demand([unit.value for unit in wanted], [unit.value for unit in offered]),
            _traded(game, recent, "bought", wanted),
            _traded(game, recent, "sold", offered),
        ],
        bands=competitive(opening.p_lo, opening.p_hi),
    )


class _Unit(NamedTuple):
    """A unit of a schedule: its value or cost, and its place in the seat's own schedule, from 0."""

    value: int
    seat: SeatId
    place: int


def _ranked(game: Game, opening: OpeningFacts, role: str) -> list[_Unit]:
    """All units of a role in the order of its curve."""
    units = [
        _Unit(value, seat, place)
        for seat in game.seats
        if game.roles.get(seat) == role
        for place, value in enumerate(opening.values.get(seat, ()))
    ]
    return sorted(units, key=lambda unit: (-unit.value if role == "buyer" else unit.value, unit.place))


def _traded(game: Game, periods: Sequence[Period], name: str, ranked: Sequence[_Unit]) -> Line:
    # Schedules are used in their order: of n traded units of a seat, they are its first n.
    dots = [
        (rank + 0.5, float(unit.value))
        for period in periods
        for rank, unit in enumerate(ranked)
        if unit.place < game.trader(unit.seat).traded_units.get(period.number, 0)
    ]
    return Line(name=name, x=[x for x, _ in dots], y=[y for _, y in dots], mark="dots")


def _bubble(game: Game) -> XYChart:
    """The mean price of each period beside the fundamental value; a period without a trade has none."""
    at = [float(period.number) for period in game.periods]
    prices = [
        mean(fill.price for fill in game.fills if fill.period == period.number for _ in range(fill.quantity))
        for period in game.periods
    ]
    worth = [game.rules.fundamental(period.number) for period in game.periods]
    return XYChart(
        id="mispricing",
        title="Mean price and what a share is worth",
        note="Shaded: the gap between both. A gap in the line: a period without a trade.",
        x=_PERIOD,
        y=_PRICE,
        lines=[
            Line(name="mean price", x=at, y=prices, shade_to="fundamental value"),
            Line(name="fundamental value", x=at, y=[*worth]),
        ],
    )


def _holdings(game: Game) -> XYChart:
    """Shares of each seat at the end of each period, from the endowment on."""
    assert game.opening is not None
    endowed = game.opening.endowments
    lines = [
        Line(
            name=seat,
            x=[0.0, *(float(period.number) for period in game.periods)],
            y=[endowed.get(seat, (0, 0))[1], *(period.shares.get(seat) for period in game.periods)],
        )
        for seat in game.seats
    ]
    return XYChart(
        id="holdings",
        title="Who held the shares",
        note="At the end of each period; at 0 the endowment.",
        x=_PERIOD,
        y=Axis(label="shares"),
        lines=lines,
    )


@dataclass
class _Rests:
    """What is left of an order in the book."""

    fact: OrderFact
    left: int


def _fullest(
    seat: SeatId, closed: Sequence[PeriodFacts], *, clears: bool
) -> tuple[str, dict[tuple[int, str], int], dict[tuple[int, str], int]] | None:
    """When a message of the seat met the most units; these by price and side, and those of the seat's own orders."""
    most, fullest = 0, None
    for period in closed:
        for message, book in _books(period, clears=clears):
            units = sum(order.left for order in book.values())
            if message.seat == seat and units > most:
                own = _depth(order for order in book.values() if order.fact.seat == seat)
                most, fullest = units, (f"step {message.step} of period {period.period}", _depth(book.values()), own)
    return fullest


def _ladder(seat: SeatId, closed: Sequence[PeriodFacts], game: Game) -> BarChart | None:
    """The book before the seat's message that met the most units in it, with its own orders marked; None: never any."""
    fullest = _fullest(seat, closed, clears=game.rules.after_trade == "clear")
    if fullest is None:
        return None
    moment, depth, own = fullest
    bids = sorted((price for price, side in depth if side == "buy"), reverse=True)[:_LEVELS]
    asks = sorted(price for price, side in depth if side == "sell")[:_LEVELS]
    levels = [*((price, "sell") for price in reversed(asks)), *((price, "buy") for price in bids)]
    return BarChart(
        id=f"book_{seat}",
        title=f"The book that {seat} met at its fullest",
        note=f"Before {moment}. The mark is what was {seat}'s own.",
        x=Axis(label="resting units"),
        y=Axis(label="price", unit="ticks"),
        names=[
            f"{'ask' if side == 'sell' else 'bid'} {price}{', own' if (price, side) in own else ''}"
            for price, side in levels
        ],
        bars=Bars(name="resting units", values=[float(depth[level]) for level in levels]),
        marks=Bars(name=f"{seat}'s own", values=[own.get(level) for level in levels]),
    )


def _books(period: PeriodFacts, *, clears: bool) -> Iterator[tuple[OrderFact, Mapping[int, _Rests]]]:
    """Each message of a period with the book before it, as the facts tell it; the mapping changes afterwards."""
    book: dict[int, _Rests] = {}
    for message in period.messages:
        yield message, book
        if message.act in ("cancel", "reduce"):
            if (order := book.get(message.order)) is not None:
                order.left -= message.quantity
        else:
            for number, _, quantity in message.fills:
                if (order := book.get(number)) is not None:
                    order.left -= quantity
            if clears and message.fills:
                book.clear()
            elif message.rest:
                book[message.order] = _Rests(message, message.quantity - sum(row[2] for row in message.fills))
        for number in [number for number, order in book.items() if order.left <= 0]:
            del book[number]


def _depth(orders: Iterable[_Rests]) -> dict[tuple[int, str], int]:
    """Units by price and side."""
    units: Counter[tuple[int, str]] = Counter()
    for order in orders:
        units[order.fact.price, order.fact.side] += order.left
    return dict(units)


def _earned(game: Game) -> BarChart:
    """Schedules: profits beside those at competitive prices; shares: the gain over holding the endowment."""
    figures = [earned(game, game.trader(seat)) for seat in game.seats]
    if game.asset:
        title, note, axis = "What trading gained", "Against holding the endowment, on the same dividends.", "gain"
        marks = None
    else:
        title, note, axis = "What the seats earned", "The mark is what competitive prices would have given.", "profit"
        marks = Bars(name="at competitive prices", values=[row["competitive_profit"] for row in figures])
    return BarChart(
        id="earned",
        title=title,
        note=f"{note} Ticks over all closed periods.",
        x=Axis(label=axis, unit="ticks"),
        y=Axis(label="seat"),
        names=list(game.seats),
        bars=Bars(name=axis, values=[float(row[axis]) for row in figures]),
        marks=marks,
    )
