from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.supply_chain.playing import ask, close, open_market, play, refusal, scenario, to_retail

from tradefair.contract.kernel.core import Core
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.rules import SupplyChain

A, B, C = "retailer_01", "retailer_02", "retailer_03"


def _bid(item: str, quantity: int, price: float) -> dict[str, Any]:
    return {"item": item, "quantity": quantity, "price": price}


def _at(item: str, price: float) -> dict[str, Any]:
    return {"item": item, "price": price}


@pytest.fixture
def closed() -> SupplyChain:
    """A duel after one round: A and B sold beans, A said cheap things, C posted a watch that it does not have."""
    market = open_market("duel", rho=1.0, reservation=False)
    ask(market, A, "submit_bids", bids=[_bid("beans", 20, 11)])
    ask(market, B, "submit_bids", bids=[_bid("beans", 10, 11), _bid("kettle", 5, 40)])
    to_retail(market)
    ask(market, A, "submit_offer", prices=[_at("beans", 12)], slogan="cheap beans")
    ask(market, B, "submit_offer", prices=[_at("beans", 14), _at("kettle", 50)], slogan="fair trade beans")
    ask(market, C, "submit_offer", prices=[_at("watch", 500)])
    close(market)
    return market


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bids", "code", "told"),
    [
        ([_bid("pony", 1, 10)], "unknown_id", "'pony'"),
        ([_bid("beans", 31, 10)], "quantity_out_of_range", "0 to 30"),
        ([_bid("beans", 1, 9)], "price_below_reserve", "9.00 is below 10.00"),
        ([_bid("beans", 1, 10_001)], "price_out_of_range", "above 10000.00"),
        ([_bid("beans", 1, 10.5)], "price_off_tick", "off the tick 1.00"),
        ([_bid("beans", 31, 9), _bid("lamp", 1, 3)], "quantity_out_of_range", "lamp: 3.00 is below 80.00"),
    ],
)
def test_a_bad_line_refuses_the_whole_vector(bids: list[Any], code: str, told: str) -> None:
    error = refusal(open_market("duel"), A, "submit_bids", bids=[_bid("kettle", 1, 40), *bids])
    assert error.code == code
    assert told in error.message
    assert "list_supplier_offers" in error.hint


@pytest.mark.parametrize(
    ("prices", "slogan", "code"),
    [
        ([_at("pony", 10)], None, "unknown_id"),
        ([_at("beans", 10_001)], None, "price_out_of_range"),
        ([_at("beans", 0.5)], None, "price_out_of_range"),
        ([_at("beans", 12.5)], None, "price_off_tick"),
        ([], "word " * 26, "message_too_long"),
        ([], "x" * 241, "message_too_long"),
    ],
)
def test_a_bad_offer_is_refused(prices: list[Any], slogan: str | None, code: str) -> None:
    market = open_market("duel")
    to_retail(market)
    given = {"prices": prices} if slogan is None else {"prices": prices, "slogan": slogan}
    assert refusal(market, A, "submit_offer", **given).code == code


def _nonsense() -> Iterator[dict[str, Any]]:
    for quantity in (-1, True, "3", 1.5, 10**10, None, float("nan"), float("inf")):
        yield {"bids": [{"item": "beans", "quantity": quantity, "price": 10}]}
    for price in (0, -1, True, "10", 1e300, float("nan"), float("inf"), None):
        yield {"bids": [{"item": "beans", "quantity": 1, "price": price}]}
    yield {"bids": [{"item": "beans", "quantity": 1, "price": 10, "seat": B}]}
    yield {"bids": [_bid("x" * 41, 1, 10)]}
    yield {"bids": [_bid("beans", 1, 10)] * 21}
    yield {"bids": "beans"}
    yield {}


def test_nonsense_is_refused_at_the_door_and_logged() -> None:
    core = Core.create(MARKET, scenario("duel", limits=[]), 1)
    core.start()
    before = core.market.digest()
    for arguments in _nonsense():
        done = core.call(A, "submit_bids", arguments)
        assert done.answer is not None
        assert done.answer.status == "invalid", arguments
        assert done.answer.error is not None
        assert done.answer.error.code == "invalid_arguments"
        assert json.loads(done.records[-1].body)["event"] == "tool_called"
    assert core.market.digest() == before


@pytest.mark.parametrize(
    "bids", [[_bid("beans", 1, 10.123)], [_bid("beans", 1, 10), _bid("beans", 1, 10)]], ids=["decimals", "twice"]
)
def test_what_no_schema_says_is_refused_by_the_rules(bids: list[Any]) -> None:
    core = Core.create(MARKET, scenario("duel", limits=[]), 1)
    core.start()
    answer = core.call(A, "submit_bids", {"bids": bids}).answer
    assert answer is not None
    assert answer.error is not None
    assert (answer.status, answer.error.code) == ("rejected", "bad_value")


INVISIBLE = [
    "che\u200bap",
    "cheap\u2060deal",
    "\ufeffcheap",
    "so\u00adft",
    "che\u200dap",
    "é\u200d\u200dé",
    "cheap\u200c",
]


@pytest.mark.parametrize("slogan", ["beep \x07", "turn \u202e around", "\x00", *INVISIBLE])
def test_control_characters_and_what_nobody_sees_are_no_words(slogan: str) -> None:
    core = Core.create(MARKET, scenario("duel"), 1)
    core.start()
    calls: dict[str, dict[str, Any]] = {"submit_offer": {"prices": []}, "score_slogan": {}}
    for tool, given in calls.items():
        answer = core.call(A, tool, {**given, "slogan": slogan}).answer
        assert answer is not None
        assert answer.error is not None
        assert (answer.status, answer.error.code) == ("rejected", "bad_value")


@pytest.mark.parametrize("slogan", ["می\u200cخواهم ارزان", "👩\u200d💻 shop", "क्\u200dष"])
def test_joiners_that_are_spelling_may_stand_in_a_slogan(slogan: str) -> None:
    assert ask(open_market("duel"), A, "score_slogan", slogan=slogan).words == len(slogan.split())


def test_a_seat_that_is_refused_too_often_lapses() -> None:
    core = Core.create(MARKET, scenario("duel"), 1)
    core.start()
    for _ in range(6):
        core.call(A, "submit_bids", {"bids": [_bid("pony", 1, 10)]})
    last = core.call(A, "submit_bids", {"bids": [_bid("pony", 1, 10)]})
    assert last.answer is not None
    assert last.answer.error is not None
    assert last.answer.error.code == "call_limit"
    lapsed = json.loads(last.records[-1].body)
    assert (lapsed["event"], lapsed["reason"], lapsed["default_action"]) == ("seat_lapsed", "reject_limit", "no_bids")


# --- what is disclosed ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reveal", ["none", "own", "summary", "book"])
def test_a_pass_tells_what_reveal_says(reveal: str) -> None:
    market = open_market("duel", reveal=reveal)
    ask(market, A, "submit_bids", bids=[_bid("watch", 2, 410)])
    ask(market, B, "submit_bids", bids=[_bid("watch", 2, 405)])
    market.skip(C)
    public: Any = market.advance().public
    own = ask(market, B, "view_bid_results").rounds[0].passes[0]
    assert (own.lines[0].filled, own.lines[0].paid) == ((None, None) if reveal == "none" else (1, 405))
    assert own.market == public.items
    if reveal in ("none", "own"):
        assert public.items is None
        return
    watch = public.items[3]
    assert (watch.marginal, watch.sold_out, watch.requested) == (405, True, 4)
    assert watch.book == ([(410, 2), (405, 2)] if reveal == "book" else None)
    assert public.items[0].sold_out is False
    assert public.items[0].marginal == 10


def test_estimates_come_from_what_was_disclosed() -> None:
    market = open_market("duel")
    assert ask(market, A, "estimate_clearing_prices").items[3].basis == "no_evidence"
    ask(market, A, "submit_bids", bids=[_bid("watch", 3, 410)])
    close(market)
    provisional = ask(market, C, "estimate_clearing_prices", items=["watch", "beans"])
    watch, beans = provisional.items
    assert (watch.low, watch.mid, watch.high, watch.suggestion, watch.n) == (410, 410, 410, 411, 1)
    assert (beans.mid, beans.suggestion, beans.n, beans.basis) == (10, 10, 1, "disclosed")
    ask(market, A, "submit_bids", bids=[_bid("watch", 3, 420)])
    close(market)
    assert ask(market, C, "estimate_clearing_prices").items[3].mid == 420  # settled; the provisional pass is history
    close(market)
    ask(market, A, "submit_bids", bids=[])
    ask(market, B, "submit_bids", bids=[_bid("watch", 2, 401)])
    close(market)
    watch = ask(market, C, "estimate_clearing_prices").items[3]
    # 420 of a round ago weighs 0.5, the provisional 400 weighs 2: 404.
    assert (watch.low, watch.mid, watch.high, watch.suggestion, watch.n) == (400, 404, 420, 400, 2)


def test_without_disclosure_estimates_rest_on_own_lines() -> None:
    market = open_market("duel", reveal="own")
    ask(market, A, "submit_bids", bids=[_bid("watch", 2, 405), _bid("beans", 5, 12)])
    ask(market, B, "submit_bids", bids=[_bid("watch", 3, 410)])
    close(market)
    watch, beans = ask(market, A, "estimate_clearing_prices", items=["watch", "beans"]).items
    assert (watch.low, watch.high, watch.suggestion, watch.basis) == (405, 405, 406, "own_lines")
    assert (beans.suggestion, beans.n) == (12, 1)
    assert ask(market, C, "estimate_clearing_prices").items[3].basis == "no_evidence"


# --- analyses -------------------------------------------------------------------------------------------------------


def test_history_shows_offers_and_sales(closed: SupplyChain) -> None:
    shown = ask(closed, C, "view_market_history", retailers=[B, A], items=["kettle", "beans"]).rounds[0]
    assert shown.items == ["kettle", "beans"]
    assert [(row.seat, row.prices) for row in shown.rows] == [(A, [None, 12]), (B, [50, 14])]
    assert [row.sold for row in shown.rows] == [[0, 20], [5, 8]]
    for wrong in ({"from_round": 2}, {"to_round": 2}, {"from_round": 2, "to_round": 1}):
        assert refusal(closed, A, "view_market_history", **wrong).code == "round_out_of_range"
    assert refusal(closed, A, "view_market_history", retailers=["pony"]).code == "unknown_id"


def test_no_history_before_the_first_close() -> None:
    assert refusal(open_market("duel"), A, "view_market_history").code == "round_out_of_range"


def test_prices_stand_beside_costs_and_rivals(closed: SupplyChain) -> None:
    beans, watch = ask(closed, B, "compare_prices", prices=[_at("beans", 13), _at("watch", 500)]).items
    assert (beans.unit_cost, beans.margin, beans.margin_pct) == (11, 2, 0.1818)
    assert (beans.cheaper_rivals, beans.lowest_rival, beans.mean_sold, beans.top_sold) == (1, 12, 12.5714, 14)
    assert (watch.unit_cost, watch.cheaper_rivals, watch.mean_sold, watch.top_sold) == (None, 0, None, None)
    assert refusal(closed, B, "compare_prices", prices=[_at("beans", 0.5)]).code == "price_out_of_range"


def test_sales_are_summed_by_item_and_thirds(closed: SupplyChain) -> None:
    beans = ask(closed, C, "summarize_item_sales", items=["beans"]).items[0].rounds[0]
    assert (beans.posted_by, beans.sold_by, beans.units, beans.units_by_third) == (2, 2, 28, [20, 8, 0])
    assert (beans.posted.low, beans.posted.mean, beans.posted.high) == (12, 13, 14)
    lamp = ask(closed, C, "summarize_item_sales", items=["lamp"]).items[0].rounds[0]
    assert (lamp.posted_by, lamp.units, lamp.posted, lamp.sold) == (0, 0, None, None)


def test_a_slogan_is_scored_by_the_sales_of_its_likes(closed: SupplyChain) -> None:
    score = ask(closed, C, "score_slogan", slogan="cheap beans")
    # y: A 20/14; B the mean of 8/14 and 5/5; both at closeness 1 and below.
    assert score.nearest[0].seat == A
    assert score.nearest[0].closeness == 1
    assert score.nearest[0].sales == round(20 / 14, 6)
    assert score.nearest[1].sales == round((8 / 14 + 1) / 2, 6)
    assert score.nearest[1].sales < score.index <= score.nearest[0].sales
    assert 1 <= score.n_eff < 2
    assert "gate inert" in score.notes
    assert ask(closed, C, "score_slogan", slogan="the of").words == 2


def test_nothing_to_score_against_is_null() -> None:
    score = ask(open_market("duel"), A, "score_slogan", slogan="cheap beans")
    assert (score.index, score.n_eff, score.nearest) == (None, None, [])


def test_answers_above_eight_kilobytes_are_refused_only_by_default() -> None:
    market = open_market("gated", retailers=120, seats=120, rounds=1)
    for seat in sorted(market.awaited()):
        market.skip(seat)
    market.advance()
    for seat in sorted(market.awaited()):
        market.skip(seat)
    market.advance()
    for seat in sorted(market.awaited()):
        market.post(seat, [("item1", 60_00)], "a slogan of some length, so that rows are long")
    market.advance()
    error = refusal(market, A, "view_market_history")
    assert error.code == "too_many_rows"
    assert "view_market_history(from_round=1, to_round=1)" in error.hint
    assert len(ask(market, A, "view_market_history", from_round=1).rounds[0].rows) == 120


# --- what stays hidden ----------------------------------------------------------------------------------------------

HIDDEN = {
    "tribe", "persona", "text_index", "sensitivity", "lambda", "tau", "reservation_price", "limit", "similarity",
    "considered_by", "weight",
}  # fmt: skip


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(key)  # pyright: ignore[reportUnknownArgumentType]
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _keys(inner)


def test_no_answer_and_no_public_closure_has_a_hidden_key() -> None:
    """Invariant 10."""
    played = play("adaptive", reveal="book")
    for body in played.bodies:
        event = json.loads(body)
        for part in ("result", "public"):
            assert HIDDEN.isdisjoint(_keys(event.get(part))), event


def test_personas_cannot_be_told_from_answers_where_they_do_not_matter() -> None:
    """Invariant 10: K = N and no reservation: other persona texts change no answer, `score_slogan` included."""
    tribes = [tribe.model_dump(mode="json") for tribe in scenario("duel").tribes]
    swapped = [{**tribe, "texts": other["texts"]} for tribe, other in zip(tribes, tribes[1:] + tribes[:1], strict=True)]
    given: dict[str, Any] = {"rho": 1.0, "reservation": False}
    heard = [
        [
            (event["tool"], event["result"], event["result_digest"])
            for event in map(json.loads, play("adaptive", tribes=texts, **given).bodies)
            if event["event"] == "tool_called"
        ]
        for texts in (tribes, swapped)
    ]
    assert heard[0] == heard[1]
