"""LlamaIndex's function agent with an MCP tool spec: a connection, and over stdio a process, per call."""

import asyncio

import seat
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def main():
    if seat.URL:
        client = BasicMCPClient(seat.URL, headers=seat.HEADERS)
    else:
        client = BasicMCPClient(seat.COMMAND, args=seat.ARGUMENTS)
    tools = await McpToolSpec(client).to_tool_list_async()
    model = OpenAILike(
        "gpt-4o", api_base=f"{seat.MODEL}/v1", api_key="none", is_chat_model=True, is_function_calling_model=True
    )
    await FunctionAgent(tools=tools, llm=model).run(seat.PROMPT, max_iterations=40)


asyncio.run(main())
