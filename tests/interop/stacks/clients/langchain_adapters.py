"""LangChain's agent with the tools of langchain-mcp-adapters: a connection, and over stdio a process, per call."""

import asyncio

import seat
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    connection = {"transport": "streamable_http" if seat.URL else "stdio"}
    tools = await MultiServerMCPClient({"market": connection | seat.SERVER}).get_tools()
    agent = create_agent("openai:gpt-5", tools)
    # The default recursion limit is a limit on models, not on servers.
    await agent.ainvoke({"messages": [("user", seat.PROMPT)]}, {"recursion_limit": 100})


asyncio.run(main())
