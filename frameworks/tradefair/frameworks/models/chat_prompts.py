"""What a chat model without an HTTP client of ours is sent: a policy in this process, or another provider's model.

The request is written as `OpenAIChat` would send it, so that prompts have one form whatever plays.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from tradefair.frameworks.models.chat_wire import to_wire
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.wire import completion


class ChatPrompts(AsyncCallbackHandler):
    """Tells `prompts` of each request of a chat model. langchain swallows what a handler raises."""

    def __init__(self, prompts: Prompts, model: str) -> None:
        self._prompts = prompts
        self._model = model
        self._asked: dict[UUID, dict[str, Any]] = {}
        # Of the last request, by the message's own id: most of the next one are the same objects.
        self._written: dict[int, tuple[BaseMessage, dict[str, Any]]] = {}

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A request goes out."""
        bound: dict[str, Any] = kwargs.get("invocation_params") or {}
        # Other parameters of a provider's own client may name accounts.
        given = {name: bound[name] for name in ("tools", "tool_choice", "stop") if bound.get(name)}
        known = self._written
        self._written = {id(message): known.get(id(message)) or (message, to_wire(message)) for message in messages[0]}
        written = [self._written[id(message)][1] for message in messages[0]]
        self._asked[run_id] = {"model": self._model, "messages": written, **given}

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """The reply is there."""
        generation = response.generations[0][0]
        asked = self._asked.pop(run_id, None)
        if asked is None or not isinstance(generation, ChatGeneration) or not isinstance(generation.message, AIMessage):
            return
        reply = generation.message
        about, usage = reply.response_metadata, reply.usage_metadata
        counts = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]} if usage else {}
        message = {name: value for name, value in to_wire(reply).items() if name != "role"}
        reason = str(about.get("finish_reason") or ("tool_calls" if reply.tool_calls else "stop"))
        answer = completion(str(about.get("model_name") or self._model), 0, message, reason, **counts)
        self._prompts.heard(asked, {"status": answer.status, "body": answer.body})

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """There is no reply."""
        self._asked.pop(run_id, None)
