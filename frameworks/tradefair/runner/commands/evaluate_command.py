"""The command `evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.evaluation.commands.audit_commands import AsJson
from tradefair.evaluation.ledger import LEDGER_HELP, Extent
from tradefair.evaluation.read.places import Places, Verify
from tradefair.evaluation.report.outputs import ending


def evaluate(
    paths: Places,
    as_json: AsJson = False,
    verify: Verify = None,
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
    ledger: Annotated[
        Extent | None, typer.Option(help=f"{LEDGER_HELP} Default: auto of one trace, off of several.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="POLICY,…", help="Policies that a ledger is against; default: the best known ones."),
    ] = None,
) -> None:
    """How agents did, and what went wrong: a verdict, and the seats under test beside their references.

    With --all every figure of seats and market, and failure modes with the events that prove them. What turns lost is
    told by a ledger (docs/explanation/ledger.md). Of several traces a game counts once, and what proves nothing is left
    out. Exit code 1 when a trace cannot be read or is left out, leaves findings, or shows an agent that never acted.
    """
    if against is not None and ledger is Extent.OFF:
        raise typer.BadParameter("says whom a ledger is against, and --ledger off makes none", param_hint="--against")
    # Imported here: evaluators, verdicts and charts take long to import.
    from tradefair.runner.ledger.evaluations import print_evaluation

    print_evaluation(
        paths,
        as_json=as_json,
        verify=verify,
        output=output,
        references=references,
        whole=whole,
        ledger=ledger,
        against=tuple(filter(None, (against or "").split(","))),
        of=map_file,
    )
