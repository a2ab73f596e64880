"""The other process of the determinism check: plays what it is given on stdin, prints the head hashes."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import orjson

from tradefair.testing.playthrough import play_scripted


def _main() -> None:
    """Play what the parent process asks for and print the head hashes as one line of JSON, in the same order."""
    # Written by the parent process, over a pipe of its own.
    order: Any = pickle.load(sys.stdin.buffer)
    market_type, wanted = order
    heads = [play_scripted(market_type, scenario, seed, policy).head for scenario, seed, policy in wanted]
    # On a line of its own: a market that prints must not spoil the answer.
    sys.stdout.buffer.write(b"\n" + orjson.dumps(heads))  # noqa: TID251  # a pipe to the parent process


if __name__ == "__main__":
    _main()
