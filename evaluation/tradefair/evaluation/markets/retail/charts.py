"""Charts of a supermarket: money, stock, sales and losses, empty shelves, where the gain came from.

And of many runs: how each label looked, decided and came back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tradefair.contract.money import currency
from tradefair.evaluation.charts.by_label import ByLabel, Words, number, with_values
from tradefair.evaluation.charts.chart import Axis, Band, BarChart, Bars, Chart, HeatChart, Line, XYChart
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.markets.retail.modes.reading import read_retail
from tradefair.evaluation.markets.retail.profit import ProfitDecomposition, decompose
from tradefair.evaluation.outcome import PlayedSeat
from tradefair.retail.model import DayFacts, RetailScenario, product_id
from tradefair.tracestore import Trace

_DAY = Axis(label="day")
_MONEY = Axis(label="amount", unit="currency units")
_UNITS = Axis(label="units")
# Levels of the heat chart; 0, no mark, is every other day.
_SOLD_OUT, _NOTHING_THERE = 1, 2


CONDUCT = (
    "retail.query_depth",
    "retail.completeness",
    "retail.supplier_score",
    "retail.acted_per_day",
    "retail.high_demand_cov",
    "retail.follow_up_rate",
    "retail.unresolved_rate",
    "retail.price_first",
    "retail.quality_first",
)
"""Figures of the stages that `board_charts` reads."""


def board_charts(seats: Sequence[PlayedSeat], labels: Sequence[str]) -> list[Chart]:
    """The conduct of labels over all their runs: the charts that RetailBench publishes (figures 3a to 3d, and 4)."""
    by = ByLabel(seats, labels)
    # The source's closeness is relative to the runs beside it: 1 is exact, 0 as far as the farthest.
    far = max((value for seat in seats for value in number("price_distance")(seat)), default=0.0)

    def close(seat: PlayedSeat) -> list[float]:
        return [1 - value / far if far else 1.0 for value in number("price_distance")(seat)]

    def resolved(seat: PlayedSeat) -> list[float]:
        return [1 - value for value in number("retail.unresolved_rate")(seat)]

    depth, complete, score, acted, covered, followed, _, cheapest, best = map(number, CONDUCT)
    drawn = (
        ("evidence", "Evidence before acting", "query depth", depth, "completeness", complete),
        ("decisions", "Prices and suppliers chosen", "price closeness", close, "supplier score", score),
        ("attention", "Products acted on, wanted ones covered", "acted on a day", acted, "covered", covered),
        ("returning", "Coming back", "followed up", followed, "trouble resolved", resolved),
        ("suppliers", "The cheapest supplier or the best", "cheapest chosen", cheapest, "best chosen", best),
    )
    return with_values(
        [
            by.points(Words(name, title, "After RetailBench.", _share(across)), values, up, _share(above))
            for name, title, across, values, above, up in drawn
        ]
    )


def _share(label: str) -> Axis:
    return Axis(label=label, unit="products" if label == "acted on a day" else "share")


def charts(trace: Trace) -> list[Chart]:
    """The charts that the closed days allow; none before the first day is closed."""
    play = read_retail(trace).play
    facts = [day.facts for day in play.days]
    # Before the first close there are no facts; with an unreadable scenario there is no store to draw.
    if not facts or play.scenario is None:
        return []
    drawn: list[Chart] = [
        _worth(facts, play.scenario),
        _stock(facts),
        _empty_shelves(play, play.scenario, facts),
        _sales(facts),
    ]
    # Last, because it is about the whole run; left out where the books cannot be read.
    profit = decompose(play)
    return drawn if profit is None else [*drawn, _gain(profit)]


def _series(name: str, facts: Sequence[DayFacts], value: Callable[[DayFacts], float]) -> Line:
    """One line over the closed days: `value` of each day's facts."""
    return Line(name=name, x=[day.day for day in facts], y=[value(day) for day in facts])


def _worth(facts: Sequence[DayFacts], scenario: RetailScenario) -> XYChart:
    """Net worth and cash in currency units after each close, with the opening funds as a band."""
    start = currency(scenario.funds_start_cents)
    return XYChart(
        id="worth",
        title="Net worth and cash",
        note="After each close. Net worth = cash + stock at its aged cost + open orders at cost.",
        x=_DAY,
        y=_MONEY,
        lines=[
            _series("net worth", facts, lambda day: currency(day.net_worth_cents)),
            _series("cash", facts, lambda day: currency(day.funds_cents)),
        ],
        bands=[Band(label="funds at the start", low=start, high=start)],
    )


def _stock(facts: Sequence[DayFacts]) -> XYChart:
    """Stock at aged cost and open orders at cost, in currency units, after each close."""
    return XYChart(
        id="stock",
        title="Stock and open orders",
        note="At aged cost and at cost, after each close.",
        x=_DAY,
        y=_MONEY,
        lines=[
            _series("stock", facts, lambda day: currency(day.stock_value_cents)),
            _series("open orders", facts, lambda day: currency(day.open_order_cents)),
        ],
    )


def _sales(facts: Sequence[DayFacts]) -> XYChart:
    """Units per day that were sold, lost, returned and expired."""
    return XYChart(
        id="sales",
        title="Units sold, lost, returned and expired",
        note="Lost: demand that empty shelves turned away, less what customers took instead.",
        x=_DAY,
        y=_UNITS,
        lines=[
            _series("sold", facts, lambda day: sum(day.product.units)),
            _series("lost", facts, lambda day: day.net_lost_units),
            _series("returned", facts, lambda day: sum(day.product.returned)),
            _series("expired", facts, lambda day: sum(day.product.expired)),
        ],
    )


def _empty_shelves(play: RetailPlay, scenario: RetailScenario, facts: Sequence[DayFacts]) -> HeatChart:
    """Products that were on the shelf without stock, by day; rows of a category stand together."""
    # By category first: products that are bought and run out together stand together.
    names = [product_id(place) for place in range(len(play.categories))]
    order = sorted(range(len(names)), key=lambda place: (play.categories[place], place))
    row_of = {names[place]: row for row, place in enumerate(order)}
    cells: list[tuple[int, int, float]] = []
    for day in facts:
        # A product is in one list only: sold out needs stock in the morning, empty means none.
        levels = dict.fromkeys(day.stock_outs, _SOLD_OUT) | dict.fromkeys(day.empty_shelf, _NOTHING_THERE)
        cells += [(row_of[product], day.day, level) for product, level in levels.items() if product in row_of]
    return HeatChart(
        id="empty_shelves",
        title="Stock-out calendar",
        note="Products by category. Unmarked days: in stock, or not on the shelf.",
        x=_DAY,
        y=Axis(label="product"),
        rows=[names[place] for place in order],
        groups=[play.categories[place].replace("_", " ") for place in order],
        first_column=1,
        # The whole horizon, so that a short run looks short.
        last_column=max(scenario.horizon_days, facts[-1].day),
        cells=sorted(cells),
        levels=["sold out during the day", "on the shelf, nothing there all day"],
    )


def _gain(profit: ProfitDecomposition) -> BarChart:
    """The parts of the gain, which add up to it exactly."""
    parts: list[tuple[str, int | None]] = [
        ("revenue", profit.revenue_cents),
        ("refunds", -profit.refunds_cents),
        ("cost of goods sold", -profit.cost_of_goods_cents),
        ("cost of expired goods", -profit.expiry_cost_cents),
        ("rent", -profit.rent_cents),
        ("ageing allowance", -profit.ageing_allowance_cents),
        ("gain", profit.gain_cents),
    ]
    return BarChart(
        id="gain",
        title="Where the gain came from",
        note="The parts add up to the gain exactly.",
        x=_MONEY,
        y=Axis(label="part"),
        names=[name for name, _ in parts],
        bars=Bars(name="amount", values=[None if cents is None else currency(cents) for _, cents in parts]),
    )
