"""Hand-made retail records: a few days of a store with two products unless told otherwise, written as deviations.

Day d has its calls at 100d + 1, +2, …, its `end_today` at 100d + 98 and its close at 100d + 99.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tradefair.catalog import load_scenario
from tradefair.evaluation.markets.retail.modes.play import (
    Bought,
    DayConduct,
    LineChoice,
    PriceChoice,
    RetailPlay,
    TradedDay,
)
from tradefair.retail.model import DayFacts, ProductColumns, RetailScenario

Columns = Mapping[str, Mapping[int, float]]
SUPPLIERS = 2
QUOTE = 10_000
"""1.00, in 1e-4 currency units."""
# What a day is like where nothing else is said: all on the shelf at 2.00, plenty in stock, nothing sold.
_USUAL = {"price_cents": 200, "on_shelf": 1, "opening_stock": 100}
_PAIRS = {"quote_e4": QUOTE, "quality_milli": 3000}


@cache
def scenario(**overrides: Any) -> RetailScenario:
    found = load_scenario("retail", "retail/smoke", overrides)
    assert isinstance(found, RetailScenario)
    return found


def columns(names: Iterable[str], width: int, usual: Mapping[str, float], said: Columns) -> dict[str, list[float]]:
    return {name: [said.get(name, {}).get(place, usual.get(name, 0)) for place in range(width)] for name in names}


def facts(day: int, width: int, said: Mapping[str, Any]) -> DayFacts:
    names = ProductColumns.model_fields
    # What is asked for is what is sold, unless said otherwise.
    product = {"demand": said.get("units", {}), **{name: said[name] for name in names if name in said}}
    pairs = {name: said[name] for name in ("quote_e4", "quality_milli", "returned_pairs", "sold_pairs") if name in said}
    pairs = {"returned": pairs.pop("returned_pairs", {}), "units": pairs.pop("sold_pairs", {}), **pairs}
    offers = columns(("quote_e4", "quality_milli", "units", "returned"), width * SUPPLIERS, _PAIRS, pairs)
    scalars: dict[str, Any] = {
        **dict.fromkeys(("funds_cents", "net_worth_cents", "stock_value_cents", "open_order_cents"), 0),
        **dict.fromkeys(("rent_cents", "negative_days", "waiting_units", "short_units"), 0),
        **dict.fromkeys(("empty_demand", "net_lost_units"), 0.0),
        **{name: [] for name in ("stock_outs", "empty_shelf", "orders", "news")},
        "customers": 100,
        "date": "1991-09-07",
    }
    known = {name: said[name] for name in scalars if name in said}
    return DayFacts.model_validate(
        {
            **scalars,
            **known,
            "day": day,
            "product": columns(names, width, _USUAL, product),
            "supplier": {"suppliers": SUPPLIERS, **offers},
        }
    )


def store(days: Sequence[Mapping[str, Any]], *, width: int = 2, **fields: Any) -> RetailPlay:
    """An episode of these days; `acted` marks days with an action, `read` names the news that had been read."""
    play = RetailPlay("manager", scenario=scenario(**fields.pop("scenario", {})), quickest=[2] * width)
    play.categories = [f"category {place}" for place in range(width)]
    for number, said in enumerate(days, 1):
        conduct = DayConduct(active=said.get("acted", True), ended_by=100 * number + 98)
        read = frozenset[str](said.get("read", ()))
        play.days.append(TradedDay(100 * number + 99, facts(number, width, said), conduct, read))
    for name, value in fields.items():
        setattr(play, name, value)
    return play


def bought(
    day: int, product: int, quantity: int, cents: int = 0, *, due: int = 0, supplier: int = 0, shown: int | None = None
) -> Bought:
    """An order line of one call; by default a unit costs 1.00 and comes on the second day after."""
    # Lines of different products of one day have calls of their own.
    return Bought(
        100 * day + 1 + product, day, product, supplier, quantity, cents or 100 * quantity, due or day + 2, shown
    )


def line(
    number: int,
    *,
    price_rank: int = 2,
    quality_rank: int = 2,
    ignored: bool | None = False,
    cover: float | None = None,
    product: int = 0,
) -> LineChoice:
    """The choice behind an order of ten units on day 1, P001 unless said otherwise, from the first supplier."""
    return LineChoice(
        seq=100 + number, day=1, product=product, supplier=0, quantity=10, quality_rank=quality_rank,
        price_rank=price_rank, quality=2000, best_quality=4800, best_visible=None, ignored=ignored, cover=cover,
        instead=1,
    )  # fmt: skip


def price(number: int, cents: int, best: int | None = 100, *, day: int = 1, product: int = 0) -> PriceChoice:
    """A price of P001, where p* was 1.00."""
    return PriceChoice(100 * day + number, day, product, cents, best)
