"""A host process for foreign clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson
from tests.waiting import LONG

TRADEFAIR = Path(sys.executable).parent / "tradefair"


class Reach(NamedTuple):
    """How to reach a seat: a command with its environment, or a URL with a token."""

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    url: str = ""
    token: str = ""


class Hosted(NamedTuple):
    """A host with one episode: its address, its trace, the tokens by seat."""

    url: str
    trace: Path
    tokens: Mapping[str, str]

    def reach(self, seat: str) -> Reach:
        return Reach(url=self.url, token=self.tokens[seat])


@contextmanager
def hosted(folder: Path, *game: str) -> Generator[Hosted]:
    """A host process with its traces in `folder`; gone at the end."""
    command = [TRADEFAIR, "host", *game, "--json", "--out", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            ready = orjson.loads(process.stdout.readline())
            (episode,) = ready["episodes"]
            tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}
            yield Hosted(ready["url"], Path(episode["trace"]), tokens)
        finally:
            process.terminate()
            process.wait(LONG)
