"""The committed bundle is what its sources make, the board included, and the sources make no element from text."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import orjson
import pytest
from tests.waiting import LONGER

import tradefair.evaluation.report as report
import tradefair.host as host

REPORT = Path(report.__file__).parent
WEB, ASSETS = REPORT / "web", REPORT / "assets"
HOST_ASSETS = Path(host.__file__).parent / "assets"
MAX_PAGE = 450_000
# Of XML, which charts are.
NAMES = {
    f"http://www.w3.org/{name}"
    for name in ("1999/xhtml", "1999/xlink", "2000/svg", "2000/xmlns/", "XML/1998/namespace")
}
BUNDLE = orjson.loads((ASSETS / "bundle.json").read_bytes())
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(.on")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def asset(name: str) -> Path:
    # The board's pages are the host's: it is installed where nothing is evaluated.
    return (HOST_ASSETS if name.endswith(".html") else ASSETS) / name


def test_the_bundle_was_made_from_these_sources() -> None:
    sources = {"build.mjs", "package.json", "package-lock.json", "tsconfig.json"}
    sources |= {f"src/{path.name}" for path in (WEB / "src").iterdir()}
    assert {name: digest(WEB / name) for name in sources} == BUNDLE["sources"], "run npm run build in report/web"
    assert {name: digest(asset(name)) for name in BUNDLE["made"]} == BUNDLE["made"]


def test_the_licence_of_every_bundled_package_lies_beside_it() -> None:
    text = (ASSETS / "LICENCES.txt").read_text()
    packages = orjson.loads((WEB / "package-lock.json").read_bytes())["packages"]
    bundled = [name.removeprefix("node_modules/") for name, about in packages.items() if name and not about.get("dev")]
    named = set(re.findall(r"^(\S+) [\d.]+ \(", text, re.MULTILINE))
    assert "@observablehq/plot" in named
    assert named <= set(bundled)
    # Whatever is installed but not named was left out of the bundle by the bundler.
    assert len(named) > 20


@pytest.mark.parametrize("name", ["board.html", "person.html"])
def test_a_page_of_the_board_is_small_loads_nothing_and_runs_only_its_own_script(name: str) -> None:
    page = asset(name).read_text()
    assert len(page.encode()) <= MAX_PAGE
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    inside = re.search(r"<style>(.*)</style>.*<script>(.*)</script>", page, re.DOTALL)
    assert inside is not None
    for content in inside.groups():
        assert f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" in policy[1]
    # Name spaces are names and no addresses; nothing else may look like a place to load from.
    assert set(re.findall(r"https?://[\w./-]+", page)) <= NAMES
    assert re.findall(r"<(?:link|img|script|iframe)[^>]*(?:src|href)=\"(?!data:)", page) == []


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
        done = subprocess.run([npm, *command], cwd=tmp_path / "web", capture_output=True, text=True, timeout=LONGER)
        if command[0] == "ci" and done.returncode:
            pytest.skip(f"the npm registry cannot be reached: {done.stderr[-200:]}")
        assert done.returncode == 0, done.stdout + done.stderr
    assert {name: digest(made / name) for name in BUNDLE["made"]} == BUNDLE["made"]
