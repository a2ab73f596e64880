"""References in memory: scripted seats on the values, orders and coins of games that were played, imported ones too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import cast

from pydantic import JsonValue, ValidationError

from tradefair.contract import Chance, SeatId, TradefairError
from tradefair.double_auction.model import DoubleAuctionScenario, ExplicitValues
from tradefair.double_auction.rules import DoubleAuction
from tradefair.evaluation.collusion import Replayer
from tradefair.evaluation.markets.double_auction.collusion.arms import REFERENCES, References
from tradefair.evaluation.markets.double_auction.collusion.game import Played, PlayedRound
from tradefair.evaluation.progress import Progress, watched
from tradefair.trading.chance import KeyedTradingChance, RecordedPair, RecordedRound
from tradefair.trading.clearing import Pair
from tradefair.trading.values import Roster


def replayed_references(games: Sequence[Played], replayer: Replayer, progress: Progress | None = None) -> References:
    """Each reference on all seats of each game, on its luck; a game that cannot be replayed is a finding."""
    played: dict[str, list[Played]] = {policy: [] for policy in REFERENCES}
    findings: list[str] = []
    for game in watched(games, progress, lambda game: game.name):
        try:
            for policy in REFERENCES:
                played[policy].append(replayed(game, policy, replayer))
        # What a trace says may be no game of these rules, a forged order for instance.
        except (TradefairError, ValidationError) as error:
            findings.append(f"{game.name}: no references: {str(error)[:200]}")
    return References({policy: of for policy, of in played.items() if of}, findings)


def replayed(game: Played, policy: str, replayer: Replayer) -> Played:
    """The game with this policy on every seat, silent, on the values, orders and coins of the game.

    A coin that the game did not need is the one of its seed, round and pair: all references have the same. Raises
    TradefairError or ValidationError where the game is none of these rules.
    """
    buyers = [seat for seat in game.values if seat.startswith("B")]
    roster = Roster.of(len(buyers), len(game.values) - len(buyers))
    scenario = DoubleAuctionScenario(
        id="double_auction/replayed",
        description="",
        n_buyers=len(roster.buyers),
        n_sellers=len(roster.sellers),
        rounds=len(game.rounds),
        price_max=game.price_max,
        distribution="explicit",
        values=ExplicitValues(
            buyers=tuple(_value(game, seat) for seat in roster.buyers),
            sellers=tuple(_value(game, seat) for seat in roster.sellers),
        ),
        chance="recorded",
    )
    pairing, luck = game.pairing, _luck(game, roster)
    market = cast("DoubleAuction", replayer.on_luck(scenario, pairing.seed, policy, pairing.policy_key, luck))
    rounds = [
        PlayedRound(
            quotes={**closed.bids, **closed.asks},
            trades=[(match.buyer, match.seller, match.price) for match in closed.matches],
            surplus=sum(game.values[match.buyer] - game.values[match.seller] for match in closed.matches),
        )
        for closed in market.state.rounds
    ]
    players = tuple((seat, f"policy:{policy}") for seat in sorted(game.values))
    return game._replace(pairing=game.pairing._replace(players=players), rounds=rounds, messages=(), talks=False)


def _value(game: Played, seat: SeatId) -> int:
    if seat not in game.values:
        raise TradefairError(f"no value of {seat}")
    return game.values[seat]


def _luck(game: Played, roster: Roster) -> list[JsonValue]:
    """Each round's order and a coin for every pair: other quotes make other pairs."""
    keyed = KeyedTradingChance(Chance(game.pairing.seed), roster)
    luck: list[JsonValue] = []
    for number, closed in enumerate(game.rounds, start=1):
        pairs = [
            # The maker is a label without any effect on play.
            RecordedPair(
                buyer=buyer,
                seller=seller,
                up=closed.coins.get((buyer, seller), keyed.round_up(number, Pair(buyer, seller))),
                maker=buyer,
            )
            for buyer, seller in product(roster.buyers, roster.sellers)
        ]
        luck.append(RecordedRound(round=number, quote_order=list(closed.quote_order), pairs=pairs).payload())
    return luck
