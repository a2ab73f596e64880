"""`operator` for the sandbox: the getters and the operators that programs pass to sorted, map and reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "add",
    "attrgetter",
    "contains",
    "eq",
    "floordiv",
    "ge",
    "getitem",
    "gt",
    "itemgetter",
    "le",
    "lt",
    "mod",
    "mul",
    "ne",
    "neg",
    "not_",
    "sub",
    "truediv",
]


def itemgetter(*items: Any) -> Callable[[Any], Any]:
    """A function that reads one item, or a tuple of several."""
    if not items:
        raise TypeError("itemgetter expected at least 1 argument, got 0")
    if len(items) == 1:
        return lambda row: row[items[0]]
    return lambda row: tuple([row[item] for item in items])


def _attribute(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name)
    return value


def attrgetter(*paths: str) -> Callable[[Any], Any]:
    """A function that reads one attribute (dots allowed), or a tuple of several."""
    if not paths:
        raise TypeError("attrgetter expected at least 1 argument, got 0")
    if len(paths) == 1:
        return lambda value: _attribute(value, paths[0])
    return lambda value: tuple([_attribute(value, path) for path in paths])


def add(a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


def sub(a: Any, b: Any) -> Any:
    """a - b."""
    return a - b


def mul(a: Any, b: Any) -> Any:
    """a * b."""
    return a * b


def truediv(a: Any, b: Any) -> Any:
    """a / b."""
    return a / b


def floordiv(a: Any, b: Any) -> Any:
    """a // b."""
    return a // b


def mod(a: Any, b: Any) -> Any:
    """a % b."""
    return a % b


def neg(a: Any) -> Any:
    """-a."""
    return -a


def lt(a: Any, b: Any) -> Any:
    """a < b."""
    return a < b


def le(a: Any, b: Any) -> Any:
    """a <= b."""
    return a <= b


def eq(a: Any, b: Any) -> Any:
    """a == b."""
    return a == b


def ne(a: Any, b: Any) -> Any:
    """a != b."""
    return a != b


def ge(a: Any, b: Any) -> Any:
    """a >= b."""
    return a >= b


def gt(a: Any, b: Any) -> Any:
    """a > b."""
    return a > b


def not_(a: Any) -> bool:
    """not a."""
    return not a


def contains(a: Any, b: Any) -> bool:
    """b in a."""
    return b in a


def getitem(a: Any, b: Any) -> Any:
    """a[b]."""
    return a[b]
