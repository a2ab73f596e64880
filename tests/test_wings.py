"""A house without its wings: what markets, seats and audits of our own episodes need lies outside them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rooms import WINGS
from tests.source_code import REPO, ROOTS
from tests.waiting import LONG

_RUN = (
    "import sys, tradefair; tradefair.__path__ = sys.argv[1].split(); "
    "from tradefair.cli import run; sys.exit(run(sys.argv[2:]))"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources without what may be taken away."""
    folder = tmp_path_factory.mktemp("house")
    for root in ROOTS:
        shutil.copytree(REPO / root, folder / root, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for part in WINGS:
        for place in (folder / root / "tradefair" / part.replace(".", "/") for root in ROOTS):
            shutil.rmtree(place, ignore_errors=True)
            place.with_suffix(".py").unlink(missing_ok=True)
    return folder


def typed(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    python = (sys.executable, "-c", _RUN, " ".join(str(house / root / "tradefair") for root in ROOTS))
    return subprocess.run([*python, *arguments], cwd=house, capture_output=True, text=True, check=False, timeout=LONG)


def test_the_house_stands_without_its_wings(house: Path) -> None:
    commands = "check teaching; demo --out played; evaluate played; report played -o page.html; site played -o site"
    done = [typed(house, *command.split()) for command in commands.split(";")]
    assert [(one.returncode, one.stderr[-500:]) for one in done if one.returncode] == []
    assert "reproduced" in done[1].stdout


@pytest.mark.parametrize("command", ["record --help", "import played", "lab collusion played", "audit played"])
def test_a_command_of_a_wing_that_is_not_here_says_so(house: Path, command: str) -> None:
    done = typed(house, *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "this installation has no tradefair." in done.stderr
