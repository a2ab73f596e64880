"""Baselines read off the public games: each rule followed by hand, and all of them asked for logged quotes.

Also here:
- Traders identified in the public logs, asked for each logged quote with the logged past before them.
"""

from __future__ import annotations

import gzip
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.baseline_games import FILE, BaselineGame, read_games
from benchmarks.bazaar_traders import LAWS, NINE, agreement, public_scores, spearman
from benchmarks.double_auction_fast import play_fast
from tests.double_auction.seated import RULES, FixedDraw, Seated
from tests.sample import sample, sample_logs

from tradefair.catalog import load_scenario
from tradefair.contract import Draw, ScenarioError
from tradefair.contract.policy import rule_name
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.seats.traders_identified import BAZAAR_FIELD
from tradefair.double_auction.seats.traders_replayed import REPLAYED_TRADERS
from tradefair.trading.game_log import GameLog, LoggedRound, read_game
from tradefair.trading.mirror import MirroredPolicy, Trader, TraderView

Past = tuple[int | None, Sequence[int], Sequence[int], Sequence[int]]
"""Own fill, own side's other quotes, opposite quotes, prices."""


def _quotes(name: str, value: int, past: Sequence[Past], u: float = 0.5, *, seller: bool = False) -> list[int | None]:
    """The bids of a trader that quotes before each past round and after the last one, in its own terms."""
    trader = Seated(RULES[name](), FixedDraw(u))
    seated = MirroredPolicy(trader) if seller else trader
    view = TraderView(100 - value if seller else value, 100, 30)
    made: list[int | None] = []
    for fill, own, opposite, prices in past:
        made.append(seated.quote(view))
        flip = [100 - price for price in opposite] if seller else list(opposite)
        side = [100 - price for price in own] if seller else list(own)
        paid = None if fill is None else 100 - fill if seller else fill
        view.close_round(made[-1], paid, side, flip, [100 - price for price in prices] if seller else list(prices))
    made.append(seated.quote(view))
    return [None if quote is None else 100 - quote for quote in made] if seller else made


def test_the_sweep_steps_by_its_multiplier_and_narrows_when_it_does_not_trade() -> None:
    """70 - 16807r mod n: n = 36 of half the value first, 29 of two fifths, 26 of .36 after misses in every round."""
    missed: Past = (None, [40], [30], [35])
    expected = [70 - 16807 % 36, 70 - 16807 * 2 % 29, 70 - 16807 * 3 % 26]
    assert _quotes("zic_pure_biased_activity_bazaar", 70, [missed, missed]) == expected
    # A seller gives up round(.08·70) = 6 points at the top, and its window is .39 of what is left.
    assert _quotes("zic_pure_biased_activity_bazaar", 70, [missed, missed], seller=True)[2] == 64 - 16807 * 3 % 26


def test_the_probe_bids_the_best_ask_and_follows_its_side_after_three_clear_misses() -> None:
    missed: Past = (None, [90, 20], [30, 80], [60])
    assert _quotes("adaptive_bazaar", 70, [missed] * 6) == [69, 30, 30, 70, 70, 30, 70]
    # A bid near the best of its side is no clear miss: 69 in round 1, 59 while it follows.
    lower: Past = (None, [60, 20], [30, 80], [45])
    assert _quotes("adaptive_bazaar", 70, [lower] * 6) == [69, 30, 30, 30, 59, 59, 30]
    # Near misses do not count: 29 is two points below the best of its side, 31.
    near: Past = (None, [31], [29, 80], [30])
    assert _quotes("adaptive_bazaar", 70, [near] * 5)[1:] == [29] * 5
    # Until round 9 a seat that has traded bids one above the best of its side; from then on the best ask.
    traded: Past = (50, [60], [30], [50])
    assert _quotes("adaptive_bazaar", 70, [traded] * 10)[1:] == [70] * 8 + [30, 30]


def test_a_midpoint_shade_falls_with_trades_and_rises_with_misses() -> None:
    traded: Past = (40, [], [30], [40])
    quotes = _quotes("enhanced_adaptive_aggressive_bazaar", 50, [traded] * 20)
    # 4 + .08·0 first; at the end .8 + .06·(50 - (49 + 30)/2).
    assert (quotes[0], quotes[-1]) == (46, 49)
    missed: Past = (None, [48], [52], [50])
    assert _quotes("enhanced_adaptive_aggressive_bazaar", 50, [missed] * 9)[-1] == 46
    # 4 + .08·40 before anything was seen.
    assert _quotes("enhanced_adaptive_aggressive_bazaar", 90, []) == [83]
    # Five trades and a miss count three: 4 + .08·1.5 - .6.
    even: Past = (50, [], [50], [50])
    assert _quotes("enhanced_adaptive_aggressive_bazaar", 50, [even] * 5 + [(None, [], [50], [])])[-2:] == [47, 46]


def test_the_ask_curve_gives_two_points_more_before_a_first_trade() -> None:
    quotes = _quotes("penny_jumper_bazaar", 60, [(None, [70], [50], [60]), (55, [70], [50], [60])])
    assert quotes == [60, 50, 48]
    assert _quotes("penny_jumper_bazaar", 60, [(55, [70], [70], [65])])[-1] == 60


def test_a_steady_ask_is_undercut_once_in_four_rounds() -> None:
    steady: Past = (None, [90], [20, 70, 99], [55])
    quotes = _quotes("adversarial_exploiter_bazaar", 80, [steady] * 8)
    # 20 + (80 - 20)/4 = 35, after three rounds of the same asks and again after three of rest.
    assert quotes == [80, 80, 80, 35, 80, 80, 80, 35, 80]
    restless: Sequence[Past] = [(None, [90], [20 + 3 * place], []) for place in range(5)]
    assert set(_quotes("adversarial_exploiter_bazaar", 80, restless)) == {80}


def test_after_a_jump_the_switcher_follows_the_price_and_else_its_side() -> None:
    calm, jumped, fell = ((None, [20], [90], [price]) for price in (50, 70, 40))
    # Calm: v - 1, the best of its side. A jump: (80 + 70)/2. A fall: e = .4·70 + .6·40, 66 less 15. Then up by 1.
    assert _quotes("regime_switcher_bazaar", 80, [calm, jumped, fell, fell]) == [80, 79, 75, 51, 52]
    # A better rival holds it at v - 1, and from round 4 on it does not quote the same twice.
    outbid: Past = (None, [90], [60], [75])
    assert _quotes("regime_switcher_bazaar", 80, [outbid] * 5) == [80, 79, 79, 78, 79, 78]
    assert _quotes("regime_switcher_bazaar", 52, [outbid] * 5) == [52, 51, 51, 51, 51, 51]


def test_the_jammer_hides_the_probe_within_six_points() -> None:
    missed: Past = (None, [66], [30], [45])
    assert _quotes("signal_jammer_bazaar", 70, [missed] * 2, 0.99) == [67, 64, 64]
    assert _quotes("signal_jammer_bazaar", 70, [(None, [90], [80], [85])], 0.1) == [70, 69]


def test_the_reply_or_match_chooses_by_its_draw() -> None:
    past: Sequence[Past] = [(None, [55], [30, 80], [45])]
    assert _quotes("gdx_bazaar", 70, past, 0.05) == [69, 30]
    assert _quotes("gdx_bazaar", 70, past, 0.5) == [69, 69]
    assert _quotes("gdx_bazaar", 20, past, 0.05) == [19, 20], "nothing to gain: the best of its side, at most v"


def test_the_sampler_bids_by_table_first_and_takes_the_price_it_imagines() -> None:
    # All thirty samples are the price itself.
    assert _quotes("risk_aware_bazaar", 70, [(None, [60], [40], [50])]) == [59, 50]
    assert _quotes("risk_aware_bazaar", 40, [(None, [60], [40], [50])]) == [19, 40], "no sample within v"


@pytest.mark.parametrize("name", map(rule_name, REPLAYED_TRADERS))
def test_bids_stay_within_the_value_on_every_grid_and_with_an_empty_past(name: str) -> None:
    for value, top in ((0, 100), (1, 100), (100, 100), (640, 1000)):
        trader, view = Seated(RULES[name](), Draw.of(1, "B1")), TraderView(value, top, 60)
        for place in range(45):
            quote = trader.quote(view)
            assert quote is not None
            assert 0 <= quote <= value
            empty = place % 3 == 0
            # Rounds without any quote, and without an own one.
            view.close_round(
                None if empty else quote, None, [] if empty else [top // 2], [] if empty else [place * top // 50], []
            )


# --- the public games ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def games() -> list[BaselineGame]:
    """Every third game of the half that no rule was read off."""
    return [game for game in read_games(sample(str(FILE))) if game.half == "test"][::3]


@pytest.mark.parametrize("player", NINE)
def test_rules_and_laws_agree_with_games_that_they_were_not_read_off(games: list[BaselineGame], player: str) -> None:
    found = agreement(games, player)
    assert found.rounds > 500
    if player in LAWS:
        # The agreed distance is .1, and a round of this sample has thirty seats only.
        assert found.distance < 0.1
    else:
        assert found.within >= 0.9


def test_scores_of_the_public_games_tell_the_random_baseline_from_the_others(games: list[BaselineGame]) -> None:
    means = public_scores(games)
    assert set(means) == set(BAZAAR_FIELD)
    # The two that published games rank last by far.
    assert max(means["random"], means["adaptive"]) < sorted(means.values())[len(means) // 2]
    assert spearman(means, means) == pytest.approx(1)


QUOTES = f'"quotes":{{"B1":{[50] * 30},"S1":{[40] * 30}}}'
GAME = (
    '{"game":"g_1","law":"uniform","seats":{"B1":{"role":"buyer","value":60,"player":"gdx"},'
    '"S1":{"role":"seller","value":30,"player":"llm"}},' + QUOTES + ',"trades":[[1,"B1","S1",45.0]]}\n'
)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"law"', '"distribution"', "law"),
        ('"uniform"', '"log"', "law"),
        ('"value":60', '"value":160', "seats.B1.value"),
        ('"S1",45.0', '"S1",45.5', "trades.0.3"),
        ('"S1":[40', '"S2":[40', "the whole line"),
        ('[1,"B1","S1"', '[31,"B1","S1"', "trades.0.0"),
        ('[1,"B1","S1"', '[1,"S1","B1"', "the whole line"),
        ('"game":"g_1",', "", "game"),
        ("]]}", "]]", "the whole line"),
    ],
)
def test_a_damaged_line_or_another_version_is_refused_with_file_line_and_field(
    tmp_path: Path, old: str, new: str, field: str
) -> None:
    path = tmp_path / "games.jsonl.gz"
    path.write_bytes(gzip.compress((GAME + GAME.replace(old, new)).encode()))
    with pytest.raises(ScenarioError, match=rf"^games\.jsonl\.gz, line 2, {field}: "):
        list(read_games(path))


def test_a_file_that_is_no_archive_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl.gz"
    path.write_text(GAME)
    with pytest.raises(ScenarioError, match=r"^games\.jsonl\.gz, line 1, the whole line: "):
        list(read_games(path))
    path.write_bytes(gzip.compress(GAME.encode())[:-20])
    with pytest.raises(ScenarioError, match=r"^games\.jsonl\.gz, line \d, the whole line: "):
        list(read_games(path))


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
