"""Try the hub packages, each in an environment of its own: `python -m release.hubs [NAME …]` (`make hubs`).

For each hub's folder of `environments`: a venv in `.venv-hubs` with the client that every package names
(`environments/client`), the hub as the package's `constraints.txt` pins it and the package itself, a
`tradefair host --tasks` of this environment, then the package's tests and the `python` and `sh` blocks of its README. A
hub that pip cannot install fails, unless `.ci/lacks.txt` has its reason. After the installs nothing leaves this
machine: every Python process refuses connections to other addresses (`environments/offline`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from release.lacks import may_lack

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "environments"
CLIENT = ENVIRONMENTS / "client"
"""The package of ours that every hub's package depends on. It is installed from this folder, not from an index."""
FOLDER = ROOT / ".venv-hubs"
INSTALL_S = 600
TEST_S = 300
_AT_ONCE = 2
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class NotInstallable(Exception):
    """Pip's last line about a hub that cannot be had here."""


class Failed(Exception):
    """What was printed by what failed."""


class Package(NamedTuple):
    """A hub package: its folder in `environments`, and its project table."""

    folder: Path
    project: Mapping[str, Any]
    without_dependencies: Sequence[str]
    """Requirements that are installed with `--no-deps`: `[tool.tradefair] no-deps`."""

    @property
    def name(self) -> str:
        """The hub's name: that of the folder."""
        return self.folder.name

    @property
    def requirements(self) -> list[str]:
        """What the package and its tests ask for."""
        extras: Mapping[str, list[str]] = self.project.get("optional-dependencies", {})
        return [*self.project.get("dependencies", ()), *extras.get("test", ())]


def packages(names: Sequence[str] = (), folder: Path = ENVIRONMENTS) -> list[Package]:
    """The packages of these names, or all. Raises ValueError about a name that none has."""
    found: dict[str, Package] = {}
    for path in sorted(folder.glob("*/pyproject.toml")):
        if path.parent.name == CLIENT.name:
            continue
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        alone = content.get("tool", {}).get("tradefair", {}).get("no-deps", ())
        found[path.parent.name] = Package(path.parent, content["project"], alone)
    unknown = sorted(set(names) - found.keys())
    if unknown:
        raise ValueError(f"no hub package is named {', '.join(unknown)}; there are {', '.join(found)}")
    return [package for name, package in found.items() if not names or name in names]


# --- installing -----------------------------------------------------------------------------------------------------


def install(package: Package, folder: Path) -> None:
    """Put client, hub, package and pytest into the venv `folder`; nothing is done twice.

    Raises NotInstallable where the hub cannot be had, Failed where a package of ours does not install.
    """
    stamp, wanted = folder / "installed", _digest(CLIENT) + _digest(package.folder)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    if not (folder / "pyvenv.cfg").is_file():
        run([interpreter(package), "-m", "venv", str(folder)], INSTALL_S)
    pinned = ["--constraint", str(package.folder / "constraints.txt")]
    _from_index(folder, "--upgrade", "pip>=25.3", "hatchling")
    # Before the hub: pip then finds the package's requirement met, and asks no index for it.
    _ours(folder, CLIENT)
    if package.without_dependencies:
        _from_index(folder, *pinned, "--no-deps", *package.without_dependencies)
    _from_index(folder, *pinned, "hatchling", "pytest", *package.requirements)
    _ours(folder, package.folder)
    stamp.write_text(wanted, encoding="utf-8")


def _from_index(folder: Path, *arguments: str) -> None:
    try:
        _pip(folder, *arguments)
    except Failed as failed:
        raise NotInstallable(_last_line(str(failed))) from None


def _ours(folder: Path, source: Path) -> None:
    _pip(folder, "--no-deps", "--no-build-isolation", str(source))


def interpreter(package: Package) -> str:
    """A Python that is new enough for the package: ours, or another of this machine. Raises NotInstallable."""
    least = re.match(r">=3\.(\d+)", package.project.get("requires-python", ""))
    if least is None or sys.version_info >= (3, int(least[1])):
        return sys.executable
    for minor in range(int(least[1]), int(least[1]) + 4):
        managed = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        for place in (shutil.which(f"python3.{minor}"), *map(str, managed)):
            # A name on the path may be that of a version manager which has not chosen this version.
            if place and subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
                return place
    raise NotInstallable(f"there is no Python 3.{least[1]} or newer here")


def _digest(folder: Path) -> str:
    """Of all that decides what is installed."""
    files = [folder / "pyproject.toml", folder / "constraints.txt", folder / "README.md", *(folder / "src").rglob("*")]
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _pip(folder: Path, *arguments: str) -> None:
    run([program(folder, "python"), "-m", "pip", "--disable-pip-version-check", "install", *arguments], INSTALL_S)


def _last_line(text: str) -> str:
    """Pip's last line that says what was wrong; that versions conflict stands before the page it advises to read."""
    lines = [line for line in text.splitlines() if line.strip()] or ["no reason given"]
    errors = [line for line in lines if line.startswith("ERROR") and "ResolutionImpossible" not in line]
    return (errors or lines)[-1][:300]


# --- trying ---------------------------------------------------------------------------------------------------------


@contextmanager
def served(folder: Path) -> Generator[dict[str, str]]:
    """A `tradefair host --tasks bundled` on free ports, with its traces in `folder`: the variables that name it."""
    command = [program(Path(sys.prefix), "tradefair"), "host", "--tasks", "bundled", "--json"]
    command += ["--port", "0", "--out", str(folder / "train")]
    # A token of ours that is already set would be its token, and would not be shown again.
    named = {name: value for name, value in os.environ.items() if name != "TRADEFAIR_CONTROL_TOKEN"}
    with (folder / "server.txt").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=named)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            raise Failed((folder / "server.txt").read_text(encoding="utf-8"))
        control = json.loads(line)["control"]
        yield {"TRADEFAIR_CONTROL_URL": control["url"], "TRADEFAIR_CONTROL_TOKEN": control["token"]}
    finally:
        server.terminate()
        server.communicate(timeout=60)


def try_out(package: Package, folder: Path) -> str:
    """Run the package's tests, then what its README runs; pytest's last line. Raises Failed."""
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as named:
        # The hub's programs first; `tradefair`, for what starts a server of its own, last.
        folders = (Path(program(folder, "python")).parent, os.environ.get("PATH", ""), Path(sys.prefix) / "bin")
        path = os.pathsep.join(map(str, folders))
        # No bytecode: the package's folder is a part of the checkout.
        # The root, for `tests.waiting`.
        imported = os.pathsep.join((str(ENVIRONMENTS / "offline"), str(ROOT)))
        offline = {"PYTHONPATH": imported, "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
        variables = {**os.environ, **offline, **named, "PATH": path, "PYTHONUTF8": "1"}
        python = program(folder, "python")
        tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(package.folder / "tests")]
        said = run(tests, TEST_S, cwd=package.folder, env=variables)
        for language, block in blocks((package.folder / "README.md").read_text(encoding="utf-8")):
            command = [python, "-c", block] if language == "python" else ["sh", "-ec", block]
            run(command, TEST_S, cwd=Path(scratch), env=variables)
    return said.rstrip().rpartition("\n")[2]


def blocks(readme: str) -> list[tuple[str, str]]:
    """The blocks of a README that are run: `python` and `sh`; what is only shown is marked `console`."""
    return _BLOCK.findall(readme)


def run(command: Sequence[str], most_s: float, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What a program prints. Raises Failed, with that, where it does not end well or in time."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    begun = subprocess.Popen(command, cwd=cwd, env=env, text=True, stdin=null, stdout=pipe, stderr=subprocess.STDOUT)
    try:
        said, _ = begun.communicate(timeout=most_s)
    except subprocess.TimeoutExpired:
        begun.kill()
        raise Failed(f"{begun.communicate()[0]}\nstopped after {most_s:.0f} s") from None
    if begun.returncode:
        raise Failed(said)
    return said


def program(folder: Path, name: str) -> str:
    """A program of an environment, as each system names it."""
    found = shutil.which(name, path=f"{folder / 'bin'}{os.pathsep}{folder / 'Scripts'}")
    if found is None:
        raise Failed(f"{folder}: has no {name}")
    return found


def outcome(package: Package) -> tuple[bool, str]:
    """Whether nothing is wrong with us, and the line that says how it went."""
    begun = time.monotonic()
    try:
        install(package, FOLDER / package.name)
        installed = time.monotonic()
        said = try_out(package, FOLDER / package.name)
    except NotInstallable as reason:
        return may_lack(str(reason)), f"not installable: {reason}"
    except Failed as failed:
        return False, f"FAILED\n{failed}"
    return True, f"passed: {said.strip('= ')} (installed in {installed - begun:.0f} s)"


def main(names: Sequence[str]) -> int:
    """Try the named packages, or all; 1 where one of ours failed, 2 where there is none of that name."""
    try:
        chosen = packages(names)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    results: list[tuple[bool, str]] = []
    # While one downloads, another is tried.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for package, result in zip(chosen, pool.map(outcome, chosen), strict=True):
            results.append(result)
            print(f"{package.name:<12}{result[1]}", flush=True)
    passed = sum(line.startswith("passed") for _, line in results)
    print(f"{passed} of {len(results)} hubs passed")
    return 0 if all(well for well, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
