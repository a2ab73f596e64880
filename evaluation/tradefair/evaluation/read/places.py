"""The argument of commands that read traces wherever they lie: files, folders, and shared stores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair import tracestore


def trace_place(text: str) -> str:
    """A path that exists, or the address of a store.

    Raises typer.BadParameter, which the command line shows with its usage.
    """
    # A store's address is not tried here: whether it answers is known when it is opened.
    if not tracestore.is_store(text) and not Path(text).exists():
        raise typer.BadParameter(f"{text!r} does not exist")
    return text


# Text and no Path, which would fold the two slashes of an address into one.
Places = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", parser=trace_place, help="Trace files, folders of them, or postgresql://HOST/DB[#EPISODE]."
    ),
]

MOST_PROVEN = 200
"""Traces that tables re-execute without being asked to."""

Verify = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify",
        help=f"Re-execute every trace first, and leave out what proves nothing; default: up to {MOST_PROVEN} traces.",
    ),
]
