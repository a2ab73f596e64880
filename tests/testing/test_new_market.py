"""`tradefair new-market`: the copy plays, verifies, is scored and keeps the contract; bad names are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import LONGER

from tradefair import catalog
from tradefair.cli import run
from tradefair.testing import new_market

NAME = "cake_2"
_EXPECTED = {
    "README.md",
    "pyproject.toml",
    f"tests/test_{NAME}.py",
    *(f"{NAME}/{room}" for room in ("__init__.py", "model.py", "rules.py", "views.py", "tools.py", "policies.py")),
    *(f"{NAME}/{room}" for room in ("README.md", "py.typed", "scenarios/pie.toml", "evaluation/evaluator.py")),
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    new_market(NAME, tmp_path)
    return tmp_path / NAME


@pytest.fixture
def installed(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy as an installed package: on the path, with the entry points of its pyproject.toml."""
    information = made / f"{NAME}-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 0.1.0\n")
    lines = (made / "pyproject.toml").read_text().splitlines()
    points = [
        line.replace('project.entry-points."', "").replace('"', "")
        for line in lines
        if "tradefair." in line or ":" in line
    ]
    (information / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.setattr(sys, "path", [str(made), *sys.path])
    # Other processes of the kit and of `compare` find it too.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(made), os.environ.get("PYTHONPATH", "")]))
    _forget()
    yield made
    monkeypatch.undo()
    _forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def _forget() -> None:
    catalog._found.cache_clear()  # pyright: ignore[reportPrivateUsage]
    catalog.market_type.cache_clear()


def test_the_package_has_the_rooms_of_a_market_and_nothing_of_the_model(made: Path) -> None:
    files = {path.relative_to(made).as_posix(): path for path in made.rglob("*") if path.is_file()}
    assert set(files) >= _EXPECTED
    # What was measured of the model says nothing of its copy.
    assert not any(path.endswith(".pyc") or "/references/" in path for path in files)
    texts = {name: path.read_text() for name, path in files.items() if name != "README.md"}
    left = [name for name, text in texts.items() if "eaching" in text or "Pie" in text]
    assert left == []
    assert "class Cake2(" in texts[f"{NAME}/rules.py"]
    assert 'version = "1"' in texts[f"{NAME}/tools.py"]


def test_the_command_prints_the_files_and_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new-market", NAME]) == 0
    out = capsys.readouterr().out
    assert f"{NAME}/{NAME}/rules.py\n" in out
    assert out.endswith(f"Next:\n  pip install -e {NAME}\n  tradefair check {NAME}\n  tradefair play {NAME}\n")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Cake", "a small letter, then"),
        ("c", "a small letter, then"),
        ("c" * 42, "a small letter, then"),
        ("cake-2", "a small letter, then"),
        ("../cake", "a small letter, then"),
        ("lambda", "a keyword of Python"),
        ("retail", "there is a market 'retail' already"),
        ("json", "`import json` finds another package"),
        ("tradefair", "`import tradefair` finds another package"),
        ("pydantic", "`import pydantic` finds another package"),
        ("tests", "`import tests` finds another package"),
        ("chance", "its class would be called Chance, which is another class already"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_before_anything_is_written(
    name: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new-market", name, "--into", str(tmp_path)]) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / NAME).mkdir()
    assert run(["new-market", NAME, "--into", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["new-market", NAME, "--into", str(tmp_path / "none")]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert list((tmp_path / NAME).iterdir()) == []


@pytest.mark.process
def test_the_copy_keeps_the_contract_plays_and_is_scored(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["check", NAME, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    for command in _COMMANDS:
        assert run(command) == 0, command
    capsys.readouterr()
    assert run(["evaluate", "a", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["traces"][0]["outcome"]
    assert (scored["market"], scored["rules_version"]) == (NAME, "1")
    assert scored["seats"]["P1"]["payoff"] > 0


_COMMANDS = (
    ["play", NAME, "--seed", "1", "--out", "a"],
    ["play", NAME, "--seed", "1", "--out", "b", "--agent", "policy", "--model", "policy:random_legal"],
    ["verify", "a", "b"],
    ["compare", "a", "b"],
    ["report", "a", "-o", "a.html"],
    ["show", "tools", NAME],
    ["show", "policies", NAME],
    ["show", "scenarios", NAME],
)


def test_the_copy_works_installed_in_an_environment_of_its_own(made: Path, tmp_path: Path) -> None:
    """`pip install -e` and the commands as a user types them; what is installed here is seen from there."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=LONGER)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    (site,) = (tmp_path / "venv").rglob("site-packages")
    (site / "here.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")

    # The packages lent to it have programs, too: the sandbox looks for its own beside Python, then on the path.
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))

    def call(*command: str) -> str:
        done = subprocess.run(
            [str(python), "-m", *command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=LONGER,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr[-2_000:])
        return done.stdout

    call("pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "-e", str(made))
    assert "keeps the contract" in call("tradefair.cli", "check", NAME)
    for command in _COMMANDS:
        call("tradefair.cli", *command)
    assert '"payoff"' in call("tradefair.cli", "evaluate", "a", "--json")
    call("pytest", "-q", str(made / "tests"), "-p", "no:cacheprovider")
