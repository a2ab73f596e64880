"""The official Python SDK, first generation: a session over either transport."""

import asyncio

import seat
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def main():
    if seat.URL:
        transport = streamablehttp_client(seat.URL, headers=seat.HEADERS)
    else:
        transport = stdio_client(StdioServerParameters(**seat.SERVER))
    async with transport as (reading, writing, *_), ClientSession(reading, writing) as session:
        await session.initialize()
        await session.list_tools()
        call = seat.next_call()
        while call:
            answer = await session.call_tool(*call)
            call = seat.next_call(answer.content[0].text)


asyncio.run(main())
