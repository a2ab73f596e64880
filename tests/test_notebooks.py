"""The notebooks run without a key and are stored without what they printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONGER

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def cells_of(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    cells = cells_of(path)
    assert cells
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells] == [([], None)] * len(cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_of_a_notebook_runs_in_an_empty_folder(path: Path, tmp_path: Path) -> None:
    """As plain Python: `make docs` runs the same cells in a kernel."""
    code = "\n".join("".join(cell["source"]) for cell in cells_of(path))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONGER, check=False)
    assert (done.returncode, "Traceback" in done.stdout) == (0, False), done.stderr[-2_000:] + done.stdout[-2_000:]
    assert done.stdout.strip()
