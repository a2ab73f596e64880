"""Haystack's agent with an MCP toolset."""

import seat
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo

server = (StreamableHttpServerInfo if seat.URL else StdioServerInfo)(**seat.SERVER)
agent = Agent(chat_generator=OpenAIChatGenerator(model="gpt-4o"), tools=MCPToolset(server))
agent.run(messages=[ChatMessage.from_user(seat.PROMPT)])
