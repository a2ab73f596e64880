"""A scripted policy behind the interface of a chat model: graphs can be tested, and played, without a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from tradefair.contract import Policy
from tradefair.frameworks.models.chat_prompts import ChatWriter
from tradefair.frameworks.models.chat_wire import EachOnce
from tradefair.frameworks.models.direct_chat import DirectChat
from tradefair.frameworks.models.policy_brain import BrainReply, PolicyBrain, Visible
from tradefair.frameworks.models.prompts import Prompts

# langchain's names for senders, and those of `Visible`; the others are equal.
_ROLES = {"human": "user", "ai": "assistant"}


class PolicyChatModel(DirectChat):
    """One policy of one seat and episode (`PolicyBrain`), which sees the visible messages and nothing else.

    Usage is estimated from bytes and flagged `usage_estimated`.
    """

    policy: Any
    """A `contract.policy.Policy`; Any because pydantic cannot check a protocol."""
    label: str
    max_reply: int | None = None
    """Stands in the requests that are kept, as a model's would; a policy's reply is one call."""
    _brain: PolicyBrain = PrivateAttr()
    _seen: EachOnce[Visible] = PrivateAttr()
    _writer: ChatWriter | None = PrivateAttr()

    def __init__(self, *, policy: Policy, label: str, prompts: Prompts | None = None, **options: Any) -> None:
        """`prompts` is told of every request."""
        super().__init__(policy=policy, label=label, **options)  # pyright: ignore[reportCallIssue]  # pydantic fields
        self._brain = PolicyBrain(policy, label)
        self._seen = EachOnce(_visible)
        self._writer = ChatWriter(prompts, label) if prompts else None

    @property
    def _llm_type(self) -> str:
        return "tradefair-policy"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model with its tools in every request, for who keeps requests: a policy knows its tools."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = _message(self._brain.reply(self._seen.of(messages)), self.label)
        if self._writer is not None:
            asked = {"stop": stop, "max_tokens": self.max_reply, **kwargs}
            self._writer.heard(self._writer.request(messages, asked), reply)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # On the loop: a policy is pure and quick, a thread hop is not.
        return self._generate(messages, stop, **kwargs)


def _visible(message: BaseMessage) -> Visible:
    role, text = _ROLES.get(message.type, message.type), str(message.text)
    if isinstance(message, ToolMessage):
        return Visible(role, text, message.tool_call_id, message.status == "error")
    return Visible(role, text)


def _message(reply: BrainReply, label: str) -> AIMessage:
    call = reply.call
    message = AIMessage(
        content=reply.text,
        # langchain wants an empty list, not null, for a reply without a call.
        tool_calls=[]
        if call is None
        else [ToolCall(name=call.tool, args=dict(call.arguments), id=call.id, type="tool_call")],
        response_metadata={
            "model_name": label,
            "usage_estimated": True,
            "finish_reason": "stop" if call is None else "tool_calls",
        },
    )
    # After construction: the constructor's type for usage knows no plain mapping.
    message.usage_metadata = {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
    return message
