"""What another provider's model is sent: its client is langchain's, and is listened to by a callback.

The request is written as `SeatChat` would send it, so that prompts have one form whatever plays. No door stands below
such a model, so its budget is asked here too.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.rate_limiters import BaseRateLimiter

from tradefair.frameworks.models.budget import Budget
from tradefair.frameworks.models.chat_wire import to_wire
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.wire import EachOnce, Json, completion

# Other parameters of a provider's own client may name accounts.
_KEPT = ("tools", "tool_choice", "stop", "max_tokens")


class Within(BaseRateLimiter):
    """Lets requests through while a budget has room: what langchain asks right before each."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def acquire(self, *, blocking: bool = True) -> bool:
        """Raises Stopped where a limit is reached."""
        self._budget.check()
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """As `acquire`."""
        return self.acquire()


class ChatPrompts(AsyncCallbackHandler):
    """Has the requests of another provider's model written. langchain swallows what a handler raises."""

    def __init__(self, prompts: Prompts, model: str) -> None:
        self._prompts = prompts
        self._model = model
        self._written = EachOnce(to_wire)
        self._asked: dict[UUID, Json] = {}

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A request goes out."""
        params: Json = kwargs.get("invocation_params") or {}
        given = {name: params[name] for name in _KEPT if params.get(name)}
        self._asked[run_id] = {"model": self._model, "messages": self._written.of(messages[0]), **given}

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """The reply is there."""
        generation = response.generations[0][0]
        asked = self._asked.pop(run_id, None)
        if asked is not None and isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            self._heard(asked, generation.message)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """There is no reply."""
        self._asked.pop(run_id, None)

    def _heard(self, asked: Json, reply: AIMessage) -> None:
        about, usage = reply.response_metadata, reply.usage_metadata
        counts = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]} if usage else {}
        message = {name: value for name, value in to_wire(reply).items() if name != "role"}
        reason = str(about.get("finish_reason") or ("tool_calls" if reply.tool_calls else "stop"))
        answer = completion(str(about.get("model_name") or self._model), 0, message, reason, **counts)
        self._prompts.heard(asked, {"status": answer.status, "body": answer.body})
