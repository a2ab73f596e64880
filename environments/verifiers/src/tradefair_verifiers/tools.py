"""The tools of a seat, as a server of verifiers: schemas and answers are those of the market."""

from asyncio import to_thread
from typing import Any

import verifiers.v1 as vf
from mcp_types import CallToolResult, Tool
from tradefair_client import Seat, control, mcp


class MarketState(vf.State):
    """Where a rollout sits; no token. It is in no trace."""

    episode: str = ""
    seat: str = ""


class MarketTools(vf.Toolset[vf.ToolsetConfig, MarketState]):
    """One for each rollout, in a process of its own; the seat's token is in its memory only."""

    TOOL_PREFIX = None
    _seat: Seat | None = None

    def register(self, server: Any) -> None:
        """Serve what the market lists, which is known when the seat is taken."""
        server.list_tools = self._with_state(self.list_tools)
        server.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[Tool]:
        """As the market lists them."""
        return [Tool.model_validate(one) for one in (await to_thread(mcp, await self._taken(), "tools/list"))["tools"]]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> CallToolResult:
        """Pass a call on; a refused one is an answer too."""
        answer = await to_thread(mcp, await self._taken(), "tools/call", name=name, arguments=arguments)
        return CallToolResult.model_validate(answer)

    async def _taken(self) -> Seat:
        """The rollout's seat, with a token that is asked for at the first call."""
        if self._seat is None:
            invited = await to_thread(control, f"/episodes/{self.state.episode}/invite", {"seat": self.state.seat})
            self._seat = Seat(invited["url"], invited["invitations"][0]["token"], self.state.episode, self.state.seat)
        return self._seat


if __name__ == "__main__":
    MarketTools.run()
