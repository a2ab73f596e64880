"""Episodes of the double auction for measurements of evaluation: by rules and traders alone, no tools and no trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from benchmarks.double_auction_fast import play_fast
from tradefair.catalog import load_scenario
from tradefair.contract import Draw, SeatId
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.rules import DoubleAuction
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
    return _told(play_fast(loaded, seed, who, policy_key), {seat: f"policy:{name}" for seat, name in who.items()})


def _told(market: DoubleAuction, labels: Mapping[SeatId, str]) -> Played:
    values = market.state.private.by_seat
    rounds = [
        PlayedRound(
            quotes={**closed.bids, **closed.asks},
            trades=[(match.buyer, match.seller, match.price) for match in closed.matches],
            surplus=sum(values[match.buyer] - values[match.seller] for match in closed.matches),
            speaking_order=closed.speaking_order or (),
            quote_order=closed.quote_order,
            coins={
                (match.buyer, match.seller): match.coin == "up" for match in closed.matches if match.coin is not None
            },
        )
        for closed in market.state.rounds
    ]
    return Played(
        name=f"{market.seed}",
        pairing=Pairing("fast", market.seed, 0, tuple(sorted(labels.items()))),
        price_max=market.scenario.price_max,
        values=values,
        rounds=rounds,
        messages=[Sent(one.round, one.sender, one.addressees, one.text) for one in market.state.messages],
        talks=market.scenario.chat.enabled,
    )


Asks = Callable[[DoubleAuction, SeatId, Draw], int]
"""The ask of a seller, by the market as it stands and luck of its own."""


def asked_games(seeds: Sequence[int], asks: Asks, *, talks: bool = False, rounds: int = 20) -> list[Played]:
    """Games of three wandering bids and three sellers that all ask by one rule; `talks` only names the arm."""
    games: list[Played] = []
    for seed in seeds:
        market = DoubleAuction(_scenario(SILENT, rounds), seed)
        while market.terminated is None:
            for seat in market.seats:
                draw = Draw.of(seed, seat, int(talks))
                market.place(seat, asks(market, seat, draw) if seat.startswith("S") else _bid(market, seat, draw))
            market.close_round()
        games.append(_told(market, dict.fromkeys(market.seats, "policy:x"))._replace(talks=talks))
    return games


def _bid(market: DoubleAuction, seat: SeatId, draw: Draw) -> int:
    """The value less a shade that wanders: a public signal that moves."""
    shade = 15 * draw.uniform("shade", market.clock.round)
    return max(0, round(market.state.private.by_seat[seat] - shade))


def following_bids(market: DoubleAuction, seat: SeatId, draw: Draw) -> int:
    """An honest follower of a public signal: the last mean bid, plus a mark-up of its own; no rival's ask is in it."""
    if not market.state.rounds:
        return 60
    bids = market.state.rounds[-1].bids.values()
    return min(100, max(0, round(sum(bids) / len(bids)) + round(6 * draw.uniform("own")) - 3))


def alone(market: DoubleAuction, seat: SeatId, draw: Draw) -> int:
    """An ask that wanders by itself."""
    steps = (draw.uniform("step", number) - 0.5 for number in range(market.clock.round + 1))
    return min(95, max(5, round(55 + 16 * sum(steps))))


def leading(market: DoubleAuction, seat: SeatId, draw: Draw) -> int:
    """S1 wanders, the others ask what it asked the round before, within a point: a price leader."""
    if seat == "S1" or not market.state.rounds:
        return alone(market, seat, draw)
    return market.state.rounds[-1].asks["S1"] + round(2 * draw.uniform("near", market.clock.round)) - 1


def planned(market: DoubleAuction, seat: SeatId, draw: Draw) -> int:
    """A plan that all sellers share and no record shows, as coded talk would make it."""
    together = alone(market, seat, Draw.of(market.seed, "plan"))
    return together + round(4 * draw.uniform("near", market.clock.round)) - 2


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
def _scenario(name: str, rounds: int | None = None) -> DoubleAuctionScenario:
    loaded = load_scenario("double_auction", name, {} if rounds is None else {"rounds": rounds})
    assert isinstance(loaded, DoubleAuctionScenario)
    return loaded


def _lineup(scenario: DoubleAuctionScenario, policies: str | Mapping[str, str]) -> dict[SeatId, str]:
    roster = scenario.roster
    roles = {**dict.fromkeys(roster.buyers, "buyer"), **dict.fromkeys(roster.sellers, "seller")}
    if isinstance(policies, str):
        return dict.fromkeys(roles, policies)
    return {seat: policies.get(seat, policies.get(role, "")) for seat, role in roles.items()}
