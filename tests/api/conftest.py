"""What the tests of the Python face share: the calls of a recorded policy, and agents that make them again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tradefair.api as tf

Calls = Mapping[tuple[int, str], list[tuple[str, dict[str, Any]]]]
"""(round, phase) -> tool and arguments of each call."""

DUEL = "double_auction/duel"
FEW = {"rounds": 4}


def calls_of(trace: tf.Trace, seat: str) -> Calls:
    """What a seat called in each of its turns."""
    found: dict[tuple[int, str], list[tuple[str, dict[str, Any]]]] = {}
    for event in trace.events():
        if event["event"] == "tool_called" and event["seat"] == seat:
            found.setdefault((event["round"], event["phase"]), []).append((event["tool"], event["arguments"]))
    return found


def copying(calls: Calls) -> tf.Agent:
    """An agent that makes these calls."""

    async def copy(seat: tf.Seat) -> None:
        async for turn in seat:
            for tool, arguments in calls[turn.round, turn.phase]:
                await seat.call(tool, **arguments)

    return copy


async def truthful(seat: tf.Seat) -> None:
    """Quotes its own value in each round."""
    async for _ in seat:
        own = await seat.call("view_my_value")
        await seat.call("submit_quote", price=own["value"])


@pytest.fixture
def duel(tmp_path: Path) -> tf.Trace:
    """Four rounds of the double auction's duel, played by a policy."""
    return tf.play("double_auction", scenario=DUEL, seed=3, agent="policy:zip", settings=FEW, folder=tmp_path / "duel")
