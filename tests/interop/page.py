"""The page that says which clients were tried, in which versions, and how it went: written by `make interop`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from tests.interop.environments import environment_folder, npm_version
from tests.interop.stacks.table import STACKS, Stack
from tests.waiting import LONGER_THAN_CLIENTS

_PAGE = """\
<!-- Written by `make interop`. -->
# Clients that were tried

Look up here whether your framework takes a seat as it comes out of the box, and in which versions that was tried.
Written on {date} by `make interop` (Linux, Python {python}).

Each client plays seat B1 of `double_auction/smoke` to the end, with its default settings, in an environment of its
own: it reads, is refused once, quotes in three rounds, waits after each, and asks for two analyses. A framework's agent
is led by a scripted model, which sees the tools as the framework shows them to any model. Over stdio the command is
that of `tradefair config`; over HTTP another seat keeps it waiting for {slow:.0f} seconds. *Finished* means that the
episode ended, that the client saw it, and that `tradefair verify` reproduces its one trace. The calls are those in the
trace; waits are not in it. They are eight where a client holds calls against the schema itself, so that the refused one
never leaves it.

| client | versions | stdio | HTTP | optional parameters that its model is told are required |
|---|---|---|---|---|
{rows}

{notes}
## Further
{further}
"""


class Cell(NamedTuple):
    """What became of one client over one transport; `required` counts parameters, None: it shows no model any."""

    name: str
    transport: str
    text: str
    required: int | None = None


def write_page(path: Path, cells: Sequence[Cell], further: Sequence[str], python: str) -> None:
    """Write the page anew from what was tried in this run."""
    tried = {(cell.name, cell.transport): cell for cell in cells}
    rows = [_row(stack, tried) for stack in STACKS]
    notes = "".join(f"- {stack.name}: {stack.note}.\n" for stack in STACKS if stack.note)
    text = _PAGE.format(
        date=datetime.now(UTC).date(),
        python=python,
        slow=LONGER_THAN_CLIENTS,
        rows="\n".join(rows),
        notes=notes,
        further="\n".join(f"- {line}" for line in further),
    )
    path.write_text(text, encoding="utf-8")


def _row(stack: Stack, tried: Mapping[tuple[str, str], Cell]) -> str:
    cells = [tried.get((stack.name, transport)) for transport in ("stdio", "http")]
    shown = [cell.text.replace("|", "/") if cell else "–" for cell in cells]
    required = next((str(cell.required) for cell in cells if cell and cell.required is not None), "–")
    return f"| {stack.name} | {', '.join(_versions(stack))} | {' | '.join(shown)} | {required} |"


def _versions(stack: Stack) -> list[str]:
    folder = environment_folder(stack.name, stack.packages)
    if stack.python:
        places = [str(place) for place in folder.glob("lib/python*/site-packages")]
        found = {item.metadata["Name"].replace("_", "-"): item.version for item in distributions(path=places)}
    else:
        found = {name: npm_version(folder, name) for name in stack.shown}
    return [f"{name} {found[name]}" for name in stack.shown if name in found]
