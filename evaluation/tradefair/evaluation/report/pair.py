"""Two traces side by side: what differs in how they were made, and the first decision that differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from tradefair.contract import TraceError
from tradefair.contract.kernel.event import ManifestCore
from tradefair.evaluation.compare.comparison import Attribute
from tradefair.evaluation.compare.divergence import first_divergence
from tradefair.evaluation.reading import TraceReading, seating_in
from tradefair.evaluation.report.page_data import PairPage
from tradefair.tracestore import Trace, open_trace

# Characters of a value in the table; a scenario's nested values can be thousands of characters long.
_MAX_VALUE = 200


def pair_page(a: str | Path, b: str | Path) -> PairPage:
    """How two episodes were made, and the first decision that differs.

    Raises TraceError for a file that is no trace.
    """
    with open_trace(a) as trace_a, open_trace(b) as trace_b:
        attributes = _attributes(trace_a, trace_b)
        # Under another luck every decision differs, and the first that does says nothing of either player.
        luck_a, luck_b = (
            f"{trace.manifest.core.market} seed {trace.manifest.core.drawn_from}" for trace in (trace_a, trace_b)
        )
        if luck_a != luck_b:
            note = f"Two different episodes, {luck_a} and {luck_b}: their decisions were made under other luck."
            return PairPage(attributes=attributes, divergence=None, note=note)
        try:
            divergence = first_divergence(trace_a, trace_b)
        # An edited trace can have events of any shape. Both episodes are on the page either way, so
        # this is a note.
        except (TraceError, LookupError, TypeError, ValueError, AttributeError) as error:
            return PairPage(
                attributes=attributes, divergence=None, note=f"The decisions cannot be compared: {error!r}"[:300]
            )
        note = "" if divergence else "No decision differs: every action has the same arguments and the same result."
        return PairPage(attributes=attributes, divergence=divergence, note=note)


def _attributes(a: Trace, b: Trace) -> list[Attribute]:
    """Every name that either trace has, in the order of the first trace; a value that one trace lacks is empty."""
    named_a, named_b = dict(_named(a)), dict(_named(b))
    names = list(dict.fromkeys([*named_a, *named_b]))
    return [Attribute(name=name, a=_value(named_a, name), b=_value(named_b, name)) for name in names]


def _value(named: dict[str, str], name: str) -> list[str]:
    return [named[name][:_MAX_VALUE]] if name in named else []


def _named(trace: Trace) -> Iterator[tuple[str, str]]:
    """Name and value of everything that says how an episode was made: market, rules, seed, scenario, players."""
    core, seating = trace.manifest.core, seating_in(trace)
    yield "market", core.market
    yield "rules_version", core.rules_version
    seed = core.drawn_from
    yield "seed", "no seed" if seed is None else str(seed)
    yield from _scenario(core)
    reading = TraceReading(core, seating)
    for seat in core.seats:
        yield f"{seat.id} played by", reading.label(seat.id) or "–"
    yield "policy_key", str(seating.policy_key)
    yield "written_by", seating.written_by or "–"


def _scenario(core: ManifestCore) -> Iterator[tuple[str, str]]:
    """The scenario by its keys: a changed value is named."""
    yield "scenario", str(core.scenario.get("id", ""))
    for key, value in core.scenario.items():
        # The id is named above, the description is prose, and who plays the seats has rows of its own.
        if key not in ("id", "description", "seats"):
            yield f"scenario {key}", orjson.dumps(value).decode()
