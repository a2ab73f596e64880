"""Any OpenAI-compatible endpoint as a chat model, through the `openai` package: chat completions with tools."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast
from urllib.parse import urlsplit

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import APIError, APIStatusError, AsyncOpenAI, OpenAIError
from openai.types.chat import ChatCompletion
from pydantic import Field, JsonValue, PrivateAttr

from fairground.contract.errors import HarnessFailure

__all__ = ["ALLOW_MODELS", "OpenAIChat"]

ALLOW_MODELS = "FAIRGROUND_ALLOW_MODELS"
"""Environment switch: at 0 every endpoint that is not on this machine's loopback is refused. Tests set it."""

_DEFAULT_URL = "https://api.openai.com/v1"
_ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


class OpenAIChat(BaseChatModel):
    """`chat.completions` at `base_url` (else OPENAI_BASE_URL, else OpenAI); the key comes from OPENAI_API_KEY only.

    Retries (429, 5xx, connection) happen here and nowhere else. What remains is a HarnessFailure. `options` are further
    fields of each request. Arguments that are not a JSON object arrive as `invalid_tool_calls`.
    """

    model: str
    base_url: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    timeout_s: float = 120.0
    max_retries: int = 4
    _client: AsyncOpenAI = PrivateAttr()

    def __init__(self, *, model: str, **fields: Any) -> None:
        super().__init__(model=model, **fields)  # pyright: ignore[reportCallIssue]  # pydantic fields
        url = self.base_url or os.environ.get("OPENAI_BASE_URL") or _DEFAULT_URL
        _check_allowed(url)
        self._client = AsyncOpenAI(
            base_url=url, api_key=_api_key(url), timeout=self.timeout_s, max_retries=self.max_retries
        )

    @property
    def _llm_type(self) -> str:
        return "fairground-openai"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model with its tools in every request."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise HarnessFailure("OpenAIChat is asynchronous: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request: dict[str, Any] = {"model": self.model, "messages": [_to_wire(message) for message in messages]}
        request |= self.options | kwargs | ({"stop": stop} if stop else {})
        completions: Any = self._client.chat.completions
        try:
            answer = await completions.create(**request)
        except OpenAIError as error:
            _fail(self.model, error)
        if not isinstance(answer, ChatCompletion) or not answer.choices:
            raise HarnessFailure(f"openai:{self.model}: the endpoint's answer is not a chat completion")
        return ChatResult(generations=[ChatGeneration(message=_from_wire(answer))])


def _check_allowed(url: str) -> None:
    if os.environ.get(ALLOW_MODELS) == "0" and not _is_loopback(urlsplit(url).hostname or ""):
        raise HarnessFailure(f"{ALLOW_MODELS}=0 refuses the model endpoint at {urlsplit(url).hostname}: not loopback")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _api_key(url: str) -> str:
    key = os.environ.get("OPENAI_API_KEY")
    if not key and url == _DEFAULT_URL:
        raise HarnessFailure("set OPENAI_API_KEY, or name another endpoint by its base URL")
    # Local endpoints take any key, but the header must be there.
    return key or "none"


def _fail(model: str, error: OpenAIError) -> NoReturn:
    status = f"status {error.status_code}: " if isinstance(error, APIStatusError) else ""
    message = error.message if isinstance(error, APIError) else str(error)
    raise HarnessFailure(f"openai:{model}: {type(error).__name__}: {status}{message[:500]}") from error


def _to_wire(message: BaseMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": _ROLES[message.type], "content": message.text}
    if isinstance(message, ToolMessage):
        wire["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        good = [_call_to_wire(call["id"], call["name"], json.dumps(call["args"])) for call in message.tool_calls]
        bad = [_call_to_wire(call["id"], call["name"], _quoted(call["args"])) for call in message.invalid_tool_calls]
        wire |= {"tool_calls": good + bad, "content": wire["content"] or None}
    return wire


def _call_to_wire(call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _quoted(arguments: str | None) -> str:
    # Some endpoints parse the history they are sent back, and would refuse the whole request.
    return json.dumps({"malformed_arguments": arguments})


def _from_wire(answer: ChatCompletion) -> AIMessage:
    choice = answer.choices[0]
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for index, call in enumerate(choice.message.tool_calls or ()):
        if call.type != "function":
            continue
        call_id = call.id or f"call-{index}"
        arguments = _parse(call.function.arguments)
        if arguments is not None:
            good.append(ToolCall(name=call.function.name, args=arguments, id=call_id, type="tool_call"))
        else:
            bad.append(
                InvalidToolCall(
                    name=call.function.name,
                    args=call.function.arguments,
                    id=call_id,
                    error="not a JSON object",
                    type="invalid_tool_call",
                )
            )
    return AIMessage(
        content=choice.message.content or choice.message.refusal or "",
        tool_calls=good,
        invalid_tool_calls=bad,
        response_metadata={
            "model_name": answer.model,
            "finish_reason": choice.finish_reason,
            "provider_id": answer.id,
            "usage_estimated": False,
        },
        usage_metadata=_usage(answer),
    )


def _parse(arguments: str) -> dict[str, Any] | None:
    """The arguments as a JSON object (no NaN); None when they are not. Nothing at all means no arguments."""
    try:
        parsed: Any = json.loads(arguments, parse_constant=_refuse_constant) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _usage(answer: ChatCompletion) -> Any:
    if answer.usage is None:
        return None
    return {
        "input_tokens": answer.usage.prompt_tokens,
        "output_tokens": answer.usage.completion_tokens,
        "total_tokens": answer.usage.total_tokens,
    }
