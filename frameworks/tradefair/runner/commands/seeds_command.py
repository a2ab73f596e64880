"""The commands `seeds new` and `seeds show`: seeds that nobody knows before the games."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.options import PLAIN
from tradefair.cli.terminal import say, tell
from tradefair.contract.bounds import MAX_SEALED
from tradefair.contract.errors import ScenarioError
from tradefair.files.folders import new_private

seeds = typer.Typer(
    no_args_is_help=True, help="Seeds that nobody knows before the games, and a commitment to them.", **PLAIN
)


@seeds.command()
def new(
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the secret; it must not exist.")],
    count: Annotated[int, typer.Option(min=1, max=MAX_SEALED, help="How many seeds.")] = 64,
    label: Annotated[str, typer.Option(help="Gives each plan seeds of its own: the plan's name, for instance.")] = "",
) -> None:
    """Draw a secret, write it to a file that only you can read, and print the commitment to publish.

    Keep the file to yourself until the games are over; then publish it, and anybody can check it.
    """
    from pydantic import ValidationError

    from tradefair.contract.sealed_seeds import SealedSeeds

    try:
        sealed = SealedSeeds(secret=secrets.token_hex(32), label=label, count=count)
    except ValidationError:
        raise typer.BadParameter(
            "at most 80 characters, without | and control characters", param_hint="--label"
        ) from None
    try:
        stream = new_private(output)
    except FileExistsError:
        raise ScenarioError(f"{output} exists: a secret is never overwritten; name another file") from None
    except OSError as fault:
        raise ScenarioError(f"{output} cannot be written: {fault.strerror}") from None
    with stream:
        stream.write(sealed.model_dump_json(indent=1).encode() + b"\n")
    say(f"{count} seeds sealed in {output}; publish the commitment, keep the file")
    tell(sealed.commitment)


@seeds.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A file of sealed seeds.")],
    commitment: Annotated[
        str, typer.Argument(metavar="[COMMITMENT]", help="What was published before: check the file against it.")
    ] = "",
) -> None:
    """Print the seeds, one a line, for a plan's list `seeds = […]`, once they may be known; or check a commitment.

    Exit code 1, with both digests, when the file is not the one that was committed to.
    """
    from tradefair.files.sealed import read_sealed

    sealed, wanted = read_sealed(file), commitment.strip().lower()
    if not wanted:
        tell("\n".join(map(str, sealed.seeds)))
    elif wanted == sealed.commitment:
        tell(f"the secret is the one that was committed to: {wanted}")
    else:
        tell(f"another secret\n  committed to {commitment.strip()[:80]}\n  the file has {sealed.commitment}")
        raise typer.Exit(1)
