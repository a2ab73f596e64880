"""What a detector counted, as a sign."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from fairground.evaluation.diagnostics.model import share
from fairground.evaluation.diagnostics.sign import Sign, sign_of
from fairground.supply_chain.model import currency

__all__ = ["Hit", "proven", "runs", "unchecked"]

T = TypeVar("T")


class Hit(NamedTuple):
    """One case: the events that prove it, and what it cost in cents, null where nobody can say."""

    events: Sequence[int]
    cents: float | None = None


def proven(
    hits: Sequence[Hit],
    of: float,
    *,
    raised: bool,
    parts: Mapping[str, float | None] | None = None,
    note: str | None = None,
) -> Sign:
    """Hits out of how many cases; cited are their events, the dearest first. Severity in currency units."""
    dearest = sorted(hits, key=lambda one: -(one.cents or 0))
    costs = [one.cents for one in hits if one.cents is not None]
    counted = share(len(hits), of, (seq for one in dearest for seq in one.events))
    return sign_of(
        raised, counted, parts=parts, severity=currency(round(math.fsum(costs))) if costs else None, note=note
    )


def unchecked(reason: str) -> Sign:
    """Nothing that could be looked for."""
    return Sign(False, 0, note=reason, checked=False)


def runs(numbered: Iterable[tuple[int, T]]) -> list[list[T]]:
    """Stretches of consecutive numbers, which come in order."""
    found: list[list[T]] = []
    last: int | None = None
    for number, one in numbered:
        if last is not None and number == last + 1:
            found[-1].append(one)
        else:
            found.append([one])
        last = number
    return found
