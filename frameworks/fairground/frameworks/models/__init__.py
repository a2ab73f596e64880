"""Model endpoints as chat models, opened lazily."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fairground.contract.errors import HarnessFailure
from fairground.frameworks.models.endpoint import ModelEndpoint, parse_model

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["ModelEndpoint", "open_chat_model", "parse_model"]


@asynccontextmanager
async def open_chat_model(endpoint: ModelEndpoint) -> AsyncGenerator[BaseChatModel]:
    """The chat model of an endpoint, closed afterwards. Raises HarnessFailure when it may not or cannot be reached."""
    if endpoint.kind == "policy":
        from fairground.frameworks.models.policy_chat import PolicyChatModel

        if endpoint.policy is None:
            raise HarnessFailure(f"{endpoint.label}: the policy was not attached: ModelEndpoint.with_policy(…)")
        yield PolicyChatModel(policy=endpoint.policy, label=endpoint.label)
        return
    from fairground.frameworks.models.openai_chat import OpenAIChat

    model = OpenAIChat(model=endpoint.model, base_url=endpoint.base_url, options=dict(endpoint.params))
    try:
        yield model
    finally:
        await model.aclose()
