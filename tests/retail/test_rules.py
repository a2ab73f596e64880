from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tradefair.contract import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.retail.model import SEAT, DayFacts, product_id, supplier_id
from tradefair.retail.rules import LineAsked, Retail

Open = Callable[..., Retail]
Live = Callable[[Retail, int], None]
Tinker = Callable[[Retail, int, int], None]


def _close(market: Retail) -> DayFacts:
    market.end_today()
    closure = market.advance()
    market.check()
    assert isinstance(closure.facts, DayFacts)
    return closure.facts


def _stocked(market: Retail, *places: int, units: int = 20) -> None:
    """Shelve products and wait until their orders have arrived."""
    market.set_shelf([product_id(place) for place in places])
    for place in places:
        market.place_order(supplier_id(0), [LineAsked(product_id(place), units)])
    while market.stock.orders:
        _close(market)


def test_a_fresh_store_has_its_funds_start_prices_and_an_empty_shelf(open_store: Open) -> None:
    market = open_store("smoke")
    assert (market.clock, market.day, market.index) == ((1, "open", 0), 1, 28)
    assert market.awaited() == {SEAT}
    assert market.funds_cents == market.net_worth_cents == 300_000
    assert market.shelf == []
    assert market.today == date(1991, 9, 7)
    assert market.prices == [product.start_price_cents for product in market.store.products]
    market.check()


def test_a_day_goes_by_when_the_manager_ends_it(open_store: Open) -> None:
    market = open_store("smoke")
    market.end_today(1)
    assert (market.clock.phase, market.awaited()) == ("close", frozenset())
    closure = market.advance()
    assert closure.kind == "round"
    assert market.clock == (2, "open", 1)
    report = market.report
    assert report is not None
    assert (report.day, report.date, report.new_date, report.over) == (1, "1991-09-07", "1991-09-08", False)
    assert (report.funds, report.rent, report.net_worth) == (2960.0, 40.0, 2960.0)
    assert market.records.days == market.index == 29


def test_an_order_is_paid_at_once_and_arrives_whole_on_its_slowest_line(open_store: Open) -> None:
    market = open_store("smoke")
    quotes = [market.world.quotes[place * market.suppliers + 1] for place in (0, 4)]
    order = market.place_order("supplier_2", [LineAsked("P001", 7), LineAsked("P005", 3)])
    assert [line.cost for line in order.lines] == [round(7 * quotes[0] / 100), round(3 * quotes[1] / 100)]
    assert market.funds_cents == 300_000 - order.cost
    assert market.net_worth_cents == 300_000
    offers = [market.store.products[place].suppliers[1] for place in (0, 4)]
    assert max(offer.transit_min for offer in offers) <= order.due - 1 <= max(offer.transit_max for offer in offers)
    while market.day < order.due:
        assert market.stock.on_hand == [0] * 12
        assert market.stock.incoming[0] == 7
        _close(market)
    assert (market.stock.on_hand[0], market.stock.on_hand[4]) == (7, 3)
    assert market.report is not None
    assert market.report.arrivals == {"P001": 7, "P005": 3}


def test_only_shelved_products_with_stock_are_sold(open_store: Open) -> None:
    market = open_store("smoke", overrides={"horizon_days": 60})
    _stocked(market, 0, 1)
    market.set_shelf(["P001", "P004"])
    held = market.stock.on_hand[1]
    for _ in range(3):
        facts = _close(market)
        product = facts.product
        sellers = {place for place, units in enumerate(product.units) if units}
        assert sellers <= {0}
        assert facts.empty_shelf[-1] == "P004"
        assert facts.empty_demand > 0
        assert product.attraction[1] == product.demand[1] == 0
        assert all(sold <= wanted for sold, wanted in zip(product.units, product.demand, strict=True))
        assert sum(product.attraction[place] > 0 for place in range(12)) == 2
    assert market.stock.on_hand[1] == held


def test_sold_out_products_are_named_and_their_shortfall_is_hidden(open_store: Open) -> None:
    market = open_store("smoke", overrides={"horizon_days": 60})
    _stocked(market, 0, units=2)
    facts, before = _close(market), 2
    while not facts.stock_outs:
        before = market.stock.on_hand[0]
        facts = _close(market)
    report = market.report
    assert report is not None
    assert report.sold_out_products == facts.stock_outs == ["P001"]
    assert report.units == {"P001": before}
    assert facts.short_units == facts.product.demand[0] - before > 0
    assert market.records.sold_out.at(market.records.days - 1, 0) == 1


def test_nobody_comes_on_closed_dates_and_rent_is_due(open_store: Open) -> None:
    market = open_store("smoke", overrides={"start_date": "1991-12-20", "horizon_days": 30})
    market.set_shelf(["P001", "P002"])
    market.place_order("supplier_1", [LineAsked("P001", 200), LineAsked("P002", 200)])
    while market.today < date(1991, 12, 25):
        _close(market)
    facts = _close(market)
    assert (facts.customers, sum(facts.product.units), sum(facts.product.demand)) == (0, 0, 0)
    assert facts.rent_cents == 4_000
    assert _close(market).customers > 0


def test_units_are_gone_at_the_close_of_the_last_day_of_their_life(open_store: Open) -> None:
    market = open_store("smoke", overrides={"horizon_days": 90})
    order = market.place_order("supplier_1", [LineAsked("P001", 20)])
    life = market.store.products[0].shelf_life_days
    while market.day < order.due + life:
        _close(market)
    assert market.stock.on_hand[0] == 20
    assert market.stock_value_cents == 0
    facts = _close(market)
    assert facts.product.expired[0] == 20
    assert facts.product.expiry_cost_cents[0] == order.cost
    assert market.records.expired.at(market.records.days - 1, 0) == 20


def test_over_deliveries_wait_outside_and_come_in_later(open_store: Open) -> None:
    market = open_store("smoke", overrides={"storage_capacity": 100, "horizon_days": 60})
    market.set_shelf(["P001"])
    market.place_order("supplier_1", [LineAsked("P001", 150)])
    while market.stock.orders:
        _close(market)
    assert (market.stock.total_on_hand, market.stock.total_waiting) == (100, 50)
    sold = sum(_close(market).product.units)
    assert market.stock.total_on_hand == min(100, 150 - sold)
    assert market.report is not None
    assert market.report.waiting_units == 50 - min(50, sold)


def test_doing_nothing_ends_in_insolvency_on_day_55(open_store: Open) -> None:
    market = open_store("paper")
    while market.terminated is None:
        assert market.lapse(SEAT, "deadline") == "end_today"
        market.advance()
    ending = market.ending_facts()
    assert (market.terminated, ending.days_closed) == ("terminated:insolvent", 55)
    assert ending.net_worth_cents == ending.funds_cents == -300_000
    assert market.report is not None
    assert (market.report.over, market.report.new_date) == (True, None)
    assert market.clock.round == 55


def test_a_recovery_starts_the_count_of_negative_days_anew(open_store: Open, live: Live) -> None:
    market = open_store("smoke", overrides={"funds_start": "100", "rent_per_day": "200", "insolvency_days": 3})
    for expected in (1, 2, 3):
        _close(market)
        assert market.negative_days == expected
    assert market.terminated == "terminated:insolvent"
    rich = open_store("smoke")
    live(rich, 14)
    assert (rich.negative_days, rich.terminated) == (0, "terminated:horizon")


def test_the_horizon_ends_the_episode_and_nothing_is_accepted_after_it(open_store: Open) -> None:
    market = open_store("smoke", overrides={"horizon_days": 2})
    _close(market)
    _close(market)
    assert market.terminated == "terminated:horizon"
    assert market.awaited() == frozenset()
    with pytest.raises(EpisodeOver):
        market.set_price("P001", 100)
    with pytest.raises(EpisodeOver):
        market.end_today()
    with pytest.raises(HarnessFailure):
        market.advance()
    assert market.turn_view(SEAT).days_left == 0


_REFUSED: dict[str, tuple[Callable[[Retail], object], str]] = {
    "unknown supplier": (lambda m: m.place_order("supplier_6", [LineAsked("P001", 1)]), "unknown_id"),
    "unknown product": (
        lambda m: m.place_order("supplier_1", [LineAsked("P001", 1), LineAsked("P013", 1)]),
        "unknown_id",
    ),
    "unaffordable": (lambda m: m.place_order("supplier_1", [LineAsked("P001", 9_000)]), "insufficient_funds"),
    "too large": (lambda m: m.place_order("supplier_1", [LineAsked("P001", 10_001)]), "order_too_large"),
    "nothing": (lambda m: m.place_order("supplier_1", []), "bad_value"),
    "no units": (lambda m: m.place_order("supplier_1", [LineAsked("P001", 0)]), "bad_value"),
    "negative units": (lambda m: m.place_order("supplier_1", [LineAsked("P001", -5)]), "bad_value"),
    "twice": (lambda m: m.place_order("supplier_1", [LineAsked("P001", 1)] * 2), "bad_value"),
    "price of nothing": (lambda m: m.set_price("P001", 0), "price_out_of_range"),
    "huge price": (lambda m: m.set_price("P001", 99_999 + 1), "price_out_of_range"),
    "price of unknown": (lambda m: m.set_price("p001", 100), "unknown_id"),
    "full shelf": (lambda m: m.set_shelf([product_id(place) for place in range(7)]), "shelf_over_capacity"),
    "unknown on shelf": (lambda m: m.set_shelf(["P001", "P999"]), "unknown_id"),
    "yesterday": (lambda m: m.end_today(0), "stale_round"),
    "unknown news": (lambda m: m.news_of("N29-99"), "unknown_id"),
    "no news": (lambda m: m.news_of("N٣-0"), "unknown_id"),
    "input": (lambda m: m.feed("clock_tick", {}), "unknown_source"),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_refused_calls_leave_everything_as_it_was(open_store: Open, live: Live, name: str) -> None:
    call, code = _REFUSED[name]
    market = open_store("smoke")
    live(market, 1)
    market.place_order("supplier_1", [LineAsked("P001", 2)])
    untouched, before = market.clone(), market.digest()
    with pytest.raises(IllegalAction) as caught:
        call(market)
    assert caught.value.info.code == code
    assert market.digest() == before == untouched.digest()
    for twin in (market, untouched):
        twin.place_order("supplier_1", [LineAsked("P001", 3)])
        _close(twin)
        _close(twin)
    assert market.digest() == untouched.digest()


def test_news_are_found_by_id_and_by_day(open_store: Open, live: Live) -> None:
    market = open_store("smoke")
    live(market, 4)
    today = market.world.listed
    assert len(today) == 6
    assert [market.news_of(item.id) for item in today] == today
    assert set(today) == set(market.news_between(market.index, market.index))
    everything = market.news_between(0, market.index)
    assert len(everything) == len(market.news) == len({item.id for item in everything})
    with pytest.raises(IllegalAction):
        market.news_of(f"N{market.index + 2}-0")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32))
def test_books_balance_whatever_the_manager_does(open_store: Open, tinker: Tinker, salt: int) -> None:
    overrides = {"storage_capacity": 400, "funds_start": "1500", "shelf_capacity": 0}
    market = open_store("smoke", salt, overrides)
    start = market.funds_cents
    profit = 0
    while market.terminated is None:
        tinker(market, salt, 6)
        opening, shelf = market.stock.on_hand.copy(), market.on_shelf
        facts = _close(market)
        product = facts.product
        for place in range(12):
            sellable = shelf[place] and opening[place] > 0
            assert product.units[place] == min(product.demand[place], opening[place])
            assert sellable or product.demand[place] == 0
            assert 0 <= product.returned[place] <= product.units[place]
            assert product.revenue_cents[place] == product.units[place] * product.price_cents[place]
            assert product.refunds_cents[place] == product.returned[place] * product.price_cents[place]
        assert sum(facts.supplier.units) == sum(product.units)
        profit += sum(product.revenue_cents) - sum(product.refunds_cents) - sum(product.cost_of_goods_cents)
        profit -= sum(product.expiry_cost_cents) + facts.rent_cents
    ending = market.ending_facts()
    assert ending.gain_cents == profit - ending.ageing_allowance_cents == ending.net_worth_cents - start
    assert ending.net_worth_cents == ending.funds_cents + ending.stock_value_cents + ending.open_order_cents


def _quiet(market: Retail) -> None:
    """A stocked store that needs no orders for a while."""
    market.set_shelf([product_id(place) for place in range(12)])
    market.place_order("supplier_1", [LineAsked(product_id(place), 150) for place in range(12)])


def test_a_price_changes_neither_luck_nor_other_categories(open_store: Open) -> None:
    overrides = {"shelf_capacity": 0, "storage_capacity": 5000, "funds_start": "9000", "horizon_days": 12}
    plain, dearer = open_store("smoke", 5, overrides), open_store("smoke", 5, overrides)
    changed = 4
    category = plain.store.products[changed].category
    others = [place for place, product in enumerate(plain.store.products) if product.category != category]
    _quiet(plain)
    _quiet(dearer)
    moved = False
    for day in range(12):
        if day >= 4:
            dearer.set_price(product_id(changed), round(dearer.prices[changed] * 1.3))
        ordered = [market.place_order("supplier_3", [LineAsked("P001", 1)]) for market in (plain, dearer)]
        assert ordered[0].due == ordered[1].due
        one, two = _close(plain), _close(dearer)
        assert [one.product.demand[place] for place in others] == [two.product.demand[place] for place in others]
        assert [one.product.returned[place] for place in others] == [two.product.returned[place] for place in others]
        assert one.customers == two.customers
        assert one.supplier.quote_e4 == two.supplier.quote_e4
        assert one.supplier.quality_milli == two.supplier.quality_milli
        assert one.news == two.news
        assert [item.id for item in plain.world.listed] == [item.id for item in dearer.world.listed]
        moved |= one.product.demand[changed] != two.product.demand[changed]
    assert moved


def test_other_seeds_have_other_luck_and_the_same_store(open_store: Open) -> None:
    one, two = open_store("smoke", 1), open_store("smoke", 2)
    assert one.store == two.store
    assert one.records.units.row(27) == two.records.units.row(27)
    assert one.world.quotes != two.world.quotes
    assert one.digest() != two.digest()


def test_a_clone_lives_its_own_life(open_store: Open, live: Live) -> None:
    market = open_store("smoke", overrides={"horizon_days": 40})
    live(market, 8)
    twin = market.clone()
    assert twin.digest() == market.digest()
    live(twin, 3)
    before = market.digest()
    twin.set_price("P001", 777)
    assert market.digest() == before != twin.digest()
    live(market, 3)
    market.set_price("P001", 777)
    assert market.digest() == twin.digest()


def test_a_perturbed_market_looks_the_same_and_goes_another_way(open_store: Open, live: Live) -> None:
    market = open_store("smoke", overrides={"horizon_days": 60})
    live(market, 12)
    before = market.digest()
    twin = market.perturbed(7)
    assert market.digest() == before != twin.digest()
    twin.check()
    assert twin.world.quotes == market.world.quotes
    assert twin.rules_view(SEAT) == market.rules_view(SEAT)
    assert twin.turn_view(SEAT) == market.turn_view(SEAT)
    assert twin.net_worth_cents == market.net_worth_cents
    assert [item.id for item in twin.world.listed] == [item.id for item in market.world.listed]
    lines = [LineAsked("P002", 4)]
    one, two = market.place_order("supplier_2", lines), twin.place_order("supplier_2", lines)
    assert (one.cost, one.due) == (two.cost, two.due)
    assert twin.world.qualities != market.world.qualities
    assert _close(twin) != _close(market)


def test_reads_of_hidden_things_are_not_in_the_views(open_store: Open) -> None:
    market = open_store("smoke")
    text = market.rules_view(SEAT).model_dump_json() + market.turn_view(SEAT).model_dump_json()
    for product in market.store.products:
        assert str(product.alpha) not in text
        assert all(str(offer.base_quality) not in text for offer in product.suppliers)
    assert market.code_constants(SEAT)["product_ids"] == [f"P{number:03d}" for number in range(1, 13)]


def test_ratings_pull_demand_and_feedback_can_be_switched_off(open_store: Open) -> None:
    market = open_store("smoke", overrides={"feedback.enabled": False})
    assert market.records.reviews.count(0, 0, 27) == 0
    market.set_shelf(["P001"])
    market.place_order("supplier_1", [LineAsked("P001", 100)])
    for _ in range(8):
        facts = _close(market)
        assert facts.product.review_effect == [0.0] * 12
        assert sum(facts.product.returned) == 0
    assert sum(market.records.units.series(0, 28, 35)) > 0
    reviewed = open_store("smoke", overrides={"feedback.window_days": 7})
    effects = [_close(reviewed).product.review_effect for _ in range(3)]
    assert effects[0] == [0.0] * 12, "the first window is the base of the effect"
    assert any(effects[2])


def test_low_quality_goods_come_back_and_spoil_the_rating(open_store: Open) -> None:
    """The hidden difference between suppliers becomes visible: returns and stars follow true quality."""
    found: dict[bool, tuple[float, float]] = {}
    for best in (True, False):
        market = open_store("smoke", 2, {"horizon_days": 60, "funds_start": "90000", "shelf_capacity": 0})
        places = range(12)
        market.set_shelf([product_id(place) for place in places])
        for _ in range(60):
            for place in places:
                if market.stock.on_hand[place] + market.stock.incoming[place] < 60:
                    qualities = market.world.qualities[place * 5 : place * 5 + 5]
                    pick = qualities.index(max(qualities) if best else min(qualities))
                    market.place_order(supplier_id(pick), [LineAsked(product_id(place), 60)])
            _close(market)
        units = market.books.sold_units
        returned = sum(sum(market.records.returned.series(place, 40, 87)) for place in places)
        ratings = [market.records.rating(place, 60, 87) for place in places]
        found[best] = (returned / units, sum(stars for stars, _ in ratings) / sum(count for _, count in ratings))
    assert found[False][0] > 3 * found[True][0]
    assert found[False][1] < found[True][1] - 1.5
