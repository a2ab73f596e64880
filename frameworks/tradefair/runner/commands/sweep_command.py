"""The command `sweep`: the episodes of a plan, and what they say of who played, or of the seed's luck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tradefair.cli.options_file import configured
from tradefair.cli.terminal import print_json, say
from tradefair.evaluation.read.places import Verify
from tradefair.evaluation.report.outputs import Output, write
from tradefair.runner.sweep.flags import AsJson, How, PlanName

if TYPE_CHECKING:
    from pathlib import Path

    from tradefair.runner.sweep.sweep import Sweep


@configured("sweep", "data concurrency max-episodes max-minutes max-tokens retries store")
def sweep_plan(
    plan: PlanName,
    how: How,
    rank: Annotated[bool, typer.Option("--rank", help="End with the leaderboards of who played, as of rate.")] = False,
    luck: Annotated[
        str,
        typer.Option(
            metavar="AGENT",
            help="How much of an agent's reward is the seed's: policy:<name>, or a model, <framework>/<model> too. "
            "PLAN is a scenario's id or file.",
        ),
    ] = "",
    seat: Annotated[
        str | None, typer.Option(help="Of --luck; default: the first agent's seat that it can play.")
    ] = None,
    group: Annotated[
        int | None, typer.Option(min=2, max=64, help="Of --luck: episodes on each seed, by other draws; default 4.")
    ] = None,
    verify: Verify = None,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Play every episode of a plan, one trace each; -o: seeds by arms as a figure, with the verdict on them.

    Stopped or killed, the same command goes on: episodes that are done are not played again, failed ones are. Several
    commands may play one plan into one folder at the same time. Exit code 3 when episodes failed, 1 when nothing could
    be rated.

    --luck plays seeds (20 to 1,000; default 100) x group episodes that differ on a seed in the agent's own draws alone:
    how much of a reward's variance the seed explains, and how large a group of rollouts on one seed pays.
    """
    if luck and (rank or output is not None):
        raise typer.BadParameter("it is told without --rank and -o", param_hint="--luck")
    if not luck and (seat is not None or group is not None):
        raise typer.BadParameter("it is of --luck: add that, or leave it out", param_hint="--seat and --group")
    if luck:
        # Imported here: what plays takes long to import.
        from tradefair.runner.play.summary import show
        from tradefair.runner.sweep.luck import luck_of, play_luck

        return show(play_luck(luck_of(plan, luck, seat, how.seeds, group or 4), how, verify), json=as_json)
    from tradefair.runner.sweep.lines import print_sweep
    from tradefair.runner.sweep.of_plan import play_plan

    done = play_plan(plan, how)
    if rank:
        return _ranked(done, as_json, output, verify)
    if as_json:
        print_json(done.to_json())
    else:
        print_sweep(done)
    if output is not None:
        # Imported here: it needs the evaluators, and everything has been played by now.
        from tradefair.runner.sweep.figure import sweep_page

        say(f"{output}: {write(sweep_page(done, plan), output)}")
    return done.exit_code


def _ranked(done: Sweep, as_json: bool, output: Path | None, verify: bool | None) -> int:
    """The leaderboards of what was played, and the exit code."""
    # Rating is needed only after everything has been played.
    from tradefair.runner.play.summary import show
    from tradefair.runner.sweep.tournament import Tournament, rated

    found = Tournament(done, rated([done.folder], None, 0, charts=as_json or output is not None, proven=verify))
    if output is not None:
        say(f"{output}: {write(found.figure, output)}")
    return show(found, json=as_json)
