"""What a seat may see of the rules and of its turn."""

from __future__ import annotations

from tradefair.contract import Result
from tradefair.teaching.model import RoundRow


class PieRules(Result):
    """The rules as numbers."""

    rounds: int
    slices: int
    phases: list[str]


class PieTurn(Result):
    """The market's part of `view_turn`."""

    rounds_left: int
    last: RoundRow | None
