"""Outcomes of whole marketplace traces: reference values, every edge case of section 9, books that are kept.

Also here:
- Formulas of the marketplace: losses, shares of a bargain, the best assignment (marketplace page, 6 and 9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.calling import steps_of
from tests.evaluation.markets.marketplace.playing import C1, Step, by_rounds, outcome, play, play_freely, published
from tests.evaluation.mutations import Mutation, Parts, mutated_parts, mutations, parts_of, write_parts

from tradefair.cli import run
from tradefair.contract import ToolCall
from tradefair.evaluation.judge.evaluate import charts_of, evaluate_file
from tradefair.evaluation.markets.marketplace.assignment import best_assignment
from tradefair.evaluation.markets.marketplace.bargain import Trade, bargains
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.evaluation.markets.marketplace.loss import CustomerRecord, Loss, Offer, Try, loss_of
from tradefair.evaluation.markets.marketplace.outcomes import (
    TERMS,
    MarketplaceMarket,
    MarketplaceOutcome,
    MarketplaceSeat,
)
from tradefair.evaluation.verdict.terminal import show_evaluations
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.model import Source
from tradefair.tracestore import open_trace

TICK = Step()


def _terms(one: Any) -> dict[str, float]:
    """The terms that are not 0."""
    return {name: worth for name in TERMS if (worth := getattr(one, f"loss_{name}"))}


def _identity_holds(found: MarketplaceOutcome) -> bool:
    customers = [one for one in found.seats.values() if one.utility is not None]
    market = found.market_outcome
    sums = [sum(round(100 * worth) for worth in _terms(one).values()) for one in customers]
    losses = [round(100 * ((one.list_price_optimum or 0) - (one.utility or 0))) for one in customers]
    return sums == losses and round(100 * market.loss) == sum(sums) == sum(
        round(100 * worth) for worth in _terms(market).values()
    )


AS_WRITTEN = 7
"""A seed whose base order has the first of each three matches of mexican_3_9 first, and those of its first customer as
they are in the data: the reference values rest on that order."""

# --- reference values (section 13) ----------------------------------------------------------------------------------


def test_the_worked_example_is_what_its_trace_gives(tmp_path: Path) -> None:
    """Saw and asked three, got 0003, 0001, 0002 a round apart, paid the first at once, then 0001 too (6.6)."""

    def first(number: int, business: str) -> ToolCall:
        return ToolCall("pay_proposal", {"proposal": f"p-{business}-c0001-{number}"})

    search = ToolCall("search_businesses", {"query": ""})
    items: list[JsonValue] = [{"item": item, "quantity": 1} for item in _items(published("mexican_3_9"))]
    asked = ToolCall("send_message", {"to": ["b0001", "b0002", "b0003"], "text": "Hello", "inquiry": {"items": items}})
    world: dict[str, Any] = {
        **published("mexican_3_9"), "alias_ids": False, "search_algorithm": "optimal", "search_limit": 3,
        "arrival_order": "permutation", "arrival_permutation": 4, "arrival_stagger": 1,
    }  # fmt: skip
    once = by_rounds({1: [search, asked], 3: [first(1, "b0003")]})
    twice = by_rounds({1: [search, asked], 3: [first(1, "b0003")], 5: [first(1, "b0001")]})
    found = outcome(play(tmp_path / "once.trace", "passive", seats={C1: once}, seed=AS_WRITTEN, **world))
    own = found.seats[C1]
    assert (own.utility, own.loss, own.choice_arrival, own.choice_rank) == (-14.34, 27.79, 1, 0)
    assert _terms(own) == {"impatience": 13.45, "misjudgement": 14.34}
    again = outcome(play(tmp_path / "twice.trace", "passive", seats={C1: twice}, seed=AS_WRITTEN, **world)).seats[C1]
    assert (again.utility, again.wasted, again.purchases) == (-0.89, 14.34, 2)
    assert _terms(again) == {"execution": 14.34}
    assert found.findings == []
    assert found.market_outcome.privileged_search


def _items(data: Mapping[str, Any]) -> list[str]:
    return [want["item"] for want in data["catalogue"]["customers"][0]["wants"]]


@pytest.mark.parametrize(
    ("customers", "given_values", "welfare", "terms"),
    [
        ("item_searcher", {"search_limit": 1}, 58.88, {"query": 4.9}),
        ("request_searcher", {"search_limit": 1}, 53.51, {"query": 10.27}),
        ("double_payer", {}, 3.83, {"execution": 59.95}),
        ("window_shopper", {}, 0.0, {"misjudgement": 63.78}),
        ("passive", {}, 0.0, {"query": 63.78}),
    ],
)
def test_scripted_seats_lose_what_the_reference_values_say(
    tmp_path: Path, customers: str, given_values: dict[str, Any], welfare: float, terms: dict[str, float]
) -> None:
    found = outcome(play(tmp_path / "a.trace", customers, seed=AS_WRITTEN, **published("mexican_3_9"), **given_values))
    market = found.market_outcome
    assert (market.welfare, market.optimal, found.findings) == (welfare, 63.78, [])
    assert _terms(market) == terms
    assert (market.exact["random_items"], market.random_items) == ("5050/3", 16.833333333)
    rows = {row.name: row.welfare for row in market.references if row.kind == "maximum"}
    if given_values:
        assert (rows["search by item names"], rows["search by request text"]) == (58.88, 53.51)
    assert rows["optimal"] == 63.78
    shown = {row.name: row.recall for row in market.references}
    assert shown["played"] == market.recall
    if customers == "item_searcher":
        assert shown["search by item names"] == market.recall == 0.5


def test_surplus_under_floors_is_the_reference_value(tmp_path: Path) -> None:
    found = outcome(play(tmp_path / "a.trace", **published("mexican_3_9"), price_rule="floor")).market_outcome
    assert (found.first_best, found.exact["bargaining_efficiency"]) == (70.69, "7038/7069")
    assert found.buyer_share is not None
    assert found.seller_share is not None
    assert found.buyer_share + found.seller_share == pytest.approx(1)
    assert found.seller_surplus == pytest.approx(70.38 - 63.78)


def test_ceilings_are_those_of_the_search_that_the_scenario_has(tmp_path: Path) -> None:
    def ceilings(**given_values: Any) -> tuple[float | None, ...]:
        market = outcome(play(tmp_path / "a.trace", "passive", search_limit=3, **given_values)).market_outcome
        assert market.ceiling_item_names is None or market.ceiling_item_names <= (market.optimal_or_nothing or 0)
        return market.ceiling_item_names, market.ceiling_request_text, market.optimal

    by_names, _, most = ceilings(search_algorithm="optimal")
    assert by_names == most
    first_three = ceilings(search_algorithm="simple")
    assert first_three[0] == first_three[1]
    assert first_three[0] is not None
    assert first_three[0] < (most or 0)
    loud: dict[str, Any] = {"condition": "authority", "surface": "name", "business_index": 2}
    assert ceilings(manipulation=loud) == ceilings()
    assert ceilings(manipulation={**loud, "index_text": True})[0] is not None


def test_where_search_takes_filters_the_ceiling_is_what_filters_reach(tmp_path: Path) -> None:
    """No name or description holds an item, and in base order the first who fits is not always the best."""

    def market(size: int, **given_values: Any) -> MarketplaceMarket:
        given_values = {"search_algorithm": "filtered", "search_limit": size, **given_values}
        return outcome(play(tmp_path / "a.trace", "item_searcher", **given_values)).market_outcome

    wide, narrow = market(2), market(1)
    assert wide.ceiling_filters == wide.optimal_or_nothing
    assert narrow.ceiling_filters is not None
    assert 0 < narrow.ceiling_filters < (wide.ceiling_filters or 0)
    assert (wide.welfare, wide.ceiling_item_names, wide.ceiling_request_text) == (0, 0, 0)
    (row,) = (row for row in wide.references if row.name == "search by filters")
    assert (row.kind, row.welfare, row.recall) == ("maximum", wide.ceiling_filters, 1.0)
    assert market(2, search_algorithm="lexical").ceiling_filters is None


# --- what may happen to a payment -----------------------------------------------------------------------------------


def test_sellers_below_list_are_a_negative_loss_of_offer(tmp_path: Path) -> None:
    market = outcome(play(tmp_path / "a.trace", businesses="undercutter")).market_outcome
    assert market.loss == market.loss_offer < 0
    assert market.share_of_optimal is not None
    assert market.share_of_optimal > 1


def test_a_refunded_payment_is_tried_and_not_bought(tmp_path: Path) -> None:
    """The third business has no wanted amenity, and says that it has."""
    own = generate(Source(customers=3), 1).customers[0]
    items: list[JsonValue] = [{"item": want.item, "quantity": want.quantity} for want in own.wants]
    inquiry: JsonValue = {"items": items, "amenities": list(own.amenities)}
    asks = ToolCall("send_message", {"to": ["b0003"], "text": "Hello", "inquiry": inquiry})
    misled = by_rounds({1: [asks], 3: [ToolCall("pay_proposal", {"proposal": "p-b0003-c0001-1"})]})
    given_values: dict[str, Any] = {"escrow": True, "alias_ids": False, "rounds_max": 6}
    found = outcome(play(tmp_path / "a.trace", "passive", "liar", seats={C1: misled}, **given_values))
    one = found.seats[C1]
    assert (one.tries, one.purchases, one.utility, one.spend, one.need_met) == (1, 0, 0, 0, False)
    assert (one.choice, one.choice_rank is None, one.unfinished) == ("business_0003", False, False)
    assert one.loss_execution == 0
    assert _terms(one) == {"query": one.list_price_optimum}
    assert found.market_outcome.revenue == found.market_outcome.in_escrow == 0
    assert (found.findings, _identity_holds(found)) == ([], True)


def test_money_that_no_end_of_escrow_moved_is_shown(tmp_path: Path) -> None:
    market = outcome(play(tmp_path / "a.trace", escrow=True, delivery_rounds=20)).market_outcome
    assert market.in_escrow == market.spend > 0
    assert outcome(play(tmp_path / "b.trace")).market_outcome.in_escrow == 0


def test_customers_who_compete_are_held_against_the_best_assignment_too(tmp_path: Path) -> None:
    given_values: dict[str, Any] = {"data": {"customers": 6, "share_group": 2}, "capacity": 1}
    found = outcome(play(tmp_path / "a.trace", **given_values))
    market = found.market_outcome
    assert market.refused_payments["payment_declined"] >= 1
    assert market.assignment is not None
    assert market.optimal is not None
    assert market.congestion == pytest.approx(market.optimal - market.assignment)
    assert market.welfare <= market.assignment < market.optimal
    assert market.loss_execution == market.loss > 0
    assert (found.findings, _identity_holds(found)) == ([], True)


def test_an_id_that_never_arrived_is_no_try(tmp_path: Path) -> None:
    guesses = by_rounds({1: [ToolCall("pay_proposal", {"proposal": "p-b0001-c0001-1"})], 2: [ToolCall("finish")]})
    own = outcome(play(tmp_path / "a.trace", seats={C1: guesses}, alias_ids=False)).seats[C1]
    assert (own.tries, own.refused, own.refused_payments, own.offered) == (0, 1, {}, 0)
    assert _terms(own) == {"query": own.list_price_optimum}


def test_a_late_payment_is_a_loss_of_execution_with_its_code(tmp_path: Path) -> None:
    found = outcome(play(tmp_path / "a.trace", seats={C1: "late_payer"})).seats[C1]
    assert found.refused_payments == {"not_open": 1}
    assert _terms(found) == {"execution": found.list_price_optimum}


def test_one_who_is_cut_off_is_unfinished_and_one_who_leaves_is_not(tmp_path: Path) -> None:
    found = outcome(play(tmp_path / "a.trace", "passive", seats={C1: "window_shopper"}, rounds_max=8))
    assert found.seats[C1].unfinished is False
    awake = by_rounds({})
    cut = outcome(play(tmp_path / "b.trace", "item_searcher", seats={C1: awake}, rounds_max=8))
    assert cut.end_reason == "truncated:max_rounds"
    assert (cut.censored, cut.seats[C1].unfinished, cut.market_outcome.unfinished) == (True, True, 1)


def test_an_episode_without_an_end_is_judged_by_what_its_manifest_gives_back(tmp_path: Path) -> None:
    whole = play(tmp_path / "a.trace", "double_payer")
    parts = parts_of(whole)
    del parts.bodies[-1], parts.numbers[-1]
    open_end, told = outcome(write_parts(parts, tmp_path / "b.trace")), outcome(whole)
    assert (open_end.end_reason, open_end.findings) == (None, [])
    assert open_end.market_outcome == told.market_outcome
    assert {seat: one.loss for seat, one in open_end.seats.items()} == {
        seat: one.loss for seat, one in told.seats.items()
    }


# --- businesses -----------------------------------------------------------------------------------------------------


def test_an_answer_counts_with_the_rounds_that_it_took(tmp_path: Path) -> None:
    prompt = outcome(play(tmp_path / "a.trace")).market_outcome
    slow = outcome(play(tmp_path / "b.trace", "patient_comparer", "slow(rounds=3)")).market_outcome
    assert (prompt.answer_rate, prompt.rounds_to_answer) == (1, 1)
    assert slow.rounds_to_answer == 4
    silent = outcome(play(tmp_path / "c.trace", businesses="silent"))
    assert (silent.market_outcome.answer_rate, silent.market_outcome.rounds_to_answer) == (0, None)
    nobody = outcome(play(tmp_path / "d.trace", "passive")).market_outcome
    assert (nobody.answer_rate, nobody.mean_utility_buyers, nobody.buyer_share) == (None, None, None)
    assert silent.seats["business_0001"].answer_rate == 0


def test_revenue_and_surplus_of_businesses_are_what_customers_paid(tmp_path: Path) -> None:
    found = outcome(play(tmp_path / "a.trace", businesses="liar"))
    sellers = [one for one in found.seats.values() if one.revenue is not None]
    market = found.market_outcome
    assert sum(one.revenue or 0 for one in sellers) == pytest.approx(market.revenue) == pytest.approx(market.spend)
    assert sum(one.orders or 0 for one in sellers) == market.purchases == 3
    assert sum(one.misstated or 0 for one in sellers) == 3


# --- the free clock -------------------------------------------------------------------------------------------------


def _freely(path: Path, **given_values: Any) -> MarketplaceOutcome:
    """Asks two, pays the first offer in the tick in which it came, before the second."""
    items: JsonValue = {"items": [{"item": "anything", "quantity": 1}]}
    offer: dict[str, JsonValue] = {"to": "c0001", "lines": [{"item": "Extra", "quantity": 1, "unit_price": 1.5}]}
    steps = [
        Step(C1, "search_businesses", {"query": ""}),
        Step(C1, "send_message", {"to": ["b0001", "b0002"], "text": "Hello", "inquiry": items}),
        Step("business_0001", "send_proposal", offer),
        Step(C1, "pay_proposal", {"proposal": "p-b0001-c0001-1"}),
        Step("business_0002", "send_proposal", offer),
        Step(),
        Step(),
        Step("business_0002", "send_message", {"to": ["c0001"], "text": "Still there?"}),
    ]
    return outcome(play_freely(path, steps, alias_ids=False, proposal_rules="lenient", rounds_max=4, **given_values))


def test_on_the_free_clock_an_offer_is_there_when_its_call_is_done(tmp_path: Path) -> None:
    found = _freely(tmp_path / "a.trace")
    own = found.seats[C1]
    assert (own.tries, own.purchases, own.offered, own.spend, own.utility) == (1, 1, 2, 1.5, -1.5)
    assert own.choice_arrival == 1
    assert found.seats["business_0001"].rounds_to_answer == 0
    assert (found.findings, _identity_holds(found)) == ([], True)


def test_a_sealed_offer_is_there_from_the_tick_that_releases_it(tmp_path: Path) -> None:
    offer: dict[str, JsonValue] = {"to": "c0001", "lines": [{"item": "Extra", "quantity": 1, "unit_price": 1.5}]}
    pays = Step(C1, "pay_proposal", {"proposal": "p-b0001-c0001-1"})
    steps = [
        Step(C1, "send_message", {"to": ["b0001"], "text": "Hello"}),
        Step("business_0001", "send_proposal", offer),
        pays,
        *[Step()] * 4,
        pays,
    ]
    given_values: dict[str, Any] = {"alias_ids": False, "proposal_rules": "lenient", "rounds_max": 6}
    own = outcome(play_freely(tmp_path / "a.trace", steps, sealed_window=2, **given_values)).seats[C1]
    assert (own.refused, own.tries, own.purchases) == (1, 1, 1)
    at_once = outcome(play_freely(tmp_path / "b.trace", steps, **given_values)).seats[C1]
    assert (at_once.tries, at_once.purchases, at_once.refused_payments) == (2, 1, {"not_open": 1})


# --- books ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "given_values",
    [
        {"capacity": 1, "data": {"customers": 4, "share_group": 2}},
        {"escrow": True, "reputation": True, "budget_bp": 12_000},
        {"sealed_window": 2, "price_rule": "floor", "delay_jitter": 2},
        {"proposal_rules": "lenient", "business_outreach": True, "arrival_stagger": 1, "price_rule": "posted"},
    ],
    ids=["capacity", "escrow", "sealed", "lenient"],
)
def test_whatever_seats_do_the_terms_sum_to_the_loss_and_the_books_are_kept(
    tmp_path: Path, given_values: dict[str, Any], seed: int
) -> None:
    found = outcome(play(tmp_path / "a.trace", "random_legal", "random_legal", seed=seed, rounds_max=8, **given_values))
    assert found.findings == []
    assert _identity_holds(found)
    customers = [one for one in found.seats.values() if one.utility is not None]
    signed = [name for name in TERMS if name != "offer"]
    assert all(getattr(one, f"loss_{name}") >= 0 for one in customers for name in signed)
    if given_values.get("price_rule") == "posted":
        assert all((one.loss_offer or 0) >= 0 for one in customers)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A market in which everybody buys."""
    return parts_of(play(tmp_path_factory.mktemp("kept") / "kept.trace"))


def _doctored(parts: Parts, path: Path, kind: str, change: Callable[[dict[str, Any]], object]) -> list[str]:
    """What is found where the facts of every closure of a kind are changed."""
    changed = parts.copy()
    for place, body in enumerate(changed.bodies):
        event = orjson.loads(body)
        if event["event"] == kind:
            change(event["facts"])
            changed.bodies[place] = orjson.dumps(event)
    return [finding.message for finding in outcome(write_parts(changed, path)).findings]


def _each(name: str, key: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def made(facts: dict[str, Any]) -> None:
        for row in facts[name]:
            row[key] = change(row[key])

    return made


_BREACHES: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "sum": ("round_closed", _each("settlements", "cents", lambda cents: cents + 1), "cents moved for a total of"),
    "twice": ("round_closed", lambda facts: facts["settlements"].extend([*facts["settlements"]]), "payment twice"),
    "payer": ("round_closed", _each("settlements", "payer", lambda _: "customer_0009"), "between the wrong accounts"),
    "unknown": ("round_closed", _each("settlements", "proposal", lambda _: "p-x"), "unknown proposal: 'p-x'"),
    "refund": ("round_closed", _each("settlements", "kind", lambda _: "refund"), "of what nobody paid"),
    "unpaid": ("round_closed", lambda facts: facts["settlements"].clear(), "paid, and no money moved"),
    "edge": ("round_closed", _each("states", "state", lambda state: "expired" if state == "open" else state), "became"),
    "mail": ("round_closed", _each("deliveries", "sender", lambda _: "nobody"), "a seat that does not exist: 'nobody'"),
    "worth": ("round_closed", _each("proposals", "utility", lambda worth: worth + 5), "by its value and total"),
    "seller": ("round_closed", _each("proposals", "business", lambda _: "nobody"), "odd proposal"),
    "balance": (
        "episode_ended",
        lambda facts: facts["balances"].update(escrow=7),
        "all accounts together hold 7 cents",
    ),
    "ledger": ("episode_ended", lambda facts: facts["ledger"].pop(), "have no counterpart"),
    "purchases": ("episode_ended", lambda facts: facts["customers"][C1].update(purchases=9), "made 9 purchases"),
    "revenue": (
        "episode_ended",
        lambda facts: facts["businesses"]["business_0001"].update(revenue=1),
        "took in 1 cents",
    ),
    "messages": ("episode_ended", lambda facts: facts.update(messages_void=3), "and 3 are void"),
    "value": ("episode_ended", lambda facts: facts["customers"][C1].update(value=3), "are not those of the scenario"),
    "seats": ("episode_ended", lambda facts: facts["customers"].popitem(), "leave out seats"),
}


@pytest.mark.parametrize("breach", _BREACHES)
def test_a_breach_of_the_books_is_found(kept: Parts, tmp_path: Path, breach: str) -> None:
    kind, change, message = _BREACHES[breach]
    found = _doctored(kept, tmp_path / "a.trace", kind, change)
    assert any(message in one for one in found), found


# --- odd traces -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A market with every kind of event."""
    given_values: dict[str, Any] = {"escrow": True, "reputation": True, "data": {"customers": 2}, "rounds_max": 6}
    return parts_of(play(tmp_path_factory.mktemp("odd") / "a.trace", "random_legal", "random_legal", **given_values))


@given(mutations())
@settings(max_examples=60)
def test_odd_traces_give_findings_and_not_exceptions(
    parts: Parts, tmp_path_factory: pytest.TempPathFactory, changes: list[Mutation]
) -> None:
    path = write_parts(mutated_parts(parts, changes), tmp_path_factory.getbasetemp() / "odd.trace")
    with open_trace(path) as trace:
        found = EVALUATOR.outcomes(trace)
        found.model_dump_json()
        assert charts_of(trace, EVALUATOR)[1] is None
        EVALUATOR.tables(found)


# --- beside references ----------------------------------------------------------------------------------------------


def test_regret_is_told_of_customers_only(tmp_path: Path) -> None:
    runs = {
        f"policy:{who}": outcome(play(tmp_path / who, seats={C1: who})) for who in ("passive", "oracle", "double_payer")
    }
    found = EVALUATOR.relative(C1, runs)
    assert (found["policy:passive"]["normalised_regret"], found["policy:oracle"]["normalised_regret"]) == (1, 0)
    own: MarketplaceSeat = runs["policy:double_payer"].seats[C1]
    assert found["policy:double_payer"]["over_random"] == pytest.approx((own.utility or 0) - (own.random_items or 0))
    assert EVALUATOR.relative("business_0001", runs) == {label: {} for label in runs}


def test_tables_name_baselines_steps_and_the_dearest_losses(tmp_path: Path) -> None:
    tables = EVALUATOR.tables(outcome(play(tmp_path / "a.trace", "double_payer")))
    assert [table.columns[0] for table in tables] == ["choice", "step", "customer"]
    kinds = {row[0]: row[1] for row in tables[0].rows}
    assert kinds["random items"] == "expectation"
    assert kinds["optimal"] == "maximum"
    assert tables[1].rows[0][0] == "in the market"


def test_evaluate_prints_what_everybody_got_beside_the_baselines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = evaluate_file(play(tmp_path / "a.trace", "amenity_blind"))
    assert evaluation.problem is None
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.raised
    show_evaluations([evaluation])
    printed = capsys.readouterr().out
    for words in ("random items + amenities", "expectation", "search by item names", "maximum", "still possible"):
        assert words in printed


def test_of_many_seats_the_first_are_shown_unless_all_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = play(tmp_path / "a.trace", "first_taker", data={"customers": 16})

    def told(*options: str) -> str:
        assert run(["evaluate", str(path), *options]) == 0
        return capsys.readouterr().out

    few, everything = told(), told("--all")
    assert ("customer_0016" in few, "… 56 more rows: --all or --json" in few) == (False, True)
    assert ("business_0048" in everything, "more rows" in everything) == (True, False)


def test_customers_and_businesses_have_a_table_each_of_their_own_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_evaluations([evaluate_file(play(tmp_path / "a.trace"))])
    printed = capsys.readouterr().out.split("most at list:")[0].splitlines()[2:]
    headings = [line.split() for line in printed if line.startswith("seat")]
    # What does not fit into one line stands in a second block, with the names once more.
    assert len(headings) == 3
    assert headings[2][3:] == ["revenue", "orders", "answered"]
    assert not any("–" in line for line in printed)
    assert max(map(len, printed)) <= 80


def test_a_comparison_leaves_out_what_is_of_the_other_role(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seat, others, own, foreign in (
        (C1, ("item_searcher", "amenity_blind"), "utility", ("revenue", "orders")),
        ("business_0001", ("honest", "over_quoter"), "revenue", ("utility", "asked")),
    ):
        for folder, policy in zip("ab", others, strict=True):
            play(tmp_path / seat / folder / "one.trace", seats={seat: policy})
        assert run(["compare", str(tmp_path / seat / "a"), str(tmp_path / seat / "b"), "--seat", seat]) == 0
        printed = capsys.readouterr().out
        assert f"{own} B−A" in printed
        assert not any(word in printed for word in (*foreign, "undefined"))


@pytest.mark.many
def test_four_times_the_seats_take_about_four_times_the_steps(tmp_path: Path) -> None:
    """With something quadratic it would be sixteen times."""

    def steps(customers: int) -> int:
        given_values: dict[str, Any] = {"data": {"customers": customers}, "rounds_max": 6}
        path = play(tmp_path / f"{customers}.trace", **given_values)
        return steps_of(lambda: outcome(path))

    steps(10)
    assert steps(400) < 5 * steps(100)


VALUE = 2_696
PRICES = {0: 1_351, 1: 1_376, 2: 1_434}
"""customer_0001 of mexican_3_9: business 2 has no seating (6.6)."""
OPTIONS = {0: 1_345, 1: 1_320, 2: -1_434}
OFFERS = {
    "third": Offer(2, 1_434, fits=False, visible=10),
    "first": Offer(0, 1_351, fits=True, visible=20),
    "second": Offer(1, 1_376, fits=True, visible=30),
}
"""List-price proposals of 0003, 0001, 0002, one round apart."""


def _record(
    tries: Sequence[tuple[str, int]] = (),
    paid: Sequence[str] = (),
    *,
    seen: Sequence[int] = (0, 1, 2),
    asked: Sequence[int] = (0, 1, 2),
    offers: Mapping[str, Offer] = OFFERS,
    options: Mapping[int, int] = OPTIONS,
) -> CustomerRecord:
    attempts = tuple(Try(name, seq) for name, seq in tries)
    return CustomerRecord(VALUE, options, frozenset(seen), frozenset(asked), offers, attempts, tuple(paid))


def _parts(loss: Loss) -> tuple[int, ...]:
    return loss.query, loss.outreach, loss.offer, loss.impatience, loss.misjudgement, loss.execution


def test_paying_the_first_offer_at_once_costs_what_the_worked_example_says() -> None:
    loss = loss_of(_record([("third", 11)], ["third"]))
    assert (loss.utility, loss.query, loss.outreach, loss.selection, loss.execution) == (-1_434, 0, 0, 2_779, 0)
    assert (loss.offer, loss.impatience, loss.misjudgement) == (0, 1_345, 1_434)
    assert loss.total == 2_779 == 1_345 + 1_434


def test_paying_a_second_time_is_a_loss_of_execution_only() -> None:
    loss = loss_of(_record([("third", 11), ("first", 21)], ["third", "first"]))
    assert (loss.utility, loss.selection, loss.execution) == (-89, 0, 1_434)
    assert loss.total == 1_434 == 1_345 + 89


def test_whoever_never_acted_has_lost_everything_to_the_query() -> None:
    loss = loss_of(_record(seen=(), asked=(), offers={}))
    assert _parts(loss) == (1_345, 0, 0, 0, 0, 0)


def test_a_business_that_was_seen_and_not_asked_is_a_loss_of_outreach() -> None:
    loss = loss_of(_record([("second", 40)], ["second"], asked=(1,), offers={"second": OFFERS["second"]}))
    assert _parts(loss) == (0, 25, 0, 0, 0, 0)


def test_whoever_asks_or_proposes_counts_as_seen() -> None:
    loss = loss_of(_record([("first", 40)], ["first"], seen=(), asked=(), offers={"first": OFFERS["first"]}))
    assert _parts(loss) == (0, 0, 0, 0, 0, 0)


def test_whoever_tries_nothing_has_every_offer_in_hand_at_the_end() -> None:
    assert _parts(loss_of(_record())) == (0, 0, 0, 0, 1_345, 0)


def test_a_payment_that_was_refused_is_tried_and_not_paid() -> None:
    refused = loss_of(_record([("first", 25)]))
    assert _parts(refused) == (0, 0, 0, 0, 0, 1_345)
    # Nothing was paid, so that trying what could only lose is as good as trying nothing.
    assert _parts(loss_of(_record([("third", 11)]))) == (0, 0, 0, 1_345, 0, 0)


def test_the_earliest_try_on_the_best_of_what_was_tried_is_the_decision() -> None:
    twice = loss_of(_record([("second", 31), ("third", 11), ("second", 35)], ["second"]))
    assert _parts(twice) == (0, 0, 0, 0, 25, 0)
    before = {**OFFERS, "better": Offer(0, 1_000, fits=True, visible=33)}
    assert _parts(loss_of(_record([("second", 31), ("second", 35)], ["second"], offers=before))) == (
        0, 0, -351, 351, 25, 0,
    )  # fmt: skip


def test_sellers_who_go_below_list_make_the_term_of_the_offer_negative() -> None:
    cheap = {"first": Offer(0, 1_200, fits=True, visible=20)}
    loss = loss_of(_record([("first", 25)], ["first"], offers=cheap))
    assert (loss.offer, loss.total) == (-151, -151)


def test_a_customer_without_a_match_has_nothing_to_lose_until_it_pays() -> None:
    assert _parts(loss_of(_record(options={}, offers={}))) == (0,) * 6
    useless = {"p": Offer(7, 400, fits=False, visible=5)}
    loss = loss_of(_record([("p", 6)], ["p"], options={}, offers=useless))
    assert (_parts(loss), loss.utility) == ((0, 0, 0, 0, 400, 0), -400)


@st.composite
def records(draw: st.DrawFn, *, posted: bool) -> CustomerRecord:
    """Any history of a customer; `posted`: nobody offers the order below its list price, and only matches fit."""
    value = draw(st.integers(0, 40))
    businesses = range(6)
    places = st.frozensets(st.sampled_from(businesses))
    matches = draw(st.dictionaries(st.sampled_from(businesses), st.tuples(st.integers(0, 30), st.booleans())))
    offers: dict[str, Offer] = {}
    for number in range(draw(st.integers(0, 5))):
        business = draw(st.sampled_from(businesses))
        price, fitting = matches.get(business, (0, False))
        fits = fitting and draw(st.booleans()) if posted else draw(st.booleans())
        least = price if posted and fits else 0
        offers[str(number)] = Offer(business, draw(st.integers(least, 40)), fits, draw(st.integers(0, 9)))
    names = list(offers)
    tried = draw(st.lists(st.sampled_from(names), max_size=4)) if names else []
    tries = tuple(Try(name, offers[name].visible + draw(st.integers(1, 9))) for name in tried)
    paid = tuple(draw(st.lists(st.sampled_from(tried), unique=True))) if tried else ()
    options = {business: value * fitting - price for business, (price, fitting) in matches.items()}
    return CustomerRecord(value, options, draw(places), draw(places), offers, tries, paid)


@given(records(posted=False))
def test_the_terms_always_sum_to_what_was_lost(record: CustomerRecord) -> None:
    loss = loss_of(record)
    assert sum(_parts(loss)) == loss.total == loss.optimum - record.utility
    assert loss.query + loss.outreach + loss.selection + loss.execution == loss.total
    assert all(term >= 0 for term in (loss.query, loss.outreach, loss.impatience, loss.misjudgement, loss.execution))


@given(records(posted=True))
def test_no_term_is_negative_at_list_prices(record: CustomerRecord) -> None:
    assert min(_parts(loss_of(record))) >= 0


# --- bargains -------------------------------------------------------------------------------------------------------


def test_the_shares_of_the_worked_bargain() -> None:
    found = bargains([Trade(0, VALUE, 1_161, 1_054, fits=True)], VALUE - 1_054)
    assert found.buyer_share == Fraction(1_535, 1_642)
    assert found.seller_share == Fraction(107, 1_642)
    assert (found.seller_surplus, found.surplus, found.efficiency) == (107, 1_642, 1)
    assert round(float(found.buyer_share or 0), 4) == 0.9348


def test_a_second_purchase_creates_no_second_value() -> None:
    trades = [Trade(0, 100, 60, 50, fits=True), Trade(0, 100, 45, 40, fits=True), Trade(1, 80, 30, 35, fits=False)]
    found = bargains(trades, 60)
    assert (found.surplus, found.efficiency) == (100 - 50 - 40 - 35, Fraction(-25, 60))
    assert (found.shared, found.buyer_share, found.seller_share) == (2, Fraction(95, 110), Fraction(15, 110))
    assert found.seller_surplus == 10 + 5 - 5


def test_shares_of_nothing_are_undefined() -> None:
    nothing = bargains([], 0)
    assert (nothing.buyer_share, nothing.seller_share, nothing.efficiency, nothing.surplus) == (None, None, None, 0)
    unfit = bargains([Trade(0, 100, 100, 100, fits=True), Trade(1, 100, 9, 5, fits=False)], 20)
    assert (unfit.shared, unfit.buyer_share, unfit.efficiency) == (0, None, Fraction(-5, 20))


# --- assignment -----------------------------------------------------------------------------------------------------


def _by_trying_everything(options: Sequence[Mapping[int, int]], capacity: int) -> int:
    best = 0
    for choice in product(*([None, *worths] for worths in options)):
        orders = [business for business in choice if business is not None]
        if all(orders.count(business) <= capacity for business in orders):
            worth = sum(
                worths[business] for worths, business in zip(options, choice, strict=True) if business is not None
            )
            best = max(best, worth)
    return best


_OPTIONS = st.lists(st.dictionaries(st.integers(0, 3), st.integers(-5, 12), max_size=4), max_size=5)


@given(_OPTIONS, st.integers(1, 3))
def test_the_best_assignment_is_the_best_of_all(options: list[dict[int, int]], capacity: int) -> None:
    assert best_assignment(options, capacity) == _by_trying_everything(options, capacity)


def test_two_who_want_the_same_business_share_what_there_is() -> None:
    assert best_assignment([{0: 10, 1: 9}, {0: 10, 1: 2}], 1) == 19
    assert best_assignment([{0: 10, 1: 9}, {0: 10, 1: 2}], 2) == 20
    assert best_assignment([{0: 10}, {0: 8}], 1) == 10
    assert best_assignment([{0: -3}, {}], 1) == best_assignment([], 1) == 0
