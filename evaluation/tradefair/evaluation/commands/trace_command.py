"""The command `trace`: questions about one trace, or named queries over a folder of Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import say
from tradefair.evaluation.store.queries import QUERIES
from tradefair.evaluation.store.questions import QUESTIONS, Filters, Part, ask, ask_sql, named_query

_NAMES = ", ".join(["show", "messages", *QUESTIONS, *(name for name in QUERIES if name not in QUESTIONS)])


def trace(
    path: Annotated[Path, typer.Argument(metavar="TRACE", exists=True, help="A trace, or a folder of Parquet tables.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help=f"One of {_NAMES}.")] = "summary",
    argument: Annotated[
        str | None, typer.Argument(metavar="[SEQ|ID|SELECT]", help="For show, evidence, object and sql.")
    ] = None,
    seat: Annotated[str | None, typer.Option("--seat", help="Calls of this seat.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Calls of this tool.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="ok, rejected, invalid, denied or failed.")] = None,
    round_: Annotated[int | None, typer.Option("--round", help="Calls of this round.")] = None,
    about: Annotated[str | None, typer.Option("--object", help="Calls about this object.")] = None,
    within: Annotated[int | None, typer.Option("--within", min=0, max=10_000, help="Rounds of follow_up.")] = None,
    times: Annotated[int | None, typer.Option("--times", min=2, help="Repetitions of loops.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000_000, help="Rows of a table at most.")] = 100,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=3_600, help="Seconds for sql at most.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Ask one trace a question; the trace is only read.

    summary · calls · show SEQ (an event in full) · messages (what models were sent) · evidence SEQ (what an action
    rested on) · object ID · errors · lapses · sql "SELECT …" (docs/how-to/queries.md) · outcomes · evidence ·
    follow_up · loops · repeated_refusals. The last six also over a folder that export --format parquet wrote. Exit
    code 1 when something in the trace could not be used.
    """
    # Imported here: --help does without.
    from tradefair.evaluation.store.in_duckdb import ParquetTables
    from tradefair.evaluation.store.in_sqlite import TraceTables
    from tradefair.evaluation.store.run_summary import run_summary
    from tradefair.evaluation.store.show import print_answer, print_event

    filters = Filters(seat, tool, status, round_, about, limit, timeout, within, times)
    if query == "show":
        return print_event(path, argument, as_json)
    if query == "messages":
        # Imported here: no other question needs what pages are made with.
        from tradefair.evaluation.report.messages import show_messages

        return show_messages(path, seat, round_, as_json)
    # A folder of tables has no single trace, so only named queries and sql make sense there.
    if path.is_dir():
        with ParquetTables(path) as tables:
            parts = ask_sql(tables, argument, filters) if query == "sql" else named_query(tables, query, filters)
            return print_answer(path, query, parts, as_json)
    with TraceTables.of_file(path) as tables:
        parts = ask(tables, query, argument, filters)
        if query == "summary" and (run := run_summary(path)):
            parts = [Part("run", run), *parts[1:]]
        print_answer(path, query, parts, as_json)
        # Asked after the answer is printed: it is complete as far as the trace allows, and the exit
        # code says the rest.
        odd = tables.select("SELECT COUNT(*) FROM findings").rows[0][0]
    if odd:
        things, them = ("1 thing", "it") if odd == 1 else (f"{odd} things", "them")
        say(f"{things} in the trace could not be used; tradefair trace {path} summary names {them}")
        raise typer.Exit(1)
