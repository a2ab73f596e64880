"""A scripted policy behind the interface of a chat model: graphs can be tested, and played, without a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from fairground.agents.bridge import error_info
from fairground.agents.rounds import find_view, unfenced
from fairground.contract.errors import HarnessFailure
from fairground.contract.policy import Policy, ToolAnswer, Turns, TurnView
from fairground.contract.policy import ToolCall as PolicyCall

__all__ = ["PolicyChatModel"]

_BYTES_PER_TOKEN = 4
_PASS = "I have nothing more to do in this turn."


class PolicyChatModel(BaseChatModel):
    """One policy of one seat and episode, which sees the visible messages and nothing else.

    A turn begins with the fenced `turn_view` block of the last human message (`agents.rounds.show_view`). While the
    policy waits for a call's answer, that answer must be the last visible message, unless another turn has begun
    (the call ended its turn): HarnessFailure otherwise. Usage is estimated from bytes and flagged `usage_estimated`.
    """

    policy: Any
    """A `contract.policy.Policy`; Any because pydantic cannot check a protocol."""
    label: str
    _turns: Turns | None = PrivateAttr(default=None)
    _view: TurnView | None = PrivateAttr(default=None)
    _awaited: str | None = PrivateAttr(default=None)
    _calls: int = PrivateAttr(default=0)

    def __init__(self, *, policy: Policy, label: str, **options: Any) -> None:
        super().__init__(policy=policy, label=label, **options)  # pyright: ignore[reportCallIssue]  # pydantic fields

    @property
    def _llm_type(self) -> str:
        return "fairground-policy"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model itself: a policy knows its tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = self._next_call(messages)
        reply = AIMessage(
            content=_PASS if call is None else "",
            tool_calls=[] if call is None else [self._tool_call(call)],
            response_metadata={"model_name": self.label, "usage_estimated": True},
        )
        reply.usage_metadata = _usage(messages, reply)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # On the loop: a policy is pure and quick, a thread hop is not.
        return self._generate(messages)

    def _next_call(self, messages: Sequence[BaseMessage]) -> PolicyCall | None:
        """What the policy does next; None when it has nothing more to do in its turn."""
        view = _visible_view(messages)
        if self._view is None or _clock(view) != _clock(self._view):
            if self._turns is not None:
                self._turns.close()
            self._view, self._turns, self._awaited = view, self.policy.turn(view), None
            return self._advance(None)
        if self._turns is None:
            return None
        return self._advance(self._answer(messages[-1]))

    def _answer(self, last: BaseMessage) -> ToolAnswer:
        if not isinstance(last, ToolMessage) or last.tool_call_id != self._awaited:
            raise HarnessFailure(
                f"{self.label}: the answer to {self._awaited} must be the last visible message, found {last.type} "
                f"{getattr(last, 'tool_call_id', None) or last.id}"
            )
        text = str(last.content)
        if last.status == "error":
            return ToolAnswer(None, error_info(text), turn_over=False)
        return ToolAnswer(unfenced(text).encode(), None, turn_over=False)

    def _advance(self, answer: ToolAnswer | None) -> PolicyCall | None:
        assert self._turns is not None
        try:
            return next(self._turns) if answer is None else self._turns.send(answer)
        except StopIteration:
            self._turns, self._awaited = None, None
            return None

    def _tool_call(self, call: PolicyCall) -> ToolCall:
        self._calls += 1
        self._awaited = f"call-{self._calls}"
        return ToolCall(name=call.tool, args=dict(call.arguments), id=self._awaited, type="tool_call")


def _visible_view(messages: Sequence[BaseMessage]) -> TurnView:
    """The turn in the last human message that shows one (a nudge shows none)."""
    for message in reversed(messages):
        view = find_view(str(message.content)) if isinstance(message, HumanMessage) else None
        if view is not None:
            return view
    raise HarnessFailure("no visible message shows the turn: the window has cut it away")


def _clock(view: TurnView) -> tuple[int, str, int]:
    return view.round, view.phase, view.revision


def _usage(messages: Sequence[BaseMessage], reply: AIMessage) -> Any:
    read = sum(len(str(message.content).encode()) for message in messages) // _BYTES_PER_TOKEN
    written = (
        len(str(reply.content)) + sum(len(orjson.dumps(call["args"])) for call in reply.tool_calls)
    ) // _BYTES_PER_TOKEN
    return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
