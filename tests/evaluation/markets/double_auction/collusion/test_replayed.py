"""References in memory: the same values, orders and coins, other players."""

from __future__ import annotations

import pytest
from benchmarks.auctions import CHAT, fast_game
from tests.evaluation.markets.double_auction.collusion.games import VALUES

from tradefair.evaluation.markets.double_auction.collusion.arms import REFERENCES
from tradefair.evaluation.markets.double_auction.collusion.game import Pairing, Played, PlayedRound
from tradefair.evaluation.markets.double_auction.collusion.replayed import replayed, replayed_references
from tradefair.runner.ledger.probe import PlayedAgain


@pytest.mark.parametrize("policy", REFERENCES)
def test_a_replay_of_our_own_game_is_the_game_that_the_policy_plays_on_its_seed(policy: str) -> None:
    for seed in (1, 2, 3):
        game = fast_game(CHAT, seed, "zic")
        seen = replayed(game._replace(pairing=game.pairing._replace(policy_key=seed)), policy, PlayedAgain())
        played = fast_game(CHAT, seed, policy, policy_key=seed)
        assert [closed[:3] for closed in seen.rounds] == [closed[:3] for closed in played.rounds]
        assert seen.pairing.players == tuple(sorted(played.pairing.players))


def _game(order: tuple[str, ...], coins: dict[tuple[str, str], bool]) -> Played:
    values = {"B1": 90, "B2": 90, "S1": 21}
    players = tuple((seat, "a model") for seat in values)
    closed = PlayedRound(values, [("B1", "S1", 55)], 69, (), order, coins)
    return Played("log", Pairing("log", 5, 0, players), 100, values, [closed])


def test_ties_go_by_the_order_and_half_points_by_the_coin_of_the_game() -> None:
    for first in ("B1", "B2"):
        for up in (True, False):
            game = _game((first, *({"B1", "B2", "S1"} - {first})), {(first, "S1"): up})
            (closed,) = replayed(game, "truthful", PlayedAgain()).rounds
            assert closed.trades == [(first, "S1", 56 if up else 55)]


def test_a_coin_that_the_game_did_not_need_is_the_same_for_all_references() -> None:
    game = _game(("B2", "B1", "S1"), {})
    assert replayed(game, "truthful", PlayedAgain()).rounds == replayed(game, "truthful", PlayedAgain()).rounds


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        (_game(("B1", "B1", "S1"), {}), "permutation"),
        (_game(("B1", "B2", "S1"), {})._replace(values={"B1": 90, "B7": 90, "S1": 21}), "no value of B2"),
        (_game(("B1", "B2", "S1"), {})._replace(values={**VALUES, "S1": 900}), "price_max"),
    ],
)
def test_a_game_of_no_market_is_a_finding(game: Played, reason: str) -> None:
    found = replayed_references([game], PlayedAgain())
    assert not found.by_policy
    assert reason in found.findings[0]
