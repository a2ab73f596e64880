"""The agent of mcp-use on a LangChain model."""

import asyncio
import os

import seat

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient


async def main():
    client = MCPClient({"mcpServers": {"market": seat.SERVER}})
    # The default of five steps is a limit on models, not on servers.
    await MCPAgent(ChatOpenAI(model="gpt-4o"), client, max_steps=40).run(seat.PROMPT)
    await client.close_all_sessions()


asyncio.run(main())
