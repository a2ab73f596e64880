"""Every market can still be looked at when its episode is over."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from tradefair.catalog import load_scenario, market_type
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats

GAMES: list[tuple[str, str, dict[str, JsonValue]]] = [
    ("double_auction", "smoke", {"rounds": 1}),
    ("double_auction", "collusion", {"rounds": 1}),
    ("bargaining", "pact", {"rounds": 1}),
    ("retail", "smoke", {"horizon_days": 2}),
    ("supply_chain", "duel", {"rounds": 1}),
    ("marketplace", "small_demo", {}),
    ("pricing", "smoke", {}),
    ("order_book", "smoke", {}),
    ("order_book", "asset_short", {"periods": 1}),
    ("teaching", "talk", {"rounds": 1}),
]

# Some analyses refuse what has too little in it, and the service of one is not here.
SAID_SO = ("no_history", "appraisal_unavailable")


@pytest.mark.parametrize(("market", "preset", "overrides"), GAMES)
async def test_what_a_seat_could_read_it_can_read_after_the_end(
    market: str, preset: str, overrides: dict[str, JsonValue], tmp_path: Path
) -> None:
    kind, scenario = market_type(market), load_scenario(market, preset, overrides)
    episode = await new_episode(kind, scenario, 3, plan_seats(kind, scenario), tmp_path)
    while episode.core.ended is None:
        for seat in sorted(episode.core.market.awaited()):
            await episode.lapse(seat, "agent_limit")
    events = episode.core.seq
    # One seat of each role: the others of it read the same.
    seats = {spec.role: seat for seat, spec in episode.core.market.seats.items()}
    read: set[str] = set()
    for seat in seats.values():
        for tool in episode.core.tools(seat).values():
            result = await episode.call(seat, tool.name, {})
            assert result.turn.over
            if not tool.read_only or tool.recorded:
                assert result.error is not None
                assert result.error.code == "episode_over", tool.name
            elif result.status == "invalid":
                assert tool.input_schema["required"]
            else:
                assert result.status == "ok" or (result.error and result.error.code in SAID_SO), tool.name
                read.add(tool.name)
    assert {"view_rules", "view_turn", "await_turn", "view_notes"} < read
    assert episode.core.seq == events
    await episode.close()
