"""Episodes of scripted seats as sealed traces, for tests that need real ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.calling import seating
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw
from tradefair.contract.core import Core, Record
from tradefair.host.scripted import Scripted
from tradefair.tracestore import Written, write_trace


def store(path: Path, core: Core, records: Iterable[Record], **about: Any) -> Path:
    """The events of a finished episode as a sealed trace; `about` is said of it beside how it ended."""
    ended = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, {**ended, **about}, [Written(record) for record in records])
    return path


def played(path: Path, scenario: str, policy: str = "zip", seed: int = 1, **overrides: Any) -> Path:
    """An episode with one policy on all seats."""
    return played_by(path, scenario, {}, seed, policy, **overrides)


@kept
def played_by(
    path: Path, scenario: str, seats: Mapping[str, str], /, seed: int = 1, others: str = "zip", **overrides: Any
) -> Path:
    """An episode with a policy of its own on each seat that is named, and one on all others."""
    kind = market_type(scenario.partition("/")[0])
    core = Core.create(kind, load_scenario(kind.name, scenario, overrides), seed)
    specs = {seat: kind.policies[seats.get(seat, others)] for seat in core.market.seats}
    makers = {seat: partial(spec.make, {}, Draw.of(seed, seat)) for seat, spec in specs.items()}
    who = seating(specs, {seat: spec.name for seat, spec in specs.items()})
    scripted, records = Scripted(makers), list(core.start(who).records)
    while stretch := scripted.run(core):
        records += stretch
    return store(path, core, records)
