"""The canonical form of a request: what decides the model's answer, and nothing of how it travels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import orjson

# What is left out cannot change a reply; everything unknown stays in, so that a new field misses and is not ignored.
_TRANSPORT = frozenset({
    "stream", "stream_options", "user", "metadata", "store", "safety_identifier", "prompt_cache_key", "service_tier",
})  # fmt: skip
"""Fields that change how a request travels, is booked or is kept, not what is asked."""

# Two names of one bound: which of them is sent depends on the address that is asked, a gateway's or the endpoint's own.
_ALIASES = {"max_completion_tokens": "max_tokens"}

# Characters of a text in an error, and how many of them stand before the first difference.
_SHOWN = 160
_LEAD = 40


class Part(NamedTuple):
    """A message, or the list of tools, with its digest."""

    id: str
    body: Any


class Canonical(NamedTuple):
    """A request by its parts; `params` are all other fields, the model's name among them.

    `key` is the digest over the digests of the parts and the parameters; a recording finds its answers by it.
    """

    messages: tuple[Part, ...]
    tools: Part | None
    params: Mapping[str, Any]
    key: str


def canonical(raw: Mapping[str, Any]) -> Canonical:
    """The canonical form of a request's body: fields that are null count as absent.

    The same request as different clients send it: with nulls or without, in any order of fields, streamed or not.
    """
    messages = tuple(part_of(stripped(message)) for message in cast("Sequence[Any]", raw["messages"]))
    return canonical_of(messages, part_of(raw["tools"]) if raw.get("tools") else None, raw)


def canonical_of(messages: tuple[Part, ...], tools: Part | None, fields: Mapping[str, Any]) -> Canonical:
    """The canonical form of a request from its parts; `fields` are its other fields, and may hold these two as well."""
    taken = _TRANSPORT | {"messages", "tools"}
    named = {_ALIASES.get(name, name): value for name, value in fields.items()}
    params = {name: value for name, value in sorted(named.items()) if name not in taken and value is not None}
    return Canonical(messages, tools, params, key_of([part.id for part in messages], tools and tools.id, params))


def part_of(body: Any) -> Part:
    """A part under the digest of its content.

    Digests are 32 hexadecimal digits of BLAKE2b over JSON with sorted keys, the same in every process.
    """
    return Part(_digest(body), body)


def key_of(messages: Sequence[str], tools: str | None, params: Mapping[str, Any]) -> str:
    """The digest of a request from the digests of its parts.

    Computed from digests, so that a recording can check a call without putting its messages together again.
    """
    return _digest([list(messages), tools, dict(params)])


def _digest(value: Any) -> str:
    # Sorted keys: clients write the fields of a message in different orders.
    return hashlib.blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def stripped(message: Any) -> Any:
    """The message without null fields: some clients send null for what others leave out."""
    if not isinstance(message, dict):
        return message
    return {name: value for name, value in cast("Mapping[str, Any]", message).items() if value is not None}


def first_difference(asked: Canonical, recorded: Canonical) -> str:
    """What first differs between two requests: a message (index, role, both texts, cut), the tools, or a field.

    Messages come first, then the tools, then the other fields by name.
    """
    for index in range(max(len(asked.messages), len(recorded.messages))):
        if index >= len(asked.messages):
            return f"the recorded request goes on with messages[{index}] {_shown(recorded.messages[index].body)}"
        if index >= len(recorded.messages):
            return f"messages[{index}] is not in the recorded request: {_shown(asked.messages[index].body)}"
        if asked.messages[index].id != recorded.messages[index].id:
            return _message_difference(index, asked.messages[index].body, recorded.messages[index].body)
    if (asked.tools and asked.tools.id) != (recorded.tools and recorded.tools.id):
        return "the messages are equal, the tools differ: " + _tool_difference(asked.tools, recorded.tools)
    # Sorted: the same miss must give the same text in every run.
    for name in sorted(asked.params.keys() | recorded.params.keys()):
        mine, theirs = asked.params.get(name), recorded.params.get(name)
        if mine != theirs:
            return f"the messages are equal, {name} differs: asked {_cut(repr(mine))}, recorded {_cut(repr(theirs))}"
    return "the requests are equal"


def _message_difference(index: int, asked: Any, recorded: Any) -> str:
    mine, theirs = _text(asked), _text(recorded)
    # The same words with other calls: only the whole messages show the difference.
    if mine == theirs:
        mine, theirs = _json(asked), _json(recorded)
    start = _common(mine, theirs)
    return f"messages[{index}] ({_role(asked)}) differs: asked {_at(mine, start)}, recorded {_at(theirs, start)}" + (
        "" if _role(asked) == _role(recorded) else f" ({_role(recorded)})"
    )


def _tool_difference(asked: Part | None, recorded: Part | None) -> str:
    mine, theirs = _json(asked and asked.body), _json(recorded and recorded.body)
    start = _common(mine, theirs)
    return f"asked {_at(mine, start)}, recorded {_at(theirs, start)}"


def _shown(body: Any) -> str:
    return f"({_role(body)}) {_at(_text(body), 0)}"


def _role(body: Any) -> str:
    return str(cast("Mapping[str, Any]", body).get("role"))[:20] if isinstance(body, dict) else "?"


def _text(body: Any) -> str:
    """What a reader recognizes the message by: its text where it has one, else all of it as JSON."""
    content = cast("Mapping[str, Any]", body).get("content") if isinstance(body, dict) else None
    return content if isinstance(content, str) and content else _json(body)


def _json(value: Any) -> str:
    # Sorted as for the digest: the order of keys must not show as a difference.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _common(text: str, other: str) -> int:
    pairs = zip(text, other, strict=False)
    # One text may be the beginning of the other; then they differ where the shorter one ends.
    return next(
        (index for index, (char, other_char) in enumerate(pairs) if char != other_char), min(len(text), len(other))
    )


def _at(text: str, place: int) -> str:
    """A window of the text around an index, quoted; an ellipsis marks what was cut."""
    start = max(0, place - _LEAD)
    lead, tail = "…" if start else "", "…" if start + _SHOWN < len(text) else ""
    return repr(lead + text[start : start + _SHOWN] + tail)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
