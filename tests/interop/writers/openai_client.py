"""The messages of OpenAI's client, as people keep them: chat completions, and items of responses."""

import json
import sys

from openai import OpenAI

try:
    import httpx2 as httpx  # what newer versions of the client use
except ImportError:
    import httpx

CALL = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": "W1"}'}}
CHAT = [
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    {"role": "assistant", "content": "It is delivered."},
]
ITEMS = [
    [
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Look first."}]},
        {"type": "function_call", "id": "f1", "call_id": "k1", "name": "get_order", "arguments": "{}"},
        {"type": "mcp_call", "id": "m1", "server_label": "shop", "name": "get_user", "arguments": "{}", "output": "U1"},
    ],
    [{"type": "message", "id": "a1", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": "It is delivered.", "annotations": []}]}],
]  # fmt: skip


def served(request):
    if request.url.path.endswith("/chat/completions"):
        choice = {"index": 0, "finish_reason": "stop", "message": CHAT.pop(0)}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    else:
        body = {"id": f"resp_{len(ITEMS)}", "object": "response", "created_at": 1, "model": "m", "output": ITEMS.pop(0)}
        body |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return httpx.Response(200, json=body)


client = OpenAI(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(served)))
messages = [{"role": "user", "content": "Where is W1?"}]
first = client.chat.completions.create(model="m", messages=messages).choices[0].message
messages.append(first.model_dump())
messages += [{"role": "tool", "tool_call_id": call.id, "content": "delivered"} for call in first.tool_calls]
messages.append(client.chat.completions.create(model="m", messages=messages).choices[0].message.model_dump())

asked = [{"role": "user", "content": "Where is W1?"}]
asked += [item.model_dump() for item in client.responses.create(model="m", input=asked).output]
asked.append({"type": "function_call_output", "call_id": "k1", "output": "delivered"})
last = client.responses.create(model="m", input=asked)
asked += [item.model_dump() for item in last.output]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for record in (
        {"id": "chat", "messages": messages},
        {"id": "items", "messages": asked},
        last.model_dump(mode="json"),
    ):
        file.write(json.dumps(record) + "\n")
