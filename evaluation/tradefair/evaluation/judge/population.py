"""Reference populations: traces of the same scenario and seed with one policy on every seat.

`tradefair play --references` leaves one in the folder `references`
next to its trace; sweeps of a reference plan are named.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from tradefair.contract import TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.evaluator import Evaluator, evaluator_of
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.evaluation.outcome import Outcome, writable
from tradefair.tracestore import REFERENCES, Trace, find_traces, open_trace


class Populations:
    """Finds populations in `folders` and in the folder of references next to a trace. Raises TraceError for none.

    The files of `folders` are opened once, when the first trace asks for a population.
    """

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._files = [file for folder in folders for file in find_traces(folder)]

    def of(self, trace: Trace) -> Outcome[Any, Any] | None:
        """Outcome of the trace's population; null where its market names none, or where it was not played."""
        core = trace.manifest.core
        evaluator = evaluator_of(core.market)
        policy = evaluator.population
        # Most markets are scored without a population.
        if policy is None:
            return None
        wanted = episode_key(trace)
        # The trace is a population itself, so it is compared with its own outcome.
        if _plays(trace, policy):
            return _played(trace, evaluator)
        for path in (self._given.get((policy, wanted)), *_beside(trace.path, policy, core.seed)):
            # Checked again: a file of the right name may hold another scenario or seed, or an older
            # version of the rules.
            found = None if path is None else _outcome(path, evaluator, policy, wanted)
            if found is not None:
                return found
        return None

    @cached_property
    def _given(self) -> dict[tuple[str, str], Path]:
        """By policy and key; the first of several."""
        found: dict[tuple[str, str], Path] = {}
        for path in self._files:
            try:
                with open_trace(path) as trace:
                    policy = evaluator_of(trace.manifest.core.market).population
                    if policy is not None and _plays(trace, policy):
                        # The first wins, so that the order in which folders are given decides, as for search paths.
                        found.setdefault((policy, episode_key(trace)), path)
            except TraceError:
                continue  # whoever reads that file says what is wrong with it
        return found


def _beside(path: Path, policy: str, seed: int) -> list[Path]:
    """Where `tradefair play` puts it, for one episode and for one of several."""
    # A trace that is itself a reference has the others next to it, not in a folder of its own.
    folder = path.parent if path.parent.name == REFERENCES else path.parent / REFERENCES
    named = (folder / f"all-{policy}.trace", folder / f"all-{policy}-{seed}.trace")
    return [place for place in named if place.is_file()]


def episode_key(trace: Trace) -> str:
    """Digest of market, rules, seed and what a scenario says of the market itself: equal for an episode and its
    references.
    """
    core = trace.manifest.core
    # The rules' version is part of it: outcomes of other rules compare with nothing.
    return digest(canonical([core.market, core.rules_version, core.seed, scenario_key(core.scenario)]))


def _plays(trace: Trace, policy: str) -> bool:
    """Whether the policy sat on every seat."""
    return all(player.policy == policy for player in trace.seating().players.values())


def _played(trace: Trace, known: Evaluator) -> Outcome[Any, Any] | None:
    """The outcome of a population's trace; None where its facts break the evaluator."""
    try:
        return writable(known.outcomes(trace))
    except Exception:
        # Facts that no rules have made can break any formula; who evaluates that trace is told so.
        return None


def _outcome(path: Path, known: Evaluator, policy: str, wanted: str) -> Outcome[Any, Any] | None:
    """The outcome of a file, None when it is no population of this policy with the wanted key."""
    try:
        with open_trace(path) as trace:
            return _played(trace, known) if _plays(trace, policy) and episode_key(trace) == wanted else None
    except TraceError:
        return None
