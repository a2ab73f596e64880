from __future__ import annotations

import copy
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tradefair.trading.mirror import MirroredPolicy, TraderView

P = 100
PRICES = st.lists(st.integers(0, P), max_size=4)
MAYBE = st.none() | st.integers(0, P)


@dataclass
class Witness:
    """Notes each view that it is shown and bids from it."""

    seen: list[TraderView] = field(default_factory=list[TraderView])

    def quote(self, view: TraderView) -> int | None:
        self.seen.append(copy.deepcopy(view))
        last = [price for prices in view.opp[-1:] for price in prices]
        return None if view.round % 4 == 0 else min([view.value, *last])


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int | None, int | None, list[int], list[int], list[int]]]:
    rounds = st.tuples(MAYBE, MAYBE, PRICES.map(sorted), PRICES.map(sorted), PRICES)
    return draw(st.lists(rounds, max_size=6))


def test_a_seller_is_shown_the_market_in_buyer_terms() -> None:
    view = TraderView(value=30, price_max=P, rounds=5)
    view.close_round(45, 50, [47, 60], [55, 20], [50, 44])
    trader = Witness()
    assert MirroredPolicy(trader).quote(view) == P - 45
    shown = trader.seen[0]
    assert (shown.value, shown.price_max, shown.rounds, shown.round) == (70, P, 5, 2)
    assert (shown.quotes, shown.fills) == ([55], [50])
    assert (shown.own, shown.opp, shown.trades) == ([[53, 40]], [[45, 80]], [[50, 56]])


def test_a_forfeit_stays_a_forfeit_in_the_mirror() -> None:
    view = TraderView(value=30, price_max=P, rounds=5, round=4)
    assert MirroredPolicy(Witness()).quote(view) is None


def test_nothing_that_happened_stays_nothing_in_the_mirror() -> None:
    view = TraderView(value=30, price_max=P, rounds=5)
    view.close_round(None, None, [], [], [])
    trader = Witness()
    MirroredPolicy(trader).quote(view)
    assert (trader.seen[0].quotes, trader.seen[0].fills, trader.seen[0].trades) == ([None], [None], [[]])


@given(st.integers(0, P), histories())
def test_mirrored_twice_a_trader_sees_and_quotes_as_itself(
    value: int, history: list[tuple[int | None, int | None, list[int], list[int], list[int]]]
) -> None:
    view = TraderView(value, P, rounds=len(history) + 1)
    plain, inner = Witness(), Witness()
    twice = MirroredPolicy(MirroredPolicy(inner))
    for past in history:
        assert twice.quote(view) == plain.quote(view)
        view.close_round(*past)
    assert twice.quote(view) == plain.quote(view)
    assert inner.seen == plain.seen


@given(st.integers(0, P), histories())
def test_a_mirror_that_grew_with_the_view_equals_a_fresh_one(
    value: int, history: list[tuple[int | None, int | None, list[int], list[int], list[int]]]
) -> None:
    view = TraderView(value, P, rounds=len(history) + 1)
    grown = Witness()
    grower = MirroredPolicy(grown)
    for past in history:
        grower.quote(view)
        view.close_round(*past)
    grower.quote(view)
    fresh = Witness()
    MirroredPolicy(fresh).quote(view)
    assert grown.seen[-1] == fresh.seen[0]


def test_past_rounds_are_translated_once() -> None:
    view = TraderView(value=30, price_max=P, rounds=5)
    trader = _Keeper()
    policy = MirroredPolicy(trader)
    view.close_round(45, 50, [47], [55], [50])
    policy.quote(view)
    view.close_round(46, None, [47], [55], [])
    policy.quote(view)
    first, second = trader.kept
    assert first is second


class _Keeper:
    def __init__(self) -> None:
        self.kept: list[object] = []

    def quote(self, view: TraderView) -> int | None:
        self.kept.append(view.opp[0])
        return view.value


def test_another_view_starts_another_mirror() -> None:
    trader = Witness()
    policy = MirroredPolicy(trader)
    old = TraderView(value=30, price_max=P, rounds=5)
    old.close_round(45, 50, [47], [55], [50])
    policy.quote(old)
    policy.quote(TraderView(value=10, price_max=P, rounds=5))
    assert (trader.seen[1].value, trader.seen[1].quotes) == (90, [])
