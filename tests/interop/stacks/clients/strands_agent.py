"""AWS's Strands: its agent with an MCP client as its tools."""

import seat
from mcp import StdioServerParameters, stdio_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient

client = MCPClient(**seat.SERVER) if seat.URL else MCPClient(lambda: stdio_client(StdioServerParameters(**seat.SERVER)))
Agent(OpenAIModel(model_id="gpt-4o"), tools=[client])(seat.PROMPT)
