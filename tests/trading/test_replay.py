"""Our rules re-execute every public game of the sample data folder (double_auction page, 13, "exact replay")."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pytest

from tradefair.trading.chance import Generation, LogSeedChance, RecordedChance
from tradefair.trading.clearing import Match, benchmarks, clear, potentials
from tradefair.trading.game_log import Final, GameLog, Init, LoggedRound
from tradefair.trading.values import Acceptance, LawShape

Logs = dict[str, list[GameLog]]


class PlayedRound(NamedTuple):
    speaking_order: tuple[str, ...] | None
    quote_order: tuple[str, ...]
    matches: list[Match]


class Replay(NamedTuple):
    """One game played again by our rules: luck from its seed (or recorded), quotes from its log."""

    log: GameLog
    init: Init
    final: Final
    values: dict[str, int]
    rounds: list[PlayedRound]

    @property
    def paired(self) -> Iterator[tuple[LoggedRound, PlayedRound]]:
        return zip(self.log.rounds, self.rounds, strict=True)


def seeded(init: Init, generation: Generation = "maker_draw", shape: LawShape | None = None) -> LogSeedChance:
    chat = init.data.communication_enabled
    return LogSeedChance(init.seed, init.roster, init.seat_order, generation, chat=chat, shape=shape)


def play(log: GameLog, generation: Generation = "maker_draw") -> Replay:
    init, final = log.init, log.final
    assert init is not None
    assert final is not None
    chat = init.data.communication_enabled
    chance = RecordedChance(init.seed, init.roster) if init.shares_stream else seeded(init, generation)
    values = chance.limits(init.law, Acceptance()).values
    rounds: list[PlayedRound] = []
    for logged in log.rounds:
        number = logged.number
        if isinstance(chance, RecordedChance):
            chance.feed(logged.recorded(chat=chat).payload())
        speaking_order = chance.speaking_order(number) if chat else None
        quote_order = chance.quote_order(number)
        luck = partial(chance.round_up, number), partial(chance.maker, number)
        rounds.append(PlayedRound(speaking_order, quote_order, clear(logged.bids, logged.asks, quote_order, *luck)))
    return Replay(log, init, final, values, rounds)


@pytest.fixture(scope="module")
def bazaar(sample_logs: Logs) -> list[Replay]:
    return [play(log) for log in sample_logs["bazaar"]]


@pytest.fixture(scope="module")
def collusion(sample_logs: Logs) -> list[Replay]:
    return [play(log) for log in sample_logs["emergent_collusion"]]


@pytest.fixture(scope="module")
def games(bazaar: list[Replay], collusion: list[Replay]) -> list[Replay]:
    return bazaar + collusion


@pytest.fixture(scope="module")
def followed(bazaar: list[Replay]) -> list[Replay]:
    """The BAZAAR games without the five baselines that drew from the game's stream."""
    return [game for game in bazaar if not game.init.shares_stream]


def counts(games: list[Replay]) -> tuple[int, int, int, int]:
    """Games, rounds, trades, half ticks."""
    matches = [match for game in games for played in game.rounds for match in played.matches]
    rounds = sum(len(game.rounds) for game in games)
    return len(games), rounds, len(matches), sum(match.coin is not None for match in matches)


def test_every_public_game_parses_without_a_finding(sample_logs: Logs) -> None:
    assert {study: len(logs) for study, logs in sample_logs.items()} == {
        "bazaar": 16,
        "emergent_collusion": 45,
        "pact": 37,
    }
    assert [finding for logs in sample_logs.values() for log in logs for finding in log.findings] == []


def test_the_samples_hold_the_stated_numbers_of_rounds_trades_and_half_ticks(
    bazaar: list[Replay], collusion: list[Replay], followed: list[Replay]
) -> None:
    assert counts(bazaar) == (16, 480, 523, 217)
    assert counts(collusion) == (45, 360, 264, 98)
    assert counts(followed) == (7, 210, 244, 101)
    assert not any(game.init.shares_stream for game in collusion)


def test_values_and_their_seats_follow_from_the_seed_in_all_games(games: list[Replay]) -> None:
    assert [game.log.name for game in games if game.values == game.init.values] == [game.log.name for game in games]


def test_quote_orders_follow_from_the_seed(followed: list[Replay], collusion: list[Replay]) -> None:
    for game in followed + collusion:
        assert [played.quote_order for played in game.rounds] == [logged.quote_order for logged in game.log.rounds]


def test_logged_speakers_are_a_subsequence_of_the_speaking_order(collusion: list[Replay]) -> None:
    chat_rounds = 0
    for game in collusion:
        for logged, played in game.paired:
            assert played.speaking_order is not None
            assert logged.speakers == tuple(seat for seat in played.speaking_order if seat in logged.speakers)
            chat_rounds += 1
    assert chat_rounds == 360


def test_matches_prices_coins_and_makers_are_those_of_the_log(games: list[Replay]) -> None:
    for game in games:
        for logged, played in game.paired:
            ours = [(m.buyer, m.seller, m.bid, m.ask, m.price, m.coin == "up", m.maker) for m in played.matches]
            assert ours == [
                (t.buyer_id, t.seller_id, t.bid, t.ask, t.cleared_price, t.clearing_random_pick, t.maker_id)
                for t in logged.trades
            ]
            assert all(2 * t.midpoint_exact == t.bid + t.ask for t in logged.trades)


def gains(match: Match, values: dict[str, int]) -> list[tuple[str, int]]:
    return [(match.buyer, values[match.buyer] - match.price), (match.seller, match.price - values[match.seller])]


def test_payoffs_and_round_totals_are_those_of_the_log(games: list[Replay]) -> None:
    for game in games:
        payoffs = dict.fromkeys(game.init.seat_order, 0)
        for logged, played in game.paired:
            paid = [gain for match in played.matches for gain in gains(match, game.values)]
            assert [(row.seat_id, row.delta) for row in logged.payoff_changes] == paid
            for row in logged.payoff_changes:
                assert row.old_payoff == payoffs[row.seat_id]
                payoffs[row.seat_id] += row.delta
                assert row.new_payoff == payoffs[row.seat_id]
            assert logged.end is not None
            data = logged.end.data
            assert data.payoff_map == payoffs
            assert data.clearing_prices == [match.price for match in played.matches]
            assert (data.round_surplus, data.trade_count) == (sum(gain for _, gain in paid), len(played.matches))
        assert game.final.data.final_payoff_map == payoffs


def test_benchmarks_and_final_totals_are_those_of_the_log(games: list[Replay]) -> None:
    for game in games:
        roster, values, data = game.init.roster, game.values, game.final.data
        buyers, sellers = ({seat: values[seat] for seat in side} for side in roster)
        best = benchmarks(buyers.values(), sellers.values(), 100).max_surplus
        ends = [logged.end.data.max_surplus for logged in game.log.rounds if logged.end]
        assert ends == [best] * game.init.data.num_rounds
        assert data.max_surplus == best * len(ends)
        bound = potentials(buyers, sellers)
        assert data.seat_max_potential_surplus_map == bound
        total = sum(gain for r in game.rounds for m in r.matches for _, gain in gains(m, values))
        assert data.total_surplus == total
        assert data.market_efficiency == pytest.approx(total / data.max_surplus, abs=1e-12)
        for seat, share in data.seat_surplus_share_map.items():
            possible = len(ends) * bound[seat]
            assert share == pytest.approx(max(0, data.final_payoff_map[seat]) / possible if possible else 0, abs=1e-12)


@pytest.mark.parametrize(
    ("acceptance", "shape"),
    [
        (Acceptance(min_buyer_value=0), LawShape()),
        (Acceptance(min_buyer_value=2), LawShape()),
        (Acceptance(max_seller_cost=100), LawShape()),
        (Acceptance(), LawShape(jitter=9)),
        (Acceptance(), LawShape(jitter=11)),
        (Acceptance(), LawShape(spread=19)),
        (Acceptance(), LawShape(spread=21)),
        (Acceptance(), LawShape(high_peak_from=81)),
        (Acceptance(), LawShape(centre=51)),
    ],
)
def test_the_samples_refute_every_other_constant(sample_logs: Logs, acceptance: Acceptance, shape: LawShape) -> None:
    inits = [log.init for log in sample_logs["bazaar"] + sample_logs["emergent_collusion"] if log.init]
    redrawn = [seeded(init, shape=shape).limits(init.law, acceptance).values for init in inits]
    assert redrawn != [init.values for init in inits]


def test_the_samples_refute_the_generation_that_draws_no_maker(sample_logs: Logs, followed: list[Replay]) -> None:
    for game in followed:
        other = play(game.log, "maker_order")
        assert [played.quote_order for played in other.rounds] != [logged.quote_order for logged in game.log.rounds]


def test_values_of_the_bilateral_games_follow_from_the_seed_too(sample_logs: Logs) -> None:
    for log in sample_logs["pact"]:
        assert log.init is not None
        assert seeded(log.init).limits(log.init.law, Acceptance()).values == log.init.values
