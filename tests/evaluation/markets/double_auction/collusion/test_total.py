"""Mutated traces: the report is an answer or a sentence about what it could not read, never a crash."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.mutations import (
    DAMAGES,
    Damage,
    Mutation,
    Parts,
    damage,
    mutated_parts,
    mutations,
    parts_of,
    write_parts,
)
from tests.evaluation.playing import played_by

from tradefair.evaluation.markets.double_auction.collusion.reading import read_games
from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report

EXAMPLES = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@cache
def taken_apart(path: Path) -> Parts:
    return parts_of(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ring of two that talks over three rounds."""
    ring = {"S1": "cartel_sellers", "S2": "cartel_sellers"}
    path = tmp_path_factory.mktemp("whole") / "game.trace"
    return played_by(path, "double_auction/collusion", ring, 1, "truthful", rounds=3)


@pytest.mark.many
@EXAMPLES
@given(changes=mutations(), how=st.none() | st.tuples(st.sampled_from(DAMAGES), st.integers(0, 100_000)))
def test_a_spoilt_trace_is_read_or_named(
    whole: Path, tmp_path: Path, changes: Sequence[Mutation], how: Damage | None
) -> None:
    spoilt = write_parts(mutated_parts(taken_apart(whole), changes), tmp_path / "spoilt.trace")
    if how is not None:
        damage(spoilt, how)
    read = read_games([spoilt, whole])
    assert len(read.games) + len(read.findings) == 2
    assert collusion_report(read.games, silent=read.games, references={"zip": read.games}).verdict
