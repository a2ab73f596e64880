"""The command `evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.evaluation.audit_commands import AsJson
from tradefair.evaluation.places import Places
from tradefair.evaluation.report.outputs import ending

_MAX_PRICED = 20


def evaluate(
    paths: Places,
    as_json: AsJson = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", callback=ending(".json"), help="Write the JSON to this file.")
    ] = None,
    references: Annotated[
        Path | None, typer.Option(exists=True, help="Reference populations on the same seeds; default: references/.")
    ] = None,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", exists=True, metavar="FILE", help="What the tools of an imported agent have to rest on."),
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Print every figure and every finding, however many.")] = False,
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
    """How agents did, and what went wrong: a verdict, and the seats under test beside their references.

    With --all every figure of seats and market, and failure modes with the events that prove them. Exit code 1 when a
    trace cannot be read, leaves findings, or shows an agent that never acted.
    """
    if against is not None and price is None:
        raise typer.BadParameter("--against says who plays for --price: name both", param_hint="--against")
    # Imported here: evaluators, verdicts and charts take long to import.
    from tradefair.runner.evaluations import print_evaluation

    print_evaluation(
        paths,
        as_json=as_json,
        output=output,
        references=references,
        whole=whole,
        price=price,
        against=against,
        of=map_file,
    )
