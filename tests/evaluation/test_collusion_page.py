"""What docs/how-to/collusion.md tells people to type works, and prints what stands below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LONGER

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "collusion.md").read_text(encoding="utf-8")
# The first block shows the command's forms; each other one plays, and a quotation of what it prints follows.
FORMS, *BLOCKS = re.findall(r"```console\n(.*?)```\n+((?:> [^\n]*\n)*)", TEXT, re.DOTALL)
MARKETS = [re.findall(r"tradefair play (\w+)", typed)[0] for typed, _ in BLOCKS]


def words(text: str) -> str:
    return " ".join(text.replace("\n> ", "\n").removeprefix("> ").split())


def test_each_market_that_answers_has_a_block_to_type() -> None:
    assert MARKETS == ["pricing", "order_book", "double_auction"]
    assert all("TRACES…" in line for line in FORMS[0].splitlines())
    assert all(quoted for _, quoted in BLOCKS)


@pytest.mark.parametrize(("typed", "quoted"), BLOCKS, ids=MARKETS)
def test_the_commands_of_the_page_run(tmp_path: Path, typed: str, quoted: str) -> None:
    fewer = typed.replace("--seeds 40", "--seeds 3")  # forty take minutes
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", fewer],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LONGER,
    )
    assert done.returncode == 0, done.stderr
    expected = words(quoted) if fewer == typed else "3 episodes, 3 of them with talk; silent arm: 3; truthful: 3"
    assert expected in words(done.stdout)
