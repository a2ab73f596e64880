from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.diagnostics.failing import Scripted as ScriptedTurns
from tests.evaluation.diagnostics.playing import Notes, PlaySeats, Seats, with_notes

from fairground.catalog import load_scenario, market_type
from fairground.contract.core import Core
from fairground.contract.market import MarketType
from fairground.contract.policy import Draw, Policy, Turns, TurnView
from fairground.host.scripted import Scripted
from fairground.tracestore import Written, write_trace


@pytest.fixture
def play_seats(tmp_path: Path) -> PlaySeats:
    """A real episode: each seat plays a policy of the market, by its name, or turns of the test's own."""
    count = 0

    def _play(scenario: str, seats: Seats, *, seed: int = 1, notes: Notes = (), **overrides: Any) -> Path:
        nonlocal count
        count += 1
        kind = market_type(scenario.partition("/")[0])
        core = Core.create(kind, load_scenario(kind.name, scenario, overrides), seed)
        makers = {seat: _maker(kind, who, Draw.of(seed, seat)) for seat, who in seats.items()}
        privileged = frozenset(
            seat for seat, who in seats.items() if isinstance(who, str) and kind.policies[who].privileged
        )
        scripted, records = Scripted(makers, privileged=privileged), list(core.start().records)
        while stretch := scripted.run(core):
            records += stretch
        about = {"end_reason": core.ended, "outcome_digest": core.outcome_digest, "privileged": sorted(privileged)}
        path = tmp_path / f"played-{count}.trace"
        write_trace(path, core.manifest, about, [Written(record) for record in records])
        return with_notes(path, notes)

    return _play


def _maker(kind: MarketType, who: str | Callable[[TurnView], Turns], draw: Draw) -> Callable[[], Policy]:
    return partial(kind.policies[who].make, {}, draw) if isinstance(who, str) else partial(ScriptedTurns, who)
