"""The command `audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import print_json, say
from tradefair.contract import ScenarioError, TraceError

_MAX_RUNS = 2_000
"""Runs that a draft is made of; their calls are in memory together."""


def audit(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", exists=True, help="Trace files or folders of them.")
    ],
    draft: Annotated[
        Path | None, typer.Option("--init", metavar="FILE", help="Draft a map from three or more runs into this file.")
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", exists=True, help="Map of what actions rest on; --init drafts one.")
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
    """What runs of any agent did that their map or reference does not have, by step; how often passed runs are raised.

    `tradefair import` makes the traces of logs in any format, `tradefair record` of MCP servers. Exit code 0 also when
    something is raised; 1 when a trace, a label or a reference could not be used.

    --init drafts a map: objects, the reads that show them, states that actions rest on. Each line ends in its counts;
    correct the file, first the lines that say check. No model is asked.
    """
    if draft is not None:
        if map_file or labels or references or reference_run or as_json:
            raise ScenarioError("--init drafts a map and audits nothing: it goes with traces alone")
        return _draft(paths, draft)
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


def _draft(paths: list[Path], output: Path) -> int:
    """Write a map; 1 where a file is no trace. Raises ScenarioError."""
    from tradefair.evaluation.foreign.audit.draft import draft_map
    from tradefair.evaluation.foreign.audit.run import Run, read_run
    from tradefair.evaluation.read.whole_files import write_whole
    from tradefair.tracestore import find_traces

    if output.exists():
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
    write_whole(output, [drafted.encode()])
    say(f"{output}: {drafted.count('check')} lines to check; then: tradefair audit … --map {output}")
    return 1 if unread else 0
