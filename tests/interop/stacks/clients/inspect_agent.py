"""Inspect's react agent with an MCP server as its tools."""

import inspect_ai
import seat
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.tool import mcp_server_http, mcp_server_stdio

server = (mcp_server_http if seat.URL else mcp_server_stdio)(name="market", **seat.SERVER)
task = inspect_ai.Task([Sample(seat.PROMPT)], solver=react(tools=[server]))
(log,) = inspect_ai.eval(task, model="openai/gpt-4o", display="plain", log_dir="logs")
assert log.status == "success", log.error
