"""FastMCP's client, of either generation."""

import asyncio

import seat
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


async def main():
    transport = (StreamableHttpTransport if seat.URL else StdioTransport)(**seat.SERVER)
    async with Client(transport) as client:
        await client.list_tools()
        call = seat.next_call()
        while call:
            answer = await client.call_tool(*call, raise_on_error=False)
            call = seat.next_call(answer.content[0].text)


asyncio.run(main())
