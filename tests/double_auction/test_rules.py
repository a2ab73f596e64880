""""""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tradefair.contract import Closure, EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.errors import SHARED_CODES
from tradefair.double_auction import MARKET
from tradefair.double_auction.rules import DoubleAuction

Open = Callable[..., DoubleAuction]
Close = Callable[[DoubleAuction, Mapping[str, int]], Closure]

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))


@st.composite
def games(draw: st.DrawFn) -> dict[str, Any]:
    """A shape, a seed and two rounds of quotes, None for a forfeit."""
    n_buyers, n_sellers = draw(SHAPES)
    price_max = draw(st.sampled_from([100, 300]))
    quote = st.one_of(st.none(), st.integers(0, price_max))
    count = n_buyers + n_sellers
    rounds = draw(st.lists(st.lists(quote, min_size=count, max_size=count), min_size=2, max_size=2))
    shape = {"n_buyers": n_buyers, "n_sellers": n_sellers, "price_max": price_max, "rounds": 2, "acceptance": "none"}
    return {"seed": draw(st.integers(0, 1000)), "rounds": rounds, "shape": shape}


def _book(market: DoubleAuction, quotes: list[int | None]) -> dict[str, int]:
    return {seat: price for seat, price in zip(market.seats, quotes, strict=True) if price is not None}


@given(games())
@settings(max_examples=20, deadline=None)
def test_what_a_closure_says_is_whole_and_stays_as_it_was(
    open_market: Open, close: Close, game: dict[str, Any]
) -> None:
    market = open_market("bazaar", game["seed"], **game["shape"])
    models: list[BaseModel] = []
    said: list[str] = []
    for quotes in game["rounds"]:
        closure: Any = close(market, _book(market, quotes))
        models += [closure.public, closure.facts]
        said += [closure.public.model_dump_json(), closure.facts.model_dump_json()]
    # Built without validation: what validation makes of the same JSON must have the same fields in the same order.
    read = [type(model).model_validate_json(text) for model, text in zip(models, said, strict=True)]
    assert read == models
    assert [model.model_dump_json() for model in read] == said


@given(games())
@settings(max_examples=80, deadline=None)
def test_every_round_obeys_the_conservation_laws(open_market: Open, close: Close, game: dict[str, Any]) -> None:
    market = open_market("bazaar", game["seed"], **game["shape"])
    values = market.state.private.by_seat
    for quotes in game["rounds"]:
        book = _book(market, quotes)
        facts: Any = close(market, book).facts
        MARKET.check(market)
        gained = sum(values[match.buyer] - values[match.seller] for match in facts.matches)
        assert sum(facts.payoff.values()) == gained == facts.surplus
        assert set(facts.forfeited) == set(market.seats) - book.keys()
        bids = sorted((price for seat, price in book.items() if seat[0] == "B"), reverse=True)
        asks = sorted(price for seat, price in book.items() if seat[0] == "S")
        crossing = sum(bid >= ask for bid, ask in zip(bids, asks, strict=False))
        assert len(facts.matches) == crossing
        for seat in book.keys() - set(facts.through_value):
            assert facts.payoff[seat] >= 0
    assert market.terminated == "terminated:rounds_completed"
    assert sum(market.state.payoff.values()) == sum(market.ending_facts().payoff.values())


@given(games(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_arrival_leaves_no_mark(open_market: Open, close: Close, game: dict[str, Any], mix: Any) -> None:
    first = open_market("bazaar", game["seed"], **game["shape"])
    second = open_market("bazaar", game["seed"], **game["shape"])
    for quotes in game["rounds"]:
        book = _book(first, quotes)
        shuffled = list(book.items())
        mix.shuffle(shuffled)
        assert close(first, book) == close(second, dict(shuffled))
        assert first.digest() == second.digest()


@given(games(), st.integers(0, 11), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_another_quote_changes_no_value_order_or_coin_of_an_unaffected_pair(
    open_market: Open, close: Close, game: dict[str, Any], index: int, price: int
) -> None:
    first = open_market("bazaar", game["seed"], **game["shape"])
    second = open_market("bazaar", game["seed"], **game["shape"])
    assert first.state.private == second.state.private
    for quotes in game["rounds"]:
        book = _book(first, quotes)
        changed = {**book, list(first.seats)[index % len(first.seats)]: price}
        before: Any = close(first, book).facts
        after: Any = close(second, changed).facts
        assert before.quote_order == after.quote_order
        coins = {(match.buyer, match.seller): match for match in before.matches}
        for match in after.matches:
            same = coins.get((match.buyer, match.seller))
            if same is not None and (same.bid, same.ask) == (match.bid, match.ask):
                assert same == match


@given(seed=st.integers(0, 10_000), shape=SHAPES)
@settings(max_examples=40, deadline=None)
def test_truthful_quotes_earn_the_whole_surplus_without_a_loss(
    open_market: Open, close: Close, seed: int, shape: tuple[int, int]
) -> None:
    market = open_market("bazaar", seed, n_buyers=shape[0], n_sellers=shape[1], rounds=1)
    facts: Any = close(market, market.state.private.by_seat).facts
    assert facts.surplus == facts.max_surplus
    assert min(facts.payoff.values()) >= 0
    assert facts.residual_spread is None or facts.residual_spread >= 1


@given(games())
@settings(max_examples=40, deadline=None)
def test_swapped_roles_with_mirrored_luck_mirror_every_result(
    open_market: Open, close: Close, game: dict[str, Any]
) -> None:
    shape = {**game["shape"], "price_max": 100, "rounds": 1}
    market = open_market("bazaar", game["seed"], **shape)
    values = market.state.private.by_seat
    book = {seat: min(price, 100) for seat, price in _book(market, game["rounds"][0]).items()}
    facts: Any = close(market, book).facts

    def other(seat: str) -> str:
        return ("S" if seat[0] == "B" else "B") + seat[1:]

    def mirrored(table: Mapping[str, int]) -> dict[str, int]:
        return {other(seat): 100 - price for seat, price in table.items()}

    flipped = mirrored(values)
    twin = open_market(
        "bazaar",
        n_buyers=shape["n_sellers"],
        n_sellers=shape["n_buyers"],
        rounds=1,
        distribution="explicit",
        chance="recorded",
        **{
            "values.buyers": [flipped[f"B{number + 1}"] for number in range(shape["n_sellers"])],
            "values.sellers": [flipped[f"S{number + 1}"] for number in range(shape["n_buyers"])],
        },
    )
    pairs = [
        {
            "buyer": other(match.seller),
            "seller": other(match.buyer),
            "up": None if match.coin is None else match.coin == "down",
            "maker": other(match.maker),
        }
        for match in facts.matches
    ]
    order = [other(seat) for seat in facts.quote_order]
    payload: dict[str, Any] = {"round": 1, "quote_order": order, "pairs": pairs}
    twin.feed("recorded_chance", payload)
    image: Any = close(twin, mirrored(book)).facts
    assert image.payoff == {other(seat): amount for seat, amount in facts.payoff.items()}
    assert [match.price for match in image.matches] == [100 - match.price for match in facts.matches]
    assert image.residual_spread == facts.residual_spread
    assert (image.surplus, image.max_surplus) == (facts.surplus, facts.max_surplus)


def test_a_quote_is_final_and_a_closed_episode_takes_no_more(open_market: Open, close: Close) -> None:
    market = open_market("smoke", rounds=1)
    market.quote("B1", 50)
    with pytest.raises(IllegalAction, match="already_acted"):
        market.quote("B1", 60)
    with pytest.raises(HarnessFailure, match="not awaited"):
        market.lapse("B1", "deadline")
    with pytest.raises(HarnessFailure, match="no seat is awaited"):
        market.advance()
    close(market, {"B2": 40, "S1": 30})
    assert market.terminated == "terminated:rounds_completed"
    assert market.awaited() == frozenset()
    with pytest.raises(EpisodeOver):
        market.quote("S2", 30)
    with pytest.raises(HarnessFailure):
        market.advance()


def test_a_lapsed_seat_forfeits_the_round_without_a_quote(open_market: Open, close: Close, ask: Any) -> None:
    market = open_market("smoke")
    assert market.lapse("B1", "deadline") == "forfeit_round"
    public: Any = close(market, {"B2": 60, "S1": 20, "S2": 60}).public
    assert public.forfeited == ["B1"]
    assert [quote.trader for quote in public.quotes] == ["B2", "S1", "S2"]
    assert market.state.payoff["B1"] == 0
    assert ask(market, "B1", "view_my_value").rounds_forfeited == 1
    assert market.turn_view("B1").model_dump() == {
        "rounds_left": 2,
        "last_round": {"round": 1, "traded": False, "price": None, "forfeited": True},
    }


def test_a_budget_constraint_refuses_what_otherwise_is_warned_about(open_market: Open, ask: Any, refusal: Any) -> None:
    free, bound = open_market("smoke"), open_market("smoke", budget_constraint=True)
    assert ask(free, "B2", "submit_quote", price=61).warning == "through_value"
    assert ask(free, "S2", "submit_quote", price=49).warning == "through_value"
    assert ask(free, "S1", "submit_quote", price=20).warning is None
    for seat, price in (("B2", 61), ("S2", 49)):
        assert refusal(bound, seat, "submit_quote", price=price).code == "through_value"
    assert ask(bound, "B2", "submit_quote", price=60).warning is None


def test_the_digest_sees_quotes_lapses_values_and_history(open_market: Open, close: Close) -> None:
    def digests(book: dict[str, int], **overrides: Any) -> bytes:
        market = open_market("smoke", **overrides)
        close(market, book)
        return market.digest()

    quotes = {"B1": 50, "B2": 40, "S1": 30, "S2": 60}
    found = [
        digests(quotes),
        digests({**quotes, "B1": 51}),
        digests({seat: price for seat, price in quotes.items() if seat != "B2"}),
        digests(quotes, **{"values.buyers": [91, 60]}),
        digests(quotes, rounds=4),
    ]
    market = open_market("smoke")
    fresh = market.digest()
    market.quote("B1", 50)
    found += [fresh, market.digest()]
    assert len(set(found)) == len(found)
    assert digests(quotes) == found[0]


Ask = Callable[..., Any]

BOOK = {"B1": 80, "B2": 60, "S1": 30, "S2": 70}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("view_my_value", {}),
    ("view_history", {}),
    ("view_book_statistics", {}),
    ("estimate_fill_probability", {"price": 50}),
    ("expected_surplus", {}),
    ("summarize_traders", {}),
]


@pytest.fixture
def played(open_market: Open, close: Close) -> DoubleAuction:
    """The smoke preset with eight rounds, two of them closed: B1 trades with S1 at 55, then nobody."""
    market = open_market("smoke", rounds=8)
    close(market, BOOK)
    close(market, {"B1": 40, "B2": 20, "S1": 45})
    return market


def test_the_nine_tools_are_declared_and_none_takes_a_seat() -> None:
    assert list(MARKET.tools) == [name for name, _ in CALLS] + ["read_messages", "submit_quote", "send_message"]
    for tool in MARKET.tools.values():
        assert "seat" not in tool.parameters.model_fields
        assert tool.description
        assert tool.finish is None
    needed = {category for needs in MARKET.evidence_map.values() for need in needs for category in need.any_of}
    given = {category for tool in MARKET.tools.values() for category in tool.evidence}
    assert needed == given


def test_own_value_and_result(played: DoubleAuction, ask: Ask) -> None:
    assert ask(played, "B1", "view_my_value").model_dump() == {
        "role": "buyer",
        "value": 90,
        "price_max": 100,
        "round": 3,
        "rounds_left": 6,
        "payoff_so_far": 35,
        "rounds_traded": 1,
        "rounds_forfeited": 0,
    }
    assert ask(played, "S2", "view_my_value").rounds_forfeited == 1


def test_history_shows_quotes_trades_and_forfeits_newest_first(played: DoubleAuction, ask: Ask) -> None:
    answer = ask(played, "S2", "view_history")
    assert (answer.total, answer.next_cursor) == (2, None)
    assert [row.round for row in answer.rounds] == [2, 1]
    newest, oldest = (row.model_dump() for row in answer.rounds)
    assert newest["forfeited"] == ["S2"]
    assert newest["totals"] == {"quotes": 3, "trades": 0, "forfeited": 1}
    assert oldest["trades"] == [{"buyer": "B1", "seller": "S1", "bid": 80, "ask": 30, "price": 55}]
    assert oldest["quotes"][0] == {"trader": "B1", "role": "buyer", "price": 80}


def test_history_can_be_narrowed_and_continued(played: DoubleAuction, ask: Ask) -> None:
    only = ask(played, "B1", "view_history", trader="S1", last_round=1)
    assert [quote.trader for quote in only.rounds[0].quotes] == ["S1"]
    assert only.rounds[0].totals.quotes == 4
    page = ask(played, "B1", "view_history", limit=1)
    assert ([row.round for row in page.rounds], page.total, page.next_cursor) == ([2], 2, "round-1")
    rest = ask(played, "B1", "view_history", limit=1, cursor=page.next_cursor)
    assert ([row.round for row in rest.rounds], rest.next_cursor) == ([1], None)
    assert [row.round for row in ask(played, "B1", "view_history", first_round=2).rounds] == [2]


def test_all_seats_that_ask_the_same_get_the_same_object(played: DoubleAuction, ask: Ask, close: Close) -> None:
    for tool, arguments in (
        ("view_history", {"first_round": 2}),
        ("view_book_statistics", {}),
        ("summarize_traders", {}),
    ):
        assert ask(played, "B1", tool, **arguments) is ask(played, "S2", tool, **arguments)
    before = ask(played, "B1", "view_history")
    close(played, BOOK)
    after = ask(played, "B1", "view_history")
    assert [row.round for row in after.rounds] == [3, 2, 1]
    assert after.rounds[1] is before.rounds[0]


def test_book_statistics_per_round_pooled_and_in_depth(played: DoubleAuction, ask: Ask) -> None:
    answer = ask(played, "B1", "view_book_statistics")
    empty, full = (row.model_dump() for row in answer.rounds)
    assert full == {
        "round": 1,
        "bids": 2,
        "asks": 2,
        "best_bid": 80,
        "best_ask": 30,
        "trades": 1,
        "price_min": 55,
        "price_mean": 55.0,
        "price_max": 55,
        "marginal_bid": 80,
        "marginal_ask": 30,
        "residual_spread": 10,
    }
    assert (empty["price_mean"], empty["marginal_bid"], empty["residual_spread"]) == (None, None, 5)
    assert answer.pooled.model_dump() == {"rounds": 2, "trades": 1, "price_mean": 55.0, "price_sd": 0.0}
    assert [(row.price, row.bids, row.asks) for row in answer.depth] == [(20, 1, 0), (40, 1, 0), (45, 0, 1)]
    assert len(ask(played, "B1", "view_book_statistics", window_rounds=1).rounds) == 1


def test_depth_is_pooled_into_forty_bins_when_prices_are_many(open_market: Open, close: Close, ask: Ask) -> None:
    market = open_market("large")
    close(market, {seat: 2 * index for index, seat in enumerate(market.seats)})
    answer = ask(market, "B1", "view_book_statistics")
    assert answer.depth_step == 26
    assert len(answer.depth) <= 40
    assert sum(row.bids for row in answer.depth) == sum(row.asks for row in answer.depth) == 200


def test_fill_belief_counts_from_the_seats_own_side(played: DoubleAuction, ask: Ask) -> None:
    buyer = ask(played, "B2", "estimate_fill_probability", price=60)
    # asks 30 and 45 at or below 60, no matched bid; the unmatched bid 60 of round 1 speaks against
    assert (buyer.supporting, buyer.opposing, buyer.probability, buyer.rounds_used) == (2, 1, 0.666667, 2)
    seller = ask(played, "S2", "estimate_fill_probability", price=40)
    # bids 80, 60, 40 at or above 40; no unmatched ask at or below it
    assert (seller.supporting, seller.opposing, seller.probability) == (3, 0, 1.0)
    assert ask(played, "B2", "estimate_fill_probability", price=20, window_rounds=1).probability == 0.0
    assert ask(played, "S1", "estimate_fill_probability", price=90, window_rounds=1).probability == 0.0


def test_expected_surplus_replays_prices_on_past_quotes(played: DoubleAuction, ask: Ask) -> None:
    answer = ask(played, "B2", "expected_surplus", prices=[60, 45, 81])
    rows = {row.price: row.model_dump() for row in answer.rows}
    # At 45 it ranks behind 80 in round 1 and before 40 in round 2, where it meets 45 itself.
    assert rows[45] == {"price": 45, "fill_share": 0.5, "mean_price_if_filled": 45.0, "mean_surplus": 7.5}
    assert rows[81]["mean_surplus"] == ((60 - 55.5) + (60 - 63)) / 2
    assert answer.best_price == 45
    assert answer.rounds_used == 2
    assert "fixed" in answer.rivals
    default = ask(played, "S1", "expected_surplus")
    assert [row.price for row in default.rows][:2] == [20, 22]
    assert (len(default.rows), default.rows[-1].price) == (25, 60)


def test_trader_summaries_describe_published_behaviour(played: DoubleAuction, ask: Ask) -> None:
    answer = ask(played, "S1", "summarize_traders")
    assert [row.trader for row in answer.traders] == ["B1", "B2", "S1", "S2"]
    assert answer.traders[0].model_dump() == {
        "trader": "B1",
        "role": "buyer",
        "quotes": 2,
        "last": 40,
        "mean": 60.0,
        "min": 40,
        "max": 80,
        "sd": 20.0,
        "mean_abs_change": 40.0,
        "trades": 1,
        "mean_trade_price": 55.0,
    }
    page = ask(played, "S1", "summarize_traders", role="seller", limit=1)
    assert ([row.trader for row in page.traders], page.total, page.next_cursor) == (["S1"], 2, "S2")
    assert ask(played, "S1", "summarize_traders", role="seller", cursor="S2").traders[0].last == 70


def test_a_receipt_names_round_and_price_and_nothing_else(played: DoubleAuction, ask: Ask) -> None:
    receipt = ask(played, "B1", "submit_quote", price=60, round=3)
    assert receipt.model_dump() == {"round": 3, "price": 60, "warning": None}


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("submit_quote", {"price": 101}, "price_out_of_range"),
        ("submit_quote", {"price": 50, "round": 2}, "stale_round"),
        ("submit_quote", {"price": 101, "round": 2}, "stale_round"),
        ("view_history", {"first_round": 3}, "bad_round_range"),
        ("view_history", {"last_round": 3}, "bad_round_range"),
        ("view_history", {"first_round": 2, "last_round": 1}, "bad_round_range"),
        ("view_history", {"cursor": "round-3"}, "bad_round_range"),
        ("view_history", {"first_round": 2, "cursor": "round-1"}, "bad_round_range"),
        ("view_history", {"trader": "B3"}, "unknown_id"),
        ("estimate_fill_probability", {"price": 101}, "price_out_of_range"),
        ("expected_surplus", {"prices": [50, 101]}, "price_out_of_range"),
        ("summarize_traders", {"cursor": "B3"}, "unknown_id"),
        ("summarize_traders", {"role": "seller", "cursor": "B1"}, "unknown_id"),
    ],
)
def test_what_depends_on_scenario_or_state_is_refused_with_a_code_and_a_hint(
    played: DoubleAuction, refusal: Callable[..., Any], tool: str, arguments: dict[str, Any], code: str
) -> None:
    info = refusal(played, "B1", tool, **arguments)
    assert info.code == code
    assert code in MARKET.errors or code in SHARED_CODES


def test_acting_twice_is_refused_for_good(played: DoubleAuction, refusal: Callable[..., Any], ask: Ask) -> None:
    ask(played, "B1", "submit_quote", price=60)
    info = refusal(played, "B1", "submit_quote", price=60)
    assert (info.code, info.retryable) == ("already_acted", False)


@pytest.mark.parametrize(("tool", "arguments"), [call for call in CALLS if MARKET.tools[call[0]].kind == "analysis"])
def test_analysis_before_the_first_close_has_no_history(
    open_market: Open, refusal: Callable[..., Any], tool: str, arguments: dict[str, Any]
) -> None:
    info = refusal(open_market("smoke"), "S1", tool, **arguments)
    assert info.code == "no_history"
    assert "view_my_value" in info.hint


def test_reads_before_the_first_close_are_empty(open_market: Open, ask: Ask) -> None:
    market = open_market("smoke")
    history = ask(market, "B1", "view_history")
    assert (history.rounds, history.total, history.next_cursor) == ([], 0, None)
    assert ask(market, "B1", "view_book_statistics").model_dump() == {
        "rounds": [],
        "pooled": {"rounds": 0, "trades": 0, "price_mean": None, "price_sd": None},
        "depth": [],
        "depth_step": 1,
    }


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("submit_quote", {}),
        ("submit_quote", {"price": True}),
        ("submit_quote", {"price": 50.0}),
        ("submit_quote", {"price": "50"}),
        ("submit_quote", {"price": -1}),
        ("submit_quote", {"price": 10_001}),
        ("submit_quote", {"price": 50, "seat": "B2"}),
        ("submit_quote", {"price": 50, "round": 0}),
        ("view_history", {"limit": 0}),
        ("view_history", {"limit": 101}),
        ("view_history", {"cursor": "S1"}),
        ("view_history", {"cursor": "round-0"}),
        ("view_history", {"cursor": "round-1\n"}),
        ("view_history", {"first_round": 1001}),
        ("summarize_traders", {"cursor": "round-1"}),
        ("summarize_traders", {"role": "all"}),
        ("view_book_statistics", {"window_rounds": 201}),
        ("expected_surplus", {"prices": []}),
        ("expected_surplus", {"prices": [5, 5]}),
        ("expected_surplus", {"prices": list(range(26))}),
    ],
)
def test_constant_bounds_stand_in_the_declaration(
    played: DoubleAuction, ask: Ask, tool: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        ask(played, "B1", tool, **arguments)


@pytest.mark.parametrize(("buyers", "sellers"), [(4, 4), (20, 20), (500, 500)])
def test_default_answers_stay_within_eight_kilobytes(
    open_market: Open, close: Close, ask: Ask, buyers: int, sellers: int
) -> None:
    market = open_market(
        "large", n_buyers=buyers, n_sellers=sellers, price_max=10_000, rounds=120, distribution="uniform"
    )
    for _ in range(12):
        close(market, {seat: (7919 * index) % 10_001 for index, seat in enumerate(market.seats)})
    answers = [ask(market, "B1", tool, **arguments) for tool, arguments in CALLS]
    answers += [market.rules_view("B1"), market.turn_view("B1")]
    assert max(len(answer.model_dump_json()) for answer in answers) <= 8_000


def test_many_seats_get_totals_unless_they_ask_for_rows(
    open_market: Open, close: Close, ask: Ask, refusal: Callable[..., Any]
) -> None:
    market = open_market("large")
    for _ in range(20):
        close(market, dict.fromkeys(market.seats, 500))
    default = ask(market, "B1", "view_history")
    assert len(default.rounds) == 10
    assert all(row.quotes is None and row.totals.quotes == 400 for row in default.rounds)
    assert default.next_cursor == "round-10"
    assert len(ask(market, "B1", "view_history", first_round=20).rounds[0].quotes) == 400
    assert len(ask(market, "B1", "view_history", trader="S7").rounds) == 10
    few = ask(market, "B1", "view_history", limit=5)
    assert len(few.rounds) == 5
    info = refusal(market, "B1", "view_history", limit=20)
    assert info.code == "too_many_rows"
    assert all(name in info.hint for name in ("limit", "first_round", "trader"))
