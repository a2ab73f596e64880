"""One model call, and the note about it: what it cost and how long it took lies beside the trace, never in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable

from fairground.agents.rounds import Note
from fairground.contract.policy import TurnView

__all__ = ["Asked", "ChatRunnable", "Role", "ask"]

Role = Literal["actor", "planner", "reflector"]
"""As what a model was asked."""

ChatRunnable: TypeAlias = "Runnable[Any, AIMessage]"
"""A chat model, with tools bound or without."""


class Asked(NamedTuple):
    """A reply under its own id, and what it used: 0 where the endpoint says nothing, `estimated` where it guesses."""

    message: AIMessage
    input_tokens: int
    output_tokens: int
    estimated: bool

    @property
    def text(self) -> str:
        """The reply's words."""
        return str(self.message.text)


async def ask(
    model: ChatRunnable,
    messages: Sequence[AnyMessage],
    role: Role,
    view: TurnView,
    reply_id: str,
    note: Note | None,
) -> Asked:
    """Ask `model` once, in the phase of `view`; the reply gets the id `reply_id`. Raises what the model raises."""
    begun = perf_counter()
    answer = await model.ainvoke(messages)
    latency_s = perf_counter() - begun
    reply = answer.model_copy(update={"id": reply_id})
    usage = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    asked = Asked(reply, usage["input_tokens"], usage["output_tokens"], _is_estimated(reply))
    if note is not None:
        await note(_model_call(asked, role, view, latency_s))
    return asked


def _is_estimated(reply: AIMessage) -> bool:
    return bool(reply.response_metadata.get("usage_estimated"))


def _model_call(asked: Asked, role: Role, view: TurnView, latency_s: float) -> dict[str, Any]:
    reply = asked.message
    usage: Mapping[str, Any] = reply.usage_metadata or {}
    cached = usage.get("input_token_details", {}).get("cache_read")
    return {
        "kind": "model_call",
        "round": view.round,
        "phase": view.phase,
        "reply": reply.id,
        "role": role,
        "model": reply.response_metadata.get("model_name"),
        "text": asked.text,
        "calls": [call["name"] for call in reply.tool_calls],
        "invalid_calls": len(reply.invalid_tool_calls),
        # Null where the endpoint does not say: 0 would pass for a count, and its price for free.
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        **({"cached_input_tokens": cached} if cached else {}),
        "usage_estimated": asked.estimated,
        "latency_s": round(latency_s, 6),
        "finish_reason": reply.response_metadata.get("finish_reason"),
    }
