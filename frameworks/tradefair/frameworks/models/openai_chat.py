"""Any OpenAI-compatible endpoint as a chat model, through the `openai` package: chat completions with tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import AsyncOpenAI, OpenAIError
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion
from pydantic import Field, JsonValue, PrivateAttr

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.access import api_key as key_of_environment
from tradefair.frameworks.models.access import check_allowed, endpoint_url, reply_bound, shown_url
from tradefair.frameworks.models.chat_wire import EachOnce, to_wire
from tradefair.frameworks.models.direct_chat import DirectChat
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.provider import make_client, no_completion, provider_failure
from tradefair.frameworks.models.wire import read_arguments


class OpenAIChat(DirectChat):
    """`chat.completions` at `base_url` (else OPENAI_BASE_URL, else OpenAI); the key comes from OPENAI_API_KEY only.

    Retries (429, 5xx, no connection, no answer in time) happen here and nowhere else, as late as `retry-after` says.
    What remains is a HarnessFailure. `options` are further fields of each request; `max_reply` bounds its reply in
    tokens, under the name that the endpoint knows. Arguments that are not a JSON object
    arrive as `invalid_tool_calls`; a refusal, and nothing at all, are replies without a call. `response_metadata` has
    `model_name`, `finish_reason`, `usage_estimated`, `retries`, `latency_s` and, where stated, `refusal`.
    """

    model: str
    base_url: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    timeout_s: float = 120.0
    max_retries: int = 4
    max_reply: int | None = None
    _client: AsyncOpenAI = PrivateAttr()
    _url: str = PrivateAttr()
    _key: str = PrivateAttr()
    _written: EachOnce[dict[str, Any]] = PrivateAttr()

    def __init__(
        self, *, model: str, api_key: str | None = None, prompts: Prompts | None = None, **fields: Any
    ) -> None:
        """`api_key` is for gateways of this process; every other key comes from the environment.

        `prompts` is told of every request.
        """
        super().__init__(model=model, **fields)  # pyright: ignore[reportCallIssue]  # pydantic fields
        self._url = endpoint_url(self.base_url)
        check_allowed(self._url)
        self._key = api_key or key_of_environment(self._url)
        self._written = EachOnce(to_wire)
        limits: dict[str, Any] = {"timeout_s": self.timeout_s, "max_retries": self.max_retries}
        self._client = make_client(self._url, self._key, prompts=prompts, **limits)

    @property
    def _llm_type(self) -> str:
        return "tradefair-openai"

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
        # langchain offers both forms; a blocking one would stop the loop on which the market runs.
        raise HarnessFailure("OpenAIChat is asynchronous: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request: dict[str, Any] = {"model": self.model, "messages": self._written.of(messages)}
        if self.max_reply is not None:
            request[reply_bound(self._url)] = self.max_reply
        # Options first, then what the caller binds (its tools), so that a caller's field wins.
        request |= self.options | kwargs | ({"stop": stop} if stop else {})
        completions: Any = self._client.chat.completions
        started = perf_counter()
        try:
            # As extra fields: the package would read the types of every message again in each request.
            response = await completions.with_raw_response.create(model=self.model, messages=[], extra_body=request)
            answer = response.parse()
        # What the client has retried in vain, and what it does not retry.
        except OpenAIError as error:
            seconds = perf_counter() - started
            raise provider_failure(self._place, self._key, error, retries=self.max_retries, seconds=seconds) from error
        # A body that is not JSON; the package lets the parser's error through.
        except ValueError as error:
            raise no_completion(self._place, self._key, str(error)) from error
        # Plain text with status 200 comes back as a string; JSON that is no completion has no choices.
        if not isinstance(answer, ChatCompletion) or not answer.choices:
            raise no_completion(self._place, self._key, str(answer))
        try:
            message = _from_wire(answer)
        except (AttributeError, TypeError) as error:
            # The package checks nothing: fields may be missing or null.
            raise no_completion(self._place, self._key, str(answer)) from error
        message.response_metadata |= {
            "retries": response.retries_taken,
            "latency_s": round(perf_counter() - started, 4),
        }
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _place(self) -> str:
        return f"openai:{self.model} at {shown_url(self._url)}"


def _from_wire(answer: ChatCompletion) -> AIMessage:
    choice = answer.choices[0]
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    calls = choice.message.tool_calls or ()
    # No text means no arguments, unless the reply was cut off: then they were never written.
    cut = calls[-1] if calls and choice.finish_reason == "length" else None
    for index, call in enumerate(calls):
        # Custom tools have no JSON arguments; we offer none, so a call of one is the endpoint's own invention.
        if call.type != "function":
            continue
        # Some endpoints send no ids; results could then not be told apart.
        call_id = call.id or f"call-{index}"
        begun = call is not cut or (call.function.arguments or "").strip()
        arguments = read_arguments(call.function.arguments) if begun else None
        # Kept as a call that failed and not dropped: the model must be told why, and the trace's notes count it.
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
    # A refusal's words are shown as the reply, since the content is null then.
    refusal = choice.message.refusal
    return AIMessage(
        content=choice.message.content or refusal or "",
        tool_calls=good,
        invalid_tool_calls=bad,
        response_metadata={
            "model_name": answer.model,
            "finish_reason": choice.finish_reason,
            "provider_id": answer.id,
            "usage_estimated": answer.usage is not None and _is_estimated(answer.usage),
            **({"refusal": refusal} if refusal else {}),
        },
        usage_metadata=_usage(answer),
    )


def _usage(answer: ChatCompletion) -> Any:
    """Token counts in langchain's names; None where the endpoint does not count, which must not look like 0."""
    if answer.usage is None:
        return None
    details = answer.usage.prompt_tokens_details
    cached = details.cached_tokens if details is not None else None
    return {
        "input_tokens": answer.usage.prompt_tokens,
        "output_tokens": answer.usage.completion_tokens,
        "total_tokens": answer.usage.total_tokens,
        **({"input_token_details": {"cache_read": cached}} if cached else {}),
    }


def _is_estimated(usage: CompletionUsage) -> bool:
    """Whether the endpoint is a gateway in front of a policy: its usage is an estimate and says so."""
    return (usage.model_extra or {}).get("usage_estimated") is True
