"""Named queries over the Parquet of very many synthetic calls: CPU time, and the peak memory of the process that asks.

`python -m benchmarks calls_at_scale` takes a million calls and reckons its times up to ten million;
`python -m benchmarks.calls_at_scale --calls 10000000` does take ten million (two minutes and 400 MB of disk to make).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Stopwatch
from benchmarks.retail import peak_mib
from tradefair.evaluation.store.in_duckdb import ParquetTables, open_duckdb, quoted
from tradefair.evaluation.store.queries import query_named
from tradefair.evaluation.store.tables import TABLES

_FULL = 10_000_000
_CALLS_PER_EPISODE, _CALLS_PER_ROUND, _OBJECTS = 1_000, 50, 40
_MOST_MIB = 954
"""1 GB."""

_GOALS: Mapping[str, tuple[float, str]] = {
    "outcomes": (5, "COUNT(*), SUM(calls), SUM(refused), SUM(lapses)"),
    "evidence": (30, "COUNT(*), SUM(needs), SUM(met), SUM(share)"),
    "follow_up": (15, "COUNT(*), SUM(next_seq), SUM(waited), SUM(CASE WHEN verdict = 'followed' THEN 1 ELSE 0 END)"),
}
"""Query -> CPU seconds per ten million calls at most, and what is taken of every row of its answer."""

_CHILD = "import sys; from benchmarks.calls_at_scale import ask; ask(sys.argv[1], sys.argv[2])"


def measure(*, tiny: bool) -> list[Figure]:
    """A million calls."""
    return measured(20_000 if tiny else 1_000_000)


def measured(calls: int) -> list[Figure]:
    """Make the tables of `calls` calls, then ask each query in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "tables"
        watch = Stopwatch()
        make(folder, calls)
        made = watch.seconds()
        figures = [figure for name in _GOALS for figure in _asked(folder, name, calls)]
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    how = f"{calls:,} calls, {size / 1e6:,.0f} MB of Parquet"
    return [*figures, Figure("calls at scale: made", made, "CPU s", how=how)]


def ask(folder: str, name: str) -> None:
    """One query over all rows; prints what it gives, CPU seconds and peak memory."""
    with ParquetTables(Path(folder)) as tables:
        # What it costs to import DuckDB would be reckoned up with the rest.
        watch = Stopwatch()
        rows = tables.fold(query_named(name), _GOALS[name][1])
    # Ten million answers are summed slice by slice, in exact arithmetic but for shares.
    sums = [float(sum(column)) for column in zip(*rows, strict=True)]  # pyright: ignore[reportArgumentType]
    print(json.dumps({"sums": sums, "seconds": watch.seconds(), "peak_mib": peak_mib()}))


def _asked(folder: Path, name: str, calls: int) -> Iterator[Figure]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(folder), name],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    how = f"{calls:,} calls, {said['sums'][0]:,.0f} rows" + ("" if calls == _FULL else ", reckoned up")
    yield Figure(f"10 M calls: {name}", said["seconds"] * _FULL / calls, "CPU s", _GOALS[name][0], how=how)
    yield Figure(f"10 M calls: {name}, peak", said["peak_mib"], "MiB", _MOST_MIB, how=f"{calls:,} calls, own process")


# --- the synthetic calls --------------------------------------------------------------------------------------------

_CALLS = """
SELECT printf('e%07d', i // {episode}) AS episode, 'synthetic' AS market, i % {episode} + 2 AS seq,
       i % {episode} // {round} + 1 AS round, 'open' AS phase, i % {episode} // {round} AS revision, 'manager' AS seat,
       printf('r%d.manager.%d', i % {episode} // {round} + 1, i % {round} + 1) AS call, '' AS parent,
       CASE WHEN h < 100 THEN 'order' WHEN h < 180 THEN 'price' WHEN h < 420 THEN 'stock' WHEN h < 600 THEN 'sales'
            WHEN h < 740 THEN 'cost' WHEN h < 880 THEN 'quotes' WHEN h < 960 THEN 'catalogue' ELSE 'add_note' END
           AS tool,
       CASE WHEN h < 180 THEN 'action' WHEN h < 960 THEN 'read' ELSE 'note' END AS kind,
       CASE WHEN g < 960 THEN 'ok' WHEN g < 985 THEN 'rejected' ELSE 'invalid' END AS status,
       CASE WHEN g < 960 THEN '' ELSE 'unknown_id' END AS error_code,
       printf('["P%03d"]', p) AS object_ids, 0 AS refs, printf('{{"product_id":"P%03d"}}', p) AS arguments,
       printf('%032x', h * {objects} + p) AS arguments_digest, printf('%064x', h * {objects} + p) AS result_digest,
       300 AS result_size, 0 AS at_ms, 400 AS latency_us, 'memory' AS transport, '' AS made_by
FROM (SELECT i, hash(i) % 1000 AS h, hash(i + 77777777) % 1000 AS g, hash(i * 3 + 1) % {objects} AS p
      FROM range({first}, {last}) AS numbers (i))
"""

_TOUCHED = """
SELECT episode, market, seq, round, revision, seat, tool, kind, status,
       CASE WHEN tool = 'catalogue' THEN '' ELSE 'product_id' END AS path,
       CASE WHEN tool = 'catalogue' THEN '*'
            ELSE printf('P%03d', (CAST(substr(object_ids, 4, 3) AS BIGINT) + k) % {objects}) END AS object
FROM read_parquet({calls}), range(3) AS more (k)
WHERE kind <> 'note' AND (k = 0 OR (seq % 5 = 0 AND tool NOT IN ('catalogue', 'price')))
"""

_REST = {
    "episodes": "SELECT episode, 'synthetic', '1', 'synthetic/ten_million', '0', 'terminated:horizon',"
    " MAX(round), COUNT(*) FROM read_parquet({calls}) GROUP BY episode ORDER BY episode",
    "seats": "SELECT DISTINCT episode, 'manager', 'manager', '' FROM read_parquet({calls}) ORDER BY episode",
    "lapses": "SELECT episode, seq, round, seat, 'deadline', 'pass' FROM read_parquet({calls}) WHERE seq % 997 = 0",
    "gives": "FROM (VALUES ('synthetic', 'stock', 'inventory'), ('synthetic', 'sales', 'sales'),"
    " ('synthetic', 'cost', 'cost'), ('synthetic', 'quotes', 'quotes'), ('synthetic', 'catalogue', 'catalogue'))",
    "needs": "SELECT DISTINCT episode, action, 'manager', need, category, 1, 1, 'product_id'"
    " FROM read_parquet({calls}), (VALUES ('order'), ('price')) AS actions (action),"
    " (VALUES (0, 'inventory'), (1, 'sales'), (2, 'cost'), (2, 'quotes')) AS needed (need, category) ORDER BY ALL",
}


def make(folder: Path, calls: int) -> None:
    """Tables as `export --format parquet` writes them, made by DuckDB part by part, in bounded memory."""
    with tempfile.TemporaryDirectory() as spill, closing(open_duckdb(Path(spill), threads=1)) as database:

        def write(table: str, sql: str, part: int) -> Path:
            columns = TABLES[table].columns
            names = ", ".join(column.name for column in columns)
            typed = ", ".join(f"CAST({column.name} AS {column.type}) AS {column.name}" for column in columns)
            path = folder / table / f"{part:04}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            database.execute(
                f"COPY (SELECT {typed} FROM ({sql}) AS made ({names})) TO {quoted(str(path))} (FORMAT parquet)"
            )
            return path

        for part, first in enumerate(range(0, calls, 1_000_000)):
            shape = {"episode": _CALLS_PER_EPISODE, "round": _CALLS_PER_ROUND, "objects": _OBJECTS}
            rows = _CALLS.format(first=first, last=min(first + 1_000_000, calls), **shape)
            names = ", ".join(TABLES["calls"].names)
            written = quoted(str(write("calls", f"SELECT {names} FROM ({rows})", part)))
            write("objects", _TOUCHED.format(calls=written, objects=_OBJECTS), part)
            for table, sql in _REST.items():
                if table != "gives" or part == 0:
                    write(table, sql.format(calls=written), part)


def main() -> None:
    """Print the figures for as many calls as asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls_at_scale", description=__doc__)
    parser.add_argument("--calls", type=int, default=_FULL, help="tool calls to make and to ask (default: ten million)")
    for figure in measured(parser.parse_args().calls):
        goal = "" if figure.goal is None else f"(goal {figure.bound} {figure.goal:g})"
        print(f"{figure.name:<32} {figure.value:>10,.2f} {figure.unit:<6} {goal:<20} {figure.how}")


if __name__ == "__main__":
    main()
