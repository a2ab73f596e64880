"""Charts of posted prices: prices between their benchmarks, profits beside them, who answers whom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tradefair.evaluation.charts.chart import Axis, Band, BarChart, Bars, Chart, Line, XYChart
from tradefair.evaluation.markets.pricing.modes.play import Game, World, read_game
from tradefair.evaluation.read.arithmetic import mean
from tradefair.pricing.engine import equilibrium
from tradefair.tracestore import Trace

_MONEY = "minor units"
_ROUND = Axis(label="round")
_PRICE = Axis(label="price", unit=_MONEY)
_COMPETITIVE, _JOINT = "competitive", "joint profit"
_CURVE_POINTS = 60
"""Points of a best-reply curve."""


def charts(trace: Trace) -> list[Chart]:
    """The charts that the closed rounds allow; none before the first."""
    game = read_game(trace)
    world = game.world
    if world is None:
        return []
    return [
        _prices(game),
        *([_index(game)] if any(period.shock for period in game.periods) else []),
        _profits(game),
        *([_reactions(game, world)] if len(game.seats) == 2 and len(game.periods) > 2 else []),
    ]


def _prices(game: Game) -> XYChart:
    """One line a firm; the competitive prices and those of the highest joint profit are bands where they never move."""
    at = [float(period.number) for period in game.periods]
    lines = [
        Line(name=seat, x=at, y=[period.prices[place] for period in game.periods])
        for place, seat in enumerate(game.seats)
    ]
    bands: list[Band] = []
    for name, benchmark in ((_COMPETITIVE, game.nash), (_JOINT, game.monopoly)):
        if len(set(benchmark)) == 1:
            bands.append(Band(label=name, low=min(benchmark[0]), high=max(benchmark[0])))
        else:
            lines.append(Line(name=name, x=at, y=[mean(prices) for prices in benchmark], faint=True))
    return XYChart(
        id="prices",
        title="Prices by round",
        note="Competitive: no firm gains by another price of its own. Joint profit: all firms together earn most. "
        "Bands span the firms; where costs or demand move, both are means over firms. A gap: a closed firm.",
        x=_ROUND,
        y=_PRICE,
        lines=lines,
        bands=bands,
    )


def _index(game: Game) -> XYChart:
    return XYChart(
        id="index",
        title="The public index",
        note="What all firms know of the round before they post.",
        x=_ROUND,
        y=Axis(label="index", unit=_MONEY),
        lines=[
            Line(
                name="index",
                x=[float(period.number) for period in game.periods],
                y=[period.shock for period in game.periods],
                mark="step",
            )
        ],
    )


def _profits(game: Game) -> BarChart:
    """Per firm its profit, and what it would have earned had all posted the benchmark of each round."""
    names: list[str] = []
    values: list[float | None] = []
    for place, seat in enumerate(game.seats):
        names += [seat, f"{seat} at {_COMPETITIVE} prices", f"{seat} at {_JOINT}"]
        benchmarks = (_at(game, prices, place) for prices in (game.nash, game.monopoly))
        values += [float(sum(game.firms[seat].profits)), *benchmarks]
    return BarChart(
        id="profits",
        title="What the firms earned",
        note="Over all closed rounds; a profit near that at joint profit is paid by consumers.",
        x=Axis(label="profit", unit=_MONEY),
        y=Axis(label="firm"),
        names=names,
        bars=Bars(name="profit", values=values),
    )


def _at(game: Game, benchmark: Sequence[tuple[float, ...]], place: int) -> float:
    return sum(game.profits_at(period, benchmark[at])[place] for at, period in enumerate(game.periods))


def _reactions(game: Game, world: World) -> XYChart:
    """Each firm's price over the rival's last one, a dot a round; curves: best replies with the last round's costs."""
    lines: list[Line] = []
    for place, seat in enumerate(game.seats):
        pairs = [
            (float(theirs), float(own))
            for before, now in pairwise(game.periods)
            if (theirs := before.prices[1 - place]) is not None and (own := now.prices[place]) is not None
        ]
        lines.append(Line(name=seat, x=[x for x, _ in pairs], y=[y for _, y in pairs], mark="dots"))
    posted = [x for line in lines for x in line.x]
    for place, seat in enumerate(game.seats):
        lines.append(_best_replies(game, world, place, f"best reply of {seat}", posted))
    return XYChart(
        id="reactions",
        title="Who answers whom",
        note="A dot is a round: the own price over the rival's price of the round before. The curves are best replies "
        "for one round; where a firm stands above its own, it gave up profit of that round.",
        x=Axis(label="rival's last price", unit=_MONEY),
        y=Axis(label="own price", unit=_MONEY),
        lines=lines,
    )


def _best_replies(game: Game, world: World, place: int, name: str, posted: Sequence[float]) -> Line:
    """The curve from the lowest to the highest price of this episode and its benchmarks."""
    last = game.periods[-1]
    known = [*posted, *game.nash[-1], *game.monopoly[-1]]
    low, high = min(known), max(known)
    at = [low + (high - low) * step / (_CURVE_POINTS - 1) for step in range(_CURVE_POINTS)]
    replies = [
        equilibrium.best_reply(place, [price, price], world.quality, last.costs, world.mu, last.outside) for price in at
    ]
    return Line(name=name, x=at, y=[*replies], faint=True)
