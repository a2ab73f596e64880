"""Clients from elsewhere finish an episode with their default settings, and their traces are reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.interop.environments import Unavailable
from tests.interop.page import Cell
from tests.interop.stacks.model import ScriptedModel
from tests.interop.stacks.run import play
from tests.interop.stacks.table import STACKS, Stack, Transport

pytestmark = pytest.mark.interop

RUNS = [
    pytest.param(stack, transport, id=f"{stack.name}-{transport}") for stack in STACKS for transport in stack.transports
]


@pytest.mark.parametrize(("stack", "transport"), RUNS)
def test_it_plays_an_episode_to_its_end(
    stack: Stack, transport: Transport, tmp_path: Path, record_property: Any
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    try:
        outcome = play(stack, transport, first)
        # Once more: some frameworks give a server 5 seconds to start, which a busy machine may not have.
        if outcome.problem:
            outcome = play(stack, transport, second)
    except Unavailable as reason:
        record_property("cell", Cell(stack.name, transport, f"not tried: {reason}"))
        pytest.skip(str(reason))
    text = outcome.problem or f"finished, {outcome.calls} calls"
    record_property("cell", Cell(stack.name, transport, text, outcome.required))
    assert not outcome.problem, (second / "output.txt").read_text()[-3_000:]


def test_the_model_waits_until_its_turn_has_come_and_fills_in_what_a_schema_requires() -> None:
    model = ScriptedModel()
    schema = {"properties": {"limit": {"type": "integer", "minimum": 1}}, "required": ["limit"]}
    # A framework that makes tools of resources shows one that ends like the tool.
    tools = {"market_await_turn": {}, "resource_market_view_rules": {}, "market_view_rules": schema}
    assert model.next_call("", tools) == ("market_view_rules", {"limit": 1})
    while model.next_call("").tool != "market_await_turn":
        pass
    assert model.next_call('\'turn_over\': True{\\"awaited\\": false, \\"over\\": false}').tool == "market_await_turn"
    assert model.next_call("{'awaited': True, 'over': False}").tool == "view_history"
