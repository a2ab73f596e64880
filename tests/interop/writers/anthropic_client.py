"""The messages of Anthropic's client, its own replies dumped as its models give them."""

import json
import sys

import httpx2
from anthropic import Anthropic

BLOCKS = [
    [
        {"type": "thinking", "thinking": "Look first.", "signature": "s"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"order_id": "W1"}},
        {"type": "tool_use", "id": "t2", "name": "refund_order", "input": {}},
    ],
    [{"type": "text", "text": "It is delivered."}],
]


def served(request):
    usage = {"input_tokens": 9, "output_tokens": 3}
    head = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return httpx2.Response(200, json={**head, "content": BLOCKS.pop(0)})


client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(served)))
messages = [{"role": "user", "content": "Where is W1?"}]
for turn in range(2):
    reply = client.messages.create(model="m", max_tokens=9, system="Help customers.", messages=messages)
    messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
    if not turn:
        results = [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "delivered"}]}]
        results.append({"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True})
        messages.append({"role": "user", "content": results})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"system": "Help customers.", "messages": messages}, file, indent=2)
