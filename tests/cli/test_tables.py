"""Tables on terminals of any width: figures and names stand whole, text is wrapped between words."""

from __future__ import annotations

import io

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from tradefair.cli.tables import figures, names, show_pairs, show_table, words

LABEL = "react/policy:careful_reader"
COLUMNS = [*names("manager played by"), *figures("survival_days", "net_worth_final", "gain", "share_of_oracle")]
ROWS = [[LABEL, "14", "5026.33", "2026.33", "1.008"], ["policy:passive", "14", "2440", "-560", "0"]]


def shown(columns: object, rows: object, width: int) -> list[str]:
    out = io.StringIO()
    show_table(Console(file=out, width=width, highlight=False), columns, rows)  # pyright: ignore[reportArgumentType]
    return out.getvalue().splitlines()


def test_no_figure_and_no_name_is_ever_cut() -> None:
    for width in range(1, 121):
        lines = shown(COLUMNS, ROWS, width)
        found = [word for line in lines for word in line.split()]
        assert "…" not in "".join(found)
        assert {cell for row in ROWS for cell in row} <= set(found)
        assert max(map(len, lines)) <= max(width, len(LABEL))


def test_a_wide_terminal_has_a_line_per_row() -> None:
    assert shown(COLUMNS, ROWS, 100) == [
        "                                           net            share",
        "                             survival    worth               of",
        "manager played by                days    final     gain  oracle",
        "react/policy:careful_reader        14  5026.33  2026.33   1.008",
        "policy:passive                     14     2440     -560       0",
    ]


def test_a_narrow_one_has_the_names_above() -> None:
    assert shown(COLUMNS, ROWS, 40) == [
        "manager played by",
        "                net            share",
        "  survival    worth               of",
        "      days    final     gain  oracle",
        "react/policy:careful_reader",
        "        14  5026.33  2026.33   1.008",
        "policy:passive",
        "        14     2440     -560       0",
    ]


def test_figures_that_do_not_fit_come_in_a_second_block_with_the_names_once_more() -> None:
    lines = shown([*names("seat"), *figures("alpha", "beta", "gamma")], [["B1", "1" * 12, "2" * 12, "3" * 12]], 34)
    assert lines == [
        "seat         alpha          beta",
        f"B1    {'1' * 12}  {'2' * 12}",
        "seat         gamma",
        f"B1    {'3' * 12}",
    ]


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
    lines = shown([*names("n", "m"), *figures("f"), *words("t")], rows, width)
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
