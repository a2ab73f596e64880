"""Files of every format that messages are read from, written after the formats' documents; what they say is our own.

One story: a customer's order is looked up, a refund is refused, another one is accepted.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any, NamedTuple

import orjson


class Run(NamedTuple):
    """What an import has to find in a run."""

    run: str
    seats: int
    calls: int
    answered: int
    errors: int
    messages: int
    passed: bool | None = None


class Sample(NamedTuple):
    """A file of one format, and what is in it; `whole` counts its records."""

    format: str
    file: str
    content: bytes
    runs: tuple[Run, ...]
    records: int


ORDER = {"status": "delivered", "total": 40}
PIXEL = "iVBORw0KGgo="


def lines(*values: Any) -> bytes:
    return b"".join(orjson.dumps(value) + b"\n" for value in values)


def document(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def chat_call(key: str, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return {"id": key, "type": "function", "function": {"name": name, "arguments": text}}


def told(key: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": content}


CHAT = {
    "id": "refund-1",
    "tools": [{"type": "function", "function": {"name": "get_order", "parameters": {"type": "object"}}}],
    "passed": True,
    "messages": [
        {"role": "system", "content": "Help customers."},
        {"role": "user", "content": [{"type": "text", "text": "Refund W1, see"}, {
            "type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
        {"role": "assistant", "content": "Looking.", "reasoning_content": "First the order.", "tool_calls": [
            chat_call("c1", "get_order", {"order_id": "W1"}), chat_call("c2", "refund_order", "{not json")]},
        told("c1", orjson.dumps(ORDER).decode()),
        told("c2", "Error: no order"),
        {"role": "assistant", "content": None, "tool_calls": [chat_call("c3", "refund_order", {"order_id": "W1"})]},
        told("c3", [{"type": "text", "text": '{"refunded": 40}'}]),
        {"role": "assistant", "content": "Done."},
    ],
}  # fmt: skip
LEGACY = {
    "task_id": 7,
    "messages": [
        {"role": "user", "content": "Refund W1"},
        {"role": "assistant", "content": None, "function_call": {"name": "refund_order", "arguments": "{}"}},
        {"role": "function", "name": "refund_order", "content": ""},
        {"role": "assistant", "content": None, "function_call": {"name": "refund_order", "arguments": "{}"}},
        {"role": "function", "name": "refund_order", "content": "null"},
    ],
}
ANTHROPIC = {
    "session_id": "claude",
    "system": "Help customers.",
    "messages": [
        {"role": "user", "content": "Refund W1"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Look first.", "signature": "x"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"order_id": "W1"}},
            {"type": "tool_use", "id": "t2", "name": "refund_order", "input": {"order_id": "W9"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "delivered"}]},
            {"type": "tool_result", "tool_use_id": "t2", "content": "no such order", "is_error": True},
            {"type": "text", "text": "W1, I said"}]},
    ],
}  # fmt: skip
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "model": "model-x",
    "usage": {"input_tokens": 9, "output_tokens": 3},
    "output": [
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "First the order."}],
         "encrypted_content": "gAAA"},
        {"type": "mcp_list_tools", "id": "l1", "server_label": "shop",
         "tools": [{"name": "get_order", "input_schema": {}, "annotations": {"readOnlyHint": True}}]},
        {"type": "mcp_call", "id": "m1", "name": "get_order", "arguments": "{}", "output": "W1"},
        {"type": "mcp_call", "id": "m2", "server_label": "shop", "name": "get_order", "arguments": "{}",
         "output": None, "error": "no such order"},
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "W1"}},
        {"type": "function_call", "id": "f1", "call_id": "k1", "name": "refund_order", "arguments": "{}"},
    ],
}  # fmt: skip
GOES_ON = {
    "request": {"previous_response_id": "resp_1", "input": [
        {"type": "function_call_output", "call_id": "k1", "output": "refunded"}]},
    "previous_response_id": "resp_1",
    "response": {"id": "resp_2", "object": "response", "previous_response_id": "resp_1", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]},
}  # fmt: skip
OPENAI = Sample(
    "openai",
    "chats.jsonl",
    lines(CHAT, LEGACY, ANTHROPIC, RESPONSE, GOES_ON),
    (
        Run("refund-1", 1, 3, 3, 1, 6, True),
        Run("7", 1, 2, 2, 0, 1),
        Run("claude", 1, 2, 2, 1, 5),
        Run("resp_1", 1, 4, 4, 1, 2),
    ),
    8 + 5 + 4 + 6 + 2,
)

SESSION = "0f3e7a52-0b7e-4a5c-9d2b-6f1f0c8f2f11"


def record(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    """A line of a session's log."""
    return {
        "parentUuid": f"u{number - 1}",
        "isSidechain": False,
        "userType": "external",
        "cwd": "/shop",
        "sessionId": SESSION,
        "version": "2.1.0",
        "type": kind,
        "uuid": f"u{number}",
        "timestamp": f"2026-05-04T10:00:{number:02d}.250Z",
        **fields,
    }


def reply(name: str, *content: Any, output: int = 5) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": output}
    head = {"id": name, "type": "message", "role": "assistant", "model": "claude-x", "usage": usage}
    return {"message": {**head, "content": [*content]}}


def use(key: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def result(key: str, content: Any, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": key, "content": content, **more}
    return {"message": {"role": "user", "content": [block]}, "toolUseResult": {"stdout": "x"}}


SIDE = {"isSidechain": True, "agentId": "a1b2"}
CLAUDE = Sample(
    "claude-code",
    "session.jsonl",
    lines(
        {"type": "summary", "summary": "Refunds", "leafUuid": "u9"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        record(1, "user", message={"role": "user", "content": "Why does the refund fail?"}),
        record(2, "user", isMeta=True, message={"role": "user", "content": "Caveat: made by a command"}),
        record(3, "assistant", **reply("m1", {"type": "thinking", "thinking": "Look.", "signature": "x"}, output=1)),
        record(4, "assistant", **reply("m1", {"type": "text", "text": "Looking."}, output=1)),
        record(5, "assistant", **reply("m1", use("t1", "Bash", command="cat refund.py"), output=44)),
        record(6, "user", **result("t1", "def refund(): ...")),
        record(6, "user", **result("t1", "def refund(): ...")),
        record(7, "assistant", **reply("m2", use("t2", "Task", prompt="look up W1"), use("t3", "mcp__shop__refund"))),
        record(8, "user", **SIDE, message={"role": "user", "content": "look up W1"}),
        record(9, "assistant", **SIDE, **reply("s1", use("t4", "mcp__shop__get_order", order_id="W1"))),
        record(10, "user", **SIDE, **result("t4", [{"type": "text", "text": "delivered"}])),
        record(11, "user", **result("t3", "no order", is_error=True)),
        record(12, "user", **result("t2", [{"type": "text", "text": "W1 is delivered"}]), agentId="a1b2"),
        record(13, "system", subtype="compact_boundary", content="Conversation compacted"),
        record(14, "user", isCompactSummary=True, message={"role": "user", "content": "All that was said so far"}),
        record(15, "progress", data={"type": "hook_progress"}),
        record(16, "assistant", **reply("m3", {"type": "text", "text": "It needs an order."})),
    ),
    (Run(SESSION, 2, 4, 4, 1, 7),),
    19,
)


def step(number: int, source: str, message: Any, **fields: Any) -> dict[str, Any]:
    return {
        "step_id": number,
        "timestamp": f"2026-05-04T10:00:{number:02d}Z",
        "source": source,
        "message": message,
        **fields,
    }


def atif_call(key: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": key, "function_name": name, "arguments": arguments}


def observed(*results: tuple[str | None, Any]) -> dict[str, Any]:
    return {"results": [{"source_call_id": key, "content": content} for key, content in results]}


TRAJECTORY: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "session_id": "0f3e7a52-atif-session",
    "agent": {"name": "helper", "version": "1.0", "model_name": "model-x", "tool_definitions": [
        {"type": "function", "function": {"name": "get_order", "parameters": {}}}]},
    "subagent_trajectories": [{
        "schema_version": "ATIF-v1.7", "trajectory_id": "sub-1", "agent": {"name": "finder", "version": "1"},
        "steps": [step(1, "agent", "", tool_calls=[atif_call("s1", "get_order")], observation=observed(("s1", "W1")))],
    }],
    "final_metrics": {"total_cost_usd": 0.25},
    "steps": [
        step(1, "system", "Help customers."),
        step(2, "user", [{"type": "text", "text": "Refund W1"}, {
            "type": "image", "source": {"media_type": "image/png", "path": "images/w1.png"}}]),
        step(3, "agent", "Looking.", reasoning_content="Order first.", metrics={"prompt_tokens": 9, "logprobs": [-1]},
             tool_calls=[atif_call("a1", "get_order", order_id="W1")], observation=observed((None, "delivered"))),
        step(4, "agent", "Looking.", is_copied_context=True, tool_calls=[atif_call("a1", "get_order", order_id="W1")]),
        step(5, "agent", "", tool_calls=[atif_call("a2", "refund_order"), atif_call("a3", "refund_order")],
             observation={"results": [
                 {"source_call_id": "a3", "content": "no", "extra": {"tool_result_is_error": True}},
                 {"source_call_id": "a2", "content": None}]}),
        step(6, "system", "", observation=observed((None, "The shop closes."))),
        step(7, "agent", "Done."),
    ],
}  # fmt: skip
ATIF = Sample("atif", "trajectory.json", document(TRAJECTORY), (Run("0f3e7a52-atif-session", 2, 4, 4, 1, 7),), 8)

CRITERIA: dict[str, Any] = {
    "actions": [
        {"action_id": "1", "name": "refund_order", "arguments": {"order_id": "W1"}, "requestor": "assistant"},
        {"action_id": "2", "name": "restart_phone", "arguments": {}, "requestor": "user"},
    ],
    "communicate_info": ["40"],
}
SIMULATION: dict[str, Any] = {
    "id": "sim-1",
    "task_id": "t1",
    "trial": 0,
    "reward_info": {"reward": 1.0},
    "messages": [
        {"role": "assistant", "content": "Hi!", "timestamp": "2026-05-04T10:00:00.5"},
        {"role": "user", "content": "Refund W1"},
        {"role": "assistant", "content": None, "cost": 0.01, "usage": {"prompt_tokens": 9, "completion_tokens": 3},
         "tool_calls": [{"id": "1", "name": "get_order", "arguments": {"order_id": "W1"}, "requestor": "assistant"},
                        {"id": "2", "name": "refund_order", "arguments": {}, "requestor": "assistant"}]},
        {"role": "tool", "tool_messages": [
            {"id": "1", "role": "tool", "content": "delivered", "requestor": "assistant", "error": False},
            {"id": "2", "role": "tool", "content": "which?", "requestor": "assistant", "error": True}]},
        {"role": "user", "content": None, "tool_calls": [
            {"id": "3", "name": "restart_phone", "arguments": {}, "requestor": "user"}]},
        {"id": "3", "role": "tool", "content": "", "requestor": "user", "error": False},
    ],
}  # fmt: skip
TAU = Sample(
    "tau",
    "results.json",
    document({
        "timestamp": "2026-05-04T10:00:00",
        "info": {"agent_info": {"implementation": "llm_agent", "llm": "model-x"}, "user_info": {}},
        "tasks": [{"id": "t1", "evaluation_criteria": CRITERIA}],
        "simulations": [SIMULATION, {**SIMULATION, "id": "sim-2", "trial": 1, "reward_info": {"reward": 0.5}}],
    }),
    (Run("sim-1", 2, 3, 3, 1, 2, True), Run("sim-2", 2, 3, 3, 1, 2, False)),
    2,
)  # fmt: skip
FIRST_TAU = Sample(
    "tau",
    "retail.json",
    document([
        {"task_id": 3, "trial": trial, "reward": reward, "traj": CHAT["messages"], "info": {"task": {
            "actions": [{"name": "refund_order", "kwargs": {"order_id": "W1"}}], "outputs": ["40"]}}}
        for trial, reward in ((0, 0.0), (1, 1.0))
    ]),
    (Run("3-0", 1, 3, 3, 1, 6, False), Run("3-1", 1, 3, 3, 1, 6, True)),
    2,
)  # fmt: skip


def inspect_event(kind: str, second: int, span: str = "main", **fields: Any) -> dict[str, Any]:
    return {"event": kind, "timestamp": f"2026-05-04T10:00:{second:02d}+00:00", "span_id": span, **fields}


def inspect_call(key: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": key, "function": name, "arguments": arguments, "type": "function"}


def output(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"message": message, "stop_reason": "stop"}
    return {"model": "model-x", "choices": [choice], "usage": {"input_tokens": 9, "output_tokens": 3}}


TALK: list[dict[str, Any]] = [
    {"id": "m1", "role": "system", "content": "Help customers."},
    {"id": "m2", "role": "user", "content": "attachment://aa"},
    {"id": "m3", "role": "assistant", "content": [{"type": "reasoning", "reasoning": "Ask.", "redacted": False},
                                                  {"type": "text", "text": "Asking."}],
     "tool_calls": [inspect_call("i1", "finder", input="W1"), inspect_call("i2", "refund_order")]},
    {"id": "m4", "role": "tool", "tool_call_id": "i1", "function": "finder", "content": "attachment://bb"},
    {"id": "m5", "role": "tool", "tool_call_id": "i2", "function": "refund_order", "content": "",
     "error": {"type": "timeout", "message": "too slow"}},
]  # fmt: skip
SUB = {"id": "s2", "role": "assistant", "content": "", "tool_calls": [inspect_call("i3", "get_order")]}
INSPECTED: dict[str, Any] = {
    "id": "q1",
    "epoch": 1,
    "input": "Refund W1",
    "messages": TALK,
    "scores": {"judge": {"value": "C"}},
    "attachments": {"aa": "Refund W1", "bb": "W1 is delivered"},
    "events_data": {"messages": [{"id": "s1", "role": "user", "content": "look up W1"}], "calls": []},
    "events": [
        inspect_event("span_begin", 0, "main", id="main", type="solver", name="generate"),
        inspect_event("model", 1, input=TALK[:2], output=output(TALK[2]), completed="2026-05-04T10:00:02Z"),
        inspect_event("span_begin", 3, "main", id="sub", type="agent", name="finder", parent_id="main"),
        inspect_event("model", 4, "sub", input=[], input_refs=[[0, 1]], output=output(SUB)),
        inspect_event("tool", 5, "sub", id="i3", function="get_order", arguments={}, result="delivered"),
        inspect_event(
            "tool", 3, id="i1", function="finder", arguments={}, result="x", completed="2026-05-04T10:00:06Z"
        ),
        inspect_event("tool", 7, id="i9", function="lost_in_compaction", arguments={}, result=""),
        inspect_event("tool", 8, id="i10", function="still_going", arguments={}, pending=True),
        inspect_event("span_begin", 9, "main", id="score", type="scorer", name="judge", parent_id="main"),
        inspect_event("model", 9, "score", input=[], output=output({"id": "g1", "role": "assistant", "content": "C"})),
        inspect_event("state", 9, changes=[]),
    ],
}
LAST = {"role": "assistant", "content": "No."}
PLAIN: dict[str, Any] = {"id": "q2", "epoch": 2, "messages": [*TALK[:2], LAST], "scores": {}}
SPEC = {"task": "refunds", "model": "model-x", "created": "2026-05-04T10:00:00+00:00"}
_INSPECT_RUNS = (Run("q1_epoch_1", 2, 5, 4, 1, 5, True), Run("q2_epoch_2", 1, 0, 0, 0, 3))
INSPECT_JSON = Sample(
    "inspect",
    "log.json",
    document({"version": 2, "status": "success", "eval": SPEC, "plan": {}, "samples": [INSPECTED, PLAIN]}),
    _INSPECT_RUNS,
    2,
)


def packed(members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as made:
        for name, value in members.items():
            made.writestr(name, orjson.dumps(value))
    return raw.getvalue()


INSPECT_ZIP = Sample(
    "inspect",
    "log.eval",
    packed({
        "_journal/start.json": {"version": 2, "eval": SPEC},
        "samples/q1_epoch_1.json": INSPECTED,
        "samples/q2_epoch_2.json": PLAIN,
        "summaries.json": [],
    }),
    _INSPECT_RUNS,
    2,
)  # fmt: skip

SAMPLES = (OPENAI, CLAUDE, ATIF, TAU, FIRST_TAU, INSPECT_JSON, INSPECT_ZIP)
