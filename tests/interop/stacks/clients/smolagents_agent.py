"""Hugging Face's smolagents: its tool-calling agent with an MCP client."""

import seat
from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

parameters = seat.SERVER | {"transport": "streamable-http"} if seat.URL else StdioServerParameters(**seat.SERVER)
with MCPClient(parameters) as tools:
    ToolCallingAgent(tools, OpenAIModel("gpt-4o")).run(seat.PROMPT, max_steps=40)
