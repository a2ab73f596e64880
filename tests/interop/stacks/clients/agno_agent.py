"""Agno's agent with MCP tools."""

import asyncio
import shlex

import seat
from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools.mcp import MCPTools, StreamableHTTPClientParams


async def main():
    if seat.URL:
        tools = MCPTools(transport="streamable-http", server_params=StreamableHTTPClientParams(**seat.SERVER))
    else:
        tools = MCPTools(shlex.join([seat.COMMAND, *seat.ARGUMENTS]))
    async with tools:
        await Agent(model=OpenAIChat("gpt-4o"), tools=[tools], telemetry=False).arun(seat.PROMPT)


asyncio.run(main())
