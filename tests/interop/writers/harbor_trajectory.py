"""A trajectory that Harbor's own model has checked and written, with a sub-agent and a picture."""

import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory


def step(number, source, message, **fields):
    return {"step_id": number, "source": source, "message": message, **fields}


def called(*keys):
    return [{"tool_call_id": key, "function_name": "get_order", "arguments": {"order_id": key}} for key in keys]


def seen(*results):
    return {"results": [{"source_call_id": key, "content": content} for key, content in results]}


agent = {"name": "helper", "version": "1", "model_name": "m"}
sub = step(1, "agent", "", tool_calls=called("s1"), observation=seen(("s1", "found")))
picture = {"type": "image", "source": {"media_type": "image/png", "path": "w1.png"}}
made = Trajectory.model_validate({
    "session_id": "harbor-session-0001",
    "agent": agent,
    "steps": [
        step(1, "system", "Help customers."),
        step(2, "user", [{"type": "text", "text": "Where is W1?"}, picture]),
        step(3, "agent", "Looking.", tool_calls=called("a1"), observation=seen((None, "delivered")), metrics={
            "prompt_tokens": 9, "completion_tokens": 3, "cost_usd": 0.1}),
        step(4, "agent", "", tool_calls=called("a2", "a3"), observation=seen(("a3", None), ("a2", "late"))),
        step(5, "agent", "It is delivered."),
    ],
    "subagent_trajectories": [{"trajectory_id": "sub-1", "agent": {**agent, "name": "finder"}, "steps": [sub]}],
    "final_metrics": {"total_cost_usd": 0.1},
})  # fmt: skip
Path(sys.argv[1]).write_text(made.model_dump_json(indent=2, exclude_none=True), encoding="utf-8")
