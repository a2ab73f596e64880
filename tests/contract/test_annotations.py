"""One rule for the hint `destructive`: the act replaces or forfeits something the seat had, or ends its round."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import pytest
from mcp import Client

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Tool
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS, full_table
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server

MARKETS = ("bargaining", "double_auction", "marketplace", "order_book", "pricing", "retail", "supply_chain", "teaching")


class Effect(Enum):
    """What an act does to its seat, and whether that is destructive."""

    ADDS = False
    DECIDES = "its decision of the round or phase is made: none can follow"
    ENDS = "the seat's turn is over"
    REPLACES = "what stood before is gone"
    SPENDS = "money is gone"
    FORFEITS = "an offer, an order or a note is gone"


# By move and not by market: a name stands for one move everywhere.
MOVES: dict[str, Effect] = {
    "add_note": Effect.ADDS,
    "cancel_order": Effect.FORFEITS,
    "claim": Effect.DECIDES,
    "end_today": Effect.ENDS,
    "end_turn": Effect.ENDS,
    "finish": Effect.ENDS,
    "modify_product_price": Effect.REPLACES,
    "pass_turn": Effect.ENDS,
    "pay_proposal": Effect.SPENDS,
    "place_order": Effect.SPENDS,
    "reject_proposal": Effect.FORFEITS,
    "remove_note": Effect.FORFEITS,
    # Talk closes a phase and leaves the round's decision open.
    "say": Effect.ADDS,
    "send_message": Effect.ADDS,
    "send_proposal": Effect.ADDS,
    "set_price": Effect.DECIDES,
    "set_shelf_products": Effect.REPLACES,
    "skip_phase": Effect.ENDS,
    "submit_bids": Effect.REPLACES,
    "submit_offer": Effect.REPLACES,
    "submit_order": Effect.SPENDS,
    "submit_quote": Effect.DECIDES,
    "withdraw_proposal": Effect.FORFEITS,
}


def _acts() -> dict[str, list[Tool]]:
    """Every tool that is no look, by name, of all markets."""
    found: dict[str, list[Tool]] = {}
    tools = [item for name in MARKETS for item in market_type(name).tools.values()]
    for item in (*KERNEL_TOOLS.values(), *tools):
        if not item.read_only:
            found.setdefault(item.name, []).append(item)
    return found


def test_every_move_has_the_hint_of_its_effect_in_every_market() -> None:
    acts = _acts()
    assert acts.keys() == MOVES.keys()
    wrong = [name for name, items in acts.items() if any(item.destructive != bool(MOVES[name].value) for item in items)]
    assert wrong == []


def test_what_ends_the_turn_is_destructive_and_no_look_is() -> None:
    for name in MARKETS:
        for item in full_table(market_type(name)).values():
            assert item.destructive or not item.ends_turn, item.name
            assert not (item.read_only and item.destructive), item.name


def test_one_move_has_one_hint_of_repeating() -> None:
    assert [name for name, items in _acts().items() if len({item.idempotent for item in items}) > 1] == []


@pytest.mark.parametrize(
    ("market", "preset", "seat"), [("double_auction", "smoke", "B1"), ("bargaining", "smoke", "B1")]
)
async def test_clients_read_the_hint(market: str, preset: str, seat: str, tmp_path: Path) -> None:
    kind, scenario = market_type(market), load_scenario(market, preset)
    episode = await new_episode(kind, scenario, 1, plan_seats(kind, scenario, agents=[seat]), tmp_path)
    try:
        async with Client(build_server(episode, seat)) as client:
            listed = {item.name: item.annotations for item in (await client.list_tools()).tools}
    finally:
        await episode.close()
    assert {name: hint.destructive_hint for name, hint in listed.items() if hint and not hint.read_only_hint} == {
        name: bool(MOVES[name].value) for name in listed if name in MOVES
    }
