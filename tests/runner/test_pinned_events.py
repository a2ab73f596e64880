"""Scripted episodes of every trading market, pinned byte by byte: what is made cheaper must not change a trace.

A change of rules, policies or events that is meant changes the heads; copy the new ones from the failure.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
import pytest
from pydantic import JsonValue

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.chain import first_hash, next_hash
from tradefair.contract.core import Core, Record
from tradefair.host.setup import SeatPlan, scripted_seats

_SEED = 11
_FIELD = ("gdx_bazaar", "risk_aware_bazaar", "gdx", "kaplan", "adaptive_bazaar", "zip", "forfeiter", "random_legal")
_TALKERS = ("leaker", "obeyer", "promiser", "cartel_sellers", "injector", "random_legal")


def _events(market: str, preset: str, policies: tuple[str, ...], **overrides: JsonValue) -> list[Record]:
    """All events of an episode of policies, named in the market's order of seats."""
    kind = market_type(market)
    scenario = load_scenario(market, preset, overrides)
    core = Core.create(kind, scenario, _SEED)
    seats: Mapping[str, str] = dict(zip(core.market.seats, policies, strict=True))
    scripted = scripted_seats(kind, scenario, SeatPlan(seats), _SEED)
    records = core.start().records
    while core.ended is None:
        records += scripted.run(core)
    return records


@pytest.mark.parametrize(
    ("market", "preset", "policies", "overrides", "head"),
    [
        (
            "double_auction",
            "bazaar",
            _FIELD,
            {"rounds": 8},
            "3e7b802d402ce3386a9cf1af97d4f6652c7d695292c3a9d68b124740cd69408c",
        ),
        (
            "double_auction",
            "collusion",
            _TALKERS,
            {"rounds": 3},
            "dd016b3e727ff321aa2751e026615b598690e6b74fb3beda311e80ce8791a3a7",
        ),
        (
            "bargaining",
            "pact",
            ("boulware", "promise_breaker"),
            {"rounds": 6},
            "14594b581452fec0eb9e53f13d44d57da61b02a5a1fec8e1ef62dc16af4161d8",
        ),
        (
            "supply_chain",
            "duel",
            ("adaptive", "cost_plus", "floor_bidder"),
            {"rounds": 2},
            "12e749708d4ab9b8d9da3d9aa4e1c99918a27dbbc75e06b2f757c45851a1b275",
        ),
    ],
)
def test_a_scripted_episode_has_the_bytes_that_were_written_down(
    market: str, preset: str, policies: tuple[str, ...], overrides: dict[str, JsonValue], head: str
) -> None:
    # Of the events alone: the manifest holds the descriptions of all tools, whose wording may change.
    found = first_hash(market.encode())
    for record in _events(market, preset, policies, **overrides):
        event = orjson.loads(record.body)
        # Who plays is the release's and the runner's word, not the market's.
        event.pop("seating", None)
        found = next_hash(found, orjson.dumps(event) if record.seq == 1 else record.body)
    assert found.hex() == head
