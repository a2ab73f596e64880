"""The commands `verify`, `evaluate` and `import`: a few lines each over the functions that do the work."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from tradefair.contract import TraceError
from tradefair.evaluation import terminal
from tradefair.evaluation.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.importers import IMPORTERS, run_importer
from tradefair.evaluation.places import Places
from tradefair.evaluation.population import Populations
from tradefair.evaluation.verify import verify_file
from tradefair.evaluation.whole_files import write_whole
from tradefair.tracestore import find_traces, is_store, stored_traces

# Paths named in a line on stderr; `--json` has all.
_MAX_NAMED = 5

_AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def verify(
    paths: Places,
    chain: Annotated[bool, typer.Option("--chain", help="Check the hash chain only; do not re-execute.")] = False,
    as_json: _AsJson = False,
) -> None:
    """Check that traces are as they were sealed, and that the rules still give the same bytes.

    Exit code 0 when every trace is identical (with --chain: intact), else 1.
    """
    # All are checked before anything is printed: the table is one, and its columns need every row.
    verdicts = [verify_file(place, chain_only=chain) for path in paths for place in _traces(path)]
    sound = sum(verdict.sound for verdict in verdicts)
    if as_json:
        shown = [verdict.to_json() for verdict in verdicts]
        _print_json({"traces": len(verdicts), "sound": sound, "verdicts": shown})
    else:
        terminal.show_verdicts(verdicts)
    _exit(sound == len(verdicts))


def evaluate(
    paths: Places,
    as_json: _AsJson = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the JSON to this file.")] = None,
    references: Annotated[
        Path | None, typer.Option(exists=True, help="Reference populations on the same seeds; default: references/.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Show every seat and every finding, however many.")] = False,
) -> None:
    """Economic outcomes per seat and market, lapses, end reason and labels; unfinished traces are marked censored.

    Where a market has diagnostics: their figures by stage, failure modes found with the events that prove them, and
    what was looked for and not found. Exit code 1 when a trace cannot be read or leaves findings.
    """
    populations = Populations([references] if references else [])
    evaluations = [evaluate_file(place, populations) for path in paths for place in _traces(path)]
    content = {"traces": [evaluation.to_json() for evaluation in evaluations]}
    # -o and --json can be given together; the table is for those who ask for neither.
    if output is not None:
        _write(output, orjson.dumps(content, option=orjson.OPT_INDENT_2), f"{len(evaluations)} traces")
    if as_json:
        _print_json(content)
    elif output is None:
        terminal.show_evaluations(evaluations, whole=whole)
    # Printed after the results: the reason would be gone from the screen above long tables.
    complaint = _complaint(evaluations)
    if complaint:
        _say(f"exit code 1: {complaint}")
    _exit(not complaint)


def import_logs(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"Kind of log: {', '.join(IMPORTERS)}.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", exists=True, help="Log files or folders of them.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the traces.")],
    as_json: _AsJson = False,
) -> None:
    """Turn foreign logs into traces: re-execute them and compare everything that they say.

    Exit code 1 when a log is damaged or says something else than re-execution.
    """
    if kind not in IMPORTERS:
        raise typer.BadParameter(f"there is no importer {kind!r}; known are {', '.join(IMPORTERS)}")
    report = run_importer(kind, _logs(paths), out)
    if as_json:
        _print_json(report.to_json())
    else:
        terminal.show_import(report)
        _say(f"traces in {out}")
    _exit(report.sound)


def _complaint(evaluations: Sequence[Evaluation]) -> str:
    """Why the exit code is 1; "" when it is 0. A failure mode that was found is a result, not a complaint."""
    unread = [evaluation.path for evaluation in evaluations if evaluation.outcome is None]
    unusable = [item.path for item in evaluations if item.outcome is not None and item.outcome.findings]
    # Both lead to exit code 1, and scripts need to know which of the two it was.
    parts = (("cannot be evaluated", unread), ("odd, see its findings", unusable))
    return "; ".join(f"{len(paths)} of {len(evaluations)} {what}: {_some(paths)}" for what, paths in parts if paths)


def _some(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_MAX_NAMED]) + (" …" if len(paths) > _MAX_NAMED else "")


def _traces(place: str) -> Sequence[str | Path]:
    """Trace files of a path, or the addresses of the traces in a store."""
    # Before paths: an address would be looked for as a file.
    if is_store(place):
        return [stored.url for stored in stored_traces(place)]
    return find_traces(place)


def _logs(paths: Iterable[Path]) -> list[Path]:
    """The log files named, those of folders in order of name. Raises TraceError where there is none."""
    # Files that are named are taken whatever their ending; of folders only `*.jsonl`.
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    if not files:
        raise TraceError(f"{', '.join(map(str, paths))}: no log here (*.jsonl)")
    return files


def _print_json(content: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def _write(output: Path, line: bytes, what: str) -> None:
    """A file of one line; say on stderr what was written where."""
    written = write_whole(output, [line, b"\n"])
    _say(f"wrote {output} ({what}, {written})")


def _say(line: str) -> None:
    """Message on stderr: stdout belongs to the results, which may be piped."""
    print(line, file=sys.stderr)


def _exit(fine: bool) -> None:
    """End the command with exit code 1 unless all is well."""
    if not fine:
        raise typer.Exit(1)
