"""Outcomes and findings of finished traces: CPU time of one, and what two thousand take on two cores."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bazaar import play_scripted
from benchmarks.figures import Figure, Stopwatch
from tradefair.evaluation.evaluate import evaluate, evaluate_file
from tradefair.tracestore import open_trace

_TRACES = 2_000
_CORES = 2


def measure(*, tiny: bool) -> list[Figure]:
    """Traces of the BAZAAR scenario, eight scripted seats."""
    count, rounds = (1, 3) if tiny else (12, 30)
    with TemporaryDirectory() as folder:
        paths = [asyncio.run(play_scripted(Path(folder), seed, rounds)) for seed in range(1, count + 1)]
        evaluate_file(paths[0])  # what is imported and loaded once is not charged to a trace
        outcomes = median(_outcomes(path) for path in paths)
        whole = median(_whole(path) for path in paths)
    how = f"median of {count} traces of {rounds} rounds, times {_TRACES:,}/{_CORES}"
    return [
        Figure("outcomes of 2,000 traces", outcomes * _TRACES / _CORES, "s on 2 cores", 60, how=how),
        Figure("outcomes, chain and findings of one trace", whole * 1000, "CPU ms", how="what tradefair evaluate does"),
    ]


def _outcomes(path: Path) -> float:
    watch = Stopwatch()
    with open_trace(path) as trace:
        assert not evaluate(trace).censored
    return watch.seconds()


def _whole(path: Path) -> float:
    watch = Stopwatch()
    assert evaluate_file(path).outcome is not None
    return watch.seconds()
