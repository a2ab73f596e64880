"""`tradefair demo`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli import FINDINGS, run
from tradefair.cli.terminal import tell

_EPISODE = ("double_auction", "--scenario", "double_auction/bazaar")


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Fixes all luck; README shows the figures of 7.")] = 7,
    out: Annotated[Path | None, typer.Option(help="Folder of the traces; default: runs/demo-<time>.")] = None,
) -> int:
    """Play, score and check one episode with an agent in a seat; needs no key.

    A LangGraph agent plays seat B1 of a BAZAAR market over MCP; a scripted policy stands in for its model. The market's
    references play the same seat on the same luck. Then all traces are read from their files and checked.
    """
    # Imported here, and again by what is run below: --help does without.
    from tradefair.evaluation.prove.verify import verify_file
    from tradefair.tracestore import find_traces

    folder = out or Path("runs") / f"demo-{datetime.now():%Y%m%d-%H%M%S}"
    code = run(["play", *_EPISODE, "--seed", str(seed), "--out", str(folder)])
    checks = [verify_file(path) for path in find_traces(folder)]
    sound = sum(check.verdict == "reproduced" for check in checks)
    tell(f"From the files: {sound} of {len(checks)} traces reproduced, the references' among them.")
    return code or (0 if sound == len(checks) else FINDINGS)
