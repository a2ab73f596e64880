"""Microsoft's Agent Framework: its agent over the Responses API, with an MCP tool."""

import asyncio

import seat
from agent_framework import Agent, MCPStdioTool, MCPStreamableHTTPTool
from agent_framework.openai import OpenAIChatClient


async def main():
    if seat.URL:
        tool = MCPStreamableHTTPTool("market", seat.URL, static_headers=seat.HEADERS)
    else:
        tool = MCPStdioTool("market", seat.COMMAND, args=seat.ARGUMENTS)
    async with Agent(OpenAIChatClient("gpt-5"), tools=[tool]) as agent:
        await agent.run(seat.PROMPT)


asyncio.run(main())
