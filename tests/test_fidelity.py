"""A published figure and ours: when a row is met, and that nothing differs in silence."""

from __future__ import annotations

import pytest
from benchmarks.fidelity.__main__ import page
from benchmarks.fidelity.row import Row

_INTERVAL = Row("profit", 10.0, 11.0, 9.0, 13.0, "tradefair lab x")
_TOLERANCE = Row("units", 100, 104, 103.0, 105.0, "tradefair lab x", ".0f", within=0.05)
_EXACT = Row("trades", 595, 595, None, None, "tradefair lab x", ".0f")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (_INTERVAL, "in the interval"),
        (_INTERVAL._replace(low=10.5, differs="our stores are smaller"), "our stores are smaller"),
        (_TOLERANCE, "within 5 %"),
        (_TOLERANCE._replace(ours=106, differs="more is sold"), "more is sold"),
        (_EXACT, "equal"),
        (_EXACT._replace(differs="by another count"), "equal; by another count"),
        (Row("sign", "falls", "falls", None, None, "x"), "equal"),
        (Row("range", None, 3.0, 2.0, 4.0, "x", differs="not published"), "not published"),
    ],
)
def test_a_row_says_by_which_measure_it_is_met(row: Row, said: str) -> None:
    assert row.verdict == said


@pytest.mark.parametrize(
    "row", [_INTERVAL._replace(low=10.5), _TOLERANCE._replace(ours=106), _EXACT._replace(ours=594)]
)
def test_a_row_that_differs_in_silence_is_refused(row: Row) -> None:
    with pytest.raises(ValueError, match="nothing says what differs"):
        _ = row.cells


def test_the_page_has_a_table_per_command_and_breaks_at_no_bar() -> None:
    text = page({"retail": [_INTERVAL, _TOLERANCE, _EXACT._replace(what="a | b", command="make demo")]})
    assert text.count("95 % interval | how near |") == 2
    assert "## RetailBench: `retail`" in text
    assert "| a \\| b | 595 | 595 | – | equal |" in text
    assert "| profit | 10.00 | 11.00 | 9.00 to 13.00 | in the interval |" in text
