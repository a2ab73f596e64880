"""When two tellings tell the same thing: of a call its tool and arguments, of a message what it says."""

from __future__ import annotations

from typing import Any

import orjson

from tradefair.evaluation.foreign.interchange.items import Answer, Call, Item, Said
from tradefair.evaluation.foreign.interchange.shapes import parsed


def plain(value: Any) -> str | bytes:
    """A value as what can be compared and hashed."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)


def meaning(item: Item) -> tuple[Any, ...]:
    """What an item says, without its id: equal in every telling, however much else one of them keeps."""
    if isinstance(item, Said):
        return (item.role, item.part, plain(item.content))
    if isinstance(item, Call):
        return (item.tool, plain(parsed(item.arguments)))
    return (plain(parsed(item.result)),) if isinstance(item, Answer) else ()
