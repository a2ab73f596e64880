"""Our chat models are asked directly unless somebody listens; what is kept of a request is the same either way."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from tradefair.contract import Turns, TurnView
from tradefair.frameworks.models import ModelEndpoint
from tradefair.frameworks.models.backends import PolicyBackend
from tradefair.frameworks.models.chat_prompts import ChatPrompts
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.seat_chat import SeatChat

REQUEST: list[AnyMessage] = [
    SystemMessage('Plan.\n\n```json plan_schema\n{"a": 1}\n```'),
    HumanMessage("What next?"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call-1", "type": "tool_call"}]),
    ToolMessage("nothing", tool_call_id="call-1"),
]
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {}}}


class Listener(AsyncCallbackHandler):
    """Counts what a model is asked and answers."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.heard.append("asked")

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.heard.append("answered")


class OfProvider(BaseChatModel):
    """The same behind langchain's own class, as other providers' models are."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=await planned().ainvoke(messages))])

    @property
    def _llm_type(self) -> str:
        return "provider"


class Silent:
    """A policy that is asked for plans only."""

    def turn(self, now: TurnView) -> Turns:
        raise NotImplementedError


def planned(prompts: Prompts | None = None) -> SeatChat:
    endpoint = ModelEndpoint("policy", "half", "policy:half", policy=Silent(), prompts=prompts)
    return SeatChat(PolicyBackend(endpoint).ask, model="policy:half")


async def test_a_listener_is_told_and_the_reply_is_the_same() -> None:
    listener, model = Listener(), planned()
    alone = await model.ainvoke(REQUEST)
    assert listener.heard == []
    heard = await model.ainvoke(REQUEST, {"callbacks": [listener]})
    assert listener.heard == ["asked", "answered"]
    assert (heard.text, heard.usage_metadata, heard.response_metadata) == (
        alone.text,
        alone.usage_metadata,
        alone.response_metadata,
    )


async def test_messages_may_be_given_in_any_form_of_langchains() -> None:
    by_pairs = await planned().ainvoke([("system", str(REQUEST[0].content)), ("user", "What next?")])
    assert by_pairs.text == (await planned().ainvoke(REQUEST[:2])).text


async def test_what_is_kept_of_a_request_is_the_same_with_a_callback_and_without() -> None:
    by_model, by_callback = Prompts(), Prompts()
    provider = OfProvider(callbacks=[ChatPrompts(by_callback, "policy:half")])
    for asked in (REQUEST[:2], REQUEST):
        await planned(by_model).bind(tools=[TOOL]).ainvoke(asked)
        await provider.bind(tools=[TOOL]).ainvoke(asked)
    kept = by_model.take({})
    assert kept == by_callback.take({})
    assert [len(exchange.request["messages"]) for exchange in kept] == [2, 4]
    assert list(kept[0].request) == ["model", "messages", "tools"]
