"""The command `host`. In the runner because it may serve tasks, whose scores are worked out there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair import tracestore
from tradefair.catalog import use_data
from tradefair.cli.logs import LogFormat, LogLevel, log_to_stderr
from tradefair.cli.options import EpisodeFlags
from tradefair.cli.options_file import configured
from tradefair.cli.ports import is_loopback
from tradefair.cli.terminal import say
from tradefair.host.commands.host_flags import HostFlags

if TYPE_CHECKING:
    from tradefair.runner.tasks.serving import EnvExtension

_RARE = """
    data wait slim-tools refusals label
    allow-origin per-address proxy body-limit auth issuer resource invite store
    until-over linger observers control-token-env control-token-file max-episodes
    max-seats ttl idle rate burst call-budget byte-budget episode-bytes keep-free drain
    salt-file log-format log-level
"""


@configured("host", _RARE)
def host(
    episode: EpisodeFlags,
    hosting: HostFlags,
    resume: Annotated[
        Path | None, typer.Option(exists=True, help="Folder of an earlier host: its tokens stay valid.")
    ] = None,
    tasks: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Also serve the tasks of this file (bundled: ours) to a trainer, and their scores."
        ),
    ] = "",
    salt_file: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The salt of sealed tasks; mode 600.")
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Lines on standard error: text or json.")] = "text",
    log_level: Annotated[LogLevel, typer.Option(help="From which level on.")] = "warning",
) -> None:
    """Host episodes over streamable HTTP, one bearer token per seat.

    Tokens are shown once; only their digests are kept, in host.json in the folder of --out, beside the traces, or with
    the address of the store that holds them. With --control-port episodes are
    made and ended while it runs (tradefair control), and no market need be named. SIGTERM lets open rounds end, takes
    no more requests and closes the episodes; --resume FOLDER goes on with them.

    --tasks serves a trainer, which orders episodes of tasks, plays their seats, which are MCP servers, and asks for the
    scores. docs/how-to/train.md has a client of forty lines.
    """
    import asyncio

    from tradefair.host.commands.launch import run_host
    from tradefair.host.doors.places import Places

    if not hosting.remote and not is_loopback(hosting.address):
        raise typer.BadParameter(f"{hosting.address} can be reached by others: add --allow-remote if that is meant")
    if hosting.goes_on and episode.out is None:
        raise typer.BadParameter("--continue goes on with the host of a folder: name it with --out")
    try:
        Places(hosting.bounds)
    except ValueError as wrong:
        raise typer.BadParameter(f"proxy takes an IP address: {wrong}") from None
    if hosting.store is not None and not tracestore.is_whole_store(hosting.store):
        raise typer.BadParameter("store takes the URL of a PostgreSQL database: postgresql://HOST/DB")
    if salt_file is not None and not tasks:
        raise typer.BadParameter("a salt opens sealed tasks: name them with --tasks", param_hint="salt-file")
    log_to_stderr(log_format, log_level)
    use_data(episode.data)
    asyncio.run(run_host(episode, hosting.usual(tasks=bool(tasks)), resume, extension=_served(tasks, salt_file)))


def _served(tasks: str, salt_file: Path | None) -> EnvExtension | None:
    """The tasks of a file or the bundled ones, each split announced; None without."""
    if not tasks:
        return None
    from tradefair.runner.tasks.serving import EnvExtension
    from tradefair.runner.tasks.tasks import load_tasks, read_salt

    salt = None if salt_file is None else read_salt(salt_file)
    known = load_tasks(None if tasks == "bundled" else Path(tasks), salt)
    for split in known.splits.values():
        sealed = f", sealed: publish the commitment {split.commitment}" if split.sealed else ""
        say(f"tradefair host: {split.name}, {len(split):,} tasks{sealed}")
    return EnvExtension(known)
