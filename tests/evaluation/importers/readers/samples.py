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


def packed(members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as made:
        for name, value in members.items():
            made.writestr(name, orjson.dumps(value))
    return raw.getvalue()


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
ATIF = sample("atif", "trajectory.json", 8, Run("0f3e7a52-atif-session", 2, 4, 4, 1, 7))
TRAJECTORY: dict[str, Any] = orjson.loads(ATIF.content)
TAU = sample("tau", "results.json", 2, Run("sim-1", 2, 3, 3, 1, 2, True), Run("sim-2", 2, 3, 3, 1, 2, False))
FIRST_TAU = sample("tau", "retail.json", 2, Run("3-0", 1, 3, 3, 1, 6, False), Run("3-1", 1, 3, 3, 1, 6, True))
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

SAMPLES = (
    OPENAI,
    CLAUDE,
    ATIF,
    TAU,
    FIRST_TAU,
    INSPECT_JSON,
    INSPECT_ZIP,
    sample("codex", "rollout.jsonl", 11, Run("0f3e7a52-codex-session", 1, 2, 2, 1, 3)),
    sample("codex", "exec.jsonl", 8, Run("t1", 1, 2, 2, 1, 2)),
    sample("gemini-cli", "session.json", 3, Run("g1", 1, 2, 2, 1, 3)),
    sample("gemini-cli", "session.jsonl", 6, Run("g2", 1, 2, 2, 1, 3)),
    sample("swe-agent", "shop.traj", 2, Run("shop", 1, 2, 2, 1, 2)),
    sample("swe-agent", "mini.json", 6, Run("mini", 1, 2, 2, 0, 3)),
    sample("openhands", "events.json", 7, Run("events", 1, 2, 2, 1, 3)),
    sample("openhands", "later.jsonl", 6, Run("later", 1, 2, 2, 1, 3)),
    sample("adk", "session.json", 6, Run("s1", 2, 2, 2, 0, 2)),
    sample("teams", "autogen.json", 5, Run("autogen", 3, 2, 2, 1, 2)),
    sample("teams", "run_state.json", 3, Run("run_state", 1, 1, 1, 0, 1)),
    sample("teams", "who_and_when.json", 3, Run("who_and_when", 3, 0, 0, 0, 3, False)),
)
