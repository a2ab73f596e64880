"""Runs of somebody's agent, turn by turn, for tests of audits; their steps are counted as a chat's messages are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.evaluation.foreign.audit.run import Call, Run, Said, Turn, guessed_kind


class Did(NamedTuple):
    """A call and its answer; a text that begins with Error is a refusal."""

    tool: str
    arguments: Mapping[str, Any]
    answer: Any = "done"


def did(tool: str, answer: Any = "done", **arguments: Any) -> Did:
    """A call with these arguments."""
    return Did(tool, arguments, answer)


def run_of(*turns: Did | str, name: str = "r1", passed: bool | None = None, **fields: Any) -> Run:
    """A run of calls and of texts, which are the user's where they begin with `> `, else the agent's."""
    made: list[Turn] = []
    step = 1
    for seq, turn in enumerate(turns, 2):
        if isinstance(turn, str):
            role = "user" if turn.startswith("> ") else "assistant"
            made.append(Said(seq, step, "agent", role, turn.removeprefix("> ")))
            step += 1
            continue
        refused = isinstance(turn.answer, str) and turn.answer.startswith("Error")
        status, answer, error = ("rejected", None, str(turn.answer)) if refused else ("ok", turn.answer, "")
        kind = guessed_kind(turn.tool)
        made.append(Call(seq, step, "agent", turn.tool, kind, status, dict(turn.arguments), answer, error))
        step += 2
    return Run(name, Path(f"{name}.trace"), passed, tuple(made), {"agent": "agent"}, **fields)
