"""The commands `env serve`, an environment to train and evaluate in over HTTP, and `tasks`, what it serves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tradefair.catalog import use_data
from tradefair.cli.logs import LogFormat, LogLevel, log_to_stderr
from tradefair.cli.options import PLAIN, EpisodeFlags, grouped
from tradefair.cli.ports import is_loopback
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract.errors import ScenarioError
from tradefair.host.clients.client_config import CONTROL_TOKEN_VARIABLE
from tradefair.host.commands.host_flags import (
    ControlTokenEnv,
    ControlTokenFile,
    HostFlags,
    IdleSeconds,
    LingerSeconds,
    SeatFlags,
)

if TYPE_CHECKING:
    from tradefair.runner.tasks.tasks import Task, Tasks

env = typer.Typer(no_args_is_help=True, help="Tasks, seats over HTTP, and scores: train and evaluate here.", **PLAIN)


@env.callback()
def _group() -> None:  # pyright: ignore[reportUnusedFunction]
    """Train and evaluate over HTTP."""
    # Without it the parser would take the only command for the group itself.


_File = Annotated[
    Path | None, typer.Option("--tasks", exists=True, dir_okay=False, help="Task file (TOML); default: the bundled.")
]
_SaltFile = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="The salt of the sealed splits; mode 600.")
]
_Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of data; default: TRADEFAIR_DATA.")]
_SHOWN = 20


@dataclass(frozen=True)
class _EnvFlags(SeatFlags):
    """Where seats and control plane are served, and what an episode may take."""

    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the seats; 0 takes a free one.")] = 0
    control: Annotated[
        int, typer.Option("--control-port", min=0, max=65_535, help="Port of the control plane; 0 takes a free one.")
    ] = 0
    control_env: ControlTokenEnv = CONTROL_TOKEN_VARIABLE
    control_file: ControlTokenFile = None
    out: Annotated[Path | None, typer.Option(help="Folder of registry and traces; default ./runs/<time>-…")] = None
    goes_on: Annotated[
        bool, typer.Option("--continue", help="Go on with what --out holds, if any: its tokens stay valid.")
    ] = False
    most: Annotated[int, typer.Option("--max-sessions", min=1, max=100_000, help="Episodes at a time.")] = 256
    idle: IdleSeconds = 600
    linger: LingerSeconds = 600
    rate: Annotated[float, typer.Option(min=0, help="Calls per second and seat; 0: as many as come.")] = 0
    address: Annotated[str, typer.Option("--host", help="Address of the seats; control stays on 127.0.0.1.")] = (
        "127.0.0.1"
    )
    remote: Annotated[bool, typer.Option("--allow-remote", help="Serve seats where others can reach them.")] = False
    names: Annotated[list[str] | None, typer.Option("--name", help="Further host name that clients may use.")] = None

    @property
    def hosting(self) -> HostFlags:
        """The same as flags of a host, which has all of these by the same names; `out` is of the episodes."""
        return HostFlags(
            as_json=True, **{field.name: getattr(self, field.name) for field in fields(self) if field.name != "out"}
        )


@env.command()
@grouped
def serve(
    serving: _EnvFlags,
    tasks: _File = None,
    salt_file: _SaltFile = None,
    data: _Data = None,
    log_format: Annotated[LogFormat, typer.Option(help="Lines on standard error: text or json.")] = "text",
    log_level: Annotated[LogLevel, typer.Option(help="From which level on.")] = "warning",
) -> None:
    """Serve tasks, seats and scores to a trainer.

    It orders episodes, plays their seats, which are MCP servers, and asks for the scores. One line of JSON when ready,
    with the URL of the seats, the control plane and its token. docs/how-to/train.md has a client of forty lines.
    SIGTERM lets open rounds end; --continue with the same --out goes on.
    """
    import asyncio

    from tradefair.host.commands.launch import run_host
    from tradefair.runner.tasks.serving import EnvExtension

    if not serving.remote and not is_loopback(serving.address):
        raise typer.BadParameter(f"{serving.address} can be reached by others: add --allow-remote if that is meant")
    if serving.goes_on and serving.out is None:
        raise typer.BadParameter("--continue goes on with the episodes of a folder: name it with --out")
    log_to_stderr(log_format, log_level)
    use_data(data)
    known = _loaded(tasks, salt_file)
    for split in known.splits.values():
        sealed = f", sealed: publish the commitment {split.commitment}" if split.sealed else ""
        say(f"tradefair env: {split.name}, {len(split):,} tasks{sealed}")
    asyncio.run(run_host(EpisodeFlags(out=serving.out), serving.hosting, None, extension=EnvExtension(known)))


def show_tasks(
    name: Annotated[str, typer.Argument(metavar="[SPLIT[/INDEX]]", help="A split, or one task.")] = "",
    tasks: _File = None,
    salt_file: _SaltFile = None,
    salt: Annotated[str, typer.Option(metavar="HEX", help="A salt that was revealed, instead of its file.")] = "",
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Print the salt of --salt-file: its season is over.")
    ] = False,
    start: Annotated[int, typer.Option(min=0, help="Index of the first task shown.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Tasks shown.")] = _SHOWN,
    data: _Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """List splits, tasks and their seeds.

    Of a sealed split only with its salt: who has that knows the seeds. Once it is revealed anybody can make the seeds
    of its sealed splits, and hold the traces against them.
    """
    if reveal:
        _reveal(salt_file)
        return
    use_data(data)
    if salt and salt_file is not None:
        raise typer.BadParameter("--salt and --salt-file are two salts: give one of them")
    known = _loaded(tasks, salt_file, salt)
    if not name:
        rows = [
            {
                "split": split.name,
                "tasks": len(split),
                "scenarios": len(split.scenarios),
                "commitment": split.commitment,
            }
            for split in known.splits.values()
        ]
    elif "/" in name:
        rows = [_row(known.task(name))]
    else:
        split = known.split(name)
        rows = [_row(split.task(index)) for index in range(start, min(start + limit, len(split)))]
    if as_json:
        print_json(rows)
        return
    from tradefair.cli.console import Console
    from tradefair.cli.tables import figures, names, show_table

    counted = ("tasks", "scenarios", "seed")
    columns = [figures(title)[0] if title in counted else names(title)[0] for title in (rows[0] if rows else ())]
    show_table(Console(), columns, [[_cell(cell) for cell in row.values()] for row in rows])
    if known.left_out and not name:
        say(f"sealed, and left out without --salt-file: {', '.join(known.left_out)}")


def _reveal(salt_file: Path | None) -> None:
    if salt_file is None:
        raise typer.BadParameter("it prints the salt of --salt-file: name that", param_hint="--reveal")
    from tradefair.contract.sealed_seeds import commitment_of
    from tradefair.runner.tasks.tasks import read_salt

    salt = read_salt(salt_file)
    say(f"commitment {commitment_of(salt)}; seeds: tradefair tasks test --salt <what follows>")
    tell(salt.hex())


def _loaded(tasks: Path | None, salt_file: Path | None, salt: str = "") -> Tasks:
    from tradefair.runner.tasks.tasks import load_tasks, read_salt, salt_of

    key = None if salt_file is None else read_salt(salt_file)
    if salt:
        try:
            key = salt_of(bytes.fromhex(salt), "--salt")
        except ValueError:
            raise ScenarioError("--salt: hex digits, as `tradefair tasks --reveal` prints them") from None
    return load_tasks(tasks, key)


def _row(task: Task) -> dict[str, object]:
    choice = task.choice
    return {"task": task.id, "scenario": choice.scenario, "seats": choice.seats, "tier": choice.tier, "seed": task.seed}


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in cast("tuple[object, ...]", value))
    return "–" if value is None else str(value)
