"""What is left out of a leaderboard, counted by reason."""

from __future__ import annotations

from tradefair.evaluation.ratings.rating import LeftOut

_EXAMPLES = 5
_MAX_REASONS = 50


class Reasons:
    """Counts by reason with the first few examples; more than fifty reasons share one line."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def add(self, reason: str, example: str) -> None:
        """One more trace left out for `reason`."""
        if reason not in self._counts and len(self._counts) >= _MAX_REASONS:
            reason = "other reasons"
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES:
            examples.append(example)

    def listed(self) -> list[LeftOut]:
        """In the order in which the reasons came up."""
        return [
            LeftOut(reason=reason, count=count, examples=self._examples[reason])
            for reason, count in self._counts.items()
        ]
