"""What a machine may lack: the lines `machine: words` of `.ci/lacks.txt`. All else that is missing is red."""

from __future__ import annotations

import os
import platform
from pathlib import Path

LACKS = Path(__file__).resolve().parent.parent / ".ci" / "lacks.txt"


def machines() -> set[str]:
    """The names by which `.ci/lacks.txt` may mean this machine."""
    return {"any", platform.system().lower(), *(["github"] if os.environ.get("GITHUB_ACTIONS") else [])}


def lacks() -> list[str]:
    """What this machine is allowed to lack: programs, or words of the reason for which a test skips.

    Raises ValueError about a line that is not `machine: words`.
    """
    listed: list[str] = []
    for line in LACKS.read_text(encoding="utf-8").splitlines():
        machine, colon, words = line.partition(":")
        if line.strip() and not line.startswith("#"):
            if not colon or not words.strip():
                raise ValueError(f"{LACKS.name}: {line!r} is no line of the form `machine: words`")
            listed += [words.strip()] if machine.strip() in machines() else []
    return listed


def may_lack(reason: str) -> bool:
    """Whether something may be left out for this reason."""
    return any(words.casefold() in reason.casefold() for words in lacks())
