"""The command `evaluate`. It stands with the runner because `--price` plays; what it prints is made in `evaluation`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer

from tradefair.cli.terminal import print_json, say
from tradefair.contract import TraceError
from tradefair.evaluation import terminal
from tradefair.evaluation.audit_commands import AsJson, finish, traces_of
from tradefair.evaluation.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.places import Places
from tradefair.evaluation.population import Populations
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.whole_files import write_whole

# Paths named in a line on stderr; `--json` has all.
_MAX_NAMED = 5
_MAX_PRICED = 20


def evaluate(
    paths: Places,
    as_json: AsJson = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the JSON to this file.")] = None,
    references: Annotated[
        Path | None, typer.Option(exists=True, help="Reference populations on the same seeds; default: references/.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Show every seat and every finding, however many.")] = False,
    price: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_PRICED, metavar="N", help="Replay the first N findings of a trace, repaired."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY", help="Who plays repaired turns; all: every competent policy. Default: the nearest."
        ),
    ] = None,
) -> None:
    """Economic outcomes per seat and market, lapses, end reason and labels; unfinished traces are marked censored.

    Where a market has diagnostics: their figures by stage, failure modes found with the events that prove them, and
    what was looked for and not found. Exit code 1 when a trace cannot be read or leaves findings.
    """
    if against is not None and price is None:
        raise typer.BadParameter("--against says who plays for --price: name both", param_hint="--against")
    populations = Populations([references] if references else [])
    evaluations: list[Evaluation] = []
    unpriced: list[str] = []
    places = [place for path in paths for place in traces_of(path)]
    for place in places:
        evaluation = evaluate_file(place, populations)
        if price is not None and evaluation.outcome is not None:
            evaluation, reason = _priced(place, evaluation, price, against)
            unpriced += [f"{evaluation.path}: cannot be replayed: {reason}"] if reason else []
        evaluations.append(evaluation)
    verdict = verdict_of_series(
        [verdict_of_file(place, evaluation=found) for place, found in zip(places, evaluations, strict=True)]
    )
    content = {"verdict": verdict.to_json(), "traces": [evaluation.to_json() for evaluation in evaluations]}
    # -o and --json can be given together; the table is for those who ask for neither.
    if output is not None:
        written = write_whole(output, [orjson.dumps(content, option=orjson.OPT_INDENT_2), b"\n"])
        say(f"wrote {output} ({len(evaluations)} traces, {written})")
    if as_json:
        print_json(content)
    elif output is None:
        terminal.show_evaluations(evaluations, whole=whole)
    # Printed after the results: the reason would be gone from the screen above long tables.
    for line in unpriced:
        say(line)
    complaint = _complaint(evaluations)
    if complaint:
        say(f"exit code 1: {complaint}")
    finish(not complaint)


def _priced(place: str | Path, evaluation: Evaluation, most: int, against: str | None) -> tuple[Evaluation, str]:
    """The evaluation with prices; or as it was, and why the trace cannot be replayed."""
    # Imported here: who does not price must not wait for what plays.
    from tradefair.runner.price import with_prices
    from tradefair.runner.replays import Replays

    try:
        return with_prices(Replays(place), evaluation, most, against, show_progress), ""
    except TraceError as error:
        return evaluation, str(error)


def _complaint(evaluations: Sequence[Evaluation]) -> str:
    """Why the exit code is 1; "" when it is 0. A failure mode that was found is a result, not a complaint."""
    unread = [evaluation.path for evaluation in evaluations if evaluation.outcome is None]
    unusable = [item.path for item in evaluations if item.outcome is not None and item.outcome.findings]
    # Both lead to exit code 1, and scripts need to know which of the two it was.
    parts = (("cannot be evaluated", unread), ("odd, see its findings", unusable))
    return "; ".join(f"{len(paths)} of {len(evaluations)} {what}: {_some(paths)}" for what, paths in parts if paths)


def _some(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_MAX_NAMED]) + (" …" if len(paths) > _MAX_NAMED else "")
