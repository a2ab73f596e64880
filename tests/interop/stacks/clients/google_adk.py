"""Google's Agent Development Kit: its agent on a Gemini model, with an MCP toolset."""

import asyncio
import os

import seat
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from mcp import StdioServerParameters

os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": seat.MODEL}


async def main():
    if seat.URL:
        connection = StreamableHTTPConnectionParams(**seat.SERVER)
    else:
        connection = StdioConnectionParams(server_params=StdioServerParameters(**seat.SERVER))
    toolset = McpToolset(connection_params=connection)
    runner = InMemoryRunner(LlmAgent(name="trader", model="gemini-2.5-flash", tools=[toolset]), app_name="trader")
    await runner.run_debug(seat.PROMPT)
    await toolset.close()


asyncio.run(main())
