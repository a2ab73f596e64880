"""OpenAI's Agents SDK: its agent and runner, over the Responses API."""

import asyncio

import seat
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

from agents import Agent, Runner, set_tracing_disabled

set_tracing_disabled(True)


async def main():
    async with (MCPServerStreamableHttp if seat.URL else MCPServerStdio)(seat.SERVER) as server:
        agent = Agent("trader", model="gpt-5", mcp_servers=[server])
        # The default of ten turns is a limit on models, not on servers.
        await Runner.run(agent, seat.PROMPT, max_turns=40)


asyncio.run(main())
