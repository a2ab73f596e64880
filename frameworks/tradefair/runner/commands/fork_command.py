"""`tradefair fork`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair.cli.options import PlayerFlags
from tradefair.cli.options_file import configured
from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import TraceError
from tradefair.evaluation.report.outputs import Output, write

if TYPE_CHECKING:
    from tradefair.contract.kernel.players import Limits
    from tradefair.host.episode.episode import Episode
    from tradefair.runner.play.agent_spec import AgentSpec, ReadyAgent


@dataclass(frozen=True)
class _GoesOn(PlayerFlags):
    framework: Annotated[
        str, typer.Option("--agent", help="Goes on in the seat: policy:<name>; or react (default), … with --model.")
    ] = ""
    model: Annotated[str, typer.Option(help="openai:<model>, policy:<name>, … of the agent that goes on.")] = ""


@configured("fork", "isolate quiet")
def fork(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", exists=True, dir_okay=False, help="The original.")],
    player: _GoesOn,
    at: Annotated[
        int | None, typer.Option(min=1, help="Event before which the past ends: the decision to redo.")
    ] = None,
    seat: Annotated[str, typer.Option(help="Seat of the agent; default: that of the event.")] = "",
    withhold: Annotated[
        int | None, typer.Option(min=1, help="Leave this event out; then --at may be left out.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1_000, help="Futures: other draws of the policies, the market's luck stays.")
    ] = 1,
    isolate: Annotated[
        bool, typer.Option(help="Also play the decision as it was with the new agent after it: what it alone cost.")
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Folder of the traces; default ./runs/<time>-fork.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Output = None,
) -> int:
    """Rebuild an episode before an event and go on with another agent on the same luck: what that decision cost.

    Every arm is a trace of its own that verifies; run twice, a fork of policies has the same bytes. Exit code 1 when
    the original does not re-execute or an arm does not verify, 3 when a provider failed.
    """
    # Imported here: what plays takes long to import.
    import asyncio

    from tradefair.host.seats.plans import default_folder
    from tradefair.runner.fork.fork import ForkSpec, fork_episode

    spec = ForkSpec(
        path=trace,
        folder=out or default_folder("fork"),
        at=at,
        agent=_agent(trace, player),
        seat=seat or None,
        withhold=withhold,
        futures=seeds,
        isolate=isolate,
    )
    played = asyncio.run(fork_episode(spec, opened=partial(_shown, quiet=quiet)))
    # The evaluators are needed only after everything has been played.
    from tradefair.runner.fork.report import report_fork, show_fork

    report = report_fork(played)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        show_fork(report)
    if output is not None:
        from tradefair.runner.fork.figure import fork_page

        say(f"{output}: {write(fork_page(report), output)}")
    return 1 if report.unsound else 0


@asynccontextmanager
async def _shown(episode: Episode, agent: ReadyAgent, *, quiet: bool) -> AsyncGenerator[None]:
    """Progress of an arm, called by its folder."""
    from tradefair.host.episode.progress import Progress

    async with Progress(episode, episode.path.parent.name, taken=agent.budget.words, quiet=quiet):
        yield


def _agent(trace: Path, player: PlayerFlags) -> AgentSpec | None:
    """Who goes on, within the limits of the agent that played before; None when none was named."""
    # An empty framework with a model is a choice, so either of the two names a player.
    if not (player.framework or player.model):
        return None
    from tradefair.runner.play.agent_spec import agent_of

    return agent_of(player, limits=_limits(trace))


def _limits(path: Path) -> Limits:
    from tradefair.contract.kernel.players import Limits
    from tradefair.runner.play.episode_runner import recorded_agent

    # A trace with an unreadable agent is refused later, with a better reason, if that agent has to go on.
    try:
        return recorded_agent(path).limits
    except TraceError:
        return Limits()
