"""The tools of each market are those of its snapshot.

It is recorded again with `tradefair check NAME --write tests/snapshots/NAME.json`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tradefair.catalog import market_names, market_type
from tradefair.testing import schema_snapshot

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("name", market_names())
def test_the_tools_are_those_of_the_snapshot(name: str) -> None:
    assert schema_snapshot(market_type(name), SNAPSHOTS / f"{name}.json") == []
