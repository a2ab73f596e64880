"""How far a long piece of work is, on stderr, and only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from tradefair.cli.terminal import status

T = TypeVar("T")

Progress: TypeAlias = Callable[[int, int, str], None]
"""Takes how many things are done, of how many, and the name of the next; an empty name: all are."""


def show_progress(done: int, total: int, name: str) -> None:
    """One line on a terminal, written over itself; nothing anywhere else."""
    # A file or a pipe would keep every step as a line.
    status(f"{done}/{total} {name}" if name else "")


def watched(items: Sequence[T], progress: Progress | None, name: Callable[[T], str]) -> Iterator[T]:
    """The items one by one; `progress` hears of each before its turn, and when all are done."""
    for done, item in enumerate(items):
        if progress is not None:
            progress(done, len(items), name(item))
        yield item
    if progress is not None:
        # The empty name clears the line on a terminal.
        progress(len(items), len(items), "")
