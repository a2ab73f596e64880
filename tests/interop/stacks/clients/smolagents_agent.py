"""Hugging Face's smolagents: its tool-calling agent with an MCP client."""

import seat
from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

if seat.URL:
    parameters = {"url": seat.URL, "transport": "streamable-http", "headers": seat.HEADERS}
else:
    parameters = StdioServerParameters(command=seat.COMMAND, args=seat.ARGUMENTS)
with MCPClient(parameters) as tools:
    ToolCallingAgent(tools, OpenAIModel("gpt-4o")).run(seat.PROMPT, max_steps=40)
