"""Scripted seats of the teaching market."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tradefair.contract import Draw, PolicySpec, ToolCall, Turns, TurnView
from tradefair.contract.policy import Passive, scripted


@dataclass
class Half:
    """Looks at its value, then claims half of the pie, `greed` slices more or less."""

    greed: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 0
    _slices = 0

    def turn(self, now: TurnView) -> Turns:
        """One message, or one claim.

        The first accepted act ends the turn: the driver closes the generator there, so the claim is not yielded in the
        talk phase.
        """
        if now.phase == "talk":
            yield ToolCall("say", {"text": "half and half"})
        # Once: the size of the pie does not change.
        if not self._slices:
            mine = yield ToolCall("view_my_value")
            self._slices = mine.data["slices"]
        # Any greed gives a legal claim.
        yield ToolCall("claim", {"slices": max(0, min(self._slices, self._slices // 2 + self.greed))})


class RandomLegal:
    """Claims a uniform number of slices."""

    draw: Draw

    def turn(self, now: TurnView) -> Turns:
        """Silence, or one claim."""
        if now.phase == "talk":
            yield ToolCall("say", {"text": ""})
        mine = yield ToolCall("view_my_value")
        # Keyed by round: the draw does not depend on how often the policy has been asked before.
        uniform = self.draw.uniform("claim", now.round)
        # 0..slices: a uniform is below 1.
        yield ToolCall("claim", {"slices": int((mine.data["slices"] + 1) * uniform)})


_EATER = frozenset({"eater"})
POLICIES: Mapping[str, PolicySpec] = {
    spec.name: spec
    for spec in (
        scripted(Half, _EATER, stand_in=True),
        scripted(RandomLegal, _EATER),
        scripted(Passive, _EATER, reference=True),
    )
}
