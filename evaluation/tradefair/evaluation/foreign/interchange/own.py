"""What our own exports add to the formats of others, so that they come back exactly: one extra, `tradefair`.

Of a message it lies under its key `tradefair` (or in its `extra` or `metadata`, where the format has such a place), and
`calls` in it holds the extra of each call by id; on spans the fields are attributes `tradefair.<field>`. Fields: `seq`,
`round`, `kind`, `status`, `step`, `parent`, and `role`, `part`, `name`, `content`, `public` where the format has no
such thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.evaluation.foreign.interchange.items import EVERYBODY, Answer, Call, Item, Said
from tradefair.evaluation.foreign.interchange.shapes import parsed, text
from tradefair.evaluation.read.objects import mapping

KEY = "tradefair"

WITHDRAWN = "withdrawn"
"""The status of what a model asked for and no event followed: it is no call of the trace."""

_PLACES = ("extra", "metadata")
ROLES = ("system", "user", "assistant", "server", "client")
STATUSES = ("ok", "rejected", "invalid", "denied", "failed")
"""Of calls that were answered."""


def extra_of(seq: int, event: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The extra of an event: its number, and these of its fields that it has."""
    return {"seq": seq, **{name: event[name] for name in names if event.get(name) is not None}}


def extra_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The extra of a message, call or answer; empty for those of others."""
    found = fields.get(KEY)
    for place in _PLACES:
        # Most messages are of others and have no such place: each one is asked.
        found = found or (mapping(fields[place]).get(KEY) if place in fields else None)
    return mapping(found)


def seat_in(fields: Mapping[str, Any]) -> str:
    """The seat that a transcript of ours is of; empty for those of others."""
    return text(extra_in(fields).get("seat"))


def marked(item: Item, extra: Mapping[str, Any]) -> Item:
    """The item as the extra says that it was; what does not fit changes nothing."""
    if isinstance(item, Call):
        return marked_call(item, extra)
    if isinstance(item, Answer):
        numbered = extra["round"] if _whole(extra.get("round")) else item.round
        if (status := extra.get("status")) not in (*STATUSES, WITHDRAWN):
            return item._replace(round=numbered)
        # The words of a refusal stand where the format has its answers.
        said = parsed(item.result if item.error in (None, True, False) else item.error)
        return item._replace(round=numbered, status=status, error=None if status == "ok" else said)
    if isinstance(item, Said):
        kept = {name: extra[name] for name in ("part", "name", "content") if name in extra}
        kept |= {"role": extra["role"]} if extra.get("role") in ROLES else {}
        kept |= {"seat": EVERYBODY} if extra.get("public") is True else {}
        return item._replace(**kept, **({"step": extra["step"]} if _whole(extra.get("step")) else {}))
    return item


def marked_call(call: Call, extra: Mapping[str, Any]) -> Call:
    """As `marked`, of a call."""
    return call._replace(
        step=extra["step"] if _whole(extra.get("step")) else call.step,
        kind=text(extra.get("kind")) or call.kind,
        parent=text(extra.get("parent")) or call.parent,
        arguments=extra.get("arguments", call.arguments),
    )


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
