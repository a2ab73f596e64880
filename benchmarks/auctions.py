"""Episodes of the double auction for measurements of evaluation: by rules and traders alone, no tools and no trace."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from fairground.catalog import load_scenario
from fairground.double_auction.model import DoubleAuctionScenario
from fairground.double_auction.policies import play_fast
from fairground.evaluation.collusion.game import Pairing, Played, PlayedRound, Sent

__all__ = ["CHAT", "SILENT", "fast_game"]

CHAT = "double_auction/collusion"
SILENT = "double_auction/collusion_silent"


def fast_game(scenario: str, seed: int, policies: str | Mapping[str, str], **overrides: JsonValue) -> Played:
    """What a trace of the episode would tell the collusion report. `policies`: one for all, or by seat or role."""
    loaded = load_scenario("double_auction", scenario, overrides)
    assert isinstance(loaded, DoubleAuctionScenario)
    roster = loaded.roster
    by_role = {**dict.fromkeys(roster.buyers, "buyer"), **dict.fromkeys(roster.sellers, "seller")}
    who = {
        seat: policies if isinstance(policies, str) else policies.get(seat, policies.get(role, ""))
        for seat, role in by_role.items()
    }
    market = play_fast(loaded, seed, who)
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
