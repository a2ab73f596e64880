"""The base of our chat models: a request goes straight to the model where no callback listens to it."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

_PLAIN = {SystemMessage, HumanMessage, AIMessage, ToolMessage}


class DirectChat(BaseChatModel):
    """A chat model that is asked without langchain's rounds where nobody listens to them.

    langchain formats the whole window for tracing and once more for the model, at every request: a turn would cost more
    the longer its round is. Of what it does on the way, only callbacks and tracers are served here, no cache.
    """

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

    def _messages(self, given: LanguageModelInput) -> list[BaseMessage]:
        # langchain looks at each message by itself, and a window may hold a thousand.
        if isinstance(given, list) and {*map(type, given)} <= _PLAIN:
            return cast("list[BaseMessage]", given)
        return self._convert_input(given).to_messages()
