"""Traders identified in the public logs, asked for each logged quote with the logged past before them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from benchmarks.double_auction_fast import play_fast
from tests.double_auction.seated import RULES, Seated
from tests.sample import sample_logs

from tradefair.catalog import load_scenario
from tradefair.contract import Draw
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.seats.traders_identified import BAZAAR_FIELD
from tradefair.trading.game_log import GameLog, LoggedRound, read_game
from tradefair.trading.mirror import MirroredPolicy, Trader, TraderView


class Asked(NamedTuple):
    """One logged quote beside the trader's, in buyer terms."""

    round: int
    value: int
    logged: int
    ours: int | None


@pytest.fixture(scope="module")
def quotes() -> dict[str, list[Asked]]:
    """By log id, every quote of that baseline in the sample games."""
    found: dict[str, list[Asked]] = defaultdict(list)
    for path in sample_logs("bazaar"):
        with path.open("rb") as lines:
            game = read_game(lines, path.name)
        assert game.init is not None
        for seat, agent in game.init.data.agents.items():
            if not agent.is_llm:
                found[agent.model_name] += _asked(game, seat, RULES[BAZAAR_FIELD[agent.model_name]]())
    return found


def _asked(game: GameLog, seat: str, rule: Trader) -> Iterator[Asked]:
    assert game.init is not None
    buyer = seat.startswith("B")
    trader = Seated(rule, Draw.of(game.init.seed, seat))
    view = TraderView(game.init.values[seat], 100, game.init.data.num_rounds)
    seated = trader if buyer else MirroredPolicy(trader)
    for logged in game.rounds:
        own = logged.bids if buyer else logged.asks
        ours = seated.quote(view)
        if seat in own:
            value, said = _flipped(view.value, buyer), _flipped(own[seat], buyer)
            yield Asked(logged.number, value, said, None if ours is None else _flipped(ours, buyer))
        _show(view, seat, logged, buyer)


def _flipped(price: int, buyer: bool) -> int:
    return price if buyer else 100 - price


def _show(view: TraderView, seat: str, logged: LoggedRound, buyer: bool) -> None:
    bids = sorted(logged.bids.items(), key=lambda item: -item[1])
    asks = sorted(logged.asks.items(), key=lambda item: item[1])
    own, opposite = (bids, asks) if buyer else (asks, bids)
    fills = {trade: row.cleared_price for row in logged.trades for trade in (row.buyer_id, row.seller_id)}
    fill = fills.get(seat)
    view.close_round(
        dict(own).get(seat),
        None if fill is None else int(fill),
        [price for other, price in own if other != seat],
        [price for _, price in opposite],
        [int(row.cleared_price) for row in logged.trades],
    )


AGREEMENT = {
    "truthful": 1.0,
    "shading5": 1.0,
    "shading10": 1.0,
    "linear_eq": 1.0,
    "fictitious": 1.0,
    "gd": 1.0,
    "momentum": 1.0,
    "contrarian": 1.0,
    "regression": 1.0,
    "threat_tit_for_tat": 0.999,
    "sniper": 0.941,
    "mean_reversion": 0.880,
    "enhanced_bayesian": 0.860,
}


@pytest.mark.parametrize("log_id", AGREEMENT)
def test_a_rule_agrees_with_the_logged_quotes_of_its_baseline(quotes: dict[str, list[Asked]], log_id: str) -> None:
    asked = quotes[log_id]
    same = sum(item.logged == item.ours for item in asked)
    assert same >= AGREEMENT[log_id] * len(asked) >= 30 * AGREEMENT[log_id]


def test_every_logged_quote_of_the_exact_rules_is_ours(quotes: dict[str, list[Asked]]) -> None:
    """On the samples all rules but one agree in every quote: 23 seats, 690 quotes (page, 13)."""
    exact = [item for log_id in AGREEMENT if log_id != "mean_reversion" for item in quotes[log_id]]
    assert sum(item.logged == item.ours for item in exact) == len(exact) == 690


def test_zero_intelligence_of_the_logs_never_bids_through_its_value(quotes: dict[str, list[Asked]]) -> None:
    assert all(0 <= item.logged <= item.value for item in quotes["random"])


def test_every_baseline_of_the_logs_has_a_trader(quotes: dict[str, list[Asked]]) -> None:
    assert set(quotes) == set(BAZAAR_FIELD)
    assert set(BAZAAR_FIELD.values()) <= set(POLICIES)


BANDS = {
    "roth_erev_bazaar": (2.0, 3.3),
    "q_learning_bazaar": (8.0, 11.0),
    "bandit_bazaar": (6.0, 8.5),
    "collusive_bazaar": (0.0, 0.3),
}


@pytest.fixture(scope="module")
def shades() -> dict[str, float]:
    """Mean shade v - bid by trader, seats with v >= 20, rounds 5..30, in the bazaar preset among one another."""
    scenario = load_scenario("double_auction", "double_auction/bazaar")
    assert isinstance(scenario, DoubleAuctionScenario)
    seats = [*(f"B{n}" for n in range(1, 5)), *(f"S{n}" for n in range(1, 5))]
    field = sorted(BANDS)
    found: dict[str, list[int]] = defaultdict(list)
    for seed in range(60):
        names = {seat: field[(seed + place) % len(field)] for place, seat in enumerate(seats)}
        market = play_fast(scenario, seed, names)
        for closed in market.state.rounds[4:]:
            for seat, price in {**closed.bids, **closed.asks}.items():
                buyer = seat.startswith("B")
                value, bid = (_flipped(amount, buyer) for amount in (market.state.private.by_seat[seat], price))
                if value >= 20:
                    found[names[seat]].append(value - bid)
    return {name: statistics.mean(values) for name, values in found.items()}


@pytest.mark.parametrize("name", BANDS)
def test_a_law_shades_on_average_as_its_baseline_does(shades: dict[str, float], name: str) -> None:
    low, high = BANDS[name]
    assert low <= shades[name] <= high


def test_the_sniper_counts_its_calendar_from_the_end_of_a_shorter_game() -> None:
    trader, view = Seated(RULES["sniper_bazaar"](), Draw.of(1, "B1")), TraderView(90, 100, 8)
    quotes: list[int | None] = []
    for _ in range(8):
        quotes.append(trader.quote(view))
        view.close_round(quotes[-1], None, [60], [70], [])
    # 48; the calendar's place 24 raises by 2 over the best of its side; the ladder; v - 1 at the end.
    assert quotes == [48, 62, 50, 49, 46, 47, 44, 89]


@pytest.mark.parametrize(
    ("value", "quotes"), [(90, [84, 83, 85]), (50, [46, 45, 47]), (97, [89, 88, 90]), (10, [4, 3, 5])]
)
def test_the_ramp_shades_by_a_sixth_of_the_distance_from_the_middle(value: int, quotes: list[int]) -> None:
    """v - max(4, round(.16 |v - 50|)) - (0, 1, -1): .16 of 40 is 6, of 47 8."""
    trader, view = Seated(RULES["regression_bazaar"](), Draw.of(1, "B1")), TraderView(value, 100, 30)
    made: list[int | None] = []
    for _ in range(3):
        made.append(trader.quote(view))
        view.close_round(made[-1], None, [], [], [])
    assert made == quotes


def test_the_gap_shades_by_what_the_best_ask_stands_above_the_value() -> None:
    trader, view = Seated(RULES["cliff_bazaar"](), Draw.of(1, "B1")), TraderView(40, 100, 30)
    made: list[int | None] = []
    for ask in (30, 47, 95):
        made.append(trader.quote(view))
        view.close_round(made[-1], None, [], [ask], [])
    assert [*made, trader.quote(view)] == [35, 39, 33, 0]


def test_the_calendar_depends_on_an_own_trade_and_before_it_on_the_best_ask() -> None:
    trader, view = Seated(RULES["zic_plus_bazaar"](), Draw.of(1, "B1")), TraderView(50, 100, 30)
    shades: list[int] = []
    for place in range(33):
        quote = trader.quote(view)
        assert quote is not None
        shades.append(50 - quote)
        # Far asks until round 7, then a near one; an own trade in round 9.
        view.close_round(quote, 48 if place == 8 else None, [], [90 if place < 7 else 55], [])
    assert shades[:12] == [5, 3, 1, 2, 3, 0, 3, 1, 5, 4, 5, 6]
    assert shades[30:] == [5, 3, 1], "the calendar begins again after thirty rounds"
