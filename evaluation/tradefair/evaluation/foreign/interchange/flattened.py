"""Lists that spans write down as flattened keys: `llm.output_messages.0.message.role`, `gen_ai.prompt.0.content`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.evaluation.foreign.interchange.shapes import parsed
from tradefair.evaluation.read.objects import mapping, sequence

_WRAPPERS = ("message", "message_content", "tool_call", "tool")
_MAX_LISTED = 10_000


def listed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The list that flattened keys describe, without the wrappers that only repeat what an entry is."""
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        if name == prefix or name.startswith(f"{prefix}."):
            *path, last = name[len(prefix) :].strip(".").split(".")
            node = tree
            for step in path:
                node.setdefault(step, {})
                node = mapping(node[step])
            if last:
                node[last] = value
            elif isinstance(parsed(value), list):
                return [mapping(_plain(entry)) for entry in sequence(parsed(value))]
    return [mapping(entry) for entry in sequence(_plain(tree))]


def _plain(node: Any) -> Any:
    """A node of the tree: a list where all its keys are numbers; a wrapper is what it holds."""
    if isinstance(node, list):
        return [_plain(entry) for entry in sequence(node)]  # pyright: ignore[reportUnknownArgumentType]
    fields = mapping(node)
    if not fields:
        return node
    if all(key.isdecimal() and len(key) < 8 for key in fields) and len(fields) <= _MAX_LISTED:
        return [_plain(fields[key]) for key in sorted(fields, key=int)]
    if len(fields) == 1 and (name := next(iter(fields))) in _WRAPPERS and isinstance(fields[name], dict):
        return _plain(fields[name])
    plain = {name: _plain(value) for name, value in fields.items()}
    if "contents" in plain:
        plain["content"] = plain.pop("contents")
    if "function_call_name" in plain:
        called = {"name": plain.pop("function_call_name"), "arguments": plain.pop("function_call_arguments_json", "")}
        plain["function_call"] = called
    return plain
