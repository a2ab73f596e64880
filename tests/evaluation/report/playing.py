"""Traces for pages: what a model has noted, and a trace whose every text is hostile."""

from __future__ import annotations

from pathlib import Path

import orjson
from tests.evaluation.mutations import parts_of, write_parts

HOSTILE_TEXT = (
    "</script><img src=x onerror=\"window.__pwned='img'\"><script>window.__pwned='script'</script>"
    "<b>bold</b> \u202eesrever\u202c \u05e9\u05dc\u05d5\u05dd bell\x07 nul\x00 \u2028line ]]> --> &amp; {{7*7}}"
)


def note(round_number: int, calls: list[str], text: str = "I quote my value.") -> bytes:
    """A model call as runners note it."""
    known = {"kind": "model_call", "round": round_number, "phase": "quote", "reply": f"r{round_number}.0"}
    return orjson.dumps(
        {**known, "model": "policy:zip", "role": "actor", "text": text, "calls": calls, "input_tokens": 1200,
         "output_tokens": 7, "usage_estimated": True, "latency_s": 0.25, "cost_usd_micro": 310}
    )  # fmt: skip


def hostile_trace(source: Path, target: Path) -> Path:
    """A copy of a double auction with hostile text wherever a trace holds text."""
    parts = parts_of(source)
    core = orjson.loads(parts.core)
    core["scenario"]["description"] = HOSTILE_TEXT
    parts.core = orjson.dumps(core)
    for place, body in enumerate(parts.bodies):
        event = orjson.loads(body)
        if event["event"] == "episode_started":
            for player in event["seating"]["players"].values():
                player["label"] = HOSTILE_TEXT
        if event["event"] == "tool_called":
            event["arguments"] = {"price": HOSTILE_TEXT, HOSTILE_TEXT: [HOSTILE_TEXT]}
            event["phase"] = HOSTILE_TEXT
            event["status"], event["result"] = "rejected", {"said": HOSTILE_TEXT}
            event["error"] = {"code": HOSTILE_TEXT, "message": HOSTILE_TEXT, "hint": HOSTILE_TEXT, "retryable": False}
        parts.bodies[place] = orjson.dumps(event)
    parts.notes = [("B1", note(1, ["view_my_value", "submit_quote"], HOSTILE_TEXT))]
    return write_parts(parts, target)
