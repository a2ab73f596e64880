"""MCP tools as langchain-core tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from mcp.types import Tool
from pydantic import PrivateAttr

from tradefair.agents.bridge import Bridge, ToolOutcome

if TYPE_CHECKING:
    pass

WITHHELD = frozenset({"await_turn"})
"""Waiting is the driver's: a model that waits would only pay for it."""


BEYOND_SMALL = frozenset({"execute_code", "add_note", "view_notes", "remove_note", "view_rules", "view_turn"})
"""What a model of few parameters is not offered: programs, notes, and what its messages say anyway."""


class McpTool(BaseTool):
    """One MCP tool. Invoked with a tool call it answers a `ToolMessage`, with its artifact on errors too."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    _bridge: Bridge = PrivateAttr()

    def __init__(self, bridge: Bridge, tool: Tool) -> None:
        # The wire's names, as other MCP clients know them.
        annotations = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
        super().__init__(
            name=tool.name,
            # Shown to the model, so never empty.
            description=tool.description or tool.title or tool.name,
            # The schema as it came: a pydantic model made from it would lose what pydantic cannot say.
            args_schema=tool.input_schema,
            metadata={"mcp": annotations},
        )
        self._bridge = bridge

    async def call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """The bridge's coroutine, for tool nodes: no callbacks, no type hints read on each call."""
        return await self._bridge.call(self.name, arguments)

    async def ainvoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002  # the base class's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """As every tool; a refusal gives `status="error"` and keeps its artifact."""
        # langchain has no place for a result that is an error and has an artifact; so the status is set afterwards.
        answer = await super().ainvoke(input, config, **kwargs)
        if isinstance(answer, ToolMessage) and cast("dict[str, Any]", answer.artifact)["is_error"]:
            answer.status = "error"
        return answer

    async def _arun(self, **arguments: Any) -> tuple[str | list[dict[str, Any]], dict[str, Any]]:
        outcome = await self.call(arguments)
        return outcome.content, outcome.artifact

    def _run(self, **arguments: Any) -> Any:
        # A blocking call would stop the loop that the market's client lives on.
        raise RuntimeError(f"{self.name} is reached over MCP, which is asynchronous: use ainvoke")


def as_tools(bridge: Bridge, *, without: frozenset[str] = frozenset()) -> list[BaseTool]:
    """The bridge's tools in the server's order, some left out."""
    return [McpTool(bridge, tool) for name, tool in bridge.tools.items() if name not in without]
