"""The command `tasks`: what a host serves to a trainer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tradefair.catalog import use_data
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract.errors import ScenarioError

if TYPE_CHECKING:
    from tradefair.runner.tasks.tasks import Task

_File = Annotated[
    Path | None, typer.Option("--tasks", exists=True, dir_okay=False, help="Task file (TOML); default: the bundled.")
]
_Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of data; default: TRADEFAIR_DATA.")]
_SHOWN = 20


def show(
    name: Annotated[str, typer.Argument(metavar="[SPLIT[/INDEX]]", help="A split, or one task.")] = "",
    tasks: _File = None,
    salt: Annotated[
        str,
        typer.Option(metavar="FILE|HEX", help="The salt of the sealed splits: a file of mode 600, or one revealed."),
    ] = "",
    reveal: Annotated[bool, typer.Option("--reveal", help="Print the salt of --salt: its season is over.")] = False,
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
        _reveal(salt)
        return
    from tradefair.runner.tasks.tasks import load_tasks

    use_data(data)
    known = load_tasks(tasks, _salt(salt) if salt else None)
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
        say(f"sealed, and left out without their salt: {', '.join(known.left_out)}")


def _reveal(named: str) -> None:
    if not named:
        raise typer.BadParameter("it prints the salt of --salt: name its file", param_hint="--reveal")
    from tradefair.contract.sealed_seeds import commitment_of

    salt = _salt(named)
    say(f"commitment {commitment_of(salt)}; seeds: tradefair tasks test --salt <what follows>")
    tell(salt.hex())


def _salt(named: str) -> bytes:
    """The salt of a file, or of hex digits. Raises ScenarioError."""
    from tradefair.runner.tasks.tasks import read_salt, salt_of

    if Path(named).is_file():
        return read_salt(Path(named))
    try:
        return salt_of(bytes.fromhex(named), "--salt")
    except ValueError:
        raise ScenarioError("--salt: a file, or hex digits as `tradefair tasks --reveal` prints them") from None


def _row(task: Task) -> dict[str, object]:
    choice = task.choice
    return {"task": task.id, "scenario": choice.scenario, "seats": choice.seats, "tier": choice.tier, "seed": task.seed}


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in cast("tuple[object, ...]", value))
    return "–" if value is None else str(value)
