"""Flaws that fit every market: a view that is a turn late, panic, and two flaws at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from benchmarks.planted.flaw import Altered, Flaw, Scene, Wrap
from tradefair.contract import ToolCall


def _a_turn_late(scene: Scene, call: ToolCall, data: Any) -> Any:
    """Shows what the same call was answered in an earlier turn."""
    seen: dict[int, Any] = scene.notes.setdefault(f"seen {call}", dict[int, Any]())
    seen.setdefault(scene.now.revision, data)
    return seen[max((turn for turn in seen if turn < scene.now.revision), default=scene.now.revision)]


TURN_LATE = Wrap(answer=_a_turn_late, lasting=True)


def panicking(*names: str) -> Wrap:
    """In half of the turns the arguments of these names are halved or half as high again."""

    def call_made(scene: Scene, call: ToolCall) -> Altered:
        turn = scene.now.revision
        by = 0.5 if scene.chance(0.5, "way", turn) else 1.5
        return ToolCall(call.tool, _times(call.arguments, by, names)) if scene.chance(0.5, "panic", turn) else call

    return Wrap(call=call_made)


def _times(value: Any, by: float, names: Iterable[str], name: str = "") -> Any:
    match value:
        case dict():
            return {key: _times(inner, by, names, key) for key, inner in cast(dict[str, Any], value).items()}
        case list():
            return [_times(inner, by, names, name) for inner in cast(list[Any], value)]
        case int() | float() if name in names:
            return max(1, round(value * by)) if isinstance(value, int) else round(value * by, 2)
        case _:
            return value


def two_at_once(flaws: Sequence[Flaw], first: str, second: str) -> Flaw:
    """The first of these flaws with the second one in it, active when the first one is."""
    one, two = (next(flaw for flaw in flaws if flaw.name == name) for name in (first, second))
    return replace(
        one,
        name="two_at_once",
        accepted=one.accepted | two.accepted,
        says=f"{one.says}; and {two.says}",
        wrap=_both(one.wrap, two.wrap),
    )


def _both(one: Wrap, two: Wrap) -> Wrap:
    def call_made(scene: Scene, call: ToolCall) -> Altered:
        return [last for made in _calls(one, scene, call) for last in _calls(two, scene, made)]

    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        for wrap in (one, two):
            data = wrap.answer(scene, call, data) if wrap.answer else data
        return data

    return Wrap(
        call=call_made,
        answer=answer,
        instead=one.instead or two.instead,
        recalls=one.recalls | two.recalls,
        lasting=one.lasting or two.lasting,
    )


def _calls(wrap: Wrap, scene: Scene, call: ToolCall) -> list[ToolCall]:
    made = wrap.call(scene, call) if wrap.call else call
    return [made] if isinstance(made, ToolCall) else made or []
