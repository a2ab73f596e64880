"""CrewAI's crew with the MCP adapter of crewai-tools."""

import os

import seat

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}

from crewai import Agent, Crew, Task
from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters

parameters = seat.SERVER | {"transport": "streamable-http"} if seat.URL else StdioServerParameters(**seat.SERVER)
with MCPServerAdapter(parameters) as tools:
    agent = Agent(role="trader", goal="profit", backstory="a trader", tools=tools, llm="openai/gpt-4o", max_iter=40)
    task = Task(description=seat.PROMPT, expected_output="how it went", agent=agent)
    Crew(agents=[agent], tasks=[task]).kickoff()
