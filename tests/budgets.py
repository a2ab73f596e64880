"""Sizes of the rooms of the code, held by `tests/budgets.toml`: they fall and never rise.

    python -m tests.budgets            the rooms beside their rows
    python -m tests.budgets ROOM       the functions of a room that have more than 12 branches
    python -m tests.budgets --lower    writes what became smaller, rows of rooms that are gone left out

After a merge `--lower` is all that is needed, in a file with a conflict too. Nothing writes a larger number: a change
that needs more in one room raises that row by hand and lowers another in the same commit (`release/commits.py`).
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.source_code import REPO, Module, all_modules, modules_of_tests

BUDGETS = REPO / "tests" / "budgets.toml"
TESTS = "tests"
MOST_BRANCHES, DENSE = 20, 12
MOST_FLOOR = {"comments": 30, "docstrings": 120}
"""From where a share needs not rise, in tenths of a per cent of all lines."""
LEAVES_WITH_CODE = {"comments": 10, "docstrings": 2}
"""A floor gives way where code left: one missing line for each so many lines of code. What left may have been better
explained than the rest, and what stays is then no worse than it was."""
HEADER = """\
# What each room of the code may have (tests/budgets.py), and has: `python -m tests.budgets --lower` writes these
# numbers, smaller ones only. A larger one is written by hand, with a smaller one elsewhere in the same commit.
#   code        lines without docstrings and comments; most
#   dense       functions with more than 12 branches, expressions counted; most
#   comments    per cent of lines; least, may rise to 3
#   docstrings  per cent of lines; least, may rise to 12
"""
LOWER = "run python -m tests.budgets --lower"


class Row(NamedTuple):
    """A row of the file. Shares are in tenths of a per cent; the row of the tests has none."""

    code: int
    dense: int = 0
    comments: int | None = None
    docstrings: int | None = None


class Size(NamedTuple):
    """What a room has: lines, and the names of its functions of more than 12 branches."""

    code: int
    comments: int
    docstrings: int
    dense: Sequence[str] = ()
    tests: bool = False

    def row(self) -> Row:
        """The row that holds this room at exactly what it has."""
        if self.tests:
            return Row(self.code)
        return Row(self.code, len(self.dense), self.floor("comments"), self.floor("docstrings"))

    def floor(self, share: str) -> int:
        """Tenths of a per cent, rounded down, at most where the floor needs not rise."""
        lines = self.code + self.comments + self.docstrings
        return min(MOST_FLOOR[share], 1000 * self.lines_of(share) // max(lines, 1))

    def lines_of(self, share: str) -> int:
        """How many lines are `comments`, or `docstrings`."""
        return self.comments if share == "comments" else self.docstrings

    def missing(self, share: str, floor: int) -> int:
        """How many lines of this kind are missing to a floor, or 0."""
        lines = self.code + self.comments + self.docstrings
        return max(0, -(-floor * lines // 1000) - self.lines_of(share))


HOUSES = frozenset({"host", "runner", "evaluation"})
"""Packages whose folders are rooms of their own."""


def room_of(module: Module) -> str:
    """The room of a module: its package; in `host`, `runner`, `evaluation` the folder, or the market's folder."""
    folder = module.name if module.face and not module.name.endswith("__main__") else module.name.rpartition(".")[0]
    parts = (folder or module.name).split(".")
    if parts[:2] == ["evaluation", "markets"]:
        return ".".join(parts[:3]) if len(parts) > 2 else "evaluation"
    return ".".join(parts[: 2 if parts[0] in HOUSES else 1])


def sizes(modules: Iterable[Module], tests: Iterable[Module] = ()) -> dict[str, Size]:
    """What each room has, by name; with `tests`, their room too."""
    rooms: dict[str, list[Module]] = {}
    for module in modules:
        rooms.setdefault(room_of(module), []).append(module)
    found = {room: _size(rooms[room]) for room in sorted(rooms)}
    of_tests = _size(list(tests), tests=True)
    return found | ({TESTS: of_tests} if of_tests.code else {})


def _size(modules: Sequence[Module], *, tests: bool = False) -> Size:
    return Size(
        sum(module.code_lines for module in modules),
        sum(module.comment_lines for module in modules),
        sum(len(module.contents.docstring_lines) for module in modules),
        () if tests else tuple(functions_over(DENSE, modules)),
        tests,
    )


def functions_over(most: int, modules: Iterable[Module]) -> list[str]:
    """The functions that have more branches than `most`, as `host.commands.launch.serve has 24 branches`."""
    return [
        f"{module.name}.{function.name} has {function.branches} branches"
        for module in modules
        for function in module.contents.functions
        if function.branches > most
    ]


def read_rows(text: str) -> dict[str, Row]:
    """The rows of the file, by room."""
    return {room: _row(values) for room, values in tomllib.loads(text).items()}


def _row(values: Mapping[str, float]) -> Row:
    shares = {share: round(10 * values[share]) for share in MOST_FLOOR if share in values}
    return Row(int(values["code"]), int(values.get("dense", 0)), **shares)


def written(rows: Mapping[str, Row]) -> str:
    """The text of the file."""
    blocks = [HEADER]
    for room, row in sorted(rows.items()):
        lines = [f'["{room}"]' if "." in room else f"[{room}]", f"code = {row.code}"]
        if row.comments is not None and row.docstrings is not None:
            lines += [f"dense = {row.dense}", f"comments = {row.comments / 10}", f"docstrings = {row.docstrings / 10}"]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def faults(rows: Mapping[str, Row], found: Mapping[str, Size]) -> list[str]:
    """What is not as the rows say, by name and with what to do next: worse, better, without a row, gone."""
    offenders = [f"{room}: this room is gone; {LOWER}" for room in rows if room not in found]
    for room, size in found.items():
        row, now = rows.get(room), size.row()
        if row is None:
            offenders.append(f"{room}: no row; write one ({now.code} code lines) and lower other rooms by as much")
            continue
        worse = _worse(row, size)
        offenders += [f"{room}: {fault}" for fault in worse]
        if not worse and row != now:
            offenders.append(f"{room}: better than its row; {LOWER}")
    return offenders


def _worse(row: Row, size: Size) -> list[str]:
    offenders: list[str] = []
    if size.code > row.code:
        offenders.append(
            f"{size.code:,} code lines, {size.code - row.code:,} over its budget; take lines out of this room, or "
            "raise its row by hand and lower another room's by as much in the same commit"
        )
    if len(size.dense) > row.dense:
        offenders.append(
            f"{len(size.dense)} functions have more than {DENSE} branches, its budget is {row.dense}; split what you "
            "changed (python -m tests.budgets ROOM lists them)"
        )
    for share, floor in (("comments", row.comments), ("docstrings", row.docstrings)):
        if floor is not None and size.floor(share) < floor:
            offenders.append(
                f"under {floor / 10} % of lines are {share}; write {size.missing(share, floor)} that say what is not "
                f"to be seen, or {LOWER} where code left"
            )
    return offenders


def lowered(rows: Mapping[str, Row], found: Mapping[str, Size]) -> dict[str, Row]:
    """The rows with what became better, without rooms that are gone. No row is new, no number worse.

    Only a floor may fall, where code left the room (`LEAVES_WITH_CODE`).
    """
    return {room: _lowered(row, found[room]) for room, row in sorted(rows.items()) if room in found}


def _lowered(row: Row, size: Size) -> Row:
    now = size.row()
    floors = (
        _floor(share, floor, row, size) for share, floor in (("comments", row.comments), ("docstrings", row.docstrings))
    )
    return Row(min(row.code, now.code), min(row.dense, now.dense), *floors)


def _floor(share: str, floor: int | None, row: Row, size: Size) -> int | None:
    if floor is None:
        return None
    left = max(0, row.code - size.code)
    gives_way = size.missing(share, floor) * LEAVES_WITH_CODE[share] <= left
    return size.floor(share) if gives_way else max(floor, size.floor(share))


def merged(base: Mapping[str, Row], ours: Mapping[str, Row], theirs: Mapping[str, Row]) -> dict[str, Row]:
    """Rows that two sides changed: what both changes together leave of the common base."""
    rooms = sorted(base.keys() | ours.keys() | theirs.keys())
    return {room: _merged(*(side.get(room) for side in (base, ours, theirs))) for room in rooms}


def _merged(base: Row | None, ours: Row | None, theirs: Row | None) -> Row:
    if ours is None or theirs is None:
        # Gone on one side: if the room is there all the same, what the other side says of it holds.
        return ours or theirs or Row(0)
    start = base or Row(0)
    code, dense = ours.code + theirs.code - start.code, ours.dense + theirs.dense - start.dense
    comments, docstrings = _lesser(ours.comments, theirs.comments), _lesser(ours.docstrings, theirs.docstrings)
    return Row(max(0, code), max(0, dense), comments, docstrings)


def _lesser(ours: int | None, theirs: int | None) -> int | None:
    return None if ours is None or theirs is None else min(ours, theirs)


def rows_in(path: Path) -> dict[str, Row]:
    """The rows of a file; while git has a conflict in it, those of both sides together.

    Raises SystemExit with what to do where the file has marks of a conflict that git has forgotten.
    """
    text = path.read_text(encoding="utf-8")
    if not any(line.startswith("<<<<<<< ") for line in text.splitlines()):
        return read_rows(text)
    sides = [_stage(path, number) for number in (1, 2, 3)]
    if not all(sides[1:]):
        raise SystemExit(f"{path.name} has marks of a conflict: git checkout --merge {path.name} there, then again")
    return merged(*(read_rows(side) for side in sides))


def _stage(path: Path, number: int) -> str:
    """What the index has of a file with a conflict: 1 common base, 2 ours, 3 theirs; empty without it."""
    command = ["git", "show", f":{number}:./{path.name}"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8", check=False)
    return done.stdout if done.returncode == 0 else ""


def table(rows: Mapping[str, Row], found: Mapping[str, Size]) -> str:
    """The rooms beside their rows."""
    lines = [
        f"{'room':36} {'code':>8} {'budget':>8} {'dense':>6} {'budget':>6} {'comments %':>11} {'docstrings %':>13}"
    ]
    for room, size in found.items():
        row, all_lines = rows.get(room, Row(0)), max(1, size.code + size.comments + size.docstrings)
        shares = f"{100 * size.comments / all_lines:11.1f} {100 * size.docstrings / all_lines:13.1f}"
        lines.append(f"{room:36} {size.code:8,} {row.code:8,} {len(size.dense):6} {row.dense:6} {shares}")
    product = sum(size.code for size in found.values() if not size.tests)
    return "\n".join([*lines, f"{'product':36} {product:8,}"])


def main(arguments: Sequence[str]) -> int:
    """Print or lower. Exit code 1 while something is not as the rows say."""
    found, rows = sizes(all_modules(), modules_of_tests()), rows_in(BUDGETS)
    match arguments:
        case []:
            print(table(rows, found))
        case ["--lower"]:
            rows = lowered(rows, found)
            BUDGETS.write_text(written(rows), encoding="utf-8")
        case [room] if room in found:
            print("\n".join(found[room].dense) or f"no function of {room} has more than {DENSE} branches")
        case _:
            print(f"python -m tests.budgets [--lower | ROOM], where ROOM is one of {', '.join(found)}")
            return 2
    left = faults(rows, found)
    print("\n".join(left) or f"{len(rows)} rooms are as tests/budgets.toml says")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
