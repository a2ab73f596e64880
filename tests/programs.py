"""Programs that play a seat, for tests: each begins with a client of the standard library alone."""

from __future__ import annotations

import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "environments" / "client" / "src"
# What every program begins with: a client of the standard library alone, which starts at once.
BEGIN = f"""
import os, subprocess, sys, time
sys.path.insert(0, {str(CLIENT)!r})
from tradefair_client import Seat, call
seat = Seat(os.environ["TRADEFAIR_URL"], os.environ["TRADEFAIR_TOKEN"], "", os.environ["TRADEFAIR_SEAT"])
def play(turns=9):
    while turns and not (view := call(seat, "await_turn"))["over"]:
        if not view["still_open"]:
            call(seat, "claim", slices=5)
            turns -= 1
"""


def program(folder: Path, body: str, name: str = "agent.py") -> str:
    """The command that runs a program with this body: `play(n)` plays so many turns of a teaching game."""
    (folder / name).write_text(BEGIN + body, encoding="utf-8")
    return f"{sys.executable} {folder / name}"
