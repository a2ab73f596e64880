"""The source's table of CSα: read strictly, and what `csa_source` makes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tradefair.contract import ScenarioError
from tradefair.evaluation.markets.double_auction import source_table as module
from tradefair.evaluation.markets.double_auction.source_table import (
    Key,
    csa_source,
    published_keys,
    read_source_table,
    source_table,
)
from tradefair.evaluation.markets.double_auction.surplus_alpha import Row, SeatResult, Shape

SHAPE = Shape(4, 4, 30, 100, "correlated_source")
HEAD = "# Where it comes from.\nlaw,role,value_bucket,spread_bucket,mean_share,sd_share,seats\n"
FIRST = "correlated,buyer,60,15,0.4,0.1,12\n"


def test_the_package_has_the_keys_that_the_public_logs_determine() -> None:
    table = source_table()
    assert len(table) == 1_691
    assert table[Key("correlated", "buyer", "10", "35")] == Row(0.002055234, 0.05, 12)
    folder = Path(os.environ.get("TRADEFAIR_DATA", "."), "bazaar")
    if folder.is_dir():
        assert read_source_table((folder / "csa_source_table.csv").read_bytes(), "x") == table


@pytest.mark.parametrize(
    ("row", "line", "field"),
    [
        ("correlated_source,buyer,60,20,0.4,0.1,12", 4, "law"),
        ("correlated,trader,60,20,0.4,0.1,12", 4, "role"),
        ("correlated,buyer,62.5,20,0.4,0.1,12", 4, "value_bucket"),
        ("correlated,seller,105,20,0.4,0.1,12", 4, "value_bucket"),
        ("correlated,buyer,60,22.5,0.4,0.1,12", 4, "spread_bucket"),
        ("correlated,buyer,60,20,x.4,0.1,12", 4, "mean_share"),
        ("correlated,buyer,60,20,nan,0.1,12", 4, "mean_share"),
        ("correlated,buyer,60,20,-0.4,0.1,12", 4, "mean_share"),
        ("correlated,buyer,60,20,0.4,0.04,12", 4, "sd_share"),
        ("correlated,buyer,60,20,0.4,,12", 4, "sd_share"),
        ("correlated,buyer,60,20,0.4,0.1,1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,12,9", 4, "seats"),
        ("correlated,buyer,60,15,0.5,0.1,12", 4, "law"),
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
    assert csa_source(SHAPE, SeatResult("buyer", 11, -300, 20, 34)) == pytest.approx(-0.04110468)
    assert csa_source(SHAPE, SeatResult("buyer", 11, 600, 20, 34)) == 5
    assert csa_source(SHAPE, SeatResult("buyer", 11, 0, 20, 88)) is None
    assert not published_keys(SHAPE._replace(rounds=10))
    assert csa_source(SHAPE._replace(rounds=10), SeatResult("buyer", 11, 0, 20, 34)) is None
    assert csa_source(SHAPE._replace(distribution="correlated_common"), SeatResult("buyer", 11, 0, 20, 34)) is None
