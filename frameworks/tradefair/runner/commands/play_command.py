"""The command `play`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.catalog import use_data
from tradefair.cli.options_file import configured
from tradefair.evaluation.ledger import LEDGER_HELP, Extent
from tradefair.runner.play.agent_flags import AgentFlags
from tradefair.runner.play.play_flags import Often, Played


@configured("play", "model-option prompts window faults approve slim-tools trials open quiet")
def play(
    episode: Played,
    agent: AgentFlags,
    often: Often,
    resume: Annotated[Path | None, typer.Option(help="Go on with this trace where a run stopped.")] = None,
    ledger: Annotated[
        Extent | None, typer.Option(help=f"{LEDGER_HELP} Default: auto of one episode, off of several.")
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the page of --agent person in a browser; default: yes."),
    ] = None,
    slim: Annotated[
        bool, typer.Option("--slim-tools", help="List tools to --agent external without their output schemas.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    whole: Annotated[bool, typer.Option("--all", help="Print every figure, not the verdict alone.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Play an episode in process over MCP; print how the agent did, and check the trace by re-execution.

    A killed run goes on with --resume TRACE. With --seeds N, N episodes on consecutive seeds and their means.
    Exit code 1 when a trace is not reproduced or the agent never acted, 3 when a provider failed.
    """
    # Before anything is loaded: it says where data are found.
    use_data(episode.data)
    # Imported here: what plays takes long to import.
    from tradefair.runner.play.playing import Manner, go_on, play_new
    from tradefair.runner.play.summary import show

    manner = Manner(ledger, quiet, browser, slim)
    shown = play_new(episode, agent, often, manner) if resume is None else go_on(resume, episode, agent, often, manner)
    return show(shown, json=as_json, whole=whole)
