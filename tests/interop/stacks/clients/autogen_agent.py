"""AutoGen's assistant with `mcp_server_tools`: a connection, and over stdio a process, per call."""

import asyncio

import seat
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import StdioServerParams, StreamableHttpServerParams, mcp_server_tools


async def main():
    parameters = StreamableHttpServerParams if seat.URL else StdioServerParams
    tools = await mcp_server_tools(parameters(**seat.SERVER))
    # One round of tools is its default, a limit on models, not on servers.
    agent = AssistantAgent("trader", OpenAIChatCompletionClient(model="gpt-4o"), tools=tools, max_tool_iterations=40)
    await agent.run(task=seat.PROMPT)


asyncio.run(main())
