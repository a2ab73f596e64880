"""Three plays a mode: a tiny record just below the row's threshold, one that meets it, one that has twice as many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tradefair.evaluation.modes.judged import Frame, findings_of, look
from tradefair.evaluation.modes.table import ModeTable

BEGINNING = re.compile(r"(?:round|day|period) \d+: \S")
"""How a case's sentence begins: a reader knows at once when it was."""


@dataclass(frozen=True)
class Play:
    """A seat's record as its market reads it, and what the mode says of it: figures as literals, never computed.

    `because` is the sentence of the first case; None where there is no case.
    """

    record: Any
    status: str
    count: int
    of: float
    because: str | None = None
    share: float | None = None
    role: str = "buyer"


def plays_of(table: ModeTable, plays: Mapping[str, Sequence[Play]]) -> Iterator[Any]:
    """Parameters of a test over a whole table; a mode without three plays, or a play without a mode, is an error."""
    assert plays.keys() == table.rows.keys(), plays.keys() ^ table.rows.keys()
    for name, mode in table.rows.items():
        assert len(plays[name]) >= 2 + len(mode.raised), f"{name}: below, one that meets each term, above"
        assert {"raised"} < {play.status for play in plays[name]}, f"{name}: some play must not raise it"
        for number, play in enumerate(plays[name]):
            yield pytest.param(name, play, id=f"{name}-{number}")


def check_play(table: ModeTable, name: str, play: Play, phrases: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """The finding that the mode makes of this record is the expected one, and its sentences can be read."""
    only = replace(table, rows={name: table.rows[name]})
    frame = Frame("", "points", {"A": play.role}, phrases or {})
    (finding,) = findings_of(look(only, {"A": play.record}, frame), [(only, frame)])
    first = finding.cases[0].because if finding.cases else None
    seen = (finding.status, finding.count, finding.of, first)
    assert seen == (play.status, play.count, play.of, play.because), finding.note
    if play.share is not None:
        assert finding.share == pytest.approx(play.share)
    for case in finding.cases:
        assert BEGINNING.match(case.because), case.because
        assert len(case.because) <= 160
        assert not case.because.endswith(".")
    assert "{" not in finding.says
