"""Tables on terminals of any width: figures and names stand whole, text is wrapped between words."""

from __future__ import annotations

import io
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from tradefair.cli.tables import figures, names, show_pairs, show_table, show_text, words

LABEL = "react/policy:careful_reader"
COLUMNS = [*names("manager played by"), *figures("days survived", "final net worth", "gain", "share of oracle")]
ROWS = [[LABEL, "14", "5026.33", "2026.33", "1.008"], ["policy:passive", "14", "2440", "-560", "0"]]


def shown(columns: object, rows: object, width: int, **how: Any) -> list[str]:
    out = io.StringIO()
    show_table(Console(file=out, width=width, highlight=False), columns, rows, **how)  # pyright: ignore[reportArgumentType]
    return out.getvalue().splitlines()


def test_no_figure_and_no_name_is_ever_cut_and_no_line_is_too_long() -> None:
    cells = {cell for row in ROWS for cell in row}
    for width in range(1, 121):
        for whole in (False, True):
            lines = shown(COLUMNS, ROWS, width, whole=whole)
            found = [word for line in lines for word in line.split()]
            assert not any("…" in word[1:] for word in found)
            # A block keeps the names and at least one figure; without blocks the name alone may be left.
            widest = len(LABEL) + 2 + len("share of oracle") if whole else len(LABEL)
            assert max(map(len, lines)) <= max(width, widest)
            assert not any(line != line.rstrip() for line in lines)
            assert not whole or cells <= set(found)


def test_a_wide_terminal_has_a_line_per_row() -> None:
    assert shown(COLUMNS, ROWS, 100) == [
        "manager played by            days survived  final net worth     gain  share of oracle",
        "react/policy:careful_reader             14          5026.33  2026.33            1.008",
        "policy:passive                          14             2440     -560                0",
    ]


def test_a_narrow_one_loses_columns_from_the_right_and_says_how_many() -> None:
    assert shown(COLUMNS, ROWS, 80, more="--all or --json") == [
        "manager played by            days survived  final net worth     gain",
        "react/policy:careful_reader             14          5026.33  2026.33",
        "policy:passive                          14             2440     -560",
        "… 1 more column: --all or --json",
    ]
    assert shown(COLUMNS, ROWS, 40)[-1] == "… 4 more columns: --json"


def test_whole_figures_that_do_not_fit_come_in_a_second_block_with_the_names_once_more() -> None:
    table = [*names("seat"), *figures("alpha", "beta", "gamma")], [["B1", "1" * 12, "2" * 12, "3" * 12]]
    assert shown(*table, 34, whole=True) == [
        "seat         alpha          beta",
        f"B1    {'1' * 12}  {'2' * 12}",
        "seat         gamma",
        f"B1    {'3' * 12}",
    ]


def test_a_number_stays_with_its_unit_where_a_sentence_is_wrapped() -> None:
    said = "It earned 1,404 points in seat B1: 22 % of what it could (95 % interval 31 to 137), −3 points less."
    for width in range(1, 120):
        out = io.StringIO()
        console = Console(file=out, width=width, highlight=False)
        show_text(console, said, indent="> ")  # pyright: ignore[reportArgumentType]
        lines = out.getvalue().splitlines()
        assert " ".join(line.removeprefix("> ") for line in lines) == said
        for whole in ("1,404 points", "22 %", "(95 %", "−3 points"):
            assert any(whole in line for line in lines)
        assert max(map(len, lines)) <= max(width, len("> 1,404 points"))


def test_text_is_wrapped_beside_its_row_or_beneath_it() -> None:
    columns = [*names("id"), *words("what")]
    rows = [["duel", "one buyer and one seller over thirty rounds"]]
    assert shown(columns, rows, 34) == ["id    what", "duel  one buyer and one seller", "      over thirty rounds"]
    assert shown(columns, rows, 24) == ["id", "duel", "  what: one buyer and", "  one seller over thirty", "  rounds"]


def test_what_a_stranger_wrote_is_never_markup() -> None:
    assert shown(names("seat"), [["[red]B1[/]"]], 40) == ["seat", "[red]B1[/]"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.text("ab._/-é ", max_size=30), min_size=4, max_size=4), max_size=4),
    st.integers(min_value=1, max_value=90),
)
def test_every_cell_is_there_whatever_the_width(rows: list[list[str]], width: int) -> None:
    lines = shown([*names("n", "m"), *figures("f"), *words("t")], rows, width, whole=True)
    for row in rows:
        for cell in row[:3]:
            assert any(cell.strip() in line for line in lines)


def test_pairs_go_side_by_side_where_they_fit() -> None:
    def pairs(width: int) -> list[str]:
        out = io.StringIO()
        console = Console(file=out, width=width, highlight=False)
        show_pairs(console, [("efficiency", "0.682"), ("p lo", "55"), ("q", "1")])  # pyright: ignore[reportArgumentType]
        return out.getvalue().splitlines()

    assert pairs(80) == ["efficiency  0.682  p lo  55", "q           1"]
    assert pairs(20) == ["efficiency  0.682", "p lo        55", "q           1"]
