"""A worker process of a sweep: episodes come in on stdin, one a line, and results go out on stdout.

It ends when stdin does: the command that started it has finished, was stopped, or was killed. Episodes that it was
given are finished first; their traces are found by the next run.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import orjson

from tradefair.cli.logs import log_to_stderr
from tradefair.cli.terminal import fault_text, say
from tradefair.runner.plans.episodes import EpisodeSpec
from tradefair.runner.plans.lease import join_lease
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.runner.plans.shard import run_shard


def main() -> None:
    """`python -m tradefair.runner.sweep.worker FOLDER CONCURRENCY LEASE`.

    The first line on stdin is the table, each further one an episode; each line on stdout is a result.
    """
    # Results have the real stdout to themselves: what a library prints must not end up among them.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    log_to_stderr()
    try:
        # By its name and not as an open file: Windows hands none on. Given back by the end of this process.
        join_lease(Path(sys.argv[3]))
        asyncio.run(_work(Path(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer, out))
    except Exception as fault:
        say(fault_text(fault))
        sys.exit(1)


def settle() -> None:
    """What is loaded by now stays: looking through it again and again is a tenth of an episode's cost."""
    gc.freeze()
    # An episode makes many objects that live until its end: a low threshold would look at them again and again.
    gc.set_threshold(100_000, 50, 100)


async def _work(folder: Path, concurrency: int, lines: BinaryIO, out: BinaryIO) -> None:
    # Reading blocks, and the loop has episodes to play meanwhile.
    table = Table.of_plain(orjson.loads(await asyncio.to_thread(lines.readline)))
    settle()

    async def given() -> AsyncIterator[EpisodeSpec]:
        while line := await asyncio.to_thread(lines.readline):
            yield EpisodeSpec(*orjson.loads(line))

    def report(result: SweepResult) -> None:
        try:
            out.write(orjson.dumps(result.plain) + b"\n")
        except BrokenPipeError:
            # The command has gone and reads no results; the trace is there all the same.
            # Without clean-up: no process is left that could read a result or an error.
            os._exit(0)

    await run_shard(table, given(), folder, report, concurrency=concurrency)


if __name__ == "__main__":
    main()
