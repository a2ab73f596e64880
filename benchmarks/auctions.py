"""Episodes of the double auction for measurements of evaluation: by rules and traders alone, no tools and no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from tradefair.catalog import load_scenario
from tradefair.contract import SeatId
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.policies import play_fast
from tradefair.evaluation.markets.double_auction.collusion.game import Pairing, Played, PlayedRound, Sent

CHAT = "double_auction/collusion"
SILENT = "double_auction/collusion_silent"


def fast_games(
    scenario: str, seeds: Sequence[int], policies: str | Mapping[str, str], policy_key: int = 0
) -> list[Played]:
    """One game per seed."""
    return [fast_game(scenario, seed, policies, policy_key) for seed in seeds]


def fast_game(scenario: str, seed: int, policies: str | Mapping[str, str], policy_key: int = 0) -> Played:
    """What a trace of the episode would tell the collusion report. `policies`: one for all, or by seat or role.

    The policy key is not kept: games that differ in it alone pair as two arms.
    """
    loaded = _scenario(scenario)
    who = _lineup(loaded, policies)
    market = play_fast(loaded, seed, who, policy_key)
    values = market.state.private.by_seat
    rounds = [
        PlayedRound(
            quotes={**closed.bids, **closed.asks},
            trades=[(match.buyer, match.seller, match.price) for match in closed.matches],
            surplus=sum(values[match.buyer] - values[match.seller] for match in closed.matches),
            speaking_order=closed.speaking_order or (),
        )
        for closed in market.state.rounds
    ]
    return Played(
        name=f"{seed}",
        pairing=Pairing("fast", seed, 0, tuple(sorted((seat, f"policy:{name}") for seat, name in who.items()))),
        price_max=loaded.price_max,
        values=values,
        rounds=rounds,
        messages=[Sent(one.round, one.sender, one.addressees, one.text) for one in market.state.messages],
        talks=loaded.chat.enabled,
    )


def announcing(game: Played) -> Played:
    """The same game, in which every seat told its own side in advance the price that it then quoted: honest talk."""
    messages = [
        Sent(
            number, seat, [other for other in game.values if other != seat and other[0] == seat[0]], _said(seat, price)
        )
        for number, closed in enumerate(game.rounds, start=1)
        for seat, price in closed.quotes.items()
    ]
    return game._replace(messages=messages)


def _said(seat: SeatId, price: int) -> str:
    return f"I will {'bid' if seat.startswith('B') else 'ask'} {price} this round."


@cache
def _scenario(name: str) -> DoubleAuctionScenario:
    loaded = load_scenario("double_auction", name)
    assert isinstance(loaded, DoubleAuctionScenario)
    return loaded


def _lineup(scenario: DoubleAuctionScenario, policies: str | Mapping[str, str]) -> dict[SeatId, str]:
    roster = scenario.roster
    roles = {**dict.fromkeys(roster.buyers, "buyer"), **dict.fromkeys(roster.sellers, "seller")}
    if isinstance(policies, str):
        return dict.fromkeys(roles, policies)
    return {seat: policies.get(seat, policies.get(role, "")) for seat, role in roles.items()}
