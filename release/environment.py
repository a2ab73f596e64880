"""The one environment of this repository, `.venv`: `python -m release.environment product|complete`.

`product` is what tradefair itself needs (`make demo`), `complete` all that constraints.txt names: tests, docs, every
extra. On Linux the second installs exactly that file, which is checked to be complete; elsewhere, and on a Python for
which some of it has no wheel yet, pip resolves the packages of the tests with those versions, and tests of extras skip.
`--newest` takes the newest versions instead. Nothing but Python with venv and pip is needed; Windows has no make.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"
OLDEST = (3, 11)
STAGES = ("product", "complete")
_PINNED = ("--constraint", "constraints.txt")
# The last Python for which every package has a wheel.
_EXACT = sys.platform == "linux" and sys.version_info < (3, 14)


def python(folder: Path = FOLDER) -> str:
    """The interpreter of an environment, as each system names it."""
    return str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))


def make(stage: str, *, newest: bool = False) -> None:
    """Make or renew the environment up to a stage, and stamp it. Raises CalledProcessError."""
    if sys.version_info < OLDEST:
        raise SystemExit("tradefair needs Python 3.11 or newer: make PYTHON=python3.12 …")
    print(f"Setting up .venv, {stage} (a minute or two, once) …", flush=True)
    if not Path(python()).exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    pinned = () if newest else _PINNED
    if stage == "product":
        _pip(*pinned, "hatchling")
        _pip(*pinned, "--no-build-isolation", "--editable", ".")
    elif _EXACT and not newest:
        _pip("--no-deps", "--requirement", "constraints.txt")
        _pip("--no-deps", "--no-build-isolation", "--editable", ".")
        subprocess.run([python(), "-m", "pip", "--disable-pip-version-check", "check"], check=True, cwd=ROOT)
    else:
        _pip("--upgrade", "pip>=25.3")  # that reads groups
        _pip(*pinned, "hatchling")
        _pip(*pinned, "--no-build-isolation", "--editable", ".", "--group", "test")
    for reached in STAGES[: STAGES.index(stage) + 1]:
        (FOLDER / f".{reached}").touch()


def _pip(*arguments: str) -> None:
    command = [python(), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *arguments]
    subprocess.run(command, check=True, cwd=ROOT)


def main() -> int:
    """Make what is asked for; 1 where pip fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--newest", action="store_true", help="the newest version of every package")
    asked = parser.parse_args()
    try:
        make(asked.stage, newest=asked.newest)
    except subprocess.CalledProcessError as failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
