"""What the tools answer: pages, arithmetic on demand and rivals, refusals, sizes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.calling import Caller
from tests.pricing.scenarios import scenario

from tradefair.contract import IllegalAction
from tradefair.pricing import MARKET
from tradefair.pricing.rules import Pricing

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
