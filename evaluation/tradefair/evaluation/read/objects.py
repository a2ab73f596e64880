"""A foreign JSON value where an object, or a list, is looked for."""

from __future__ import annotations

from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def sequence(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
