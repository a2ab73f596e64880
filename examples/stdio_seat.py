"""Any MCP client can take a seat: this one talks to `tradefair serve` over stdio and quotes its own value each round.

Run it: .venv/bin/python examples/stdio_seat.py [folder for the trace]
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from typing import Any

from mcp import Client, StdioServerParameters

SERVE = ["-m", "tradefair.cli", "serve", "double_auction", "--scenario", "double_auction/smoke", "--seed", "7"]


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    # A call key makes a repeated action harmless, should the answer get lost.
    result = await client.call_tool(tool, arguments, meta={"tradefair/call-key": str(uuid.uuid4())})
    answer: dict[str, Any] = result.structured_content or {}
    return {"refused": answer} if result.is_error else answer


async def main(folder: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=[*SERVE, "--out", folder])
    async with Client(server) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        while not (turn := await call(client, "await_turn"))["over"]:
            if turn["awaited"]:
                own = await call(client, "view_my_value")
                receipt = await call(client, "submit_quote", price=own["value"])
                print(f"round {turn['round']}: payoff {own['payoff_so_far']}, quoting {own['value']} ->", receipt)
        print("over:", turn["end_reason"])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "runs/stdio_seat"))
