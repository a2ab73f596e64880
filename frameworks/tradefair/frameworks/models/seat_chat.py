"""Whatever answers for a seat as a chat model of langchain: it writes requests, and reads clean replies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from langchain_core.callbacks import AsyncCallbackManager, AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.chat_wire import to_wire
from tradefair.frameworks.models.reply import calls_in, reason_of, text_of, usage_of
from tradefair.frameworks.models.wire import EachOnce, Json

Ask: TypeAlias = Callable[[Json], Awaitable[Json]]
"""Gives the clean reply to a chat completion's request; raises HarnessFailure."""

_PLAIN = {SystemMessage, HumanMessage, AIMessage, ToolMessage}


class SeatChat(BaseChatModel):
    """The chat model over `ask`. `fields` are further fields of each request, `max_reply` bounds its reply in tokens.

    It is asked without langchain's rounds where nobody listens to them: langchain formats the whole window for tracing
    and once more for the model, at every request. Only callbacks and tracers are served on the way, no cache. Arguments
    that are not a JSON object arrive as `invalid_tool_calls`; a refusal, and nothing at all, are replies without a
    call. `response_metadata` has `model_name`, `finish_reason`, `usage_estimated` and, where stated, `refusal`.
    """

    model: str
    max_reply: int | None = None
    _ask: Ask = PrivateAttr()
    _fields: Mapping[str, Any] = PrivateAttr()
    _written: EachOnce[BaseMessage, Json] = PrivateAttr()

    def __init__(
        self, ask: Ask, *, model: str, fields: Mapping[str, Any] | None = None, max_reply: int | None = None
    ) -> None:
        super().__init__(model=model, max_reply=max_reply)  # pyright: ignore[reportCallIssue]  # pydantic fields
        self._ask = ask
        self._fields = dict(fields or {})
        self._written = EachOnce(to_wire)

    @property
    def _llm_type(self) -> str:
        return "tradefair"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model with its tools in every request."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002  # the base class's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """The reply to some messages."""
        given = ensure_config(config)
        # langchain's own word on who listens: also tracers that the environment or a context has switched on.
        if AsyncCallbackManager.configure(given.get("callbacks"), self.callbacks, self.verbose).handlers:
            return await super().ainvoke(input, given, stop=stop, **kwargs)
        result = await self._agenerate(self._messages(input), stop, **kwargs)
        return cast("AIMessage", result.generations[0].message)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # langchain offers both forms; a blocking one would stop the loop on which the market runs.
        raise HarnessFailure("the chat model of a seat is asynchronous: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        bound = {} if self.max_reply is None else {"max_tokens": self.max_reply}
        # Options first, then what the caller binds (its tools), so that a caller's field wins.
        fields = {**bound, **self._fields, **kwargs, **({"stop": stop} if stop else {})}
        body = await self._ask({"model": self.model, "messages": self._written.of(messages), **fields})
        return ChatResult(generations=[ChatGeneration(message=_message(body))])

    def _messages(self, given: LanguageModelInput) -> list[BaseMessage]:
        # langchain looks at each message by itself, and a window may hold a thousand.
        if isinstance(given, list) and {*map(type, given)} <= _PLAIN:
            return cast("list[BaseMessage]", given)
        return self._convert_input(given).to_messages()


def _message(body: Json) -> AIMessage:
    """A clean reply as langchain has it; its calls keep their order among the good ones, and among the bad ones."""
    calls, usage, refusal = calls_in(body), usage_of(body), body["choices"][0]["message"].get("refusal")
    good = [
        ToolCall(name=call.name, args=call.arguments, id=call.id, type="tool_call")
        for call in calls
        if call.arguments is not None
    ]
    bad = [
        InvalidToolCall(name=call.name, args=call.text, id=call.id, error="no JSON object", type="invalid_tool_call")
        for call in calls
        if call.arguments is None
    ]
    about = {"model_name": body["model"], "finish_reason": reason_of(body)}
    about |= {"usage_estimated": usage.estimated, **({"refusal": refusal} if refusal else {})}
    message = AIMessage(text_of(body), tool_calls=good, invalid_tool_calls=bad, response_metadata=about)
    # None where the endpoint does not count, which must not look like 0.
    if usage.input_tokens is not None and usage.output_tokens is not None:
        counts: Any = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            **({"input_token_details": {"cache_read": usage.cached_input_tokens}} if usage.cached_input_tokens else {}),
        }
        # After construction: the constructor's type for usage knows no plain mapping.
        message.usage_metadata = counts
    return message
