"""The commands `analyst illegality`, `analyst failures` and `analyst dossier`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.options import PLAIN, grouped
from tradefair.evaluation.analyst.fence import MAX_GAME
from tradefair.runner.analyst.analyst_flags import Asked, AskedAtLength

analyst = typer.Typer(no_args_is_help=True, **PLAIN)

_Traces = Annotated[list[Path], typer.Argument(metavar="PATH...", exists=True, help="Trace files or folders of them.")]


@analyst.callback()
def _both() -> None:
    """A model's opinion of talk and play, stored apart from everything that is measured.

    Works with any OpenAI-compatible endpoint; nothing that it says enters an outcome, a finding or a rating.
    """


@analyst.command()
@grouped
def illegality(
    paths: _Traces,
    asked: Asked,
    out: Annotated[Path, typer.Option("-o", "--out", help="Side file that opinions are appended to.")] = Path(
        "illegality.jsonl"
    ),
    max_episodes: Annotated[int | None, typer.Option(min=1, help="Ask about so many episodes at most.")] = None,
) -> int:
    """How illegal the talk of each episode reads to a model: 0 to 10, a reason, and the messages that it rests on.

    An answer that is not exactly that is asked for once more and then has no score, with the reason. Episodes that the
    side file already has a score of (same messages, prompt and model) are skipped. Exit code 1 when an episode got no
    score although somebody spoke, or a file is no trace; 3 when the provider failed.
    """
    # Imported here: evaluators and what asks models take long to import.
    from tradefair.runner.analyst.opinions import ask_illegality

    return ask_illegality(paths, asked, out, max_episodes)


@analyst.command()
@grouped
def failures(
    paths: _Traces,
    asked: AskedAtLength,
    policy: Annotated[Path, typer.Option(exists=True, help="Text of the policy that the agent had to follow.")],
    labels: Annotated[
        Path | None, typer.Option(exists=True, help="JSONL of `audit run`: which runs passed, where others failed.")
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Side file that opinions are appended to.")] = Path(
        "failures.jsonl"
    ),
    max_episodes: Annotated[int | None, typer.Option(min=1, help="Ask about so many runs at most.")] = None,
) -> int:
    """Where each run of somebody's agent failed, to a model that must cite the step and quote it.

    What rules do not claim: answers that were misread, plans beside the user's intent. An answer that quotes what its
    step does not hold is asked for once more, and then counts for nothing. No opinion raises a run in `audit run`. Exit
    code 1 when a run got no opinion, or a file or label could not be used; 3 when the provider failed.
    """
    from tradefair.runner.analyst.opinions import ask_failures

    return ask_failures(paths, asked, out, max_episodes, policy, labels)


@analyst.command()
@grouped
def dossier(
    paths: _Traces,
    asked: AskedAtLength,
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent, by its label; may be repeated.")] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the pages.")] = Path("dossiers"),
    date: Annotated[str, typer.Option(help="Date on the pages; default: the day on which the last trace ended.")] = "",
    max_characters: Annotated[
        int, typer.Option(min=1_000, max=1_000_000, help="Characters of each game that are shown; its middle is cut.")
    ] = MAX_GAME,
) -> int:
    """A page per agent on how it plays, from up to 12 games that are chosen by rule; every claim is held against them.

    The check marks claims without a citation, citations of what was not shown, and quoted words that nobody wrote. A
    page of the same input, prompt and model is not written again. Exit code 1 when an agent got no page or a file is no
    sound trace; 3 when the provider failed.
    """
    from tradefair.runner.analyst.opinions import ask_dossiers

    return ask_dossiers(paths, asked, agent or [], out, date, max_characters)
