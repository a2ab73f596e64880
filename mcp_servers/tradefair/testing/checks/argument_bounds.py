"""Checks of what a scenario's bounds leave of the parameters: nothing that the rules would take is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from tradefair.contract import SHORT, Bounds
from tradefair.testing.asking import Question, Seated, some_seats
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough, evenly

# Places per episode and seats per place for looks; accepted calls per action. Each place is played up to anew.
_PLACES = 4
_SEATS = 2
_CALLS = 2


def bounds_refuse_nothing(bench: Bench) -> list[Failure]:
    """Whatever the rules accept fits what is listed: `Tool.bounds` is nowhere narrower than the rules.

    Looked for from both sides: an accepted call has to fit the bounds, and the same call with a value just outside of
    them has to be refused.
    """
    # Bounds are those of the scenario, so that one seed of each is enough.
    first = [played for played in bench.probed if played.seed == bench.seeds[0]]
    return check("bounds_refuse_nothing", bench, first, lambda played: _too_narrow(bench, played))


def _too_narrow(bench: Bench, played: Playthrough) -> Iterator[str]:
    """For each tool the first accepted call that its bounds do not allow."""
    found: dict[str, str] = {}
    for seated, question in (*_looks(bench, played), *_acts(bench, played)):
        if question.tool not in found and (said := _missed(seated, question)) is not None:
            found[question.tool] = said
    yield from found.values()


def _looks(bench: Bench, played: Playthrough) -> Iterator[tuple[Seated, Question]]:
    """Accepted reads and analyses of tools with bounds, and who has made them."""
    for turn, place in enumerate(played.spread(_PLACES)):
        core = played.at(place)
        for seat in some_seats(core, turn, _SEATS):
            seated = Seated(core, seat, bench)
            for question in seated.readings((played.seed, place), times=6):
                if seated.ask(question).status == "ok" and core.tools(seat)[question.tool].bounds is not None:
                    yield seated, question


def _acts(bench: Bench, played: Playthrough) -> Iterator[tuple[Seated, Question]]:
    """A few of the actions that were accepted, by a seat that is just about to take it."""
    taken: dict[str, list[int]] = {}
    for place, event in enumerate(played.events):
        # A call behind its own inputs stands at no place to go back to.
        taken_here = event["event"] == "tool_called" and (event["kind"], event["status"]) == ("action", "ok")
        if taken_here and place in played.awaited:
            taken.setdefault(event["tool"], []).append(place)
    for tool, places in taken.items():
        if played.market_type.tools[tool].bounds is not None:
            for place in evenly(places, _CALLS):
                event = played.events[place]
                seated = Seated(played.at(place), event["seat"], bench)
                # For the ids that stand in answers.
                for question in seated.readings((played.seed, place), times=1):
                    seated.ask(question)
                yield seated, Question(tool, event["arguments"])


def _missed(seated: Seated, accepted: Question) -> str | None:
    """What the rules take of an accepted call's tool and its bounds do not allow."""
    tool = seated.core.tools(seated.seat)[accepted.tool]
    for path, bound in tool.bounds(seated.core.scenario).items() if tool.bounds else ():
        way = path.split(".")
        # First the call itself, then what lies just outside: the rules refuse it, or it should have been allowed.
        asked = [accepted] if any(not _fits(bound, value) for value in _values(accepted.arguments, way)) else []
        beyond = partial(_outside, bound, seated.words)
        asked += [Question(tool.name, other) for other in _changed(accepted.arguments, way, beyond)]
        for question in asked:
            if question is accepted or seated.ask(question).status == "ok":
                return f"{question} of {seated.seat} is accepted, and the bounds of {path} do not allow it"
    return None


def _values(given: Any, way: Sequence[str]) -> Iterator[Any]:
    """What stands where a path leads to: one value, one of each entry of a list, or none."""
    if not way:
        yield given
    elif way[0] == "*":
        for entry in given:
            yield from _values(entry, way[1:])
    elif way[0] in given:
        yield from _values(given[way[0]], way[1:])


def _changed(given: Any, way: Sequence[str], others: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Copies of some arguments, each with one of the `others` in place of one value that the path leads to."""
    if not way:
        yield from others(given)
    elif way[0] == "*":
        for place, entry in enumerate(given or ()):
            for other in _changed(entry, way[1:], others):
                yield [*given[:place], other, *given[place + 1 :]]
    else:
        for other in _changed(given.get(way[0]), way[1:], others):
            yield {**given, way[0]: other}


def _fits(bound: Bounds, value: Any) -> bool:
    match value:
        case str():
            named = bound.enum is None or len(bound.enum) > SHORT or value in bound.enum
            return named and (bound.max_length is None or len(value) <= bound.max_length)
        case list():
            return bound.max_items is None or len(value) <= bound.max_items  # pyright: ignore[reportUnknownArgumentType]
        case int() | float():
            return (bound.minimum is None or value >= bound.minimum) and (
                bound.maximum is None or value <= bound.maximum
            )
        case _:
            return True


def _outside(bound: Bounds, words: Sequence[str], value: Any) -> Iterator[Any]:
    """What lies just outside of a bound; lists and names are made of the ids that a seat has read."""
    if bound.maximum is not None:
        yield from (bound.maximum + 1, bound.maximum + 0.01)
    if bound.minimum is not None:
        yield from (bound.minimum - 1, bound.minimum - 0.01)
    if bound.max_length is not None:
        yield "a" * (bound.max_length + 1)
    if bound.max_items is not None and value:
        others = [word for word in words if word not in value and _shape(word) == _shape(value[0])]
        # With too few ids there is no longer list that could be meant.
        yield from [[*value, *others][: bound.max_items + 1]] if len(value) + len(others) > bound.max_items else ()
    if bound.enum is not None and len(bound.enum) <= SHORT:
        yield from (word for word in words if word not in bound.enum)


def _shape(word: object) -> str:
    """An id without its numbers: those of one kind look alike."""
    return re.sub("[0-9]+", "#", str(word))
