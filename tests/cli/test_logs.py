"""The log of a command: ours at the level that was asked for, libraries at warnings, nobody's values."""

from __future__ import annotations

import logging
import subprocess
import sys

import orjson
import pytest

from tradefair.cli.logs import JsonLines, PlainLines

_PROGRAM = """
import logging, sys
from tradefair.cli.logs import log_to_stderr
log_to_stderr(*sys.argv[1:])
# A library that reads a variable of its own when it is imported.
logging.getLogger("openai").setLevel("DEBUG")
for name in ("tradefair.host", "asyncio", "mcp.server", "httpx2", "openai", "uvicorn.error", "somebody"):
    logging.getLogger(name).info("%s at info", name)
    logging.getLogger(name).debug("%s at debug", name)
logging.getLogger("tradefair.host").warning("called \\x1b[2J\\nWARNING forged", extra={"episode": "e\\u202e1"})
value = "value of " + "a trace"
try:
    {}[value]
except KeyError:
    logging.getLogger("somebody").exception("a fault")
"""


def _log(*arguments: str, **environment: str) -> list[str]:
    told = [sys.executable, "-c", _PROGRAM, *arguments]
    return subprocess.run(told, env=environment, capture_output=True, text=True, check=True).stderr.splitlines()


@pytest.mark.parametrize(("level", "expected"), [("debug", ["INFO", "DEBUG"]), ("info", ["INFO"]), ("warning", [])])
def test_a_level_is_that_of_our_loggers_and_of_no_library(level: str, expected: list[str]) -> None:
    for lines in (_log("text", level), _log(TRADEFAIR_LOG_LEVEL=level)):
        asked = [line.split()[0] for line in lines if " at " in line]
        assert asked == expected
        assert not any(name in " ".join(lines) for name in ("asyncio", "mcp", "httpx2", "openai", "uvicorn"))


@pytest.mark.parametrize("kind", ["text", "json"])
def test_a_line_is_one_line_and_a_fault_shows_no_value(kind: str) -> None:
    lines = _log(kind, "warning")
    assert "value of a trace" not in "\n".join(lines)
    if kind == "json":
        warned, fault = map(orjson.loads, lines)
        assert (warned["message"], warned["episode"]) == (r"called \x1b[2J WARNING forged", "e\u202e1")
        assert fault["exception"].endswith("KeyError")
        return
    assert lines[0] == r"WARNING tradefair.host: called \x1b[2J WARNING forged episode=e\u202e1"
    assert lines[1] == "ERROR somebody: a fault"
    assert lines[-1] == "KeyError"


@pytest.mark.parametrize("form", [PlainLines(), JsonLines()])
def test_a_header_that_a_library_quotes_does_not_fill_the_log(form: logging.Formatter) -> None:
    record = logging.makeLogRecord({"name": "mcp", "levelname": "WARNING", "msg": "bad: %s", "args": ("x" * 60_000,)})
    assert len(form.format(record)) < 2_500
