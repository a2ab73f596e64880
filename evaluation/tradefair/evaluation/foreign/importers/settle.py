"""What became of a call of somebody's agent: its status and what is kept of its answer, for all formats alike."""

from __future__ import annotations

import re
from typing import Any, cast

from tradefair.contract.answers import content_of, refusal
from tradefair.evaluation.foreign.importers.source import Refused, parsed
from tradefair.evaluation.foreign.interchange.own import STATUSES, WITHDRAWN
from tradefair.evaluation.read.objects import mapping

FAILED_ANSWER = re.compile(r"^(Error|Exception|Traceback)\b")
"""How an answer begins that says that it failed, in formats that have no flag for it."""

_FAILED = frozenset({"timeout", "timed_out", "cancelled", "canceled", "aborted"})
# JSON-RPC 2.0, "Invalid params", and what our own servers and others call it.
_INVALID = frozenset({-32602, "invalid_arguments", "invalid_params"})


def settle(result: Any, error: Any, status: str | None) -> tuple[str, Any]:
    """What became of a call: its status, and its result where that is ok, else the error that is kept.

    `error` and `status` as in `items.Answer`. A flag is `rejected`; refused arguments are `invalid`; other errors of
    JSON-RPC, timeouts and cancellations `failed`.
    """
    given = status if status in (*STATUSES, WITHDRAWN) else None
    content = plain(result)
    if given in ("ok", "withdrawn"):
        return given, content
    if given is not None:
        return given, refusal(error if error not in (None, True, False) else content, "tool_error")
    if error is None and isinstance(content, str) and FAILED_ANSWER.match(content):
        error = True
    if error is None or error is False:
        return "ok", content
    said = content if error is True else error
    code = mapping(said).get("code")
    numbered = isinstance(code, int) and not isinstance(code, bool)
    refused = refusal(said, f"rpc_{code}" if numbered else "tool_error")
    if code in _INVALID if isinstance(code, str | int) else False:
        return "invalid", refused
    return "failed" if numbered or refused["code"] in _FAILED else "rejected", refused


def plain(result: Any) -> Any:
    """A tool's answer as it is kept: its content in the shape of MCP, what a text says that is JSON, else the value."""
    if isinstance(result, dict):
        fields = mapping(result)
        return content_of(fields) if "content" in fields or "structuredContent" in fields else fields
    if isinstance(result, list):
        parts = cast("list[Any]", result)
        first = mapping(parts[0]) if len(parts) == 1 else {}
        return plain(first["text"]) if first.get("type") == "text" and isinstance(first.get("text"), str) else parts
    if isinstance(result, str) and result[:1] in '{["-0123456789tfn':
        try:
            return parsed(result.encode())
        except (Refused, UnicodeEncodeError):
            return result
    return result


def object_of(given: Any) -> tuple[Any, bool]:
    """Arguments as they are kept, and whether they are no JSON object: a text may hold one."""
    if isinstance(given, dict):
        return given, False  # pyright: ignore[reportUnknownVariableType]
    if given is None or given == "":
        return {}, False
    if isinstance(given, str):
        try:
            read = parsed(given.encode())
        except (Refused, UnicodeEncodeError):
            return given, True
        return (given, True) if not isinstance(read, dict) else (read, False)  # pyright: ignore[reportUnknownVariableType]
    return given, True
