"""Files of the formats that are made of spans, with content of our own: one talk, told in each of them.

A desk agent reads an order, is refused a refund, asks a helper, and hears of a parcel that only messages tell of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from tests.evaluation.importers.readers.samples import ORDER, Run, Sample, document, sample

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


# Said: system, user, two replies with words, and what the user's part of the prompt held; answers are no messages.
DESK = Run(CONVERSATION, 2, 5, 5, 1, 4)

OTEL = sample("otel", "spans.jsonl", 12, DESK)
SPANS = [orjson.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in OTEL.content.splitlines()[:-1]]
OTEL_DOCUMENT = Sample("otel", "spans.json", document(request(*SPANS)), (DESK,), 11)
OTEL_PRINTED = sample("otel", "printed.jsonl", 11, DESK)
LOGGED = sample("otel", "logs.jsonl", 3, Run(TRACE, 1, 2, 2, 1, 4))


# --- OpenInference ----------------------------------------------------------------------------------------------------


KIND = "openinference.span.kind"
OPENINFERENCE = sample("openinference", "phoenix.jsonl", 5, Run("s-1", 1, 2, 2, 1, 4))


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


THREAD = Run("thread-7", 1, 2, 2, 1, 3)
LANGSMITH = sample("langsmith", "runs.jsonl", 5, THREAD)
RUNS: list[dict[str, Any]] = [orjson.loads(line) for line in LANGSMITH.content.splitlines()]
NESTED = Sample("langsmith", "runs.json", document([{**RUNS[4], "child_runs": RUNS[:4]}]), (THREAD,), 5)

_ONE_TRACE = "ab" * 16
LANGFUSE = sample("langfuse", "traces.json", 5, Run("s1", 1, 2, 2, 1, 2))
VERCEL = sample("otel", "vercel.json", 4, Run(_ONE_TRACE, 1, 2, 2, 1, 2))
INDEXED = sample("otel", "indexed.json", 3, Run(_ONE_TRACE, 1, 1, 1, 1, 2))

SPAN_SAMPLES = (OTEL, OTEL_DOCUMENT, OTEL_PRINTED, LOGGED, OPENINFERENCE, LANGSMITH, NESTED, LANGFUSE, VERCEL, INDEXED)
