"""One job of continuous integration on any system: `python .ci/job.py JOB`. What the workflows in .github run.

It needs Python 3.11 with venv and pip and nothing else; there is no make on Windows. On Linux and macOS the targets of
the Makefile do the same, and `.ci/run` does all of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-ci"
DEFAULT = "not slow and not browser and not interop and not extra"


def run(program: str, *arguments: str) -> None:
    """Run a program of the environment. Raises CalledProcessError."""
    found = shutil.which(program, path=os.pathsep.join(str(FOLDER / name) for name in ("bin", "Scripts")))
    assert found is not None, f"{FOLDER}: has no {program}"
    print("+", program, *arguments, flush=True)
    # UTF-8 everywhere: what tests read and write without saying so is Linux's.
    subprocess.run([found, *arguments], cwd=ROOT, check=True, env={**os.environ, "PYTHONUTF8": "1"})


def install(*, constrained: bool = True) -> None:
    """Make the environment with the packages of the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    run("python", "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.3")
    constraints = ("--constraint", "constraints.txt", "--build-constraint", "constraints.txt") if constrained else ()
    run("python", "-m", "pip", "install", "--quiet", *constraints, "--editable", ".", "--group", "test")


def tests() -> None:
    """The default tests with the versions that the project is developed with."""
    install()
    run("pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder", "-m", DEFAULT)


def newest() -> None:
    """The default tests with the newest version of every package."""
    install(constrained=False)
    run("pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder", "-m", DEFAULT)


def wheel() -> None:
    """The wheel alone: built, installed, and what people run first."""
    install()
    run("python", "-m", "release.wheel")


def resolutions() -> None:
    """The wheel with the lowest versions that pyproject.toml allows, and with the newest."""
    install()
    for resolution in ("lowest-direct", "highest"):
        run("python", "-m", "release.wheel", "--resolution", resolution)


JOBS: dict[str, Callable[[], None]] = {job.__name__: job for job in (tests, newest, wheel, resolutions)}


def main() -> int:
    """Run the job that is named; the exit code."""
    job = JOBS.get(" ".join(sys.argv[1:]))
    if job is None:
        print(f"name one job: {', '.join(JOBS)}", file=sys.stderr)
        return 2
    try:
        job()
    except subprocess.CalledProcessError as failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
