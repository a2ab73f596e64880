"""Arguments at the door: whatever a client sent becomes checked bytes and a typed model, or one clear refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from fairground.contract.errors import ErrorInfo

__all__ = ["MAX_ARGUMENT_BYTES", "BadArguments", "allowed_text", "encode_arguments", "explain", "is_plain_data"]

MAX_ARGUMENT_BYTES = 65_536
_MAX_DEPTH = 16
_MAX_INT = 2**63 - 1


class BadArguments(Exception):
    """Arguments that cannot even be encoded; `reason` goes into the trace as `{unencodable: reason}`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def encode_arguments(arguments: object) -> bytes:
    """The arguments' JSON bytes in the order in which the client sent them.

    Raises BadArguments on anything that JSON cannot carry exactly (NaN, infinities, integers over 64 bits, lone
    surrogates, foreign types) and on more than 64 KiB.
    """
    if not isinstance(arguments, dict):
        raise BadArguments("arguments must be an object")
    if not is_plain_data(arguments):  # pyright: ignore[reportUnknownArgumentType]
        raise BadArguments(
            "only finite numbers, integers up to 64 bits, text, true, false, null, lists and objects are allowed, "
            f"at most {_MAX_DEPTH} levels deep"
        )
    try:
        encoded = orjson.dumps(arguments)
    except (orjson.JSONEncodeError, RecursionError):
        raise BadArguments("text must be valid Unicode") from None
    if len(encoded) > MAX_ARGUMENT_BYTES:
        raise BadArguments(f"the arguments take {len(encoded)} bytes; at most {MAX_ARGUMENT_BYTES} are allowed")
    return encoded


def is_plain_data(value: object, depth: int = 0) -> bool:
    """Whether `value` is JSON data that every reader gives back unchanged."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -_MAX_INT <= value <= _MAX_INT  # type: ignore[operator]
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    if depth >= _MAX_DEPTH:
        return False
    if kind is dict:
        items: dict[object, object] = value  # type: ignore[assignment]
        for key, item in items.items():  # noqa: SIM110  # a generator would cost more than a call's few arguments
            if type(key) is not str or not is_plain_data(item, depth + 1):
                return False
        return True
    if kind is list:
        rows: list[object] = value  # type: ignore[assignment]
        return all(is_plain_data(item, depth + 1) for item in rows)
    return False


def explain(error: ValidationError, parameters: type[BaseModel], tool: str) -> ErrorInfo:
    """`invalid_arguments` naming every wrong parameter and what it may be; never echoes what was sent."""
    properties = _properties(parameters)
    complaints: list[str] = []
    for item in error.errors(include_url=False, include_input=False, include_context=False)[:8]:
        name = ".".join(str(part) for part in item["loc"][:3])[:80] or "arguments"
        schema = properties.get(str(item["loc"][0])) if item["loc"] else None
        if item["type"] == "extra_forbidden":
            complaints.append(f"{name}: no such parameter")
        elif item["type"] == "missing":
            complaints.append(f"{name}: required, {allowed_text(schema or {})}")
        else:
            complaints.append(f"{name}: {_lower(item['msg'])}" + (f" ({allowed_text(schema)})" if schema else ""))
    takes = ", ".join(properties) or "no parameters"
    return ErrorInfo("invalid_arguments", "; ".join(complaints), f"{tool} takes {takes}; call it again", True)


@cache
def _properties(parameters: type[BaseModel]) -> Mapping[str, Any]:
    # Made once: a model's schema costs a hundred times the refusal that quotes it.
    return parameters.model_json_schema().get("properties", {})


def allowed_text(schema: Mapping[str, Any]) -> str:
    """A parameter's JSON schema in words: "integer 0..10000", "one of buyer, seller", "or null"."""
    if "anyOf" in schema:
        return " or ".join(allowed_text(option) for option in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = str(schema.get("type", "value"))
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", ""))
        high = schema.get("maximum", schema.get("exclusiveMaximum", ""))
        return f"{kind} {low}..{high}" if low != "" or high != "" else kind
    if kind == "string" and "maxLength" in schema:
        return f"string of {schema.get('minLength', 0)}..{schema['maxLength']} characters"
    if kind == "array":
        size = f" of {schema.get('minItems', 0)}..{schema['maxItems']}" if "maxItems" in schema else " of"
        return f"list{size} {allowed_text(schema.get('items', {}))}"
    return kind


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:200]
