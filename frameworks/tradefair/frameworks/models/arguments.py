"""Arguments of tool calls, as models write them: JSON in a string, or what was meant to be."""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast


def read_arguments(text: str | None) -> dict[str, Any] | None:
    """A call's arguments as a JSON object (no NaN); None when they are not. Nothing at all means no arguments."""
    try:
        parsed: Any = json.loads(text, parse_constant=_refuse_constant) if text and text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def resent_arguments(text: str) -> str:
    """Arguments as they go back in the history: some endpoints parse them, and would refuse the whole request."""
    return text if read_arguments(text) is not None else json.dumps({"malformed_arguments": text})


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
