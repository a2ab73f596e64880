"""Files of every format, in the folder `samples`, written after the formats' documents; what they say is our own.

One story: a customer's order is looked up, a refund is refused, another one is accepted.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
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
SESSION = "0f3e7a52-0b7e-4a5c-9d2b-6f1f0c8f2f11"
FOLDER = Path(__file__).with_name("samples")


def sample(form: str, file: str, records: int, *runs: Run) -> Sample:
    """A file of the folder, and what is in it."""
    return Sample(form, file, (FOLDER / form / file).read_bytes(), runs, records)


def lines(*values: Any) -> bytes:
    return b"".join(orjson.dumps(value) + b"\n" for value in values)


def document(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


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


OPENAI = sample(
    "openai",
    "chats.jsonl",
    8 + 5 + 4 + 6 + 2,
    Run("refund-1", 1, 3, 3, 1, 6, True),
    Run("7", 1, 2, 2, 0, 1),
    Run("claude", 1, 2, 2, 1, 5),
    Run("resp_1", 1, 4, 4, 1, 2),
)
CHAT: dict[str, Any] = orjson.loads(OPENAI.content.splitlines()[0])
CLAUDE = sample("claude-code", "session.jsonl", 19, Run(SESSION, 2, 4, 4, 1, 7))


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


def packed(members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as made:
        for name, value in members.items():
            made.writestr(name, orjson.dumps(value))
    return raw.getvalue()


INSPECT_JSON = sample(
    "inspect", "log.json", 2, Run("q1_epoch_1", 2, 5, 4, 1, 5, True), Run("q2_epoch_2", 1, 0, 0, 0, 3)
)
_LOG: dict[str, Any] = orjson.loads(INSPECT_JSON.content)
INSPECTED, PLAIN = _LOG["samples"]
INSPECT_ZIP = INSPECT_JSON._replace(
    file="log.eval",
    content=packed({
        "_journal/start.json": {"version": 2, "eval": _LOG["eval"]},
        "samples/q1_epoch_1.json": INSPECTED,
        "samples/q2_epoch_2.json": PLAIN,
        "summaries.json": [],
    }),
)  # fmt: skip

SAMPLES = (OPENAI, CLAUDE, ATIF, TAU, FIRST_TAU, INSPECT_JSON, INSPECT_ZIP)
