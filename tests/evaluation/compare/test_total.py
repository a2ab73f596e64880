"""Mutated traces: a comparison, a divergence and an account are answers or a TraceError, never a crash."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.evaluation.compare.conftest import PlayInto
from tests.evaluation.mutations import Harm, Parts, harms, parts_of

from tradefair.contract import TraceError, TradefairError
from tradefair.evaluation.compare.comparing import Options, compare_folders
from tradefair.evaluation.compare.divergence import first_divergence
from tradefair.evaluation.read.accounts import account
from tradefair.tracestore import open_trace

SLOWLY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NOTES = [
    ("B1", b'{"kind":"model_call","input_tokens":5,"output_tokens":1,"latency_s":0.5,"cost_usd_micro":3}'),
    ("B1", b'{"kind":"seat_report","stop":"episode_over","prompt":"react/1"}'),
]


@cache
def taken_apart(path: Path) -> Parts:
    parts = parts_of(path)
    parts.notes += NOTES
    return parts


@pytest.fixture
def sides(tmp_path: Path, play_into: PlayInto) -> Path:
    """A folder with the sides a and b, a game in each."""
    for side, policy in (("a", "zic"), ("b", "truthful")):
        play_into(side, policy, 0, overrides={"rounds": 3}).rename(tmp_path / side / "game.trace")
    return tmp_path


@SLOWLY
@given(harm=harms())
def test_a_comparison_with_a_spoilt_trace_is_an_answer_or_a_trace_error(sides: Path, harm: Harm) -> None:
    spoilt = sides / "b" / "game.trace"
    whole = sides / "whole.trace"
    if not whole.exists():
        whole.write_bytes(spoilt.read_bytes())
    harm.write(taken_apart(whole), spoilt)
    for one, other in (("a", "b"), ("b", "a"), ("b", "b")):
        try:
            found = compare_folders(sides / one, sides / other, Options(seats=["B1"]))
        except TradefairError:
            continue
        assert found.model_dump_json()
        assert found.verdict.text
    try:
        with open_trace(sides / "a" / "game.trace") as a, open_trace(spoilt) as b:
            account(b)
            first_divergence(a, b)
    except TraceError:
        pass
