"""How many rows fit into one answer: 8 kB for default arguments, 256 kB for explicit ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tradefair.contract import IllegalAction, Result

_DEFAULT_BYTES = 7_800
"""Room for the rows of an answer to default arguments; the envelope stays below 200 bytes."""
_EXPLICIT_BYTES = 255_000
"""Room for the rows of an answer to explicit arguments."""

_R = TypeVar("_R", bound=Result)


def json_bytes(row: Result) -> int:
    """Size of a row as JSON."""
    # The serializer that the kernel writes answers with (contract/kernel/core.py), so that both count the same bytes.
    return len(row.__pydantic_serializer__.to_json(row))


def rows_fitting(rows: Iterable[_R], limit: int | None, narrower: str) -> list[_R]:
    """Whole leading rows that one answer holds: without a limit at least one, with one all of them or a refusal.

    IllegalAction: too_many_rows; `narrower` names the arguments that help.
    """
    kept = list(rows)
    return kept[: count_fitting([json_bytes(row) for row in kept], explicit=limit is not None, narrower=narrower)]


def count_fitting(sizes: Sequence[int], *, explicit: bool, narrower: str) -> int:
    """As `rows_fitting`, from the rows' sizes in bytes."""
    if explicit:
        # Rows that were asked for by number come whole or not at all. One byte more per row: the comma.
        if sum(sizes) + len(sizes) > _EXPLICIT_BYTES:
            raise IllegalAction(
                "too_many_rows",
                f"the answer would take {sum(sizes)} bytes; 256 kB are allowed",
                hint=f"narrow {narrower}",
            )
        return len(sizes)
    used = 0
    for count, size in enumerate(sizes):
        used += size + 1
        # The first row always fits: an empty page would never move its cursor on.
        if used > _DEFAULT_BYTES and count:
            return count
    return len(sizes)
