"""References: the same scenario and seed with a policy in the seat under test, as traces in `references/` beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tradefair.catalog import market_type
from tradefair.contract import SeatId, TradefairError
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.evaluate import evaluate
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.evaluation.outcome import ON_EVERY_SEAT, Outcome
from tradefair.evaluation.reading import agent_seats, seating_in
from tradefair.tracestore import Trace, open_trace

REFERENCES = "references"
_MOST = 200
"""Files of a folder that are looked at; a series has a few per seed."""


def references_beside(path: str | Path) -> Mapping[str, Outcome[Any, Any]]:
    """Outcomes by name of the references of a trace file: same scenario, rules, seed, seats under test and opponents.

    A policy that played every seat has the prefix `all:`. Never raises: what cannot be read is left out; a trace of a
    store has none.
    """
    try:
        with open_trace(path) as trace:
            return _found(trace)
    except (TradefairError, OSError):
        return {}


def privileged_policies(market: str) -> Collection[str]:
    """The market's policies that know hidden facts; none where it is not installed."""
    try:
        return {spec.name for spec in market_type(market).policies.values() if spec.privileged}
    except TradefairError:
        return ()


def _found(trace: Trace) -> Mapping[str, Outcome[Any, Any]]:
    seating = seating_in(trace)
    seats = agent_seats(seating)
    folder = trace.path.parent / REFERENCES
    if not seats or not folder.is_dir():
        return {}
    seed = trace.manifest.core.seed
    # By name where the name tells: of a long series only the files of this seed are opened.
    named = sorted(file for file in islice(folder.glob("*.trace"), 100 * _MOST) if _may_be(file.stem, seed))
    found: dict[str, Outcome[Any, Any]] = {}
    for file in named[:_MOST]:
        try:
            with open_trace(file) as reference:
                label = _label(reference, seats)
                if label is not None and label not in found and _key(reference, seats) == _key(trace, seats):
                    found[label] = evaluate(reference)
        except (TradefairError, OSError):
            continue
    return found


def _may_be(stem: str, seed: int) -> bool:
    """Whether a file of this name can be of this seed: `zip`, `zip-7`."""
    _, dash, last = stem.rpartition("-")
    return not (dash and last.isdigit()) or last == str(seed)


def _label(reference: Trace, seats: Sequence[SeatId]) -> str | None:
    """The policy in the seats under test; None where they have several, or an agent."""
    scripted = seating_in(reference).scripted
    played = {scripted.get(seat) for seat in seats}
    if len(played) != 1 or None in played:
        return None
    (policy,) = played
    return f"{ON_EVERY_SEAT if len(scripted) > 1 and set(scripted.values()) == played else ''}{policy}"


def _key(trace: Trace, seats: Sequence[SeatId]) -> str:
    """What must be equal: market, rules, seed, and what the scenario says of the market itself."""
    core = trace.manifest.core
    known = {seat.id for seat in core.seats}
    return digest(canonical([core.market, core.rules_version, core.seed, scenario_key(core.scenario), sorted(known)]))
