"""One script of calls for every door into an episode: what is asked as bytes, and the code that must come back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Door", "Step", "code_of", "walk"]


class Step(NamedTuple):
    """A call as bytes and what becomes of it: a code of refusal, or ok."""

    seat: str
    tool: str
    arguments: bytes
    expected: str


Door = Callable[[Step], Awaitable[str]]


async def walk(steps: Iterable[Step], door: Door) -> None:
    """Every step has the code that is expected of it."""
    for number, step in enumerate(steps):
        code = await door(step)
        assert code == step.expected, f"step {number}: {step.seat} {step.tool} {step.arguments[:80]!r}: {code}"


def code_of(result: Any) -> str:
    """The code of a refusal on the wire, with its four fields, or ok."""
    if not result.get("isError"):
        return "ok"
    error = result["structuredContent"]
    assert set(error) == {"code", "message", "hint", "retryable"}
    assert len(error["message"]) + len(error["hint"]) < 4_096
    return error["code"]
