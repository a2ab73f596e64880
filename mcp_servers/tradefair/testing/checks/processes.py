"""Determinism: played again here, and in other processes with other hash seeds, an episode has the same bytes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import orjson

from tradefair.testing.bench import PASSIVE, RANDOM, Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough, play_scripted

# "0" switches hash randomisation off, the other one is arbitrary: sets then iterate in another order.
_HASH_SEEDS = ("0", "4242")
# Seconds on the wall for all episodes of the market together in one process.
_PATIENCE_S = 600


def determinism(bench: Bench) -> list[Failure]:
    """Every scenario and seed has the same head hash a second time, and in fresh processes with other hash seeds.

    Played with `random_legal`, and with `passive` in every seat: a clock or entropy in a default action shows there.
    The market type is pickled for the other processes: its class must be importable by name.
    """
    played = {RANDOM: bench.played, PASSIVE: bench.lapsed}
    failures = [failure for failure in bench.unplayable if failure.check == "determinism"]
    for policy, playthroughs in played.items():
        failures += check("determinism", bench, playthroughs, partial(_played_again, policy))
    return [*failures, *_elsewhere(bench, [(policy, item) for policy, items in played.items() for item in items])]


def _played_again(policy: str, played: Playthrough) -> Iterator[str]:
    """At most one line: the first event that differs when the episode is played a second time in this process."""
    again = play_scripted(played.market_type, played.scenario, played.seed, policy)
    if again.head != played.head:
        bodies = zip(played.bodies, again.bodies, strict=False)
        event = next((number for number, (first, second) in enumerate(bodies, 1) if first != second), 0)
        yield f"{policy} in every seat, played again in this process: event {event or len(again.bodies)} differs"


def _elsewhere(bench: Bench, played: Sequence[tuple[str, Playthrough]]) -> list[Failure]:
    """Failures of the same episodes in other processes, one process per hash seed."""
    try:
        order = pickle.dumps((bench.market_type, [(item.scenario, item.seed, policy) for policy, item in played]))
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
                item.scenario.id,
                item.seed,
                f"{policy} in every seat: with PYTHONHASHSEED={hash_seed} the head hash is {head[:16]}…, "
                f"here it is {item.head[:16]}…",
            )
            for (policy, item), head in zip(played, heads, strict=True)
            if head != item.head
        ]
    return failures


def _play_elsewhere(order: bytes, hash_seed: str) -> list[str] | str:
    """The head hashes, or why there are none."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tradefair.testing.child"],
            input=order,
            capture_output=True,
            env=environment,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"another process did not return within {_PATIENCE_S} s"
    # A market that calls sys.exit() ends the process with whatever code it likes: the answer says whether it played.
    answer = done.stdout.rpartition(b"\n")[2]
    if done.returncode or not answer.startswith(b"["):
        return f"another process could not play: {_last_words(done.stderr) or f'exit code {done.returncode}'}"
    return orjson.loads(answer)


def _last_words(stderr: bytes) -> str:
    """The end of what a process printed on stderr: a traceback names the error in its last line."""
    return stderr.decode(errors="replace").strip()[-400:]
