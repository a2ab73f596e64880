from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tradefair.contract import Closure, EpisodeOver, HarnessFailure, IllegalAction
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
