"""The table of speed: what each promise costs now, beside its goal, its figure before, and a floor argued from parts.

Rows stand in `table.toml`; goals in the benchmarks that measure them. Each benchmark is a process of its own below this
one, so that what one imports costs no other; each of its figures is a median of runs that alternate with what they are
compared with. A yardstick, a fixed piece of work of this interpreter, is taken before each: it says how fast this
machine is, and how much that changes while the table is made.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field
from rich.table import Table

from benchmarks.figures import Figure, pace

_HERE = Path(__file__).parent
_BEGIN, _END = "<!-- begin table -->", "<!-- end table -->"


class Row(BaseModel):
    """One promise. `before` is its figure at the last release; `floor` what the parts that must be paid add up to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    benchmark: str
    figure: str
    before: float | None = None
    floor: str = ""
    # Others who do the same, and theirs; measured here unless the page says where.
    peers: str = ""


class _Rows(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    measured_before: str
    yardstick_before: Annotated[float, Field(gt=0)]
    row: list[Row]


class Measured(NamedTuple):
    """A row and its figure; None with the reason where it could not be measured here."""

    row: Row
    figure: Figure | None
    problem: str = ""


class Result(NamedTuple):
    """The whole table. `yardsticks` in CPU ms, one taken before each benchmark; `cpu` in seconds, all processes."""

    rows: Sequence[Measured]
    yardsticks: Sequence[float]
    cpu: float


@cache
def rows() -> _Rows:
    """The rows, in the table's order."""
    return _Rows.model_validate(tomllib.loads((_HERE / "table.toml").read_text(encoding="utf-8")))


def measured(*, tiny: bool) -> Result:
    """Every row measured now; ten CPU minutes at most."""
    before = _children()
    found: dict[str, Mapping[str, Figure] | str] = {}
    yardsticks: list[float] = []
    for name in dict.fromkeys(row.benchmark for row in rows().row):
        yardsticks.append(yardstick())
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        begun = _children()
        found[name] = _figures(name, tiny=tiny)
        print(f"{_children() - begun:.0f} CPU s", file=sys.stderr, flush=True)
    return Result([_row(row, found[row.benchmark]) for row in rows().row], yardsticks, _children() - before)


def _row(row: Row, found: Mapping[str, Figure] | str) -> Measured:
    if isinstance(found, str):
        return Measured(row, None, found)
    figure = found.get(row.figure)
    return Measured(row, figure, "" if figure else f"{row.benchmark} measures no such figure here")


def _figures(name: str, *, tiny: bool) -> Mapping[str, Figure] | str:
    """Figures of a benchmark by name, or why it has failed."""
    command = [sys.executable, "-m", "benchmarks", name, "--json", *(["--tiny"] if tiny else [])]
    done = subprocess.run(command, capture_output=True, cwd=_HERE.parent, check=False)
    if done.returncode:
        return (done.stderr.decode(errors="replace").strip().splitlines() or ["it ended without a word"])[-1]
    entries = orjson.loads(done.stdout.splitlines()[-1])[name]
    figures = (Figure(**{key: value for key, value in entry.items() if key != "met"}) for entry in entries)
    return {figure.name: figure for figure in figures}


def yardstick() -> float:
    """CPU milliseconds of a fixed piece of work of this interpreter (`figures.pace`), the median of fifty."""
    return median(pace() for _ in range(50)) * 1000


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lines(result: Result) -> Iterator[list[str]]:
    """The cells of each row: what, now, goal, met, before, floor, others."""
    for row, figure, problem in result.rows:
        before = "" if row.before is None else number(row.before)
        if figure is None:
            yield [row.what, problem, "", "", before, row.floor, row.peers]
            continue
        goal = "" if figure.goal is None else f"{figure.bound} {number(figure.goal)}"
        met = {None: "", True: "yes", False: "no"}[figure.met]
        yield [row.what, f"{number(figure.value)} {figure.unit}", goal, met, before, row.floor, row.peers]


HEADS = ("what", "now", "goal", "met", "before", "floor", "others")


def shown(result: Result) -> Table:
    """The table for a terminal."""
    table = Table(*HEADS, title="What tradefair costs, in CPU time", caption=closing(result))
    for cells in lines(result):
        table.add_row(*cells)
    return table


def closing(result: Result) -> str:
    """How fast this machine was, and what the table took."""
    low, high = min(result.yardsticks), max(result.yardsticks)
    then = f"{rows().yardstick_before:.2f} ms when the figures before were measured ({rows().measured_before})"
    return f"Yardstick {low:.2f} to {high:.2f} CPU ms here, {then}; {result.cpu:.0f} CPU s for the table"


def plain(result: Result) -> dict[str, object]:
    """For `--json`."""
    entries = [
        {
            **row.model_dump(),
            "now": None if figure is None else {**figure._asdict(), "met": figure.met},
            "problem": problem or None,
        }
        for row, figure, problem in result.rows
    ]
    return {"rows": entries, "yardsticks_ms": list(result.yardsticks), "cpu_s": result.cpu}


def write(page: Path, result: Result) -> None:
    """Put the table between the marks of a page."""
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (HEADS, ["---"] * len(HEADS), *lines(result)))
    head, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    tail = rest.partition(_END)[2]
    page.write_text(f"{head}{_BEGIN}\n{table}\n\n{closing(result)}.\n{_END}{tail}", encoding="utf-8")


def number(value: float) -> str:
    """Three digits, or the whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
