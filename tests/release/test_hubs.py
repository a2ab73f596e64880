"""Hub packages: their shape, and what `make hubs` says of one that passes, fails or cannot be had."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from release.hubs import Failed, Package

from release import hubs

PACKAGES = hubs.packages()
MOST_LINES = 200


def by_name(package: Package) -> str:
    return package.name


def code_lines(text: str) -> int:
    """Lines with code: no blank ones, no comments, no docstrings."""
    lines = {at for at, line in enumerate(text.splitlines(), 1) if line.strip() and not line.strip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_lines_of_code_are_counted_without_words() -> None:
    assert code_lines('"""Two\nlines."""\n\n# why\nx = 1\n\n\ndef f():\n    """Says."""\n    return "x"\n') == 3


@pytest.mark.parametrize("package", PACKAGES, ids=by_name)
def test_a_package_is_thin_and_stands_alone(package: Package) -> None:
    source = package.folder / "src" / f"tradefair_{package.name}"
    written = [path.read_text(encoding="utf-8") for path in source.rglob("*.py")]
    assert 0 < sum(map(code_lines, written)) <= MOST_LINES
    imports = re.compile(r"^\s*(?:from|import) +(tradefair|mcp)\b(?!_)", re.MULTILINE)
    assert [path.name for path in source.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("package", PACKAGES, ids=by_name)
def test_a_package_pins_its_hub_and_its_readme_runs(package: Package) -> None:
    content = tomllib.loads((package.folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert content["project"]["name"] == f"tradefair-{package.name}"
    # Without a table of its own, pytest would read that of the whole project.
    assert "pytest" in content["tool"]
    lines = (package.folder / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    asked = [*package.requirements, *package.without_dependencies]
    names = {re.split(r"[<>=\[;~! ]", item, maxsplit=1)[0] for item in asked}
    assert names <= {line.partition("==")[0] for line in lines}
    readme = (package.folder / "README.md").read_text(encoding="utf-8")
    assert hubs.blocks(readme), "make hubs runs its python and sh blocks"
    assert len(readme.splitlines()) <= 25
    assert (package.folder / "tests" / "test_contract.py").is_file()


# --- the driver -----------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Package:
    folder = tmp_path / "packages" / "fair"
    (folder / "tests").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "tradefair-fair"\ndependencies = ["fair>=2"]\n')
    (folder / "constraints.txt").write_text("fair==2.0\n")
    (folder / "README.md").write_text("```console\nfalse\n```\n```python\nprint(1)\n```\n")
    return hubs.packages(folder=folder.parent)[0]


def test_a_hub_that_pip_cannot_have_fails_unless_it_is_listed(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_index(command: list[str], *rest: object) -> str:
        if "pip" in command and "fair>=2" in command:
            advice = "ERROR: ResolutionImpossible: for help visit a page\n[notice] a new pip\n"
            raise Failed(f"Collecting fair\nERROR: No matching distribution found for fair>=2\n{advice}")
        return ""

    monkeypatch.setattr(hubs, "FOLDER", tmp_path / "environments")
    monkeypatch.setattr(hubs, "run", without_index)
    monkeypatch.setattr(hubs, "program", by_name_alone)
    said = "not installable: ERROR: No matching distribution found for fair>=2"
    assert hubs.outcome(package) == (False, said)
    monkeypatch.setattr(hubs, "may_lack", "not for every reason".__ne__)
    assert hubs.outcome(package) == (True, said)


def by_name_alone(_: Path, name: str) -> str:
    return name


def test_a_package_of_ours_that_does_not_install_or_pass_fails(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise Failed("1 failed")

    def only(*_: object) -> list[Package]:
        return [package]

    monkeypatch.setattr(hubs, "install", broken)
    assert hubs.outcome(package) == (False, "FAILED\n1 failed")
    monkeypatch.setattr(hubs, "packages", only)
    assert hubs.main(["fair"]) == 1


def test_a_hub_that_wants_a_newer_python_gets_one_or_is_said(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        return package.folder

    def found(_: str) -> str:
        return sys.executable

    def found_to_be_unusable(_: str) -> str:
        return "/bin/false"

    assert hubs.interpreter(package) == sys.executable
    newer = package._replace(project={"requires-python": f">=3.{sys.version_info.minor + 1}"})
    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setattr("shutil.which", found)
    assert hubs.interpreter(newer) == sys.executable
    monkeypatch.setattr("shutil.which", found_to_be_unusable)
    with pytest.raises(hubs.NotInstallable, match=rf"no Python 3\.{sys.version_info.minor + 1} or newer"):
        hubs.interpreter(newer)


def test_only_blocks_that_are_meant_to_run_are_run(package: Package) -> None:
    readme = (package.folder / "README.md").read_text()
    assert hubs.blocks(readme) == [("python", "print(1)\n")]


def test_what_hangs_is_stopped_and_what_it_said_is_kept() -> None:
    with pytest.raises(Failed, match=r"(?s)begun.*stopped after 1 s"):
        hubs.run([sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(60)"], 1)


def test_an_unknown_hub_is_named_and_so_are_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert hubs.main(["gym"]) == 2
    assert "no hub package is named gym; there are " in capsys.readouterr().err


def test_no_process_of_a_hubs_test_reaches_another_machine() -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    with pytest.raises(Failed, match=r"offline: 192\.0\.2\.1 is another machine"):
        hubs.run([sys.executable, "-c", code], 20, env={"PYTHONPATH": str(hubs.ENVIRONMENTS / "offline")})


@pytest.mark.parametrize("package", PACKAGES, ids=by_name)
def test_a_package_names_the_client_and_has_no_copy_of_it(package: Package) -> None:
    assert [item for item in package.project["dependencies"] if item.startswith("tradefair-client>=")]
    written = [path.read_text(encoding="utf-8") for path in (package.folder / "src").rglob("*.py")]
    assert any("from tradefair_client import " in text for text in written)
    assert [text for text in written if '"jsonrpc"' in text] == []


def test_the_client_is_installed_before_what_names_it_and_its_change_is_noticed(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[list[str]] = []

    def noted(command: list[str], *_: object) -> str:
        installed.append(command)
        return ""

    client, venv = tmp_path / "client", tmp_path / "venv"
    client.mkdir()
    venv.mkdir()
    (venv / "pyvenv.cfg").touch()
    monkeypatch.setattr(hubs, "CLIENT", client)
    monkeypatch.setattr(hubs, "run", noted)
    monkeypatch.setattr(hubs, "program", by_name_alone)
    hubs.install(package, venv)
    places = [next(n for n, command in enumerate(installed) if word in command) for word in (str(client), "fair>=2")]
    assert places == sorted(places)
    count = len(installed)
    hubs.install(package, venv)
    assert len(installed) == count
    (client / "pyproject.toml").write_text("")
    hubs.install(package, venv)
    assert len(installed) == 2 * count


def test_a_client_that_does_not_install_fails_and_is_no_missing_hub(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(command: list[str], *_: object) -> str:
        if str(hubs.CLIENT) in command:
            raise Failed("no module hatchling")
        return ""

    monkeypatch.setattr(hubs, "run", broken)
    monkeypatch.setattr(hubs, "program", by_name_alone)
    with pytest.raises(Failed, match="hatchling"):
        hubs.install(package, tmp_path / "venv")
