"""CAMEL's chat agent with its MCP toolkit."""

import asyncio

import seat
from camel.agents import ChatAgent
from camel.models import ModelFactory
from camel.toolkits import MCPToolkit
from camel.utils import BaseTokenCounter


class Letters(BaseTokenCounter):
    """Counts letters: its own counter fetches a vocabulary."""

    def count_tokens_from_messages(self, messages):
        return len(str(messages))

    def encode(self, text):
        return [*map(ord, text)]

    def decode(self, token_ids):
        return "".join(map(chr, token_ids))


async def main():
    model = ModelFactory.create("openai", "gpt-4o", token_counter=Letters())
    async with MCPToolkit(config_dict={"mcpServers": {"market": seat.SERVER}}) as toolkit:
        await ChatAgent(model=model, tools=toolkit.get_tools()).astep(seat.PROMPT)


asyncio.run(main())
