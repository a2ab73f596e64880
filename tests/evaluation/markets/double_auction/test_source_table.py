"""The source's table of CSα: read strictly, and what `csa_source` makes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.csa_fill import filled

from tradefair.contract import ScenarioError
from tradefair.evaluation.markets.double_auction import source_table as module
from tradefair.evaluation.markets.double_auction.source_table import (
    Key,
    SourceRow,
    SourceScore,
    csa_source,
    published_keys,
    read_source_table,
    source_table,
)
from tradefair.evaluation.markets.double_auction.surplus_alpha import SeatResult, Shape

SHAPE = Shape(4, 4, 30, 100, "correlated_source")
HEAD = "# Where it comes from.\nlaw,role,value_bucket,spread_bucket,mean_share,sd_share,seats,basis,error\n"
FIRST = "correlated,buyer,60,15,0.4,0.1,12,solved,0\n"


def test_the_package_has_the_keys_that_the_public_logs_determine_and_fills_the_others() -> None:
    table = source_table()
    solved = {key: row for key, row in table.items() if row.basis == "solved"}
    assert (len(solved), len(table)) == (1_691, 1_691 + 3_629)
    assert solved[Key("correlated", "buyer", "10", "35")] == SourceRow(0.002055234, 0.05, 12, "solved", 0)
    path = Path(os.environ.get("TRADEFAIR_DATA", "."), "bazaar", "csa_source_table.csv")
    if path.is_file():
        told = {line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in "#l"}
        assert told == {",".join(map(str, (*key, *row[:3]))) for key, row in solved.items()}
    # What `python -m benchmarks.csa_fill` writes.
    assert filled(solved)[0] == {key: row for key, row in table.items() if row.basis == "filled"}


def test_a_key_is_filled_from_solved_keys_near_it_and_from_those_of_no_other_law_role_or_kind_of_spread() -> None:
    def row(mean: float) -> SourceRow:
        return SourceRow(mean, 0.1, 16, "solved", 0)

    solved = {Key("uniform", "buyer", str(value), "10"): row(value / 200) for value in range(40, 65, 5)}
    rows, left = filled(solved)
    found = rows[Key("uniform", "buyer", "50", "15")]
    assert found.mean == pytest.approx(0.25, abs=0.01)
    assert found[1:4] == (0.1, 0, "filled")
    assert [key for key, _ in left] == [*solved]
    # Of a straight line the inner keys are predicted well, and the outer ones are drawn to the others.
    errors = [error or 0.0 for _, error in left]
    assert max(errors[1:-1]) < 0.05 < min(errors[0], errors[-1])
    assert errors[2] <= found.error <= max(errors)
    assert {key[:2] for key in rows} == {("uniform", "buyer")}
    # Too far in value or in spread, or without one.
    assert not {"0", "100"} & {key.value_bucket for key in rows if key.spread_bucket == "60"}
    assert "none" not in {key.spread_bucket for key in rows}
    # One that is off its level moves those of its spread more.
    key = Key("uniform", "buyer", "50", "30")
    near, far = Key("uniform", "buyer", "55", "30"), Key("uniform", "buyer", "55", "5")
    moved, _ = filled({**solved, key: row(0.75)})
    assert moved[near].mean - rows[near].mean > moved[far].mean - rows[far].mean


@pytest.mark.parametrize(
    ("row", "line", "field"),
    [
        ("correlated_source,buyer,60,20,0.4,0.1,12,solved,0", 4, "law"),
        ("correlated,trader,60,20,0.4,0.1,12,solved,0", 4, "role"),
        ("correlated,buyer,62.5,20,0.4,0.1,12,solved,0", 4, "value_bucket"),
        ("correlated,seller,105,20,0.4,0.1,12,solved,0", 4, "value_bucket"),
        ("correlated,buyer,60,22.5,0.4,0.1,12,solved,0", 4, "spread_bucket"),
        ("correlated,buyer,60,20,x.4,0.1,12,solved,0", 4, "mean_share"),
        ("correlated,buyer,60,20,nan,0.1,12,solved,0", 4, "mean_share"),
        ("correlated,buyer,60,20,-0.4,0.1,12,solved,0", 4, "mean_share"),
        ("correlated,buyer,60,20,0.4,0.04,12,solved,0", 4, "sd_share"),
        ("correlated,buyer,60,20,0.4,,12,solved,0", 4, "sd_share"),
        ("correlated,buyer,60,20,0.4,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,1,solved,0", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,12,filled,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,1,filled,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,12,9", 4, "basis"),
        ("correlated,buyer,60,20,0.4,0.1,12,solved,0.1", 4, "error"),
        ("correlated,buyer,60,20,0.4,0.1,0,filled,-1", 4, "error"),
        ("correlated,buyer,60,20,0.4,0.1,12,solved,0,9", 4, "error"),
        ("correlated,buyer,60,15,0.5,0.1,12,solved,0", 4, "law"),
        ("", 4, "law"),
        ("# a remark between rows", 4, "law"),
    ],
)
def test_a_damaged_row_is_refused_with_file_line_and_field(row: str, line: int, field: str) -> None:
    with pytest.raises(ScenarioError, match=rf"^mine\.csv, line {line}, {field}: "):
        read_source_table(f"{HEAD}{FIRST}{row}\n{FIRST.replace('60', '65')}".encode(), "mine.csv")


@pytest.mark.parametrize("content", [b"", b"# only a remark\n", HEAD.encode(), b"\xff\xfe\x00", b"law,role\n"])
def test_a_file_of_something_else_is_refused(content: bytes) -> None:
    with pytest.raises(ScenarioError, match=r"^mine\.csv, line \d, law: "):
        read_source_table(content, "mine.csv")


def test_a_changed_digit_in_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DIGEST", "0" * 64)
    with pytest.raises(ScenarioError, match=r"csa_source_table\.csv: the rows are not those of this release"):
        source_table.__wrapped__()


def test_a_score_is_by_the_row_of_the_seats_own_key_and_of_no_coarser_one() -> None:
    # Floored, since losses count as nothing: (0 − .002055234)/.05.
    found = csa_source(SHAPE, SeatResult("buyer", 11, -300, 20, 34))
    assert found == SourceScore(pytest.approx(-0.04110468), "solved", 0)
    most = csa_source(SHAPE, SeatResult("buyer", 11, 600, 20, 34))
    assert most is not None
    assert most.score == 5
    other = csa_source(SHAPE, SeatResult("buyer", 11, 0, 20, 38))
    assert other is not None
    assert other[1:] == source_table()[Key("correlated", "buyer", "10", "40")][3:]
    # Of low costs no solved key is without a spread.
    assert csa_source(SHAPE, SeatResult("seller", 5, 0, 20, None)) is None
    assert not published_keys(SHAPE._replace(rounds=10))
    assert csa_source(SHAPE._replace(rounds=10), SeatResult("buyer", 11, 0, 20, 34)) is None
    assert csa_source(SHAPE._replace(distribution="correlated_common"), SeatResult("buyer", 11, 0, 20, 34)) is None
