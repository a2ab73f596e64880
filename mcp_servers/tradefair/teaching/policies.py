"""Scripted seats of the teaching market."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import Draw, Params, PolicySpec, ToolCall, Turns, TurnView


class Half:
    """Looks at its value, then claims half of the pie, `greed` slices more or less."""

    def __init__(self, greed: int = 0) -> None:
        self._greed = greed
        self._slices = 0

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
        yield ToolCall("claim", {"slices": max(0, min(self._slices, self._slices // 2 + self._greed))})


class RandomLegal:
    """Claims a uniform number of slices."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def turn(self, now: TurnView) -> Turns:
        """Silence, or one claim."""
        if now.phase == "talk":
            yield ToolCall("say", {"text": ""})
        mine = yield ToolCall("view_my_value")
        # Keyed by round: the draw does not depend on how often the policy has been asked before.
        uniform = self._draw.uniform("claim", now.round)
        # 0..slices: a uniform is below 1.
        yield ToolCall("claim", {"slices": int((mine.data["slices"] + 1) * uniform)})


class Passive:
    """Never acts."""

    def turn(self, now: TurnView) -> Turns:
        """A turn without a call: the host lapses the seat."""
        # Makes this a generator: a policy's turn must be one, even if it never yields.
        yield from ()


def _half(params: Params, draw: Draw) -> Half:
    greed = params.get("greed", 0)
    return Half(greed if isinstance(greed, int) else 0)


def _random_legal(params: Params, draw: Draw) -> RandomLegal:
    return RandomLegal(draw)


def _passive(params: Params, draw: Draw) -> Passive:
    return Passive()


_EATER = frozenset({"eater"})
POLICIES: Mapping[str, PolicySpec] = {
    spec.name: spec
    for spec in (
        PolicySpec("half", _half, _EATER, "claims half of the pie (greed=N: N slices more)", stand_in=True),
        PolicySpec("random_legal", _random_legal, _EATER, "claims a uniform number of slices"),
        PolicySpec("passive", _passive, _EATER, "never acts", reference=True),
    )
}
