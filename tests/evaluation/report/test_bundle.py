"""The committed bundle is what its sources make, and the sources make no element from text."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import orjson
import pytest

import tradefair.evaluation.report as report

REPORT = Path(report.__file__).parent
WEB, ASSETS = REPORT / "web", REPORT / "assets"
BUNDLE = orjson.loads((ASSETS / "bundle.json").read_bytes())
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(.on")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_bundle_was_made_from_these_sources() -> None:
    sources = {"build.mjs", "package.json", "package-lock.json", "tsconfig.json"}
    sources |= {f"src/{path.name}" for path in (WEB / "src").iterdir()}
    assert {name: digest(WEB / name) for name in sources} == BUNDLE["sources"], "run npm run build in report/web"
    assert {name: digest(ASSETS / name) for name in BUNDLE["made"]} == BUNDLE["made"]


def test_the_licence_of_every_bundled_package_lies_beside_it() -> None:
    text = (ASSETS / "LICENCES.txt").read_text()
    packages = orjson.loads((WEB / "package-lock.json").read_bytes())["packages"]
    bundled = [name.removeprefix("node_modules/") for name, about in packages.items() if name and not about.get("dev")]
    named = set(re.findall(r"^(\S+) [\d.]+ \(", text, re.MULTILINE))
    assert "@observablehq/plot" in named
    assert named <= set(bundled)
    # Whatever is installed but not named was left out of the bundle by the bundler.
    assert len(named) > 20


def test_sources_make_text_nodes_and_never_markup() -> None:
    found = {path.name: MARKUP.findall(path.read_text()) for path in (WEB / "src").iterdir()}
    assert {name: marks for name, marks in found.items() if marks} == {}
    assert MARKUP.search("element.innerHTML = text")


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text()


@pytest.mark.interop
def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    made = tmp_path / "made"
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "check"], ["run", "build", "--", str(made)]):
        done = subprocess.run([npm, *command], cwd=tmp_path / "web", capture_output=True, text=True, timeout=300)
        if command[0] == "ci" and done.returncode:
            pytest.skip(f"the npm registry cannot be reached: {done.stderr[-200:]}")
        assert done.returncode == 0, done.stdout + done.stderr
    assert {name: digest(made / name) for name in BUNDLE["made"]} == BUNDLE["made"]
