"""One model call, and the note about it: what it cost and how long it took is kept next to the trace, never in it."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable

from tradefair.agents.model_calls import ModelReply, Role, model_call
from tradefair.agents.rounds import Note
from tradefair.agents.tool_node import calls_of, finish_reason
from tradefair.contract import TurnView

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
    model: ChatRunnable, messages: Sequence[AnyMessage], role: Role, view: TurnView, reply_id: str, note: Note | None
) -> Asked:
    """Ask `model` once, in the phase of `view`; the reply gets the id `reply_id`. Raises what the model raises."""
    begun = perf_counter()
    # Messages go in as they are; retries are the model client's own.
    answer = await model.ainvoke(messages)
    latency_s = perf_counter() - begun
    # The provider's id would differ between runs; ours is the same in a replay.
    reply = answer.model_copy(update={"id": reply_id})
    # Zero for the sums only: the note says null where the endpoint did not count.
    usage = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    asked = Asked(reply, usage["input_tokens"], usage["output_tokens"], _is_estimated(reply))
    if note is not None:
        await note(model_call(plain(reply, latency_s), role, view, reply_id))
    return asked


def _is_estimated(reply: AIMessage) -> bool:
    return bool(reply.response_metadata.get("usage_estimated"))


def plain(reply: AIMessage, latency_s: float | None = None) -> ModelReply:
    """A chat model's reply in plain values.

    Tokens are None where the endpoint does not count, unlike in `Asked`.
    """
    about, usage = reply.response_metadata, reply.usage_metadata
    # Providers name cached input in different ways; langchain's name for it is `cache_read`.
    details = (usage or {}).get("input_token_details", {})
    return ModelReply(
        text=str(reply.text),
        calls=calls_of(reply),
        model=about.get("model_name"),
        input_tokens=None if usage is None else usage["input_tokens"],
        output_tokens=None if usage is None else usage["output_tokens"],
        cached_input_tokens=details.get("cache_read"),
        estimated=_is_estimated(reply),
        latency_s=latency_s,
        finish_reason=finish_reason(reply),
    )
