"""One reply of a model in plain values, and the note about it: the same shape whatever framework asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from tradefair.agents.round_calls import Call
from tradefair.contract import TurnView

Role: TypeAlias = Literal["actor", "planner", "reflector"]
"""As what a model was asked."""


class ModelReply(NamedTuple):
    """What a model said and what that took; `estimated` where tokens are a guess.

    None where the endpoint, or the framework around it, does not say: 0 would pass for a count, and its price for free.
    """

    text: str
    calls: Sequence[Call]
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    estimated: bool = False
    latency_s: float | None = None
    finish_reason: str | None = None


def model_call(reply: ModelReply, role: Role, view: TurnView, reply_id: str) -> dict[str, Any]:
    """The note for `agent_events`, of a reply in the phase of `view`."""
    cached = reply.cached_input_tokens
    return {
        "kind": "model_call",
        "round": view.round,
        "phase": view.phase,
        "reply": reply_id,
        "role": role,
        "model": reply.model,
        "text": reply.text,
        # Calls with malformed arguments are counted apart: they were never made.
        "calls": [call.tool for call in reply.calls if call.arguments is not None],
        "invalid_calls": sum(call.arguments is None for call in reply.calls),
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        **({"cached_input_tokens": cached} if cached else {}),
        "usage_estimated": reply.estimated,
        # Microseconds: finer digits are noise.
        "latency_s": None if reply.latency_s is None else round(reply.latency_s, 6),
        "finish_reason": reply.finish_reason,
    }
