"""A peek says what opening the trace says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.report.playing import play

from tradefair.contract import TraceError
from tradefair.tracestore import open_trace, peek


def test_a_peek_is_what_opening_says(tmp_path: Path) -> None:
    game = play(tmp_path / "game.trace", "double_auction/smoke", "zip", seed=4)
    lines = write_parts(parts_of(game), tmp_path / "game.trace.jsonl")
    for path in (game, lines):
        with open_trace(path) as trace:
            assert peek(path).manifest == trace.manifest
    with open_trace(game) as trace:
        closed = trace.closed_head()
    assert closed is not None
    assert peek(game).closed_seq == closed[0]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"no trace", b'{"about":{}}'])
def test_what_is_no_trace_is_said_as_when_it_is_opened(tmp_path: Path, content: bytes) -> None:
    odd = tmp_path / "odd.trace"
    odd.write_bytes(content)
    with pytest.raises(TraceError):
        peek(odd)
    with pytest.raises(TraceError):
        peek(tmp_path / "nowhere.trace")
