"""Semantic Kernel's chat completion agent with an MCP plugin."""

import asyncio

import seat
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin


async def main():
    async with (MCPStreamableHttpPlugin if seat.URL else MCPStdioPlugin)("market", **seat.SERVER) as plugin:
        # The default of five attempts is a limit on models, not on servers.
        choice = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=40)
        model = OpenAIChatCompletion("gpt-4o", async_client=AsyncOpenAI())
        agent = ChatCompletionAgent(service=model, name="trader", plugins=[plugin], function_choice_behavior=choice)
        await agent.get_response(seat.PROMPT)


asyncio.run(main())
