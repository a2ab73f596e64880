"""Try some clients by hand: `python -m tests.interop.stacks "mcp 1" crewai`, without names all of them."""

import sys
import tempfile
from pathlib import Path

from tests.interop.stacks.run import play
from tests.interop.stacks.table import STACKS

for stack in STACKS:
    if not sys.argv[1:] or stack.name in sys.argv[1:]:
        for transport in stack.transports:
            folder = Path(tempfile.mkdtemp())
            outcome = play(stack, transport, folder)
            print(f"{stack.name:<24}{transport:<6}{outcome}", flush=True)
            if outcome.problem:
                print("   ", folder / "output.txt", flush=True)
