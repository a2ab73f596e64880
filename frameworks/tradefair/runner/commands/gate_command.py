"""The commands `gate init`, `gate record`, `gate run` and `gate add`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair.cli.options import PLAIN
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract.errors import ScenarioError
from tradefair.evaluation.report.outputs import Output, write

if TYPE_CHECKING:
    from tradefair.runner.gate.judging import GateResult

gate = typer.Typer(no_args_is_help=True, help="Whether a change has made an agent worse.", **PLAIN)

File = Annotated[Path, typer.Argument(metavar="[FILE]", help="The gate; its baseline lies beside it.")]
Out = Annotated[Path | None, typer.Option(help="Folder of the traces; default: runs/gate beside the file.")]
_FILE = Path("gate.toml")
_SCENARIO = "bargaining/pact"
_TEXT = """agent = "{agent}"
scenarios = ["{scenario}"]
seeds = 16                      # games a scenario, up to twice as many where it is close
margin = "5 %"                  # a loss that must not be missed, of what the baseline earns more than doing nothing

[limits]                        # whatever was earned
never_acted = 0                 # games
broke_off = 0
refused = "10 %"                # of calls
"""


@gate.command()
def init(
    file: File = _FILE,
    agent: Annotated[
        str, typer.Option(help="my_agent.py:play, policy:<name> or a framework; default: the market's stand-in.")
    ] = "",
) -> None:
    """Write a gate to begin with; asks nothing."""
    from tradefair.catalog import load_scenario, market_type
    from tradefair.contract.kernel.players import stand_ins

    if not agent:
        market = _SCENARIO.partition("/")[0]
        kind, scenario = market_type(market), load_scenario(market, _SCENARIO)
        agent = f"policy:{stand_ins(kind, scenario, ['buyer', 'seller'])[0]}"
    if set(agent) & set('"\\\n'):
        raise ScenarioError(f"--agent {agent!r:.80}: without quotes, backslashes and line breaks")
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(_TEXT.format(agent=agent, scenario=_SCENARIO))
    except FileExistsError:
        raise ScenarioError(f"{file} exists: change it, or name another file") from None
    except OSError as fault:
        raise ScenarioError(f"{file} cannot be written: {fault.strerror}") from None
    tell(f"{file}: {agent} in {_SCENARIO}. Next: tradefair gate record")


@gate.command()
def record(
    file: File = _FILE,
    new_seeds: Annotated[bool, typer.Option("--new-seeds", help="On seeds that no baseline here has had.")] = False,
    out: Out = None,
) -> None:
    """Play the baseline and write gate.baseline.json; commit both files."""
    # Imported here: what plays takes long to import.
    import asyncio

    from tradefair.cli.console import Console
    from tradefair.runner.gate.gate_file import read_gate
    from tradefair.runner.gate.gating import record_baseline
    from tradefair.runner.gate.telling import recorded_text

    place = read_gate(file)
    with Console(stderr=True).status("recording") as status:
        made = asyncio.run(record_baseline(place, new_seeds=new_seeds, out=out, say=status.update))
    for line in recorded_text(made, place):
        tell(line)


@gate.command()
def run(
    file: File = _FILE,
    against: Annotated[
        str, typer.Option(help="Another player in place of the baseline: policy:zip, old_agent.py:play.")
    ] = "",
    against_ref: Annotated[str, typer.Option(help="The agent of this commit in place of the baseline.")] = "",
    whole: Annotated[bool, typer.Option("--all", help="Play on after a scenario is worse.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Also write the result as JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write it as Markdown.")] = None,
    output: Output = None,
    out: Out = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Play until it is decided: exit code 0 not worse, 1 worse, 4 could not tell.

    In GitHub Actions the verdict is added to the summary of the step. Games of a run that was stopped are kept.
    """
    import asyncio

    from tradefair.cli.console import Console
    from tradefair.runner.gate.gate_file import read_gate
    from tradefair.runner.gate.gating import run_gate

    begun = time.process_time()
    place = read_gate(file)
    with Console(stderr=True).status("playing") as status:
        result = asyncio.run(
            run_gate(place, against=against or None, ref=against_ref, whole=whole, out=out, say=status.update)
        )
    if as_json:
        print_json(result.to_json())
    else:
        tell(result.verdict)
        tell(f"exit {result.exit_code} · {time.process_time() - begun:.0f} CPU s")
    if output is not None:
        from tradefair.runner.gate.losses import figure_of

        say(f"{output}: {write(figure_of(result), output)}")
    _reports(result, junit, markdown, as_json)
    return result.exit_code


def _reports(result: GateResult, junit: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Write what machines read; on a runner of GitHub's, into the summary of the step too."""
    from tradefair.files.folders import write_whole
    from tradefair.runner.gate import telling

    try:
        if junit is not None:
            write_whole(junit, telling.junit(result))
        if markdown is not None:
            write_whole(markdown, telling.markdown(result).encode())
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a", encoding="utf-8") as stream:
                stream.write(telling.markdown(result))
            if result.exit_code:
                # GitHub reads "%0A" and the like as what they stand for.
                line = result.verdict.splitlines()[0].replace("%", "%25")
                (say if as_json else tell)(f"::error title=tradefair gate::{line}")
    except OSError as fault:
        raise ScenarioError(f"{fault.filename} cannot be written: {fault.strerror}") from None


@gate.command()
def add(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", exists=True, dir_okay=False, help="A game to keep.")],
    file: File = _FILE,
    at: Annotated[
        int | None, typer.Option(min=2, help="The agent takes over before this event; default: the costliest turn.")
    ] = None,
    name: Annotated[str, typer.Option("--as", help="Name of the case; default: that of the trace.")] = "",
) -> None:
    """Keep a game as a case: copies the trace to gate_cases and adds it to the gate."""
    from tradefair.runner.gate.cases import add_case
    from tradefair.runner.gate.gate_file import read_gate

    entry = add_case(read_gate(file), file, trace, at, name)
    asked = f"{entry.forbid[0]} never again" if entry.forbid else f"at least {entry.at_least:g}"
    tell(f"{entry.trace}: from before event {entry.at}, {asked}. Next: tradefair gate run")
