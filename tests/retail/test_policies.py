"""Scripted managers: what they read, what they do, how they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import orjson
import pytest
from benchmarks.retail_play import play_manager

from tradefair.contract import Draw, ScenarioError
from tradefair.contract.kernel.core import Answer, Core
from tradefair.evaluation.markets.retail.ladder import RUNGS
from tradefair.retail import MARKET, analysis
from tradefair.retail.model import SEAT, RetailScenario, product_id, supplier_id
from tradefair.retail.policies import POLICIES
from tradefair.retail.rules import Retail
from tradefair.retail.seats.strategies import CarefulReader
from tradefair.testing import play_scripted

Calls = list[tuple[str, dict[str, Any], Answer]]
OpenCore = Callable[..., Core]
DayOf = Callable[[Core, Any], Calls]
PolicyOf = Callable[..., Any]
ScenarioOf = Callable[..., RetailScenario]

NAMES = [
    "oracle", "careful_reader", "price_first", "reorder_point", "passive", "random_legal", "narrow_attention",
    "no_follow_up", "blind_buyer", "hoarder", "giveaway", "bare_shelf", "stockpiler", "sealed_ears", "fumbler",
]  # fmt: skip
WORK = {"modify_product_price", "place_order", "end_today"}


def _data(answer: Answer) -> Any:
    return orjson.loads(answer.body or b"")


def _market(core: Core) -> Retail:
    assert isinstance(core.market, Retail)
    return core.market


def _tools(calls: Calls) -> Counter[str]:
    return Counter(tool for tool, _, _ in calls)


def _orders(calls: Calls) -> dict[str, tuple[str, int]]:
    """Supplier and units by product of accepted one-line orders."""
    found: dict[str, tuple[str, int]] = {}
    for tool, arguments, answer in calls:
        if tool == "place_order" and answer.status == "ok":
            (line,) = arguments["lines"]
            found[line["product_id"]] = (arguments["supplier_id"], line["quantity"])
    return found


def _prices(calls: Calls) -> dict[str, int]:
    return {
        arguments["product_id"]: round(arguments["new_price"] * 100)
        for tool, arguments, answer in calls
        if tool == "modify_product_price" and answer.status == "ok"
    }


# --- the registry ---------------------------------------------------------------------------------------------------


def test_all_fifteen_policies_are_there_and_only_the_oracle_is_privileged() -> None:
    assert list(POLICIES) == NAMES
    assert [name for name, spec in POLICIES.items() if spec.privileged] == ["oracle"]
    assert [name for name, spec in POLICIES.items() if spec.reference] == ["oracle", "passive"]
    assert [name for name, spec in POLICIES.items() if spec.stand_in] == ["careful_reader"]
    draw = Draw.of(1, SEAT)
    assert [name for name, spec in POLICIES.items() if hasattr(spec.make({}, draw), "see")] == ["oracle"]
    assert all(spec.roles == {SEAT} and spec.description for spec in POLICIES.values())


@pytest.mark.parametrize("name", NAMES)
def test_unknown_parameters_are_refused(name: str) -> None:
    with pytest.raises(ScenarioError, match="no parameter cover: it has"):
        POLICIES[name].make({"cover": 7}, Draw.of(1, SEAT))


def test_the_oracle_knows_two_price_keys(policy_of: PolicyOf) -> None:
    assert policy_of("oracle").price_key == "cent"
    assert policy_of("oracle(price_key=unit_sum)").price_key == "unit_sum"
    with pytest.raises(ScenarioError, match="price_key"):
        policy_of("oracle(price_key=penny)")


def test_a_scenario_may_seat_any_policy_but_no_other(scenario_of: ScenarioOf) -> None:
    assert MARKET.create(scenario_of("smoke", {"seats.manager": "hoarder"}), 1).day == 1
    with pytest.raises(ScenarioError, match="nobody"):
        MARKET.create(scenario_of("smoke", {"seats.manager": "nobody"}), 1)


# --- whole episodes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_plays_to_the_end_and_closes_every_day_itself(scenario_of: ScenarioOf, name: str) -> None:
    played = play_scripted(MARKET, scenario_of("smoke"), 5, name)
    events = [orjson.loads(body) for body in played.bodies]
    assert played.core.ended is not None
    assert played.core.ended.startswith("terminated:")
    assert not any(event["event"] == "seat_lapsed" for event in events)
    closed = sum(event["event"] == "round_closed" for event in events)
    assert sum(event.get("tool") == "end_today" for event in events) == closed
    MARKET.check(_market(played.core))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("fumbler", "blind_buyer")])
def test_nothing_that_it_does_is_refused(scenario_of: ScenarioOf, name: str) -> None:
    played = play_scripted(MARKET, scenario_of("smoke"), 6, name)
    calls = [orjson.loads(body) for body in played.bodies if b'"event":"tool_called"' in body]
    assert [(call["tool"], call["error"]) for call in calls if call["status"] != "ok"] == []


@pytest.mark.parametrize("policy", RUNGS)
def test_a_manager_without_a_trace_ends_to_the_cent_as_through_the_tools(scenario_of: ScenarioOf, policy: str) -> None:
    scenario = scenario_of("paper", {"horizon_days": 21})
    market = _market(play_scripted(MARKET, scenario, 1, policy).core)
    run = play_manager(scenario, 1, policy)
    assert (run.net_worth_cents, run.units_sold, run.days) == (market.net_worth_cents, market.books.sold_units, 21)
    days = range(scenario.history_days, market.records.days)
    returned = sum(sum(market.records.returned.row(day)) for day in days)
    assert run.return_ratio == returned / max(1, market.books.sold_units)


def test_passive_in_the_reference_store_is_insolvent_on_the_fifty_fifth_day(scenario_of: ScenarioOf) -> None:
    core = play_scripted(MARKET, scenario_of("paper"), 3, "passive").core
    market = _market(core)
    assert (core.ended, market.day - 1, market.net_worth_cents) == ("terminated:insolvent", 55, -300_000)


def test_random_legal_does_other_things_under_another_seed(scenario_of: ScenarioOf) -> None:
    scenario = scenario_of("smoke")
    one, again, other = (play_scripted(MARKET, scenario, seed, "random_legal") for seed in (1, 1, 2))
    assert one.head == again.head
    actions = [
        [orjson.loads(body)["arguments"] for body in played.bodies if b'"kind":"action"' in body]
        for played in (one, other)
    ]
    assert actions[0] != actions[1]


def test_random_legal_keeps_to_its_bounds(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, policy = open_core("smoke", 3), policy_of("random_legal", 3)
    seen: Counter[str] = Counter()
    while core.ended is None:
        market = _market(core)
        prices, funds, left = list(market.prices), market.funds_cents, market.day
        done = 0
        for tool, arguments, answer in day_of(core, policy):
            assert answer.status == "ok"
            if tool == "modify_product_price":
                place = market.place_of(arguments["product_id"])
                ratio = arguments["new_price"] * 100 / prices[place]
                assert 0.8 - 1 / prices[place] <= ratio <= 1.25 + 1 / prices[place]
                prices[place] = round(arguments["new_price"] * 100)
            elif tool == "place_order":
                cost = round(_data(answer)["total_cost"] * 100)
                assert cost <= funds / 20 + 1
                funds -= cost
            done += tool in ("modify_product_price", "place_order", "set_shelf_products")
            seen[tool] += 1
        assert done <= 4
        assert left == market.day - 1
    assert all(seen[tool] for tool in ("modify_product_price", "place_order", "set_shelf_products"))


# --- the skeleton ---------------------------------------------------------------------------------------------------


def test_the_shelf_holds_the_best_two_of_each_category_by_the_past(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core = open_core("smoke")
    market = _market(core)
    records, count = market.records, market.suppliers
    scores = [
        sum(
            (100 * price - min(records.pair_quote.row(day)[place * count : (place + 1) * count])) * units
            for day, (price, units) in enumerate(
                zip(records.price.series(place, 0, 27), records.units.series(place, 0, 27), strict=True)
            )
        )
        for place in range(12)
    ]
    ranked = [sorted(range(start, start + 3), key=lambda place: -scores[place]) for start in (0, 3, 6, 9)]
    expected = [product_id(members[turn]) for turn in (0, 1) for members in ranked][:6]
    policy = policy_of("price_first")
    calls = day_of(core, policy)
    shelved = next(arguments for tool, arguments, _ in calls if tool == "set_shelf_products")
    assert shelved["product_ids"] == policy.selected == expected
    assert "set_shelf_products" not in _tools(day_of(core, policy))


def test_the_past_is_read_in_pieces_where_it_is_long(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core = open_core("smoke", overrides={"history_days": 365, "store.digest": ""})
    policy = policy_of("price_first")
    calls = day_of(core, policy)
    assert all(answer.status == "ok" for _, _, answer in calls)
    scores = analysis.history_scores(_market(core).records)
    categories = [product.category for product in _market(core).store.products]
    places = analysis.select_products(scores, categories, 6)
    assert policy.selected == [product_id(place) for place in places]


def test_a_skeleton_day_reads_three_things_and_sets_every_price(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("smoke"), policy_of("price_first")
    day_of(core, policy)
    calls = day_of(core, policy)
    tools = _tools(calls)
    reads = ["view_inventory", "view_sales_profit_history", "view_current_date_supplier_prices"]
    assert {tool: tools[tool] for tool in tools if tool not in WORK} == dict.fromkeys(reads, 1)
    assert list(_prices(calls)) == policy.selected
    assert calls[-1][0] == "end_today"
    window = next(arguments for tool, arguments, _ in calls if tool == "view_sales_profit_history")
    assert (window["start_date"], window["end_date"]) == ("1991-08-09", "1991-09-07")


def test_price_first_always_buys_from_the_cheapest(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, policy = open_core("smoke"), policy_of("price_first")
    seen = 0
    for _ in range(6):
        market = _market(core)
        quotes = list(market.world.quotes)
        for product, (supplier, _) in _orders(day_of(core, policy)).items():
            place = market.place_of(product)
            offers = quotes[place * 5 : place * 5 + 5]
            assert supplier == supplier_id(offers.index(min(offers)))
            seen += 1
    assert seen > 10


def test_orders_fill_six_days_of_demand_less_what_is_under_way(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("smoke", overrides={"funds_start": "90000.00"}), policy_of("price_first")
    market = _market(core)
    ordered: dict[str, int] = {}
    for _ in range(2):
        days = [analysis.price_days(market.records, place, 30) for place in range(12)]
        quotes, before = list(market.world.quotes), list(market.stock.incoming)
        found = _orders(day_of(core, policy))
        for product in policy.selected:
            place = market.place_of(product)
            optimum = analysis.price_optimum(analysis.price_groups(days[place]), min(quotes[place * 5 : place * 5 + 5]))
            wanted = max(1, int(6 * optimum.demand)) - before[place]
            assert found.get(product, ("", 0))[1] == max(0, wanted)
            ordered[product] = ordered.get(product, 0) + max(0, wanted)
    assert all(ordered.values())


def test_a_first_turn_in_the_middle_is_a_first_day(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, late = open_core("smoke"), policy_of("careful_reader")
    for _ in range(5):
        core.call(SEAT, "end_today", {})
    calls = day_of(core, late)
    early = policy_of("careful_reader")
    day_of(open_core("smoke"), early)
    assert late.selected == early.selected
    assert _tools(calls)["set_shelf_products"] == 1
    assert all(answer.status == "ok" for _, _, answer in calls)
    assert len(_orders(calls)) == 6


@pytest.mark.parametrize("most", [1, 5, 25, 40])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "passive"])
def test_a_manager_whose_calls_are_used_up_closes_the_day(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf, name: str, most: int
) -> None:
    core = open_core("smoke", overrides={"limits": [{"counts": ["read", "analysis", "action"], "max": most}]})
    policy = policy_of(name)
    for day in (1, 2, 3):
        assert _market(core).day == day
        assert day_of(core, policy)[-1][0] == "end_today"


@pytest.mark.parametrize("off", ["feedback.enabled", "news.enabled"])
def test_the_careful_reader_makes_do_without_news_or_feedback(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf, off: str
) -> None:
    core, policy = open_core("smoke", overrides={off: False}), policy_of("careful_reader")
    refused = [[tool for tool, _, answer in day_of(core, policy) if answer.status != "ok"] for _ in range(3)]
    assert refused == [["view_today_news"] if off == "news.enabled" else [], [], []]
    assert sum(_market(core).stock.incoming) > 0


def test_a_store_of_hundreds_of_products_can_be_managed(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    many = [{"name": name, "products": 100} for name in ("Beer", "Cereals", "Oatmeal")]
    overrides: dict[str, Any] = {"store": {"key": "many", "categories": many}, "limits": [], "shelf_capacity": 0}
    for name in ("reorder_point", "stockpiler", "random_legal"):
        calls = day_of(open_core("smoke", overrides=overrides), policy_of(name))
        refused = [(tool, answer.error.code) for tool, _, answer in calls if answer.error]
        assert refused == [("view_product_catalog", "too_many_rows")]


# --- the careful reader ---------------------------------------------------------------------------------------------


def test_the_careful_reader_looks_at_all_that_its_actions_should_rest_on(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("paper"), policy_of("careful_reader")
    day_of(core, policy)
    calls = day_of(core, policy)
    tools = _tools(calls)
    once = [
        "view_inventory", "view_sales_profit_history", "view_current_date_supplier_prices", "view_product_prices",
        "view_product_inventory_cost", "view_today_news",
    ]  # fmt: skip
    assert {tool: tools[tool] for tool in once} == dict.fromkeys(once, 1)
    assert tools["rank_suppliers_by_evidence"] == 2
    assert set(tools) <= {*once, *WORK, "rank_suppliers_by_evidence", "view_news_detail"}
    for tool, arguments, _ in calls:
        if "product_ids" in arguments and tool != "rank_suppliers_by_evidence":
            assert arguments["product_ids"] == policy.selected


def test_it_buys_where_few_units_come_back_else_from_the_second_dearest(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("smoke"), policy_of("careful_reader")
    for _ in range(4):
        market = _market(core)
        evidence = {
            product_id(place): analysis.supplier_evidence(market.records, place, market.world.quotes, 60)
            for place in range(12)
        }
        for product, (supplier, _) in _orders(day_of(core, policy)).items():
            first = analysis.returns_order(evidence[product])[0]
            assert evidence[product][first].sold >= 30
            assert supplier == supplier_id(first)
    quiet = open_core("smoke", overrides={"traffic.closed_dates": _every_date()})
    rows = _market(quiet).world.quotes
    orders = _orders(day_of(quiet, policy_of("careful_reader")))
    assert orders
    for product, (supplier, _) in orders.items():
        place = _market(quiet).place_of(product)
        offers = rows[place * 5 : place * 5 + 5]
        assert offers[int(supplier[-1]) - 1] == sorted(offers)[-2]


def _every_date() -> list[str]:
    return [date.fromordinal(date(1991, 7, 1).toordinal() + day).strftime("%m-%d") for day in range(69)]


def test_its_reading_of_the_news_comes_near_the_true_effects(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("paper", 4), policy_of("careful_reader")
    assert isinstance(policy, CarefulReader)
    moved = 0
    for _ in range(12):
        truth = _market(core).privileged()
        effects = list(zip(truth.need_effect, truth.supply_effect, strict=True))
        day_of(core, policy)
        for product in policy.selected:
            need, supply = effects[int(product[1:]) - 1]
            right = analysis.demand_multiplier(need, supply)
            # A degree word stands for a third of the strengths: at most .07 off per item, weighted and scaled.
            assert policy.multiplier(product) == pytest.approx(right, abs=0.25)
            # What the truth leaves alone is left alone; items that nearly cancel out may be read as none.
            assert policy.multiplier(product) == 1.0 or (need, supply) != (0.0, 0.0)
            moved += policy.multiplier(product) != 1.0
    assert moved > 50


def test_a_news_item_is_opened_once(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, policy = open_core("paper"), policy_of("careful_reader")
    opened: Counter[str] = Counter()
    for _ in range(8):
        calls = day_of(core, policy)
        opened.update(arguments["news_id"] for tool, arguments, _ in calls if tool == "view_news_detail")
    assert len(opened) > 8
    assert set(opened.values()) == {1}
    market = _market(core)
    assert {item.id for item in market.news if item.id in opened} == {
        item.id for item in market.news_between(93, market.index - 1) if item.business
    }


# --- ways to fail ---------------------------------------------------------------------------------------------------


def test_narrow_attention_carries_six_products(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, policy = open_core("paper"), policy_of("narrow_attention")
    calls = day_of(core, policy)
    assert _market(core).shelf == sorted(int(product[1:]) - 1 for product in policy.selected)
    assert len(policy.selected) == len(_prices(calls)) == 6


def test_no_follow_up_comes_back_every_twentieth_day(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    # Rich: three weeks of stock for forty products would ruin the store before the third week is over.
    core, policy = open_core("paper", overrides={"funds_start": "300000.00"}), policy_of("no_follow_up")
    assert list(_prices(day_of(core, policy))) == policy.selected
    for day in range(2, 24):
        calls = day_of(core, policy)
        due = [policy.selected[(day - 1) % 20], policy.selected[(day - 1) % 20 + 20]]
        assert list(_prices(calls)) == due
        named = [arguments["product_ids"] for _, arguments, _ in calls if "product_ids" in arguments]
        assert named
        assert all(products == due for products in named)


def test_the_blind_buyer_reads_its_stock_only(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, policy = open_core("smoke"), policy_of("blind_buyer")
    first = day_of(core, policy)
    assert list(_prices(first)) == policy.selected
    for _ in range(8):
        calls = day_of(core, policy)
        assert set(_tools(calls)) <= {"view_inventory", "place_order", "end_today"}
        assert {supplier for supplier, _ in _orders(calls).values()} <= {"supplier_1"}


def test_the_hoarder_orders_four_times_as_much(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    rich = {"funds_start": "900000.00", "storage_capacity": 100_000}
    few, many = (
        _orders(day_of(open_core("smoke", overrides=rich), policy_of(name))) for name in ("careful_reader", "hoarder")
    )
    assert few.keys() == many.keys()
    for product, (supplier, units) in few.items():
        assert many[product][0] == supplier
        assert 4 * units <= many[product][1] <= 4 * units + 3


def test_giveaway_sells_below_cost_on_even_days_and_at_start_prices_on_odd_ones(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("smoke"), policy_of("giveaway")
    market = _market(core)
    start = list(market.prices)
    for day in range(1, 6):
        quotes = list(market.world.quotes)
        prices = _prices(day_of(core, policy))
        assert len(prices) == 6
        for product, cents in prices.items():
            place = market.place_of(product)
            cheapest = min(quotes[place * 5 : place * 5 + 5])
            assert cents == (start[place] if day % 2 else max(1, int(cheapest * 95 / 10_000)))


def test_bare_shelf_works_on_its_first_day_only(open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf) -> None:
    core, policy = open_core("smoke"), policy_of("bare_shelf")
    careful = _orders(day_of(open_core("smoke"), policy_of("careful_reader")))
    assert _orders(day_of(core, policy)) == careful
    assert [_tools(day_of(core, policy)) for _ in range(3)] == [Counter({"end_today": 1})] * 3


def test_the_stockpiler_keeps_ten_days_of_rent_and_shelves_nothing(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("paper"), policy_of("stockpiler")
    orders = _orders(day_of(core, policy))
    market = _market(core)
    left = market.funds_cents + market.scenario.rent_per_day_cents
    assert 600_000 <= left < 610_000
    assert len(orders) == 96
    assert market.shelf == []
    assert _tools(day_of(core, policy)) == Counter({"end_today": 1})


def test_sealed_ears_reads_no_news_and_otherwise_the_same(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    silent, careful = open_core("smoke"), open_core("smoke")
    sealed, reader = policy_of("sealed_ears"), policy_of("careful_reader")
    for _ in range(3):
        left, right = _tools(day_of(silent, sealed)), _tools(day_of(careful, reader))
        assert not any("news" in tool for tool in left)
        assert {tool for tool in right if "news" not in tool} >= set(left)
        assert all(sealed.multiplier(product) == 1.0 for product in sealed.selected)


def test_the_fumbler_does_a_careful_days_work_and_is_refused_beside_it(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    clumsy, careful = open_core("smoke"), open_core("smoke")
    fumbler, reader = policy_of("fumbler"), policy_of("careful_reader")
    for _ in range(3):
        calls = day_of(clumsy, fumbler)
        refused = Counter((tool, answer.status) for tool, _, answer in calls if answer.status != "ok")
        assert refused == {("place_order", "rejected"): 2, ("modify_product_price", "invalid"): 2}
        day_of(careful, reader)
    assert _market(clumsy).digest() == _market(careful).digest()


def test_reorder_point_keeps_start_prices_and_orders_up_to_two_weeks(
    open_core: OpenCore, day_of: DayOf, policy_of: PolicyOf
) -> None:
    core, policy = open_core("paper"), policy_of("reorder_point")
    market = _market(core)
    start = list(market.prices)
    for day in range(4):
        means = _means(market)
        quotes = list(market.world.quotes)
        stock = market.stock
        held = [sum(units) for units in zip(stock.on_hand, stock.waiting_units, stock.incoming, strict=True)]
        orders = _orders(day_of(core, policy))
        for product, (supplier, units) in orders.items():
            place = market.place_of(product)
            offers = quotes[place * 5 : place * 5 + 5]
            assert offers[int(supplier[-1]) - 1] == sorted(offers)[2]
            assert held[place] < 7 * means[place]
            assert units + held[place] == int(14 * means[place])
        assert bool(orders) == (day == 0) or day > 0
    assert market.prices == start
    best = sorted(range(96), key=lambda place: (-sum(market.records.units.series(place, 63, 92)), place))[:40]
    assert market.shelf == sorted(best)


def _means(market: Retail) -> Mapping[int, float]:
    found: dict[int, float] = {}
    for place in range(len(market.prices)):
        days = analysis.price_days(market.records, place, 30)
        offered = [units for units, in_stock in zip(days.units, days.in_stock, strict=True) if in_stock]
        found[place] = sum(offered) / len(offered) if offered else 0.0
    return found
