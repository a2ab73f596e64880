"""The engine itself, not only its parts, re-executes public BAZAAR games."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sample import sample_logs

from tradefair.contract.scenario import build_scenario
from tradefair.double_auction import MARKET
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.trading.game_log import GameLog, read_game


@pytest.fixture(scope="module")
def games() -> list[GameLog]:
    found: list[GameLog] = []
    for path in sample_logs("bazaar"):
        with path.open("rb") as lines:
            found.append(read_game(lines, path.name))
    return found


def _scenario(game: GameLog, chance: str) -> DoubleAuctionScenario:
    assert game.init is not None
    data = game.init.data
    law = "correlated_source" if data.distribution == "correlated" else data.distribution
    content: dict[str, Any] = {
        "id": "double_auction/logged",
        "n_buyers": data.num_buyers,
        "n_sellers": data.num_sellers,
        "rounds": data.num_rounds,
        "distribution": law,
        "chance": chance,
        "seat_order": list(data.agents),
    }
    return build_scenario(DoubleAuctionScenario, content, source=game.name)


def _replayed(game: GameLog, chance: str) -> int:
    """Rounds of the game whose trades, cumulative payoffs and totals the engine reproduces."""
    assert game.init is not None
    market = MARKET.create(_scenario(game, chance), game.init.data.random_seed_value)
    for seat, agent in game.init.data.agents.items():
        assert market.state.private.by_seat[seat] == (agent.valuation if agent.role == "buyer" else agent.cost)
    same = 0
    for logged in game.rounds:
        assert logged.end is not None
        if chance == "recorded":
            market.feed("recorded_chance", logged.recorded(chat=False).payload())
        for row in logged.quotes:
            market.quote(row.agent_id, row.price)
        facts: Any = market.advance().facts
        trades = [(item.buyer, item.seller, item.price, item.maker) for item in facts.matches]
        end = logged.end.data
        same += (
            trades == [(row.buyer_id, row.seller_id, int(row.cleared_price), row.maker_id) for row in logged.trades]
            and facts.cumulative_payoff == end.payoff_map
            and (facts.surplus, facts.max_surplus) == (end.round_surplus, end.max_surplus)
            and facts.quote_order == [row.agent_id for row in logged.quotes]
        )
    MARKET.check(market)
    return same


def test_every_sample_game_is_reproduced_with_recorded_chance(games: list[GameLog]) -> None:
    assert sum(len(game.rounds) for game in games) == sum(_replayed(game, "recorded") for game in games) > 0


def test_games_that_left_the_stream_alone_are_reproduced_from_their_seed(games: list[GameLog]) -> None:
    followed = [game.name for game in games if _replayed(game, "log_maker_draw") == len(game.rounds)]
    assert len(followed) == 7
