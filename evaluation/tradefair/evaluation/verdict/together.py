"""Several seats, or episodes of one, as one: means of scores, of what they are of, and of references."""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import Formatter
from typing import TypeVar

from tradefair.contract.text import clean_line
from tradefair.evaluation.verdict.amounts import number
from tradefair.evaluation.verdict.beside import best_first
from tradefair.evaluation.verdict.verdict import Beside, SeatVerdict

T = TypeVar("T")

_LARGEST = 1e150
"""Scores from here on are no rule's."""


def together_of(seats: Sequence[SeatVerdict]) -> SeatVerdict | None:
    """Several seats of one episode as one without a name; None for one seat, other metrics, or a score not known."""
    values = [seat.score.value for seat in seats]
    mean = None if None in values else mean_of(values)
    if mean is None or len(seats) < 2 or len({seat.score.metric for seat in seats}) > 1:
        return None
    about = {"value": mean, "said": said_of(seats), "figures": figures_of(seats)}
    return SeatVerdict(
        seat="",
        role=seats[0].role if len({seat.role for seat in seats}) == 1 else "",
        player=seats[0].player if len({seat.player for seat in seats}) == 1 else "",
        kind="unknown",
        score=seats[0].score.model_copy(update=about),
        beside=beside_all(seats),
        referenced=all(seat.referenced for seat in seats),
    )


def beside_all(seats: Sequence[SeatVerdict]) -> tuple[Beside, ...]:
    """Means of the references that were played in all of these seats, or episodes of one; best first."""
    values: dict[str, list[float | None]] = {}
    privileged: dict[str, bool] = {}
    for seat in seats:
        for reference in seat.beside:
            values.setdefault(reference.name, []).append(reference.value)
            privileged[reference.name] = reference.privileged
    # A mean over some of them is of another luck.
    means = [
        Beside(name=label, value=mean_of(known), privileged=privileged[label])
        for label, known in values.items()
        if len(known) == len(seats) and None not in known
    ]
    return best_first(means, higher_is_better=seats[0].score.higher_is_better)


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    # Squares of larger numbers would overflow.
    known = [value for value in values if value is not None and abs(value) < _LARGEST]
    return math.fsum(known) / len(known) if known else None


def figures_of(seats: Sequence[SeatVerdict]) -> dict[str, float]:
    """Means of the figures that `together` names, over several seats or episodes that all have them."""
    phrase = seats[0].score.together
    fields = [field for _, field, _, _ in Formatter().parse(phrase) if field]
    alike = all(seat.score.together == phrase and seat.score.figures.keys() >= set(fields) for seat in seats)
    means = {field: mean_of([seat.score.figures[field] for seat in seats]) for field in fields} if alike else {}
    return {field: mean for field, mean in means.items() if mean is not None}


def said_of(seats: Sequence[SeatVerdict]) -> str:
    """What the mean over seats or episodes is of, in words of the market; "" where it does not say."""
    phrase, means = seats[0].score.together, figures_of(seats)
    return clean_line(phrase.format_map({field: number(mean) for field, mean in means.items()})) if means else ""


def same(values: Sequence[T], otherwise: T) -> T:
    """The value that all have; `otherwise` where they differ or there is none."""
    return values[0] if values and all(value == values[0] for value in values) else otherwise
