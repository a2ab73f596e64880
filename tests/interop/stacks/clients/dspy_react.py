"""DSPy's ReAct over a session of the official SDK: tools are described in its prompt's text."""

import asyncio

import dspy
import httpx2
import seat
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main():
    if seat.URL:
        transport = streamable_http_client(seat.URL, http_client=httpx2.AsyncClient(headers=seat.HEADERS))
    else:
        transport = stdio_client(StdioServerParameters(**seat.SERVER))
    dspy.configure(lm=dspy.LM("openai/gpt-4o", cache=False))
    async with Client(transport) as client:
        tools = [dspy.Tool.from_mcp_tool(client, tool) for tool in (await client.list_tools()).tools]
        await dspy.ReAct("request -> result", tools=tools, max_iters=40).acall(request=seat.PROMPT)


asyncio.run(main())
