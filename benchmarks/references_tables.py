"""`python -m benchmarks.references_tables`: builds, checks and keeps the tables that csa and csa_clean rest on.

csa_source rests on another one, which comes from public logs and cannot be built. A file is written again after every
table, so that a build that was stopped goes on where it was. Exit code 1 where a table is not what the rules give.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from benchmarks.surplus_reference import (
    ALL_LAWS,
    BUNDLED_SHAPES,
    EPISODES,
    SLICE,
    Played,
    file_of,
    file_text,
    play_truthful,
    table_of,
)
from tradefair.catalog import market_type
from tradefair.contract import ScenarioError, TraceError
from tradefair.evaluation.markets.double_auction.surplus_alpha import (
    CAUTION,
    ReferenceFile,
    ReferenceTable,
    SeatResult,
    Shape,
    bundled_references,
    cached_path,
)
from tradefair.evaluation.progress import show_progress, watched
from tradefair.evaluation.read.whole_files import write_whole
from tradefair.files.user_files import read_regular

_MARKET = "double_auction"
# Episodes that a process plays between two steps of the progress line.
_PART = 500
_SHAPE = re.compile(r"(\d{1,3})\+(\d{1,3})x(\d{1,4})(?:x(\d{3,5}))?")

Advance = Callable[[int, int], None]
"""Told how many episodes have been played, of how many."""


def build_table(
    shape: Shape, episodes: int = EPISODES, processes: int = 1, advance: Advance | None = None
) -> ReferenceTable:
    """Play all-truthful episodes of the shape on the seeds 1, 2, … and make their table.

    The table is the same with any number of processes. ScenarioError for a shape that cannot be played.
    """
    first = min(SLICE, episodes)
    # The slice of the check is a part of its own: its digest must not depend on how the other seeds are shared out.
    parts = [range(1, first + 1)]
    parts += [range(at, min(at + _PART, episodes + 1)) for at in range(first + 1, episodes + 1, _PART)]
    seats: Counter[SeatResult] = Counter()
    slice_digest = ""
    for part, played in zip(parts, _played(shape, parts, processes), strict=True):
        seats.update(played.seats)
        # `map` keeps the order of the parts, so that the first digest is the slice's.
        slice_digest = slice_digest or played.digest
        if advance is not None:
            advance(part.stop - 1, episodes)
    return table_of(shape, seats, episodes, slice_digest)


def _played(shape: Shape, parts: Sequence[range], processes: int) -> Iterator[Played]:
    if processes == 1:
        yield from map(play_truthful, repeat(shape), parts)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(play_truthful, repeat(shape), parts)


def build_file(path: Path, shapes: Sequence[Shape], episodes: int = EPISODES, processes: int = 1) -> ReferenceFile:
    """Build the tables of `shapes` into `path`; those that it already holds, of these rules and this size, stay.

    Raises ScenarioError for a shape that cannot be played, StorageUnavailable where nothing can be written.
    """
    # Tables with another number of episodes are built again: the file's rows would otherwise not be comparable.
    tables = {table.shape: table for table in _kept(path) if table.episodes == episodes and table.shape in shapes}
    for number, shape in enumerate(shapes, start=1):
        if shape in tables:
            continue
        title = f"episodes, table {number} of {len(shapes)}: {shape.label}"
        tables[shape] = build_table(
            shape, episodes, processes, lambda done, total, title=title: show_progress(done, total, title)
        )
        show_progress(episodes, episodes, "")
        # After every table: a build takes minutes, and what is finished should survive a stop.
        held = file_of(tables[known] for known in shapes if known in tables)
        write_whole(path, [file_text(held).encode()])
    return file_of(tables[shape] for shape in shapes)


def _kept(path: Path) -> list[ReferenceTable]:
    """Tables of an earlier run of the same rules. Raises ScenarioError for a file that is something else."""
    if not path.exists():
        return []
    try:
        kept = ReferenceFile.model_validate_json(read_regular(path))
    except (OSError, ValidationError):
        # Never overwritten: the path may be a mistyped one with something else in it.
        raise ScenarioError(f"--out {path}: this is no file of reference tables; name another one") from None
    return kept.tables if kept.rules_version == market_type(_MARKET).version else []


# --- checking -------------------------------------------------------------------------------------------------------


class Checked(NamedTuple):
    """What replaying a slice of one table said; empty `problem`: the same results to the point."""

    table: str
    episodes: int
    problem: str


def check_tables(file: ReferenceFile) -> list[Checked]:
    """Replay the first seeds of every table by the engine, round by round. Raises TraceError for an altered file."""
    # Rows could be altered without touching the digest of the slice: the replay alone would not notice.
    if file_of(file.tables).digest != file.digest:
        raise TraceError("the tables are not those that the file's digest was made of: build them again")
    return [_checked(table) for table in watched(file.tables, show_progress, lambda table: table.label)]


def _checked(table: ReferenceTable) -> Checked:
    """One table against the engine: the digest of the first seeds' results has to be the table's."""
    episodes = min(SLICE, table.episodes)
    # The engine, round by round: checking the short way by the short way would prove nothing.
    played = play_truthful(table.shape, range(1, episodes + 1), round_by_round=True)
    same = played.digest == table.slice_digest
    return Checked(table.shape.label, episodes, "" if same else "the seats' results are not those of the table")


# --- what the program does -------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or check tables as the options say, and print what came of it; the exit code, 2 for what cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.references_tables", description=__doc__)
    parser.add_argument("--check", action="store_true", help="replay 2,000 episodes of each table")
    parser.add_argument("--out", type=Path, help="build the package's tables into this file; check it")
    parser.add_argument("--shape", default="", help="another shape, such as 6+6x20: into the user's cache")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="episodes of one table, 20 and more")
    parser.add_argument("--processes", type=int, default=1, help="how many processes play")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if given.episodes < 20 or given.processes < 1:
        parser.error("--episodes takes 20 and more, --processes 1 and more")
    try:
        return print_references(
            check=given.check,
            out=given.out,
            shape=given.shape,
            episodes=given.episodes,
            processes=given.processes,
            as_json=given.json,
        )
    except (ScenarioError, TraceError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, ScenarioError) else 1


def parse_shape(text: str) -> tuple[Shape, ...]:
    """`4+4x30`, or `4+4x30x1000` with another grid, under each law. Raises ScenarioError."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ScenarioError(f"--shape {text[:40]!r}: write BUYERS+SELLERSxROUNDS, such as 6+6x20; 6+6x20x1000 names P")
    # P is the only optional group, so that the default can be no other number.
    buyers, sellers, rounds, price_max = (int(part) for part in match.groups(default="100"))
    return tuple(Shape(buyers, sellers, rounds, price_max, law) for law in ALL_LAWS)


def print_references(*, check: bool, out: Path | None, shape: str, episodes: int, processes: int, as_json: bool) -> int:
    """Build or check tables as the command's options say, and print what came of it; the exit code.

    Raises ScenarioError for options that do not fit together, TraceError for an altered file.
    """
    if shape and out is not None:
        raise ScenarioError("--shape builds into the cache, --out the package's tables into a file: leave one out")
    if not (shape or out or check):
        raise ScenarioError("say what to do: --check, --out FILE or --shape BUYERS+SELLERSxROUNDS")
    shapes = parse_shape(shape) if shape else BUNDLED_SHAPES
    path = cached_path(shapes[0]) if shape else out
    if check:
        checked = check_tables(_file(path))
    else:
        assert path is not None
        built = build_file(path, shapes, episodes, processes)
        checked = [Checked(table.shape.label, table.episodes, "") for table in built.tables]
    _show(checked, path, as_json, "replayed" if check else "built")
    return 1 if any(table.problem for table in checked) else 0


def _file(path: Path | None) -> ReferenceFile:
    """The tables to check; the package's without a path."""
    if path is None:
        bundled = bundled_references()
        if bundled is None:
            raise ScenarioError("the package has no reference tables: build them with --out FILE")
        return bundled
    try:
        return ReferenceFile.model_validate_json(read_regular(path))
    except (OSError, ValidationError):
        raise ScenarioError(f"{path}: there are no reference tables here; build them first, without --check") from None


def _show(checked: Sequence[Checked], path: Path | None, as_json: bool, done: str) -> None:
    if as_json:
        content = {"file": path and str(path), "tables": [table._asdict() for table in checked], "caution": CAUTION}
        print(json.dumps(content, indent=2))
        return
    for table in checked:
        print(f"{table.table}: {table.episodes:,} episodes {done}{table.problem and ': ' + table.problem}")
    if path is not None and done == "built":
        print(str(path))
    print(f"caution: {CAUTION}")


if __name__ == "__main__":
    sys.exit(main())
