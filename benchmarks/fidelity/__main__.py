"""`python -m benchmarks.fidelity [--source NAME …] [--json] [--write PAGE]`: published figures beside ours."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

from benchmarks.fidelity.row import Row

SOURCES: Mapping[str, str] = {
    "retail": "RetailBench",
    "double_auction": "BAZAAR",
    "collusion": "Emergent collusion",
    "bargaining": "PACT",
    "supply_chain": "Market-Bench",
    "marketplace": "Magentic Marketplace",
    "order_book": "Double auctions and bubbles",
    "pricing": "Textbook oligopoly and its learners",
}

_HOW = """# Published figures, and ours

After this page you know how near each market comes to the work that it was made after, and where it does not.
It is written by `make fidelity`, in about two CPU minutes.

A row is met where ours lies within the tolerance that was agreed before, where the published figure lies in our 95 %
interval, or where both are equal to the last digit shown. Everything else says what differs. Rows that need the public
logs or data sets are left out where `TRADEFAIR_DATA` names no folder that has them.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("--source", choices=list(SOURCES), action="append", help="only this source; repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", type=Path, help="write the page there; needs every source and their data")
    given = parser.parse_args(arguments)
    data = Path(os.environ["TRADEFAIR_DATA"]) if os.environ.get("TRADEFAIR_DATA") else None
    if given.write and (given.source or data is None):
        parser.error("--write needs every source and TRADEFAIR_DATA, the folder of the public logs and data sets")
    tables: dict[str, list[Row]] = {}
    for name in given.source or SOURCES:
        began = _cpu_seconds()
        tables[name] = list(rows_of(name, data))
        print(f"{name}: {len(tables[name])} figures, {_cpu_seconds() - began:.0f} CPU s", file=sys.stderr)
    if given.write:
        given.write.write_text(page(tables), encoding="utf-8")
    print(json.dumps({name: [row._asdict() for row in rows] for name, rows in tables.items()}) if given.json
          else "\n".join(lines_of(tables)))  # fmt: skip


def rows_of(source: str, data: Path | None) -> Iterator[Row]:
    """The figures of one source."""
    rows: Iterator[Row] = import_module(f"benchmarks.fidelity.{source}").rows(data)
    return rows


def page(tables: Mapping[str, Iterable[Row]]) -> str:
    """The whole page."""
    return "\n".join([_HOW, *lines_of(tables)]) + "\n"


def lines_of(tables: Mapping[str, Iterable[Row]]) -> Iterator[str]:
    """One table per command, under the source's name."""
    for source, rows in tables.items():
        yield f"## {SOURCES[source]}: `{source}`"
        for command, group in groupby(rows, key=lambda row: row.command):
            yield from (
                "",
                f"`{command}`",
                "",
                "| figure | published | ours | 95 % interval | how near |",
                "|---|---|---|---|---|",
            )
            for row in group:
                yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row.cells)} |"
        yield ""


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main()
