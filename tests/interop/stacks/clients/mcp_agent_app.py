"""mcp-agent: its app, and an agent with OpenAI's augmented model."""

import asyncio

import seat
from mcp_agent.agents.agent import Agent
from mcp_agent.app import MCPApp
from mcp_agent.config import MCPServerSettings, MCPSettings, OpenAISettings, Settings
from mcp_agent.workflows.llm.augmented_llm import RequestParams
from mcp_agent.workflows.llm.augmented_llm_openai import OpenAIAugmentedLLM


async def main():
    server = MCPServerSettings(transport="streamable_http" if seat.URL else "stdio", **seat.SERVER)
    settings = Settings(mcp=MCPSettings(servers={"market": server}), openai=OpenAISettings())
    async with MCPApp("trader", settings=settings).run(), Agent(name="trader", server_names=["market"]) as agent:
        model = await agent.attach_llm(OpenAIAugmentedLLM)
        # The default of ten iterations is a limit on models, not on servers.
        await model.generate_str(seat.PROMPT, RequestParams(model="gpt-4o", max_iterations=40))


asyncio.run(main())
