from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.modes.playing import Notes, PlaySeats, Seats, play_episode


@pytest.fixture
def play_seats(tmp_path: Path) -> PlaySeats:
    """A real episode: each seat plays a policy of the market, by its name, or turns of the test's own."""
    count = 0

    def _play(scenario: str, seats: Seats, *, seed: int = 1, notes: Notes = (), **overrides: Any) -> Path:
        nonlocal count
        count += 1
        return play_episode(tmp_path / f"played-{count}.trace", scenario, seats, seed=seed, notes=notes, **overrides)

    return _play
