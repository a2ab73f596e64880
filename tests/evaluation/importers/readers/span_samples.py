"""Files of the formats that are made of spans, with content of our own: one talk, told in each of them.

A desk agent reads an order, is refused a refund, asks a helper, and hears of a parcel that only messages tell of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from tests.evaluation.importers.readers.samples import ORDER, Run, Sample, document, lines

START = 1_760_000_000_000_000_000
TRACE, CONVERSATION = "5b8efff798038103d269b633813fc60c", "conv-1-of-the-desk"


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list) and isinstance(value[0], str):
        return {"arrayValue": {"values": [typed(item) for item in cast("list[str]", value)]}}
    return {"stringValue": value if isinstance(value, str) else orjson.dumps(value).decode()}


def span(
    own: str, parent: str, name: str, begins: int, ends: int, attributes: Mapping[str, Any], **fields: Any
) -> dict[str, Any]:
    """A span of OTLP; times are milliseconds after the start of all."""
    return {
        "traceId": TRACE,
        "spanId": own,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(START + begins * 1_000_000),
        "endTimeUnixNano": str(START + ends * 1_000_000),
        "attributes": [{"key": key, "value": typed(value)} for key, value in attributes.items()],
        "status": {},
        **fields,
    }


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    service = [{"key": "service.name", "value": {"stringValue": "desk"}}]
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"spans": list(spans)}]}]}


def part(words: str) -> dict[str, Any]:
    return {"type": "text", "content": words}


def asks(key: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": key, "name": tool, "arguments": arguments}


def answers(key: str, response: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": key, "response": response}]}


USER: dict[str, Any] = {"role": "user", "parts": [part("Refund W1.")]}
FIRST: dict[str, Any] = {
    "role": "assistant",
    "parts": [part("Looking."), asks("c1", "get_order", order_id="W1"), asks("c2", "refund_order", order_id="W1")],
}
SECOND: dict[str, Any] = {
    "role": "assistant",
    "parts": [asks("c3", "ask_helper", text="why"), asks("c4", "get_parcel", parcel_id="P1")],
}
PROMPTS: list[list[dict[str, Any]]] = [
    [USER],
    [USER, FIRST, answers("c1", ORDER), answers("c2", "Error: too late")],
    [USER, FIRST, answers("c1", ORDER), answers("c2", "Error: too late"), SECOND,
     answers("c3", "The window is 30 days."), answers("c4", {"parcel_id": "P1", "at": "the door"})],
]  # fmt: skip
REPLIES = [FIRST, SECOND, {"role": "assistant", "parts": [part("It is too late.")], "finish_reason": "stop"}]
SYSTEM = [part("Help customers.")]
EXCEPTION = {"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "too late"}}]}


def chat(own: str, begins: int, ends: int, number: int) -> dict[str, Any]:
    return span(own, "a0", "chat model-x", begins, ends, {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "model-x", "gen_ai.system_instructions": SYSTEM,
        "gen_ai.input.messages": PROMPTS[number], "gen_ai.output.messages": [REPLIES[number]],
        "gen_ai.usage.input_tokens": 10 * number + 10, "gen_ai.usage.output_tokens": 5,
        "gen_ai.response.finish_reasons": ["stop"],
    })  # fmt: skip


def executes(own: str, parent: str, tool: str, key: str, begins: int, ends: int, **fields: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": key}
    return span(own, parent, f"execute_tool {tool}", begins, ends, {**attributes, **fields.pop("more", {})}, **fields)


SPANS = [
    chat("c0", 10, 20, 0),
    # The MCP client's span of the same call, below the agent's, which holds no answer.
    span("m1", "t1", "tools/call get_order", 32, 34, {
        "mcp.method.name": "tools/call", "gen_ai.tool.name": "get_order", "gen_ai.tool.call.result": ORDER}),
    executes("t1", "a0", "get_order", "c1", 30, 35, more={"gen_ai.tool.call.arguments": {"order_id": "W1"}}),
    executes("t2", "a0", "refund_order", "c2", 31, 40, more={"gen_ai.tool.call.arguments": {"order_id": "W1"},
        "error.type": "ToolError"}, status={"code": 2}, events=[EXCEPTION]),
    chat("c5", 50, 60, 1),
    executes("t4", "a1", "search_policy", "s1", 72, 74, more={"gen_ai.tool.call.result": "30 days"}),
    span("a1", "t3", "invoke_agent helper", 71, 78, {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", "gen_ai.conversation.id": "inner"}),
    executes("t3", "a0", "ask_helper", "c3", 70, 80, more={"gen_ai.tool.call.arguments": {"text": "why"},
        "gen_ai.tool.call.result": "The window is 30 days."}),
    chat("c9", 90, 99, 2),
    span("a0", "h0", "invoke_agent desk", 5, 100, {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": CONVERSATION}),
    span("h0", "", "POST /chat", 1, 101, {"http.method": "POST"}),
]  # fmt: skip
OTHER = {**span("x0", "", "GET /health", 1, 2, {"http.method": "GET"}), "traceId": "0" * 31 + "1"}
# Said: system, user, two replies with words, and what the user's part of the prompt held; answers are no messages.
DESK = Run(CONVERSATION, 2, 5, 5, 1, 4)

OTEL = Sample("otel", "spans.jsonl", lines(*(request(made) for made in [*SPANS, OTHER])), (DESK,), 12)
OTEL_DOCUMENT = Sample("otel", "spans.json", document(request(*SPANS)), (DESK,), 11)


def printed(made: dict[str, Any]) -> dict[str, Any]:
    """A span as the SDK for Python prints it."""
    attributes = {item["key"]: next(iter(item["value"].values())) for item in made["attributes"]}
    begins, ends = (
        f"2026-10-09T08:53:20.{int(made[name][10:16]):06d}Z" for name in ("startTimeUnixNano", "endTimeUnixNano")
    )
    return {
        "name": made["name"],
        "context": {"trace_id": f"0x{made['traceId']}", "span_id": f"0x{made['spanId']}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": f"0x{made['parentSpanId']}" if "parentSpanId" in made else None,
        "start_time": begins,
        "end_time": ends,
        "status": {"status_code": "ERROR" if made["status"] else "UNSET"},
        "attributes": attributes,
        "events": [],
    }


OTEL_PRINTED = Sample("otel", "printed.jsonl", lines(*map(printed, SPANS)), (DESK,), 11)


def record(at: int, name: str, attributes: Mapping[str, Any], body: Any = None) -> dict[str, Any]:
    listed = [{"key": key, "value": typed(value)} for key, value in attributes.items()]
    said = {"timeUnixNano": str(START + at), "eventName": name, "traceId": TRACE, "spanId": f"b{at // 10}"}
    return {**said, "attributes": listed, **({"body": body} if body else {})}


def spoken(role: str, words: str) -> dict[str, Any]:
    return {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": words}}]}}


LOGS = [
    record(10, "gen_ai.client.inference.operation.details",
           {"gen_ai.input.messages": PROMPTS[0], "gen_ai.output.messages": [FIRST]}),
    record(20, "gen_ai.client.inference.operation.details",
           {"gen_ai.input.messages": PROMPTS[1], "gen_ai.output.messages": [REPLIES[2]]}),
    record(30, "gen_ai.user.message", {"gen_ai.provider.name": "x"}, spoken("user", "Thank you.")),
]  # fmt: skip
LOGGED = Sample(
    "otel",
    "logs.jsonl",
    lines(*({"resourceLogs": [{"scopeLogs": [{"logRecords": [made]}]}]} for made in LOGS)),
    (Run(TRACE, 1, 2, 2, 1, 4),),
    3,
)


# --- OpenInference ----------------------------------------------------------------------------------------------------


def flat(prefix: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages as flattened keys."""
    found: dict[str, Any] = {}
    for number, message in enumerate(messages):
        at = f"{prefix}.{number}.message"
        found |= {f"{at}.{name}": value for name, value in message.items() if name != "calls"}
        for place, (key, tool, arguments) in enumerate(message.get("calls", ())):
            call = f"{at}.tool_calls.{place}.tool_call"
            found |= {f"{call}.id": key, f"{call}.function.name": tool, f"{call}.function.arguments": arguments}
    return found


FLAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Help customers."},
    {"role": "user", "contents.0.message_content.type": "text", "contents.0.message_content.text": "Refund W1."},
    {"role": "assistant", "content": "Looking.", "calls": [
        ("c1", "get_order", '{"order_id": "W1"}'), ("c2", "get_order", '{"order_id": "W2"}')]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "delivered", "total": 40}'},
    {"role": "tool", "tool_call_id": "c2", "content": "no such order"},
    {"role": "assistant", "content": "It is too late."},
]  # fmt: skip
KIND = "openinference.span.kind"
INFERRED = [
    span("l1", "r0", "llm", 10, 20, {KIND: "LLM", "session.id": "s-1", "llm.model_name": "model-x",
         "llm.token_count.prompt": 9,
         **flat("llm.input_messages", FLAT[:2]), **flat("llm.output_messages", FLAT[2:3])}),
    # The later call's span comes first, and neither says which call it is.
    span("l3", "r0", "get_order", 30, 36, {KIND: "TOOL", "tool.name": "get_order", "session.id": "s-1",
         "input.value": {"order_id": "W2"}, "input.mime_type": "application/json"},
         status={"code": "STATUS_CODE_ERROR"}, events=[EXCEPTION]),
    span("l2", "r0", "get_order", 31, 35, {KIND: "TOOL", "tool.name": "get_order", "session.id": "s-1",
         "input.value": "W1", "output.value": ORDER, "output.mime_type": "application/json"}),
    span("l4", "r0", "llm", 40, 50, {KIND: "LLM", "session.id": "s-1",
         **flat("llm.input_messages", FLAT[:5]), **flat("llm.output_messages", FLAT[5:])}),
    span("r0", "", "desk", 1, 60, {KIND: "CHAIN", "session.id": "s-1"}),
]  # fmt: skip
OPENINFERENCE = Sample(
    "openinference", "phoenix.jsonl", lines(*map(request, INFERRED)), (Run("s-1", 1, 2, 2, 1, 4),), 5
)


# --- LangSmith --------------------------------------------------------------------------------------------------------


def lc(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", f"{kind}Message"],
        "kwargs": fields,
    }


def run(own: str, kind: str, name: str, at: int, inputs: Any, outputs: Any, **fields: Any) -> dict[str, Any]:
    moment = f"2026-05-04T10:00:{at:02d}.000000+00:00"
    order = f"20260504T1000{at:02d}000000Z{own}"
    return {
        "id": own, "name": name, "run_type": kind, "trace_id": "r0", "dotted_order": order, "start_time": moment,
        "end_time": moment.replace(".0", ".5"), "inputs": inputs, "outputs": outputs, "error": None,
        "extra": {"metadata": {"thread_id": "thread-7", "ls_model_name": "model-x"}},
        **({"parent_run_id": "r0"} if own != "r0" else {}), **fields,
    }  # fmt: skip


HUMAN = [lc("System", content="Help customers."), lc("Human", content="Refund W1.")]
CALLING = lc("AI", content="", tool_calls=[
    {"name": "get_order", "args": {"order_id": "W1"}, "id": "c1", "type": "tool_call"},
    {"name": "refund_order", "args": {"order_id": "W1"}, "id": "c2", "type": "tool_call"},
], usage_metadata={"input_tokens": 9, "output_tokens": 3})  # fmt: skip
TOLD = lc("Tool", content=orjson.dumps(ORDER).decode(), tool_call_id="c1", name="get_order")
RUNS = [
    run("g2", "llm", "ChatX", 6, {"messages": [[*HUMAN, CALLING, TOLD]]},
        {"generations": [[{"text": "It is too late.", "message": lc("AI", content="It is too late.")}]]}),
    run("t2", "tool", "refund_order", 4, {"input": "{'order_id': 'W1'}"}, {}, error="ToolException('too late')"),
    run("t1", "tool", "get_order", 3, {"input": '{"order_id": "W1"}'}, {"output": TOLD}),
    run("g1", "llm", "ChatX", 2, {"messages": [HUMAN]}, {"generations": [[{"text": "", "message": CALLING}]]}),
    run("r0", "chain", "LangGraph", 1, {}, {}),
]  # fmt: skip
THREAD = Run("thread-7", 1, 2, 2, 1, 3)
LANGSMITH = Sample("langsmith", "runs.jsonl", lines(*RUNS), (THREAD,), 5)
NESTED = Sample("langsmith", "runs.json", document([{**RUNS[4], "child_runs": RUNS[:4]}]), (THREAD,), 5)

SPAN_SAMPLES = (OTEL, OTEL_DOCUMENT, OTEL_PRINTED, LOGGED, OPENINFERENCE, LANGSMITH, NESTED)
