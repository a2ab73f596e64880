"""The ratchet of `tests/budgets.toml`: what is over a row, what `--lower` writes, and what a merge leaves."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import budgets
from tests.budgets import LOWER, Row, Size, faults, lowered, main, merged, read_rows, room_of, rows_in, sizes, written
from tests.source_code import Module, all_modules

HOST = Size(code=900, comments=25, docstrings=75, dense=["host.a.f has 13 branches"])
ROW = Row(900, 1, 25, 75)


def without(size: Size, code: int = 0, comments: int = 0, docstrings: int = 0) -> Size:
    return Size(size.code - code, size.comments - comments, size.docstrings - docstrings, size.dense)


def test_a_module_belongs_to_the_room_of_its_folder() -> None:
    rooms = {
        "host.episode.log": "host.episode",
        "contract.kernel.core": "contract",
        "cli.__main__": "cli",
        "evaluation.outcome": "evaluation",
        "evaluation.modes.judged": "evaluation.modes",
        "evaluation.foreign.importers.readers.otel": "evaluation.foreign",
        "evaluation.markets.pricing.collusion.paths": "evaluation.markets.pricing",
    }
    assert {name: room_of(Module(name, face=name.endswith("__main__"))) for name in rooms} == rooms
    faces = ["host", "host.doors", "evaluation", "evaluation.modes", "evaluation.markets.pricing"]
    assert [room_of(Module(name, face=True)) for name in faces] == faces


def test_every_module_is_counted_in_one_room() -> None:
    modules = all_modules()
    assert sum(size.code for size in sizes(modules).values()) == sum(module.code_lines for module in modules)


def test_a_room_is_measured_in_lines_and_branches() -> None:
    text = '"""Two\n# lines."""\n# why\nx: int\n"""Of x."""\n\n'
    tangled = f"def f() -> bool:\n    return {' or '.join('x' * 13)}\n"
    found = sizes([Module("host.a", text), Module("host.b", tangled)], [Module("tests.a", text)])
    assert found["host"] == Size(code=4, comments=1, docstrings=3, dense=("host.b.f has 13 branches",))
    assert found["host"].row() == Row(code=4, dense=1, comments=30, docstrings=120)
    assert found["tests"].row() == Row(code=2)


@pytest.mark.parametrize(
    ("size", "row", "expected"),
    [
        (HOST, ROW, []),
        (HOST, ROW._replace(code=899), ["host: 900 code lines, 1 over its budget; take lines out of this room"]),
        (HOST, ROW._replace(dense=0), ["host: 1 functions have more than 12 branches, its budget is 0; split"]),
        (HOST, ROW._replace(comments=26), ["host: under 2.6 % of lines are comments; write 1 that say"]),
        (HOST, ROW._replace(docstrings=80), ["host: under 8.0 % of lines are docstrings; write 5 that say"]),
        # Slack of one line does not stay.
        (HOST, ROW._replace(code=901), [f"host: better than its row; {LOWER}"]),
        (HOST, ROW._replace(comments=24), [f"host: better than its row; {LOWER}"]),
    ],
)
def test_a_room_that_is_not_as_its_row_is_named_with_what_to_do(size: Size, row: Row, expected: Sequence[str]) -> None:
    found = faults({"host": row}, {"host": size})
    assert len(found) == len(expected)
    assert all(fault.startswith(start) for fault, start in zip(found, expected, strict=True))


def test_a_room_has_a_row_and_a_row_has_a_room() -> None:
    assert faults({}, {"host": HOST}) == ["host: no row; write one (900 code lines) and lower other rooms by as much"]
    assert faults({"host": ROW}, {}) == [f"host: this room is gone; {LOWER}"]


def test_lowering_writes_what_is_better_and_nothing_that_is_worse() -> None:
    assert lowered({"host": ROW}, {"host": HOST}) == {"host": ROW}
    assert lowered({"host": Row(950, 2, 10, 10)}, {"host": HOST}) == {"host": ROW}
    assert lowered({"host": Row(850, 0, 30, 120)}, {"host": HOST}) == {"host": Row(850, 0, 30, 120)}
    assert lowered({"host": ROW, "gone": ROW}, {"host": HOST, "new": HOST}) == {"host": ROW}
    # A share that is high enough need not rise.
    rich = Size(code=800, comments=100, docstrings=200)
    assert lowered({"host": Row(800, 0, 20, 20)}, {"host": rich}) == {"host": Row(800, 0, 30, 120)}


def test_a_floor_gives_way_to_code_that_left_and_to_nothing_else() -> None:
    # A well explained module is deleted: what stays is no worse than it was.
    assert lowered({"host": ROW}, {"host": without(HOST, code=60, comments=6, docstrings=20)}) == {
        "host": Row(840, 1, 20, 60)
    }
    # Comments were deleted, and a line with them.
    assert lowered({"host": ROW}, {"host": without(HOST, code=1, comments=6)}) == {"host": Row(899, 1, 25, 75)}
    assert faults({"host": Row(899, 1, 25, 75)}, {"host": without(HOST, code=1, comments=6)})[0].startswith(
        "host: under 2.5 % of lines are comments; write 6 that say"
    )


def test_the_file_says_what_was_written() -> None:
    rows = {"evaluation.modes": Row(2449, 5, 30, 120), "host": Row(900, 1, 9, 75), "tests": Row(97_000)}
    assert read_rows(written(rows)) == rows
    assert '["evaluation.modes"]\ncode = 2449\ndense = 5\ncomments = 3.0\ndocstrings = 12.0\n' in written(rows)


def test_what_two_sides_changed_is_added_up() -> None:
    base = {"host": Row(900, 3, 25, 75), "gone": ROW, "tests": Row(1_000)}
    ours = {"host": Row(850, 2, 26, 75), "tests": Row(1_010)}
    theirs = {"host": Row(890, 3, 25, 80), "gone": ROW, "new": Row(40, 0, 30, 120), "tests": Row(1_005)}
    found = merged(base, ours, theirs)
    assert found["host"] == Row(840, 2, 25, 75)
    assert found["tests"] == Row(1_015)
    assert found["new"] == Row(40, 0, 30, 120)


def test_after_a_merge_with_a_conflict_lowering_is_all_that_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*arguments: str, code: int = 0) -> None:
        named = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *named, *arguments], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == code, done.stderr

    def commit(row: Row) -> None:
        path.write_text(written({"host": row}), encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", "Rows")

    path = tmp_path / "budgets.toml"
    git("init", "--quiet", "--initial-branch=main")
    commit(Row(900, 1, 25, 75))
    git("branch", "theirs")
    commit(Row(880, 1, 25, 75))
    git("switch", "--quiet", "theirs")
    commit(Row(870, 1, 25, 75))
    git("merge", "--quiet", "main", code=1)
    assert "<<<<<<<" in path.read_text(encoding="utf-8")
    assert rows_in(path) == {"host": Row(850, 1, 25, 75)}

    monkeypatch.setattr(budgets, "BUDGETS", path)
    monkeypatch.setattr(budgets, "all_modules", lambda: [Module("host.a", "x = 1\n" * 850)])
    monkeypatch.setattr(budgets, "modules_of_tests", list[Module])
    # Its comments are too few: that is said, and not written away.
    assert main(["--lower"]) == 1
    assert read_rows(path.read_text(encoding="utf-8")) == {"host": Row(850, 0, 25, 75)}
    assert "host: under 2.5 % of lines are comments" in capsys.readouterr().out

    path.write_text("<<<<<<< ours\n=======\n>>>>>>> theirs\n", encoding="utf-8")
    git("add", "--all")
    with pytest.raises(SystemExit, match=r"git checkout --merge budgets\.toml"):
        rows_in(path)
