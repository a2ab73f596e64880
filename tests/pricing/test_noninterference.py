"""Other firms' costs, shocks and sealed prices leave every obtainable byte unchanged."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.calling import Caller
from tests.pricing.scenarios import scenario

from tradefair.contract import IllegalAction
from tradefair.contract.kernel.turns import open_actions
from tradefair.pricing import MARKET
from tradefair.pricing.rules import Pricing

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


CALLER = Caller(MARKET.tools)


def _asked(market: Pricing, seat: str, name: str, **arguments: Any) -> str:
    try:
        return CALLER.ask(market, seat, name, **arguments).model_dump_json()
    except IllegalAction as refusal:
        return repr(refusal.info)


def _everything(market: Pricing, seat: str) -> list[str]:
    """Every byte that the seat can get now."""
    actions = [tool for tool in MARKET.tools.values() if tool.kind == "action"]
    return [
        market.rules_view(seat).model_dump_json(),
        market.turn_view(seat).model_dump_json(),
        repr(market.code_constants(seat)),
        repr(market.clock),
        repr(market.news_mark(seat)),
        repr(open_actions(actions, market, seat)),
        *(_asked(market, seat, name, **arguments) for name, arguments in QUESTIONS),
    ]


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
    assert _everything(twin, seat) == _everything(market, seat)


def test_what_is_private_to_the_firm_itself_does_show() -> None:
    market = Pricing(scenario("hidden_cost"), 11)
    twin = MARKET.perturb_private(market, "F2", 1)
    assert _everything(twin, "F1") != _everything(market, "F1")
