"""The commands `audit init` and `audit run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.options import PLAIN
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract import ScenarioError, TraceError

audit = typer.Typer(no_args_is_help=True, **PLAIN)

_Traces = Annotated[list[Path], typer.Argument(metavar="PATH...", exists=True, help="Trace files or folders of them.")]
_MAX_RUNS = 2_000
"""Runs that a draft is made of; their calls are in memory together."""


@audit.callback()
def _both() -> None:
    """Hold anybody's agent against a map of what its actions should rest on, or against references.

    `tradefair import` makes the traces of logs in any format, `tradefair record` of MCP servers.
    """


@audit.command()
def init(
    paths: _Traces,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the map; default: print it.")] = None,
) -> int:
    """Draft a map from three or more runs: objects, the reads that show them, states that actions rest on.

    Each line ends in its counts; correct the file, first the lines that say check. No model is asked. Exit code 1 when
    a file is no trace.
    """
    from tradefair.evaluation.foreign.audit.draft import draft_map
    from tradefair.evaluation.foreign.audit.run import Run, read_run
    from tradefair.evaluation.read.whole_files import write_whole
    from tradefair.tracestore import find_traces

    if output is not None and output.exists():
        raise ScenarioError(f"{output}: exists; a corrected map is not written over: name another file")
    runs: list[Run] = []
    unread = 0
    files = [file for path in paths for file in find_traces(path)]
    for file in files[:_MAX_RUNS]:
        try:
            runs.append(read_run(file))
        except TraceError as error:
            unread += 1
            say(str(error))
    if len(files) > _MAX_RUNS:
        say(f"drafted from the first {_MAX_RUNS:,} of {len(files):,} traces")
    drafted = draft_map(runs, ", ".join(str(path) for path in paths))
    if output is None:
        tell(drafted, end="")
    else:
        write_whole(output, [drafted.encode()])
        say(f"{output}: {drafted.count('check')} lines to check; then: tradefair audit run … --map {output}")
    return 1 if unread else 0


@audit.command()
def run(
    paths: _Traces,
    map_file: Annotated[
        Path | None, typer.Option("--map", exists=True, help="Map of what actions rest on; `audit init` drafts one.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(exists=True, help="JSONL: which runs passed, and where the others failed.")
    ] = None,
    references: Annotated[
        Path | None, typer.Option(exists=True, help="JSONL: actions and outputs that solve each run's task.")
    ] = None,
    reference_run: Annotated[
        Path | None, typer.Option(exists=True, help="A trace whose actions are the reference of all runs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON.")] = False,
) -> int:
    """What runs did that their map or reference does not have, by step, and how often passed runs are raised too.

    Exit code 0 also when something is raised; 1 when a trace, a label or a reference could not be used.
    """
    from tradefair.evaluation.foreign.audit.auditing import Asked, audit_traces, references_in
    from tradefair.evaluation.foreign.audit.judging import read_with
    from tradefair.evaluation.foreign.audit.map_file import Map, load_map
    from tradefair.evaluation.foreign.audit.rates import labels_in
    from tradefair.evaluation.foreign.audit.show_audit import show_audit
    from tradefair.tracestore import find_traces

    if references is not None and reference_run is not None:
        raise ScenarioError("--references and --reference-run: name one of them")
    map_ = None if map_file is None else load_map(map_file)
    labelled, wrong_labels = (None, []) if labels is None else labels_in(labels)
    wanted, wrong_references = (None, []) if references is None else references_in(references)
    example = None if reference_run is None else read_with(reference_run, map_ or Map(version=1))
    files = [file for path in paths for file in find_traces(path)]
    found = audit_traces(files, Asked(map_, labelled, wanted, example), [*wrong_labels, *wrong_references])
    if as_json:
        print_json(found.to_json())
    else:
        show_audit(found)
    for problem in found.problems:
        say(problem)
    return 1 if found.problems else 0
