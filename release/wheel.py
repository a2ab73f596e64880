"""The wheel alone: built from the sdist, installed without the checkout, and every first command of a user run.

`python -m release.wheel` (`make wheel`) leaves sdist and wheel in `dist`. Installing needs an index of packages:
`--resolution lowest-direct` takes the lowest version that `pyproject.toml` allows of each package that it names,
`highest` the newest of all (`make resolutions`), neither what `constraints.txt` says.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

import yaml

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 600
_IMPORT_ALL = """
import importlib, pathlib, tradefair
for root in map(pathlib.Path, tradefair.__path__):
    for path in root.rglob("*.py"):
        name = ".".join(("tradefair", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if not name.endswith("__main__"):
            importlib.import_module(name)
"""
# What people run first, in this order: later lines read what earlier ones have written.
FIRST_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("play", "--out", "runs/play"),
    ("demo", "--out", "runs/demo"),
    ("verify", "runs"),
    ("evaluate", "runs/play"),
    ("report", "runs/play", "-o", "report.html"),
    ("config", "double_auction"),
    ("show", "scenarios"),
    ("list", "runs"),
)


def build(folder: Path) -> Path:
    """Build the sdist, and from that the wheel, into a folder; the wheel's path. Raises CalledProcessError."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
    return max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)


def installed(wheel: Path, folder: Path, resolution: str = "") -> str:
    """The program `tradefair` of a fresh environment with the wheel and what it needs. Raises CalledProcessError."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=PATIENCE_S)
    python = _program(folder, "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if resolution:
        subprocess.run([*pip, "uv"], check=True, timeout=PATIENCE_S)
        command = [_program(folder, "uv"), "pip", "install", "--quiet", "--python", python, "--resolution", resolution]
    else:
        command = [*pip, "--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*command, str(wheel)], check=True, timeout=PATIENCE_S)
    if resolution:
        # What the few commands do not reach: a version that is too old often fails when it is imported.
        subprocess.run([python, "-c", _IMPORT_ALL], check=True, timeout=PATIENCE_S)
    return _program(folder, "tradefair")


def _program(folder: Path, name: str) -> str:
    """A program of an environment, as each system names it."""
    found = shutil.which(name, path=f"{folder / 'bin'}{os.pathsep}{folder / 'Scripts'}")
    if found is None:
        raise FileNotFoundError(f"{folder}: has no {name}")
    return found


def try_out(tradefair: Sequence[str], folder: Path) -> None:
    """Run what people run first, in an empty folder. Raises CalledProcessError of the first that fails."""
    for words in FIRST_COMMANDS:
        command = [*tradefair, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} tradefair {' '.join(words)}")
        if done.returncode or not done.stdout.strip():
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
            raise subprocess.CalledProcessError(done.returncode or 1, command)
    _gate(tradefair, folder)
    _serve(tradefair, folder)
    _look(tradefair, folder)


def _gate(tradefair: Sequence[str], folder: Path) -> None:
    """Record a gate, and run it by the line of `action.yml`."""
    for words in (("gate", "init"), ("gate", "record")):
        subprocess.run([*tradefair, *words], cwd=folder, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    (line,) = (step["run"] for step in steps if "tradefair gate" in step.get("run", ""))
    # As GitHub runs `shell: bash`, with the program of this environment.
    script = f'tradefair() {{ {shlex.join(tradefair)} "$@"; }}\n{line}'
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    given = {**os.environ, "FILE": "gate.toml", "REF": ""}
    subprocess.run(command, cwd=folder, env=given, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
    ElementTree.parse(folder / "gate.xml")
    print("ok   tradefair gate by action.yml")


def _serve(tradefair: Sequence[str], folder: Path) -> None:
    """Say hello to a server of one seat on its standard input, and close that."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wheel", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    command = [*tradefair, "serve", "double_auction", "--out", "runs/serve"]
    done = subprocess.run(
        command, cwd=folder, input=line, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    name = json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"]
    print(f"ok   tradefair serve answers as {name}")


def _look(tradefair: Sequence[str], folder: Path) -> None:
    """Open the viewer's list as a browser would, and end it."""
    command = [*tradefair, "view", "runs", "--no-open"]
    viewer = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert viewer.stdout is not None
        address = next(word for word in viewer.stdout.readline().split() if word.startswith("http://"))
        with urlopen(address, timeout=PATIENCE_S) as answer:
            page = answer.read()
        if b"double_auction/bazaar" not in page:
            raise subprocess.CalledProcessError(1, command)
        print("ok   tradefair view runs")
    finally:
        viewer.terminate()
        viewer.wait(PATIENCE_S)


def main() -> None:
    """Build, install and try out; say what was done in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resolution", choices=("lowest-direct", "highest"), default="")
    resolution: str = parser.parse_args().resolution
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wheel = build(dist)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        program = installed(wheel, Path(folder) / "clean", resolution)
        took = time.monotonic() - begun
        try_out([program], Path(folder))
        size = sum(path.stat().st_size for path in (Path(folder) / "clean").rglob("*") if path.is_file())
    with_them = f" with the {resolution} versions" if resolution else ""
    print(
        f"{wheel.name} installs ({size / 1e6:.0f} MB in {took:.0f} s), plays, serves, reports and verifies{with_them}"
    )


if __name__ == "__main__":
    main()
