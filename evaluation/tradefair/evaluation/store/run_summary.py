"""What `tradefair trace` says first of a run that no rules have made: its source and its size."""

from __future__ import annotations

from pathlib import Path

from tradefair.evaluation.origins import is_foreign, origin_of, tally
from tradefair.evaluation.store.queries import Answer
from tradefair.tracestore import open_trace


def run_summary(path: Path) -> Answer | None:
    """A row about the run; None for an episode of a market. Raises TraceError for what is no trace."""
    with open_trace(path) as trace:
        if not is_foreign(trace.manifest.core):
            return None
        origin, seen = origin_of(trace), tally(trace)
    row = {
        "run": origin.run or path.stem,
        "source": " ".join(filter(None, [origin.file, origin.format and f"({origin.format}, {origin.how})"])),
        "passed": {True: "yes", False: "no", None: "not stated"}[origin.passed],
        "steps": seen.steps,
        "messages": seen.messages,
        "calls": seen.calls,
        "unanswered": seen.unanswered,
        "refused": seen.refused,
        "left out": ", ".join(f"{count} {name}" for name, count in origin.left_out) or "nothing",
    }
    return Answer(list(row), [tuple(row.values())])
