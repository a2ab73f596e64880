"""How far a long piece of work is, on stderr, and only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from tradefair.cli.terminal import status
from tradefair.contract import TraceError
from tradefair.tracestore import Trace, open_trace

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


def read_each(
    files: Sequence[Path], progress: Progress | None, read: Callable[[Trace], T]
) -> tuple[list[T], list[tuple[Path, str]]]:
    """What `read` makes of each trace, and the files of which it makes nothing, each with the reason."""
    found: list[T] = []
    left_out: list[tuple[Path, str]] = []
    for file in watched(files, progress, lambda file: file.name):
        try:
            with open_trace(file) as trace:
                found.append(read(trace))
        # Only this one: a trace that is damaged, cut short or of another market is left out, any other error is ours.
        except TraceError as error:
            left_out.append((file, str(error).removeprefix(f"{file}: ")))
    return found, left_out


def by_name(left_out: Sequence[tuple[Path, str]]) -> list[str]:
    """A sentence for each file that was left out."""
    return [f"{file.name}: {why}" for file, why in left_out]
