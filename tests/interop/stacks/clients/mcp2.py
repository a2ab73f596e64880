"""The official Python SDK, second generation: its client, which chooses the protocol era itself."""

import asyncio

import httpx2
import seat
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main():
    if seat.URL:
        transport = streamable_http_client(seat.URL, http_client=httpx2.AsyncClient(headers=seat.HEADERS))
    else:
        transport = stdio_client(StdioServerParameters(**seat.SERVER))
    async with Client(transport) as client:
        await client.list_tools()
        call = seat.next_call()
        while call:
            answer = await client.call_tool(*call)
            call = seat.next_call(answer.content[0].text)


asyncio.run(main())
