"""Determinism across processes: another interpreter with another hash seed plays the same bytes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import orjson

from tradefair.testing.bench import Bench, Failure

_HASH_SEEDS = ("0", "4242")
_PATIENCE_S = 600


def determinism(bench: Bench) -> list[Failure]:
    """Every scenario and seed has the same head hash in fresh processes with other values of PYTHONHASHSEED.

    The market type is pickled for them: its class must be importable by name.
    """
    try:
        order = pickle.dumps((bench.market_type, [(played.scenario, played.seed) for played in bench.played]))
    except Exception as error:  # pickle raises whatever it likes
        return [Failure("determinism", "", None, f"no other process can be given the market: {error!r}")]
    failures: list[Failure] = []
    for hash_seed in _HASH_SEEDS:
        heads = _play_elsewhere(order, hash_seed)
        if isinstance(heads, str):
            return [Failure("determinism", "", None, heads)]
        failures += [
            Failure(
                "determinism",
                played.scenario.id,
                played.seed,
                f"with PYTHONHASHSEED={hash_seed} the head hash is {head[:16]}…, here it is {played.head[:16]}…",
            )
            for played, head in zip(bench.played, heads, strict=True)
            if head != played.head
        ]
    return failures


def _play_elsewhere(order: bytes, hash_seed: str) -> list[str] | str:
    """The head hashes, or why there are none."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-m", "tradefair.testing.child"],
        input=order,
        capture_output=True,
        env=environment,
        timeout=_PATIENCE_S,
        check=False,
    )
    if done.returncode:
        return f"another process could not play: {done.stderr.decode(errors='replace')[-400:].strip()}"
    return orjson.loads(done.stdout)
