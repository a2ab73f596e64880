"""unit_mistake: numbers in the wrong unit, off by a power of ten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import PositiveInt

from tradefair.evaluation.modes.diagnosis import Case, Part, Seen
from tradefair.evaluation.modes.insight import Scale
from tradefair.evaluation.modes.play import SeatPlay, Step
from tradefair.evaluation.modes.table import Fact
from tradefair.evaluation.read.objects import mapping, sequence

# A correction is an exact power of ten but for the rounding of a quotient.
_EXACT = 1e-9
_MAX_LEAVES = 1_000


def detect(play: SeatPlay, *, exponent: PositiveInt, tolerance: Part) -> Seen:
    """Refused and then corrected by a power of ten, or accepted at a power of ten of what was there to be seen.

    `exponent`: the least power that is a mistake; `tolerance`: how near to it a quotient has to be.
    """
    numeric = [step for step in play.direct() if step.acts and any(_numbers(step.arguments))]
    facts = play.insight.facts
    corrected = {step.seq: _correction(step, after, facts) for step, after in _corrected(numeric)}
    off = {
        scale.seq: _off(play, scale)
        for scale in play.insight.scales.get(play.seat, ())
        # No power of ten (None) and the same number (0) are both no mistake.
        if abs(power_of_ten(scale.value, scale.seen, tolerance) or 0) >= exponent
    }
    found = {**corrected, **off}
    parts = {"corrected": float(len(corrected)), "accepted": float(len(off))}
    return Seen([found[seq] for seq in sorted(found)], len(numeric), parts)


def _correction(step: Step, after: Step, facts: Mapping[str, Fact]) -> Case:
    old, new = dict(_leaves(step.arguments)), dict(_leaves(after.arguments))
    path = next(path for path, value in old.items() if value != new[path])
    refused = f"was refused with {old[path]:g} and accepted with {new[path]:g}"
    return step.case(refused, shown_by=after.seq, fact=facts.get(step.tool))


def _off(play: SeatPlay, scale: Scale) -> Case:
    tool = play.tools.get(scale.seq, "an action")
    of = f" for {scale.about[:40]}" if scale.about else ""
    because = f"round {scale.round}: {tool} said {scale.value:g}{of} where {scale.seen:g} was in sight"
    return Case(scale.seq, scale.round, because, about=scale.about, fact=play.insight.facts.get(tool))


def power_of_ten(value: float, seen: float, tolerance: float) -> int | None:
    """k where value/seen is 10^k within a relative tolerance; None where it is no power of ten or one is 0."""
    try:
        logarithm = math.log10(value / seen)
    # A quotient below or at 0 has no logarithm, and one of 0 is no quotient.
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    power = round(logarithm)
    return power if abs(10 ** (logarithm - power) - 1) <= tolerance else None


def in_scale(value: float, usual: float) -> bool:
    """Whether a positive number is of the magnitude of what is usual: less than half a power of ten beside it."""
    return abs(math.log10(value / usual)) < 0.5


def _corrected(steps: list[Step]) -> Iterator[tuple[Step, Step]]:
    """Refused calls that the next try of the same round corrected: it was accepted, and only a power of ten differs."""
    refused: dict[tuple[int, str], Step] = {}
    for step in steps:
        # Taken out at once: only the very next try of the tool counts as its correction.
        before = refused.pop((step.round, step.tool), None)
        if step.refused:
            refused[step.round, step.tool] = step
        elif before is not None and step.accepted and _only_scaled(before.arguments, step.arguments):
            yield before, step


def _only_scaled(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    old, new = dict(_leaves(before)), dict(_leaves(after))
    if old.keys() != new.keys():
        return False
    powers: set[int | None] = set()
    for path, value in old.items():
        if value != new[path]:
            numbers = _is_number(value) and _is_number(new[path])
            powers.add(power_of_ten(value, new[path], _EXACT) if numbers else None)
    # One power for all changed numbers: a unit is wrong throughout, and two powers are a change of mind.
    return len(powers) == 1 and powers.isdisjoint({None, 0})


def _numbers(arguments: Mapping[str, Any]) -> Iterator[float]:
    """The numbers in an action's arguments."""
    return (value for _, value in _leaves(arguments) if _is_number(value))


def _is_number(value: object) -> bool:
    """Whether a decoded value is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What an action says, by path; of a huge one the first thousand places."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), arguments)]
    for _ in range(_MAX_LEAVES):
        if not waiting:
            return
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, name), inner) for name, inner in mapping(value).items()]  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, list):
            waiting += [((*path, str(place)), inner) for place, inner in enumerate(sequence(value))]  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield path, value
