"""What a detector counted, as a sign, in markets with money in cents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.evaluation.arithmetic import rounded
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


class Hit(NamedTuple):
    """One case: the events that prove it, and what it cost in cents, null where the trace does not tell."""

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
    """Sign of `hits` out of `of` cases; their events are cited, the costliest first. Severity in currency units."""
    # A citation is cut at a limit: what is left out then is the cheapest.
    costliest = sorted(hits, key=lambda hit: -(hit.cents or 0))
    # A hit of unknown cost stays a case and adds nothing to the severity.
    costs = [hit.cents for hit in hits if hit.cents is not None]
    counted = share(len(hits), of, (seq for hit in costliest for seq in hit.events))
    # To whole cents first: a sum of estimates should not show fractions of a cent.
    severity = rounded(round(math.fsum(costs)) / 100) if costs else None
    return sign_of(raised, counted, parts=parts, severity=severity, note=note)


def unchecked(reason: str) -> Sign:
    """The sign of a failure mode that could not be looked for, with the reason."""
    return Sign(False, 0, note=reason, checked=False)
