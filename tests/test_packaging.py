"""One distribution over four source roots: what the wheel holds, and that its types are shipped."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONGER

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
LICENCES = "evaluation/tradefair/evaluation/report/assets/LICENCES.txt"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages() -> list[Path]:
    return sorted(path.parent for root in ROOTS for path in (ROOT / root / "tradefair").glob("*/__init__.py"))


def source_files() -> set[str]:
    """Every file below the roots, as the wheel should name it."""
    return {
        str(path.relative_to(ROOT / root))
        for root in ROOTS
        for path in (ROOT / root / "tradefair").rglob("*")
        if path.is_file() and not {"__pycache__", "web"} & {*path.parts}
    }


def test_the_namespace_has_no_init_and_no_package_twice() -> None:
    assert not [root for root in ROOTS if (ROOT / root / "tradefair" / "__init__.py").exists()]
    names = [package.name for package in packages()]
    assert len(names) == len(set(names)) > 10


def test_every_package_says_that_it_is_typed() -> None:
    assert [package.name for package in packages() if not (package / "py.typed").is_file()] == []


def test_constraints_pin_every_direct_dependency_and_name_no_index() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    pinned = {normalized(line.partition("==")[0]) for line in lines}
    content = project()
    asked = [*content["project"]["dependencies"], *content["build-system"]["requires"]]
    named = [content["dependency-groups"], content["project"]["optional-dependencies"]]
    asked += [item for groups in named for group in groups.values() for item in group]
    assert {normalized(re.split(r"[<>=\[;~! ]", item, maxsplit=1)[0]) for item in asked} <= pinned


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist of a copy, without a network."""
    copy, out = tmp_path_factory.mktemp("checkout") / "tradefair", tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout: the sdist's content cannot be told from what lies around")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGER, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = out.glob("*.whl")
    assert len(list(out.glob("*.tar.gz"))) == 1
    return built


def test_the_wheel_from_the_sdist_holds_tradefair_and_nothing_else(wheel: Path) -> None:
    version = project()["project"]["version"]
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert tops == {"tradefair", f"tradefair-{version}.dist-info"}


def test_the_wheel_from_the_sdist_holds_every_source_and_data_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("tradefair/")}
    assert held == source_files()
    assert "tradefair/double_auction/scenarios/bazaar.toml" in held
    assert "tradefair/agents/prompts/react.md" in held
    # Without its stub a lazy face cannot be imported at all.
    assert {f"tradefair/{face}/__init__.pyi" for face in ("api", "contract", "evaluation", "testing")} <= held


def test_the_wheel_announces_command_markets_and_evaluators(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        announced = archive.read(name).decode()
        held = {item.rpartition("/licenses/")[2] for item in archive.namelist()}
    assert {"LICENSE", "NOTICE", LICENCES} <= held
    assert all("<" in needed for needed in project()["project"]["dependencies"]), "a dependency without a ceiling"
    bundled = re.findall(r"^(\S+) [\d.]+ \(", (ROOT / LICENCES).read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in bundled if name not in (ROOT / "NOTICE").read_text(encoding="utf-8")] == []
    content = project()["project"]
    for group, entries in {"console_scripts": content["scripts"], **content["entry-points"]}.items():
        assert f"[{group}]" in announced
        for entry, target in entries.items():
            assert f"{entry} = {target}" in announced
