"""Whether a market's conservation laws can fail at all: every number of its state is raised by one, in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy

from tradefair.contract import Scenario
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough, evenly

# Places per episode and numbers per place: each number means a call of `check`, and one objection is enough.
_PLACES = 3
_MOST = 200

_Put: TypeAlias = Callable[[Any], None]


def conservation_can_fail(bench: Bench) -> list[Failure]:
    """`MarketType.check` objects to at least one state in which a single number is too high by one.

    Tried at three places of the first seed, with at most 200 numbers at each, evenly over the state.
    """
    first_seed = [played for played in bench.played if played.seed == bench.seeds[0]]
    return check("conservation_can_fail", bench, first_seed, _accepts_everything)


def _accepts_everything(played: Playthrough) -> Iterator[str]:
    """One line when `check` accepts every tampered state; nothing as soon as it objects to one."""
    tried = 0
    # The latest place first: it has the most past to contradict, and one objection is enough.
    for place in reversed(played.spread(_PLACES)):
        market = played.at(place).market
        for value, put in evenly(list(_numbers(market)), _MOST):
            tried += 1
            put(value + 1)
            try:
                played.market_type.check(market)
            except AssertionError:
                return
            finally:
                put(value)
    yield f"check() accepts every tampered state: {tried} numbers were raised by one, and it objected to none"


def _numbers(market: object) -> Iterator[tuple[Any, _Put]]:
    """Every number in the state with a function that puts another in its place; the scenario is no state.

    In place and not in a deep copy, because running hashes cannot be copied.
    """
    seen: set[int] = set()
    waiting: list[tuple[Any, _Put]] = [(market, lambda value: None)]
    while waiting:
        value, put = waiting.pop()
        if isinstance(value, int | float | Decimal | Fraction):
            if not isinstance(value, bool):
                yield value, put
        # A tuple is replaced and not changed, so that each of its owners has to be tried.
        elif isinstance(value, tuple):
            waiting += ((inner, partial(_replace, value, index, put)) for index, inner in enumerate(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        elif not isinstance(value, Scenario | str | bytes | type) and id(value) not in seen:
            seen.add(id(value))
            waiting += _parts(value)


def _replace(owner: tuple[Any, ...], index: int, put: _Put, value: Any) -> None:
    """Put a tuple with one item replaced in its owner's place; named tuples keep their type."""
    make: Callable[[Iterable[Any]], Any] = getattr(type(owner), "_make", tuple)
    put(make([*owner[:index], value, *owner[index + 1 :]]))


def _put_item(owner: Any, key: Any, value: Any) -> None:
    owner[key] = value


def _parts(value: Any) -> Iterator[tuple[Any, _Put]]:
    """What a container or an object holds, each with its setter."""
    items: Any = value
    if isinstance(items, numpy.ndarray):
        items = items.flat if items.dtype.kind in "iuf" and items.flags.writeable else []  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(items, dict | list | numpy.flatiter):
        for key in [*items] if isinstance(items, dict) else range(len(items)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield items[key], partial(_put_item, items, key)
        return
    slots = (name for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ()))
    for name in dict.fromkeys((*getattr(value, "__dict__", ()), *slots)):
        # Python's own (`__orig_class__` of an instance of a generic class) is no state, and leads into the class.
        if hasattr(value, name) and not name.startswith("__"):
            # Not setattr: frozen models and dataclasses refuse that.
            yield getattr(value, name), partial(object.__setattr__, value, name)
