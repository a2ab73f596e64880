"""Executes the notebooks of examples/ and turns the executed copies into pages."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

PATIENCE_S = 300
_MAX_OUTPUT = 4_000


def executed(folder: Path) -> Iterator[tuple[str, str]]:
    """Every notebook as a page of the site, with what its cells print: where it stands, and its text.

    Runs in an empty folder of its own. Raises nbclient's CellExecutionError for a cell that fails.
    """
    # By name: the group `notebooks` is not part of the environment in which types are checked.
    read: Any = import_module("nbformat").read
    client: Any = import_module("nbclient").NotebookClient
    for path in sorted(folder.glob("*.ipynb")):
        book: Any = read(path, as_version=4)
        with tempfile.TemporaryDirectory() as place:
            client(book, timeout=PATIENCE_S, resources={"metadata": {"path": place}}).execute()
        yield f"tutorials/notebooks/{path.stem}.md", "\n\n".join(_parts(book.cells)) + "\n"


def _parts(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        source = str(cell.source).strip()
        if cell.cell_type != "code":
            yield source
            continue
        yield f"```python\n{source}\n```"
        printed = "".join(str(output.get("text", "")) for output in cell.outputs)
        shown = [output.data.get("text/plain", "") for output in cell.outputs if "data" in output]
        text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(filter(None, [printed.rstrip(), *shown])))
        if text:
            yield f"```text\n{text[:_MAX_OUTPUT]}\n```"
