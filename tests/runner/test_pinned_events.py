"""Scripted episodes of every trading market, pinned byte by byte: what is made cheaper must not change a trace.

A change of rules, policies or events that is meant changes the heads; copy the new ones from the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.chain import first_hash, next_hash
from tradefair.contract.kernel.core import Core, Record
from tradefair.host.episode.setup import scripted_seats
from tradefair.host.seats.plans import SeatPlan

_SEED = 11
_FIELD = ("gdx_bazaar", "risk_aware_bazaar", "gdx", "kaplan", "adaptive_bazaar", "zip", "forfeiter", "random_legal")
_TALKERS = ("leaker", "obeyer", "promiser", "cartel_sellers", "injector", "random_legal")
_BARGAINERS, _SUPPLIERS = ("boulware", "promise_breaker"), ("adaptive", "cost_plus", "floor_bidder")
_PINNED = [
    ("double_auction", "bazaar", 8, _FIELD, "8849e630a3915239b9206aa94ac430165c32720cfa57004038e048224039639d"),
    ("double_auction", "collusion", 3, _TALKERS, "fce780a51c22f44ed513c28dd2676766924abe8de61fe247ad8068c5a17ea7a5"),
    ("bargaining", "pact", 6, _BARGAINERS, "7192ad7e86fb59ca9b402e2b0decd242f5a6858a9467070aa16f9f46b52e429f"),
    ("supply_chain", "duel", 2, _SUPPLIERS, "568e6b72da5be82511eaf493de725ce9d6acd30bb134a01670d43bdfcbdae142"),
]


def _events(market: str, preset: str, rounds: int, policies: tuple[str, ...]) -> list[Record]:
    """All events of an episode of policies, named in the market's order of seats."""
    kind = market_type(market)
    scenario = load_scenario(market, preset, {"rounds": rounds})
    core = Core.create(kind, scenario, _SEED)
    seats: Mapping[str, str] = dict(zip(core.market.seats, policies, strict=True))
    scripted = scripted_seats(kind, scenario, SeatPlan(seats), _SEED)
    records = core.start().records
    while core.ended is None:
        records += scripted.run(core)
    return records


@pytest.mark.parametrize(("market", "preset", "rounds", "policies", "head"), _PINNED)
def test_a_scripted_episode_has_the_bytes_that_were_written_down(
    market: str, preset: str, rounds: int, policies: tuple[str, ...], head: str
) -> None:
    # Of the events alone: the manifest holds the descriptions of all tools, whose wording may change.
    found = first_hash(market.encode())
    for record in _events(market, preset, rounds, policies):
        event = orjson.loads(record.body)
        # Who plays is the release's and the runner's word, not the market's.
        event.pop("seating", None)
        found = next_hash(found, orjson.dumps(event) if record.seq == 1 else record.body)
    assert found.hex() == head
