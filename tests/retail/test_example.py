"""The worked example of the retail page, 6.12: two products of one category on one day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date

import pytest

from tradefair.retail.engine.day_records import ReviewLog
from tradefair.retail.engine.demand import category_mass, review_curve, take_share
from tradefair.retail.engine.luck import Luck
from tradefair.retail.engine.sales import DayBook, Shoppers
from tradefair.retail.engine.stock import Taken
from tradefair.retail.model import (
    FeedbackRules,
    RetailScenario,
    Store,
    StoreCategory,
    StoreProduct,
    StoreSupplier,
    Streams,
)

_RHO = 3.0
_OFFERS = (
    StoreSupplier(base_cost=0.5, base_quality=4.5, transit_min=2, transit_max=3),
    StoreSupplier(base_cost=0.6, base_quality=1.8, transit_min=2, transit_max=3),
)


def _product(name: str, price: int, alpha: float, beta: float, life: int) -> StoreProduct:
    return StoreProduct(
        id=name,
        category=0,
        brand="",
        description=name,
        size="",
        shelf_life_days=life,
        reference_price_cents=price,
        start_price_cents=price,
        alpha=alpha,
        beta=beta,
        beta_sin=0.0,
        beta_cos=0.0,
        sigma=0.5,
        suppliers=_OFFERS,
        weekly_price_cents=(price,),
        weekly_supplier=(0,),
    )


@pytest.fixture
def shoppers() -> Shoppers:
    store = Store(
        key="example",
        categories=(StoreCategory(name="Beer", lift=0.70, threshold=4.0),),
        products=(_product("X", 120, -4.60, -1.60, 30), _product("Y", 90, -5.20, -2.00, 24)),
    )
    return Shoppers(RetailScenario(id="retail/example"), store)


Script = Callable[[Mapping[Streams, Sequence[float]]], Luck]


def test_the_category_draws_54_customers_and_x_31_of_them(shoppers: Shoppers, scripted_luck: Script) -> None:
    curve = review_curve(0.70, 4.0)
    review_effect = curve.at(4.80) - curve.at(4.65)
    assert review_effect == pytest.approx(0.124325, abs=1e-6)
    effects = [review_effect + 0.096, 0.24]
    luck = scripted_luck({Streams.NOISE: [0.5], Streams.CATEGORY: [0.5], Streams.ALLOCATION: [0.3]})
    attractions = shoppers.attractions(luck, 1, date(1991, 9, 9), [120, 90], [0, 1], effects)
    assert attractions == pytest.approx([0.00179836, 0.00113073], abs=5e-9)
    mass = category_mass(attractions, _RHO)
    assert mass == pytest.approx(0.00193648, abs=5e-9)
    assert 28_000 * take_share(mass) == pytest.approx(54.117, abs=5e-4)
    assert shoppers.demand(luck, 1, 28_000, attractions, [True, True]) == [31, 23]


def test_sales_returns_and_refunds_are_those_of_the_example(scripted_luck: Script) -> None:
    luck = scripted_luck({Streams.FEEDBACK: [0.7, 0.001]})
    book = DayBook(FeedbackRules(), luck, 1, 100, 2, 5)
    log = ReviewLog(2)
    book.sell(0, 120, [Taken(0, 20, 1120, 4500, 20, 1120), Taken(1, 11, 660, 1800, 25, 1500)], log)
    book.sell(1, 90, [Taken(2, 18, 630, 4800, 18, 630)], log)
    assert sum(book.cost_of_goods) == 2_410
    assert book.pair_returned == [1, 2, 0, 0, 0, 0, 0, 1, 0, 0]
    assert sum(book.revenue) == 5_340
    assert sum(book.refunds) == 450
    assert 10_000 + sum(book.revenue) - sum(book.refunds) - 600 == 14_290


def test_stock_outs_shift_demand_to_siblings_and_lost_sales_are_reckoned(
    shoppers: Shoppers, scripted_luck: Script
) -> None:
    luck = scripted_luck({Streams.NOISE: [0.5], Streams.CATEGORY: [0.5]})
    attractions = shoppers.attractions(luck, 1, date(1991, 9, 9), [120, 90], [0, 1], [0.0, 0.0])
    alone = shoppers.demand(luck, 1, 28_000, attractions, [False, True])
    both = shoppers.demand(luck, 1, 28_000, attractions, [True, True])
    assert alone[0] == 0
    assert alone[1] > both[1]
    missed, shrunk = shoppers.lost(28_000, attractions, [False, True])
    assert 0 < shrunk < missed
    assert shoppers.lost(28_000, attractions, [True, True]) == (0.0, 0.0)
    everything, lost = shoppers.lost(28_000, attractions, [False, False])
    assert everything == pytest.approx(lost)


def test_units_below_their_cost_are_counted(scripted_luck: Script) -> None:
    book = DayBook(FeedbackRules(enabled=False), scripted_luck({}), 1, 100, 1, 2)
    log = ReviewLog(1)
    book.sell(0, 50, [Taken(0, 4, 204, 4000, 8, 408), Taken(1, 3, 150, 4000, 3, 150)], log)
    assert book.below_cost_units == [4]
    assert sum(book.returned) == sum(book.reviews) == 0


def test_reviews_note_what_their_text_is_about(scripted_luck: Script) -> None:
    luck = scripted_luck({Streams.FEEDBACK: [0.5, 0.5, 0.01, 0.99]})
    book = DayBook(FeedbackRules(review_share=1.0), luck, 1, 7, 1, 2)
    log = ReviewLog(1)
    book.sell(0, 300, [Taken(1, 2, 100, 2500, 2, 100)], log)
    newest, oldest = log.newest_first(0, 0, 10)
    assert (oldest.stars, newest.stars) == (1, 5)
    assert newest == (7, 1, 1, 2, 5, True, True)
    assert (book.stars, book.reviews) == ([6], [2])


def test_each_day_supplier_and_lot_has_its_own_luck() -> None:
    sale = Taken(0, 400, 4000, 1000, 400, 4000)
    returned: set[int] = set()
    for day in range(6):
        book = DayBook(FeedbackRules(), Luck.of_episode(1), day, day, 1, 2)
        book.sell(0, 100, [sale, sale, sale._replace(supplier=1)], ReviewLog(1))
        returned |= {book.returned[0], *book.pair_returned}
    assert len(returned) > 12
