"""What a chat model without an HTTP client of ours is sent: a policy in this process, or another provider's model.

The request is written as `OpenAIChat` would send it, so that prompts have one form whatever plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from tradefair.frameworks.models.chat_wire import EachOnce, to_wire
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.wire import completion


class ChatWriter:
    """Writes the requests and replies of one chat model for `prompts`."""

    def __init__(self, prompts: Prompts, model: str) -> None:
        self._prompts = prompts
        self._model = model
        self._written = EachOnce(to_wire)

    def request(self, messages: Sequence[BaseMessage], params: Mapping[str, Any]) -> dict[str, Any]:
        """A request with its messages and what else was given."""
        # Other parameters of a provider's own client may name accounts.
        given = {name: params[name] for name in ("tools", "tool_choice", "stop", "max_tokens") if params.get(name)}
        return {"model": self._model, "messages": self._written.of(messages), **given}

    def heard(self, request: dict[str, Any], reply: AIMessage) -> None:
        """Tell `prompts` of a request and its reply."""
        about, usage = reply.response_metadata, reply.usage_metadata
        counts = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]} if usage else {}
        message = {name: value for name, value in to_wire(reply).items() if name != "role"}
        reason = str(about.get("finish_reason") or ("tool_calls" if reply.tool_calls else "stop"))
        answer = completion(str(about.get("model_name") or self._model), 0, message, reason, **counts)
        self._prompts.heard(request, {"status": answer.status, "body": answer.body})


class ChatPrompts(AsyncCallbackHandler):
    """Has the requests of another provider's model written. langchain swallows what a handler raises."""

    def __init__(self, prompts: Prompts, model: str) -> None:
        self._writer = ChatWriter(prompts, model)
        self._asked: dict[UUID, dict[str, Any]] = {}

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A request goes out."""
        self._asked[run_id] = self._writer.request(messages[0], kwargs.get("invocation_params") or {})

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """The reply is there."""
        generation = response.generations[0][0]
        asked = self._asked.pop(run_id, None)
        if asked is not None and isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            self._writer.heard(asked, generation.message)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """There is no reply."""
        self._asked.pop(run_id, None)
