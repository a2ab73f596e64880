"""Pydantic AI's agent with an MCP toolset."""

import asyncio

import seat
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset


async def main():
    if seat.URL:
        toolset = MCPToolset(seat.URL, headers=seat.HEADERS)
    else:
        toolset = MCPToolset(StdioTransport(seat.COMMAND, seat.ARGUMENTS))
    await Agent("openai-chat:gpt-5", toolsets=[toolset]).run(seat.PROMPT)


asyncio.run(main())
