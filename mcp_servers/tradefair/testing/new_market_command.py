"""The command `new-market`: a package to start a market of one's own from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import tell


def new_market(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the market and of its package.")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Make the folder NAME in this one.")] = Path(),
) -> None:
    """Write a package with a market that works: a copy of `teaching` and its evaluator under another name."""
    from tradefair.testing.market_copy import new_market as copy_market
    from tradefair.testing.market_copy import next_commands

    for path in copy_market(name, into):
        tell(str(path))
    tell("\nNext:")
    for command in next_commands(name, into):
        tell(f"  {command}")
