"""Traces for pages: played through Core, and one whose every text is hostile."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import orjson
from tests.calling import seating
from tests.evaluation.mutations import parts_of, write_parts

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw
from tradefair.contract.core import Core
from tradefair.host.scripted import Scripted
from tradefair.tracestore import Written, write_trace

HOSTILE_TEXT = (
    "</script><img src=x onerror=\"window.__pwned='img'\"><script>window.__pwned='script'</script>"
    "<b>bold</b> \u202eesrever\u202c \u05e9\u05dc\u05d5\u05dd bell\x07 nul\x00 \u2028line ]]> --> &amp; {{7*7}}"
)


def play(path: Path, scenario: str, policy: str, seed: int = 1, **overrides: Any) -> Path:
    """An episode with one policy on all seats, labelled and sealed."""
    kind = market_type(scenario.partition("/")[0])
    core = Core.create(kind, load_scenario(kind.name, scenario, overrides), seed)
    spec = kind.policies[policy]
    makers = {seat: partial(spec.make, {}, Draw.of(seed, seat)) for seat in core.market.seats}
    scripted, records = Scripted(makers), list(core.start(seating(core.market.seats, policy)).records)
    while stretch := scripted.run(core):
        records += stretch
    about = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_trace(path, core.manifest, about, [Written(record) for record in records])
    return path


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
