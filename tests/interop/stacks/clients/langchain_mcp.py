"""LangChain's agent with its own `langchain.mcp` (beta)."""

import asyncio

import seat
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from langchain.agents import create_agent
from langchain.mcp import MCPAdapter


async def main():
    transport = (StreamableHttpTransport if seat.URL else StdioTransport)(**seat.SERVER)
    async with MCPAdapter(transport) as adapter:
        agent = create_agent("openai:gpt-5", await adapter.list_tools())
        await agent.ainvoke({"messages": [("user", seat.PROMPT)]}, {"recursion_limit": 100})


asyncio.run(main())
