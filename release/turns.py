"""What is tried by turns: one hub package and one foreign client a day, or all where the change may concern them.

Each of them is somebody else's and takes minutes to install. Over a month every one has had its day.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from release.environment import python

ROOT = Path(__file__).resolve().parent.parent
# Files in which a change can break what others have written against us.
_CONCERNS = re.compile(
    r"^(?:environments/|release/hubs|tests/interop/|mcp_servers/tradefair/recording/"
    r"|mcp_servers/tradefair/host/(?:clients|commands|doors|server)/"
    r"|frameworks/tradefair/runner/tasks/|constraints\.txt|pyproject\.toml)"
)
# A client is tried over both transports at once: `…[mcp 1-stdio]` and `…[mcp 1-http]`.
_TRANSPORT = re.compile(r"-(?:stdio|http)\]$")


def _git(*words: str) -> str:
    """What git prints; nothing where this is no checkout."""
    done = subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def changed() -> list[str]:
    """The files of the change: what origin/main lacks. On main itself, and without it, no change is known: none."""
    base = _git("merge-base", "origin/main", "HEAD").strip()
    return _git("diff", "--name-only", base, "HEAD").splitlines() if base else []


def all_of_them(files: Sequence[str]) -> bool:
    """Whether a change of these files may break any of them."""
    return any(_CONCERNS.match(file) for file in files)


def group_of(test: str) -> str:
    """The client to which a test belongs: its file, or one line of the table of clients."""
    file = test.partition("::")[0]
    return _TRANSPORT.sub("]", test) if _TRANSPORT.search(test) else file


def of_the_day(groups: Sequence[str], day: int) -> str:
    """Whose turn it is on this day of the year."""
    return groups[day % len(groups)]


def _clients() -> dict[str, list[str]]:
    """The tests with foreign clients by group. Raises CalledProcessError where they cannot be collected."""
    command = (python(), "-m", "pytest", "--collect-only", "-q", "-m", "interop", "tests")
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    groups: dict[str, list[str]] = {}
    for test in shown.splitlines():
        if "::" in test and not test.startswith(("<", " ")):
            groups.setdefault(group_of(test), []).append(test)
    return groups


def commands() -> list[Sequence[str]]:
    """What is run today: the hubs, then the clients."""
    hubs = sorted(path.parent.name for path in (ROOT / "environments").glob("*/constraints.txt"))
    every = all_of_them(changed())
    day = datetime.now(UTC).timetuple().tm_yday
    tests = ["-m", "interop"]
    if not every:
        groups = _clients()
        hubs, tests = [of_the_day(hubs, day)], ["-m", "interop", *groups[of_the_day(sorted(groups), day)]]
    return [(python(), "-m", "release.hubs", *hubs), (python(), "-m", "pytest", *tests)]


if __name__ == "__main__":
    print("all of them" if all_of_them(changed()) else "one of each", file=sys.stderr)
