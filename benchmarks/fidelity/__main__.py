"""`python -m benchmarks.fidelity [--published DIR] [--runs DIR] [--logs DIR] [--write PAGE]`: published and ours.

Runs are traces of models: a label that is a row of a table fills that row. Logs are the authors' public games, in the
folders `bazaar` and `pact`. Other files of published numbers are read from the folder `--published`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from itertools import groupby
from pathlib import Path
from statistics import StatisticsError
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

from benchmarks.bazaar_traders import spearman
from benchmarks.fidelity.published import BUNDLED, PublishedError, Source, Table, read_published
from benchmarks.fidelity.row import FIGURES, NO_FIGURE, Asked, Figure, Row, rows_of
from tradefair.contract import TraceError
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.tracestore import find_traces, open_trace

_HOW = """# Published figures, and ours

After this page you know how near each market comes to the work that it was made after, and where it does not.
It is written by `make fidelity`, in about one CPU minute, from the files of `benchmarks/published`.

- **equal**, to the last digit published; **within N %**, the tolerance that was agreed before; **in the interval**, our
  95 % interval (Student's, over episodes) has the published number. Everything else **differs**, and says why.
- **needs a model**: `make fidelity RUNS=DIR` fills it from traces whose labels are the rows. **needs logs**:
  `make fidelity LOGS=DIR` fills it from the authors' games, in folders `bazaar` and `pact`.
- **drawn**: a picture without printed numbers, which the command draws. **no figure of ours**: nobody makes it here.

`make fidelity PUBLISHED=DIR` compares other files of the same form.
"""
_LOGS = {"double_auction": ("bazaar", "bazaar-log"), "bargaining": ("pact", "pact-log")}
# Of the study of collusion a model's opinions are published alone, of which there is no figure of ours.
_FOLDERS = ("bazaar", "pact", "emergent_collusion")
_RANKED = 4
"""So many rows of a column and more have a rank correlation."""


class Beside(NamedTuple):
    """A published table, how ours is made, and its rows."""

    table: Table
    figure: Figure | None
    rows: Sequence[Row]

    @property
    def kind(self) -> str:
        """How much of it is ours: whole, in part, drawn or without."""
        compared = sum(row.verdict.met is not None for row in self.rows)
        if compared:
            return "whole" if compared == len(self.rows) else "in part"
        return "drawn" if self.figure and self.figure.draws else "without"

    @property
    def summary(self) -> str:
        """The table in one line."""
        if not self.rows:
            return f"{self.table.id}: {'drawn' if self.kind == 'drawn' else NO_FIGURE}"
        compared = [row.verdict.met for row in self.rows if row.verdict.met is not None]
        return f"{self.table.id}: {len(compared)} of {len(self.rows)} numbers compared, {sum(compared)} met"


Found: TypeAlias = Sequence[tuple[Source, Sequence[Beside]]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the tables. Exit code 1, before anything is played, for a file that is not sound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("--published", type=Path, default=BUNDLED, metavar="DIR", help="files of published numbers")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="traces of models; a label is a row")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="public games, in folders bazaar and pact")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page there")
    given = parser.parse_args(arguments)
    if given.logs and not any((given.logs / name).is_dir() for name in _FOLDERS):
        sys.exit(f"{given.logs}: has none of the folders {', '.join(_FOLDERS)}; name the folder that they lie in")
    try:
        sources = read_published(given.published)
        runs = _by_market(given.runs)
    except (PublishedError, TraceError) as error:
        sys.exit(str(error))
    with ExitStack() as stack:
        found = [(source, list(_beside(name, source, runs, given.logs, stack))) for name, source in sources.items()]
    if given.write:
        given.write.write_text(page(found), encoding="utf-8")
    shown = page(found).partition("## ")[2] if not given.write else ""
    print(as_json(found) if given.json else "\n".join([*([f"## {shown}"] if shown else []), *summary(found)]))


def figures() -> Mapping[tuple[str, str], Figure]:
    """How each published table is made, by source and table."""
    for market in ("retail", "double_auction", "bargaining", "supply_chain", "marketplace"):
        import_module(f"benchmarks.fidelity.{market}")
    return FIGURES


def _by_market(folder: Path | None) -> Mapping[str, Sequence[Path]]:
    """The traces of a folder by their market. Raises TraceError for a folder without."""
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for path in find_traces(folder) if folder else ():
        with open_trace(path) as trace:
            found[trace.manifest.core.market].append(path)
    return found


def imported(market: str, logs: Path | None, stack: ExitStack) -> Sequence[Path]:
    """The traces of a market's public games."""
    folder, importer = _LOGS.get(market, ("", ""))
    files = sorted((logs / folder).rglob("*.jsonl")) if logs and folder else []
    if not files:
        return []
    report = run_importer(importer, files, Path(stack.enter_context(TemporaryDirectory())))
    return [Path(game.trace) for game in report.games if game.trace]


def _beside(
    name: str, source: Source, runs: Mapping[str, Sequence[Path]], logs: Path | None, stack: ExitStack
) -> Iterator[Beside]:
    began, games = _cpu_seconds(), imported(source.market, logs, stack)
    for table in source.table:
        of = figures().get((name, table.id))
        yield Beside(table, of, rows_of(table, of, Asked(table, runs.get(source.market, ()), games)))
    print(
        f"{source.source}: {len(source.table)} tables and figures, {_cpu_seconds() - began:.0f} CPU s", file=sys.stderr
    )


def summary(found: Found) -> list[str]:
    """All tables in one line, then a line each."""
    tables = [beside for _, own in found for beside in own]
    kinds = Counter(beside.kind for beside in tables)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("whole", "in part", "drawn", "without"))
    lines = [f"{source.source}, {beside.summary}" for source, own in found for beside in own]
    return [f"{len(tables)} tables and figures: {counts}", *lines]


def page(found: Found) -> str:
    """The whole page."""
    first = summary(found)[0]
    lines = [_HOW, f"**{first}.**", ""]
    for source, own in found:
        lines += [f"## {source.source}: `{source.market}`", ""]
        for beside in own:
            lines += [*_table_lines(beside), ""]
    return "\n".join(lines)


def _table_lines(beside: Beside) -> Iterator[str]:
    """One table: its title, what makes it, a line per number; numbers of a row without ours share a line."""
    yield f"### {beside.summary}"
    yield ""
    command = f": `{beside.figure.command}`" if beside.figure else ""
    drawn = (
        f"; charts {', '.join(f'`{name}`' for name in beside.figure.draws)}"
        if beside.figure and beside.figure.draws
        else ""
    )
    yield f"{beside.table.title[:1].upper()}{beside.table.title[1:]}{command}{drawn}"
    if not beside.rows:
        return
    yield from ("", "| row | column | published | ours | 95 % interval | how near |", "|---|---|---|---|---|---|")
    for key, group in groupby(beside.rows, key=lambda row: (row.name, row.verdict if row.ours is None else row)):
        rows = list(group)
        cells = [", ".join(parts) for parts in zip(*(row.cells for row in rows), strict=True)] if key else []
        if len(rows) > 1:
            cells = [rows[0].name, *cells[1:3], *rows[0].cells[3:]]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    if ranked := list(_ranked(beside.rows)):
        yield from ("", f"Rank correlation (Spearman's) of published and ours: {', '.join(ranked)}.")


def _ranked(rows: Sequence[Row]) -> Iterator[str]:
    """Spearman's of each column that has enough rows."""
    for column in dict.fromkeys(row.column for row in rows):
        public = {row.name: row.published for row in rows if row.column == column}
        ours = {row.name: row.ours.value for row in rows if row.column == column and row.ours}
        # A side that does not vary has no order.
        with suppress(StatisticsError):
            if len(ours) >= _RANKED:
                yield f"{column} {spearman(public, ours):.2f} over {len(ours)}"


def as_json(found: Found) -> str:
    """Every row by source and table, and the lines of the summary."""
    rows = {
        source.source: {beside.table.id: [row._asdict() for row in beside.rows] for beside in own}
        for source, own in found
    }
    return json.dumps({"summary": summary(found), "tables": rows})


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main()
