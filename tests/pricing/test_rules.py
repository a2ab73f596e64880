"""Rounds of posted prices: who sells what, what a silent firm does, shocks, refusals, scenarios, seats.

Also here:
- What the tools answer: pages, arithmetic on demand and rivals, refusals, sizes.
- Other firms' costs, shocks and sealed prices leave every obtainable byte unchanged.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.calling import Caller, obtainable
from tests.pricing.scenarios import played, scenario

from tradefair.contract import Chance, IllegalAction, ScenarioError
from tradefair.pricing import MARKET
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.rules import Pricing


def test_a_round_pays_what_the_page_says() -> None:
    market = Pricing(scenario(), 1)
    market.post("F1", 1473)
    market.post("F2", 1473)
    closure = market.advance()
    assert closure.public.model_dump()["prices"] == {"F1": 1473, "F2": 1473}
    assert market.state.profit == {"F1": 222_957_537, "F2": 222_957_537}
    market.check()


def test_a_silent_firm_is_closed_until_it_posts_and_then_keeps_its_price() -> None:
    market = Pricing(scenario(), 1)
    market.post("F1", 1500)
    assert market.lapse("F2", "deadline") == "stays_closed"
    market.advance()
    assert (market.state.rows[-1].prices, market.state.rows[-1].units[1]) == ((1500, None), 0)
    market.post("F2", 1400)
    assert market.lapse("F1", "deadline") == "keeps_price"
    market.advance()
    assert market.state.rows[-1].prices == (1500, 1400)
    market.check()


def test_refusals_say_what_is_allowed() -> None:
    market = Pricing(scenario(), 1)
    for call, code, words in (
        (lambda: market.post("F1", 4001), "price_above_max", "4000"),
        (lambda: market.post("F1", 1500, 3), "stale_round", "the open round is 1"),
    ):
        with pytest.raises(IllegalAction, match=words) as refused:
            call()
        assert refused.value.info.code == code
    market.post("F1", 900)
    with pytest.raises(IllegalAction) as refused:
        market.post("F1", 901)
    assert refused.value.info.code == "already_acted"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cost": [1000, 1000, 1001]}, "cost: 3 entries; there are 2 firms"),
        ({"price_max": 30_000}, "price_max = 30000: quality 2000 and mu 250 allow at most 17000"),
        ({"outside": 20_000}, "outside = 20000: with mu 250 and its shocks at most 10000"),
        ({"outside": 10_000, "shock": "demand"}, "outside = 10000: with mu 250 and its shocks at most 10000"),
        ({"quality": [15_001, 2000]}, "quality = 15001: with mu 250 at most 15000"),
        ({"quality": None}, "quality: required with drawn = false"),
        ({"firms": 3, "quality": [2000, 2100]}, "quality: 2 entries; there are 3 firms"),
        ({"mu_range": [300, 200]}, "mu_range = [300, 200]: the first must not be above the second"),
        ({"firms": 11}, "firms = 11"),
        ({"mu": 0}, "mu = 0"),
        ({"consumers": 99}, "consumers = 99"),
        ({"drawn": True}, "quality: must be absent with drawn = true"),
        ({"shock_size": 61}, "shock_size = 61"),
        ({"seats": {"F9": "nash"}}, "seats.F9: no such seat"),
    ],
)
def test_wrong_content_names_key_value_and_bound(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(**changes)
    assert words in str(refused.value)


def test_a_law_that_no_rival_can_follow_is_an_error_of_the_scenario() -> None:
    for law in ("nobody", "rival", "planner", "contrary"):
        with pytest.raises(ScenarioError, match=f"rival_laws: there is no law '{law}'"):
            MARKET.create(scenario("duel", rival_laws=["nash", law]), 1)


def test_equal_lists_follow_the_number_of_firms() -> None:
    assert scenario("five", firms=3).quality == (2000, 2000, 2000)


def test_what_a_seed_draws_is_uniform_between_the_bounds_and_keyed_by_firm() -> None:
    bounds = {"quality_range": [1_990, 1_992], "cost_range": [998, 1_000], "mu_range": [240, 241]}
    seen: dict[str, set[int]] = {"quality": set(), "cost": set(), "mu": set()}
    laws: set[str] = set()
    for seed in range(60):
        market, chance = Pricing(scenario("duel", **bounds), seed), Chance(seed)
        demand = market.state.demand
        for place, seat in enumerate(market.seats):
            assert demand.quality[place] == 1_990 + int(3 * chance.uniform("quality", seat))
            assert market.state.cost[seat] == 998 + int(3 * chance.uniform("cost", seat))
            laws.add(market.rivals[seat])
        assert demand.mu == 240 + int(2 * chance.uniform("mu"))
        seen["quality"] |= {*demand.quality}
        seen["cost"] |= {*market.state.cost.values()}
        seen["mu"].add(demand.mu)
    assert seen == {"quality": {1_990, 1_991, 1_992}, "cost": {998, 999, 1_000}, "mu": {240, 241}}
    assert laws == {"best_reply", "matcher", "edgeworth", "grim", "fixed_markup"}


def test_a_shock_keeps_its_level_until_chance_gives_another_of_five() -> None:
    market, chance = played("shocks", 9, "nash", rounds=400), Chance(9)
    level = 0
    for row in market.state.rows:
        if row.round == 1 or chance.uniform("shock", row.round) < 0.2:
            level = (-60, -30, 0, 30, 60)[int(5 * chance.uniform("shock_level", row.round))]
        assert (row.shock, row.cost_shocks, row.outside) == (level, (level, level), 0)
    assert {row.shock for row in market.state.rows} == {-60, -30, 0, 30, 60}


def test_shocks_of_ones_own_and_of_demand_fall_where_they_are_meant_to() -> None:
    own = played("hidden_cost", 4, "nash", rounds=100)
    assert {row.shock for row in own.state.rows} == {0}
    assert all(len({row.cost_shocks[place] for row in own.state.rows}) == 5 for place in range(3))
    assert any(len({*row.cost_shocks}) > 1 for row in own.state.rows)
    demand = played("textbook", 4, "nash", rounds=100, shock="demand")
    assert all((row.cost_shocks, row.outside) == ((0, 0), row.shock) for row in demand.state.rows)
    assert len({row.outside for row in demand.state.rows}) == 5


def test_shocks_are_the_same_whatever_is_posted() -> None:
    one, other = (played("shocks", 3, own) for own in ("nash", "passive"))
    assert [row.shock for row in one.state.rows] == [row.shock for row in other.state.rows]
    assert {row.shock for row in one.state.rows} <= {-60, -30, 0, 30, 60}
    assert len({row.shock for row in one.state.rows}) > 2


@given(
    shift=st.integers(-10_000, 10_000),
    prices=st.lists(st.integers(0, 4_000), min_size=1, max_size=5),
    mu=st.integers(250, 400),
)
def test_only_what_an_offer_is_worth_beyond_buying_nothing_counts(shift: int, prices: list[int], mu: int) -> None:
    quality = [2_000 + 10 * place for place in range(len(prices))]
    sold = units_sold(prices, quality, mu, 0, 1_000_000)
    assert units_sold(prices, [a + shift for a in quality], mu, shift, 1_000_000) == sold


def test_weights_stay_fine_where_buying_nothing_is_worth_as_little_as_a_scenario_may_say() -> None:
    # Worths 40 mu below 0: weights that were of worths alone came down to 2 and 4, and demand in steps of a tenth.
    sold = units_sold([4_040, 4_040], [0, 0], 100, -4_000, 1_000_000)
    share = math.exp(-0.4) / (1 + 2 * math.exp(-0.4))
    assert sold == (round(1_000_000 * share),) * 2


ask = Caller(MARKET.tools).ask


def after(*rounds: tuple[int | None, ...], preset: str = "textbook", **changes: Any) -> Pricing:
    """A market after rounds of prices; None lapses."""
    market = Pricing(scenario(preset, **changes), 1)
    for prices in rounds:
        for seat, price in zip(market.seats, prices, strict=True):
            if price is None:
                market.lapse(seat, "deadline")
            else:
                market.post(seat, price)
        market.advance()
    return market


def refused(market: Pricing, tool: str, **arguments: Any) -> str:
    with pytest.raises(IllegalAction) as caught:
        ask(market, "F1", tool, **arguments)
    return caught.value.info.code


TRIED = [(price, 1_300 + 70 * (price % 7)) for price in range(1_300, 1_700, 40)]
UNKNOWN: dict[str, Any] = {"demand_known": False, "costs_known": False}


def test_the_firm_sees_its_own_data_and_of_demand_what_the_scenario_tells() -> None:
    shown = ask(after((1_500, 1_400)), "F1", "view_my_firm").model_dump()
    assert shown == {
        **{
            "seat": "F1",
            "cost": 1_000,
            "cost_now": 1_000,
            "quality": 2_000,
            "consumers": 1_000_000,
            "price_max": 4_000,
        },
        **{"posted_price": 1_500, "profit_so_far": shown["profit_so_far"], "round": 2, "rounds_left": 119, "index": 0},
        **{"mu": 250, "outside": 0, "qualities": {"F1": 2_000, "F2": 2_000}, "costs": {"F1": 1_000, "F2": 1_000}},
    }
    hidden = ask(after(**UNKNOWN), "F1", "view_my_firm").model_dump()
    assert [hidden[name] for name in ("quality", "mu", "outside", "qualities", "costs")] == [None] * 5


def test_a_shock_of_ones_own_is_in_the_cost_of_the_round_and_shown_to_nobody_else() -> None:
    market = after((1_500, 1_400, 1_450), preset="hidden_cost")
    for seat in market.seats:
        shown = ask(market, seat, "view_my_firm").model_dump()
        assert shown["cost_now"] == shown["cost"] + market.state.own_shocks[seat]
        assert (shown["index"], shown["costs"]) == (0, None)


def test_past_rounds_come_in_pages_newest_first() -> None:
    market = after(*[(1_400 + number, 1_500) for number in range(25)])
    seen: list[int] = []
    cursor: dict[str, int] = {}
    for expected in (10, 10, 5):
        page = ask(market, "F1", "view_prices", **cursor).model_dump()
        assert len(page["rounds"]) == expected
        seen += [row["round"] for row in page["rounds"]]
        sales = ask(market, "F1", "view_my_sales", **cursor).model_dump()
        assert [row["round"] for row in sales["rounds"]] == [row["round"] for row in page["rounds"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
    assert seen == [*range(25, 0, -1)]
    assert cursor == {}
    large = after(*[(1_400,) * 10] * 500, preset="five", firms=10, rounds=700, units_public=True)
    assert len(ask(large, "F1", "view_prices", last=500).model_dump()["rounds"]) == 500


def test_units_of_rivals_are_shown_where_they_are_public_only() -> None:
    for public in (False, True):
        (row,) = ask(after((1_473, 1_473), units_public=public), "F1", "view_prices").model_dump()["rounds"]
        assert row["units"] == ({"F1": 471_369, "F2": 471_369} if public else None)


def test_own_sales_are_those_of_the_ledger() -> None:
    market = after((1_473, 1_473), (None, 1_925), (None, None))
    rows = ask(market, "F1", "view_my_sales").model_dump()["rounds"]
    assert rows[-1] == {"round": 1, "price": 1_473, "units": 471_369, "cost_now": 1_000, "profit": 222_957_537}
    assert sum(row["profit"] for row in rows) == market.state.profit["F1"]


def test_an_estimate_finds_the_slope_that_demand_has() -> None:
    # ln(q/(M − q)) = (a − p)/mu − ln(e^(a_0/mu) + e^((a − p')/mu)): the own slope is −1/mu, the rest nearly a line.
    made = ask(after(*TRIED, **UNKNOWN), "F1", "estimate_demand").model_dump()
    assert (made["rounds_used"], made["distinct_prices"]) == (10, 10)
    assert made["own_slope"] == pytest.approx(-1 / 250, rel=0.02)
    assert made["rival_slope"] > 0
    assert made["r2"] > 0.99


@pytest.mark.parametrize("rival", [1_500, None])
def test_an_estimate_beside_a_rival_who_never_moves_has_one_slope(rival: int | None) -> None:
    market = after(*[(price, rival) for price, _ in TRIED], **UNKNOWN)
    made = ask(market, "F1", "estimate_demand").model_dump()
    assert made["rival_slope"] is None
    assert made["own_slope"] == pytest.approx(-1 / 250, rel=1e-4)


def test_rounds_in_which_every_rival_was_closed_do_not_spoil_an_estimate() -> None:
    market = after((1_350, None), (1_450, None), *TRIED, **UNKNOWN)
    assert ask(market, "F1", "estimate_demand") == ask(after(*TRIED, **UNKNOWN), "F1", "estimate_demand")


def test_an_estimate_says_nothing_of_few_rounds_few_prices_or_lockstep() -> None:
    lockstep = [(price, price) for price, _ in TRIED]
    few: list[list[tuple[int, int]]] = [TRIED[:3], [(1_400, 1_500), (1_450, 1_500)] * 5, lockstep]
    for rounds in few:
        made = ask(after(*rounds, **UNKNOWN), "F1", "estimate_demand").model_dump()
        assert [made[name] for name in ("own_slope", "rival_slope", "intercept", "r2")] == [None] * 4
        assert refused(after(*rounds, **UNKNOWN), "profit_if", prices=[1_500]) == "no_estimate"


def test_what_a_price_would_earn_is_what_it_then_earns() -> None:
    market = after((1_500, 1_600))
    answer = ask(market, "F1", "profit_if", prices=[1_400, 1_472, 2_000], rivals=[1_550]).model_dump()
    assert (answer["basis"], answer["rivals"], answer["best_price"]) == ("exact", {"F2": 1_550}, 1_472)
    market.post("F1", 1_472)
    market.post("F2", 1_550)
    market.advance()
    (row,) = ask(market, "F1", "view_my_sales", last=1).model_dump()["rounds"]
    assert (row["price"], row["units"], row["profit"]) == tuple(answer["rows"][1].values())


def test_what_is_held_is_the_rivals_last_price_and_a_closed_one_sells_nothing() -> None:
    market = after((1_500, 1_600), (1_500, 1_700))
    assert ask(market, "F1", "profit_if", prices=[1_500]).model_dump()["rivals"] == {"F2": 1_700}
    alone = ask(after((1_500, None)), "F1", "profit_if", prices=[1_500]).model_dump()
    assert alone["rivals"] == {"F2": None}
    assert alone["rows"][0]["units"] == math.floor(1_000_000 / (1 + math.exp(-2)) + 0.5)


def test_an_estimated_profit_is_near_the_true_one_and_says_that_it_is_estimated() -> None:
    guess = ask(after(*TRIED, **UNKNOWN), "F1", "profit_if", prices=[1_450, 1_600], rivals=[1_500]).model_dump()
    truth = ask(after(*TRIED), "F1", "profit_if", prices=[1_450, 1_600], rivals=[1_500]).model_dump()
    assert (guess["basis"], truth["basis"]) == ("estimate", "exact")
    for estimated, exact in zip(guess["rows"], truth["rows"], strict=True):
        assert estimated["profit"] == pytest.approx(exact["profit"], rel=0.02)


def test_a_summary_counts_what_a_rival_did_after_own_moves() -> None:
    # Cut in round 2, answered by −100 in round 3; raise in round 4, answered by +50 in round 5; 5 is less than 1 %.
    market = after((1_500, 1_500), (1_400, 1_500), (1_400, 1_400), (1_600, 1_400), (1_595, 1_450), (1_595, 1_450))
    (row,) = ask(market, "F1", "summarize_rivals").model_dump()["rivals"]
    assert row == {
        **{"seat": "F2", "last": 1_450, "lowest": 1_400, "mean": 1_450.0, "highest": 1_500, "changes": 2},
        **{"after_own_cut": -100.0, "own_cuts": 1, "after_own_raise": 50.0, "own_raises": 1},
    }
    (short,) = ask(market, "F1", "summarize_rivals", window=2).model_dump()["rivals"]
    assert (short["lowest"], short["changes"], short["after_own_cut"]) == (1_450, 0, None)


def test_an_analysis_without_history_is_refused_but_for_named_rivals() -> None:
    market = after()
    for tool, arguments in (("estimate_demand", {}), ("summarize_rivals", {}), ("profit_if", {"prices": [1_500]})):
        assert refused(market, tool, **arguments) == "no_history"
    assert refused(market, "profit_if", prices=[1_500], rivals=[1, 2]) == "wrong_rivals"
    assert ask(market, "F1", "profit_if", prices=[1_500], rivals=[1_500]).model_dump()["basis"] == "exact"


def test_a_price_below_cost_is_warned_of_and_posted() -> None:
    market = after()
    receipt = {"round": 1, "price": 999, "warning": "below_cost"}
    assert ask(market, "F1", "set_price", price=999).model_dump() == receipt
    assert ask(market, "F2", "set_price", price=1_000).model_dump()["warning"] is None


def test_no_default_answer_of_ten_firms_is_above_eight_kilobytes() -> None:
    ten: dict[str, Any] = {
        "firms": 10,
        "quality": [999_999] * 10,
        "cost": [999_999] * 10,
        "mu": 100_000,
        "price_max": 1_000_000,
    }
    prices = tuple(range(999_990, 1_000_000))
    market = after(*[prices, prices[::-1]] * 30, consumers=1_000_000_000, units_public=True, **ten)
    for name, tool in MARKET.tools.items():
        if tool.kind != "action":
            arguments: dict[str, Any] = {"prices": [*range(999_975, 1_000_000)]} if name == "profit_if" else {}
            assert len(ask(market, "F10", name, **arguments).model_dump_json()) <= 8_192, name


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("view_my_firm", {}),
    ("view_prices", {}),
    ("view_prices", {"last": 1, "cursor": 1}),
    ("view_my_sales", {}),
    ("estimate_demand", {}),
    ("profit_if", {"prices": [1_200, 1_500]}),
    ("profit_if", {"prices": [1_200], "rivals": [1_300, 1_400]}),
    ("summarize_rivals", {}),
    ("set_price", {"price": 1_500, "round": 99}),
    ("set_price", {"price": 4_001}),
    ("set_price", {"price": 1_400}),
    ("set_price", {"price": 1_401}),
]
SEATS = ("F1", "F2", "F3")


everything = partial(obtainable, MARKET.tools, QUESTIONS)


@given(
    seat=st.sampled_from(SEATS),
    known=st.booleans(),
    shock=st.sampled_from(["none", "common_cost", "own_cost", "demand"]),
    closed=st.lists(st.lists(st.integers(900, 2_500), min_size=3, max_size=3), max_size=5),
    pending=st.dictionaries(st.sampled_from(SEATS), st.integers(0, 4_000), max_size=2),
    salt=st.integers(0, 1_000),
)
@settings(max_examples=80, deadline=None)
def test_nothing_a_firm_can_get_depends_on_what_is_private_to_others(
    seat: str, known: bool, shock: str, closed: list[list[int]], pending: dict[str, int], salt: int
) -> None:
    market = Pricing(scenario("hidden_cost", shock=shock, demand_known=known, rounds=30), 11)
    for prices in closed:
        for other, price in zip(SEATS, prices, strict=True):
            market.post(other, price)
        market.advance()
    for other, price in pending.items():
        market.post(other, price)
    twin = MARKET.perturb_private(market, seat, salt)
    twin.check()
    for other in SEATS:
        assert (twin.state.cost[other] == market.state.cost[other]) == (other == seat)
        if shock == "own_cost":
            assert (twin.state.own_shocks[other] == market.state.own_shocks[other]) == (other == seat)
        if other in pending:
            assert (twin.sealed[other] == pending[other]) == (other == seat)
    assert [*twin.state.rows] == [*market.state.rows]
    assert everything(twin, seat) == everything(market, seat)


def test_what_is_private_to_the_firm_itself_does_show() -> None:
    market = Pricing(scenario("hidden_cost"), 11)
    twin = MARKET.perturb_private(market, "F2", 1)
    assert everything(twin, "F1") != everything(market, "F1")
