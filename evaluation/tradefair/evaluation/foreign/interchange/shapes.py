"""JSON of strangers, taken by shape: a value of another shape counts as absent, and nothing here raises."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import orjson

_MAX_NAMES = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Seconds from here on would be the year 5138; the same number of milliseconds is 1973. And so on by thousands.
_UNITS = ((1e11, 1_000_000_000), (1e14, 1_000_000), (1e17, 1_000), (float(2**63), 1))


def text(value: Any) -> str:
    """The text; a whole number as text, since ids are written both ways; else an empty one."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def first(fields: dict[str, Any], *names: str) -> Any:
    """The value of the first of these fields that is there and not null."""
    for name in names:
        if (value := fields.get(name)) is not None:
            return value
    return None


def nanoseconds(value: Any) -> int | None:
    """A moment since 1970: from ISO 8601 (UTC where it names no zone), or a number of s, ms, µs or ns."""
    if isinstance(value, str) and value[:1].isdigit() and "-" in value[:8]:
        try:
            at = datetime.fromisoformat(value)
            since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH
        except (ValueError, OverflowError):
            return None
        return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) < 20 else None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        return None
    return next((int(value * unit) for limit, unit in _UNITS if value < limit), None)


def parsed(value: Any) -> Any:
    """What a text of JSON means where it is an object or a list; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def count(left_out: Counter[str], name: str) -> None:
    """One more of `name` left out; a stranger's names are cut, and after a hundred they are `other`."""
    name = name[:60]
    left_out[name if name in left_out or len(left_out) < _MAX_NAMES else "other"] += 1
