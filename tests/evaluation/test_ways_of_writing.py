"""60.0 for 60 and null for what is left out: however a client writes its calls, the play is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.arguments import event_as_meant
from tradefair.evaluation.evaluate import diagnose, evaluate
from tradefair.evaluation.verify import verify_file
from tradefair.host.episode.setup import new_episode, plan_seats
from tradefair.tracestore import open_trace

Acts = list[tuple[str, dict[str, Any]]]


def _order(number: type[float]) -> dict[str, Any]:
    return {"supplier_id": "supplier_1", "lines": [{"product_id": "P001", "quantity": number(6)}]}


# By market: preset, seat, its acts as whole numbers and as clients of doubles write them.
PLAYS: dict[str, tuple[str, str, Acts, Acts]] = {
    "double_auction": (
        "smoke",
        "B1",
        [("submit_quote", {"price": price}) for price in (90, 20, 99)],
        [("submit_quote", {"price": float(price), "round": None}) for price in (90, 20, 99)],
    ),
    "bargaining": (
        "smoke",
        "B1",
        [("send_message", {}), ("submit_quote", {"price": 90}), ("send_message", {}), ("submit_quote", {"price": 9})],
        [
            ("send_message", {"text": None}),
            ("submit_quote", {"price": 90.0, "round": 1.0}),
            ("send_message", {"text": None, "round": None}),
            ("submit_quote", {"price": 9.0, "round": 2.0}),
        ],
    ),
    "retail": (
        "smoke",
        "manager",
        [("place_order", _order(int)), ("end_today", {}), ("end_today", {"day": 2})],
        [("place_order", _order(float)), ("end_today", {"day": None}), ("end_today", {"day": 2.0})],
    ),
    "pricing": (
        "smoke",
        "F1",
        [("set_price", {"price": price}) for price in (1500, 1473, 900)],
        [("set_price", {"price": float(price), "round": None}) for price in (1500, 1473, 900)],
    ),
    "order_book": (
        "smoke",
        "B1",
        [("submit_order", {"side": "buy", "price": price}) for price in (2, 3, 4)],
        [("submit_order", {"side": "buy", "price": float(price), "quantity": 1.0}) for price in (2, 3, 4)],
    ),
    "supply_chain": (
        "duel",
        "retailer_01",
        [("submit_bids", {"bids": [{"item": "beans", "quantity": 9, "price": 11}]}), ("skip_phase", {})],
        [("submit_bids", {"bids": [{"item": "beans", "quantity": 9.0, "price": 11.0}]}), ("skip_phase", {})],
    ),
}


async def _played(market: str, acts: Acts, folder: Path) -> Path:
    preset, seat = PLAYS[market][:2]
    kind, scenario = market_type(market), load_scenario(market, preset)
    plan = plan_seats(kind, scenario, agents=[seat], others="random_legal")
    episode = await new_episode(kind, scenario, 3, plan, folder)
    try:
        for tool, arguments in acts:
            while not episode.core.awaits(seat) and episode.core.ended is None:
                await episode.await_turn(seat, 5)
            result = await episode.call(seat, tool, arguments)
            assert result.status == "ok", (tool, arguments, result.error)
    finally:
        await episode.close()
    return episode.path


@pytest.mark.parametrize("market", PLAYS)
async def test_doubles_and_nulls_are_the_same_play(market: str, tmp_path: Path) -> None:
    paths = [await _played(market, acts, tmp_path / name) for name, acts in zip("ab", PLAYS[market][2:], strict=True)]
    plain, doubles = (open_trace(path) for path in paths)
    with plain, doubles:
        outcomes = [evaluate(trace).model_dump() for trace in (plain, doubles)]
        assert outcomes[0] == outcomes[1]
        findings = [diagnose(trace).model_dump() for trace in (plain, doubles)]
        assert findings[0] == findings[1]
        # The trace keeps what was sent, and re-execution reproduces it.
        assert any(b".0" in stored.body.partition(b'"read_through"')[0] for stored in doubles.events())
        meant = [
            [event_as_meant(stored.body).get("arguments") for stored in trace.events()] for trace in (plain, doubles)
        ]
        assert len(meant[0]) == len(meant[1])
    assert [verify_file(path).verdict for path in paths] == ["reproduced", "reproduced"]
