"""The log on standard error: lines for people, or one JSON object per line for whatever collects them.

No line holds what a seat said or was told: fields are names, ids and numbers (a test reads the calls), tracebacks show
places and types.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

from tradefair.cli.terminal import fault_text, say
from tradefair.contract import ScenarioError
from tradefair.contract.text import clean_json, clean_line

LogFormat: TypeAlias = Literal["text", "json"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

LEVEL = "TRADEFAIR_LOG_LEVEL"
"""Environment variable: from which level on commands without `--log-level` log; default `warning`."""

OURS = "tradefair"
"""The logger above all of ours: the only one that a level is set on."""

# They log requests and headers with their values, from INFO down.
_LIBRARIES = ("asyncio", "httpcore2", "httpx2", "mcp", "openai", "uvicorn")
# Libraries quote headers that a stranger sent, and a line of 60 kB hides all others.
_MAX_MESSAGE = 2_000
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """`{"time", "level", "logger", "message", …}`: whatever a call gave as `extra` is a field of its own.

    Fields that JSON has no form for are written as Python shows them.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": clean_line(record.getMessage()[:_MAX_MESSAGE]),
            **_extra(record),
        }
        if record.exc_info and record.exc_info[1]:
            said["exception"] = fault_text(record.exc_info[1])
        return clean_json(json.dumps(said, default=repr))


class PlainLines(logging.Formatter):
    """`LEVEL logger: message {extra}`.

    For people who watch a terminal; the fields of `extra` follow the message as `name=value`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback of an exception."""
        told = "".join(f" {name}={value}" for name, value in _extra(record).items())
        # One line: a message that quotes a name of a client must not be able to begin the next one.
        line = clean_line(f"{record.levelname} {record.name}: {record.getMessage()[:_MAX_MESSAGE]}{told}")
        shown = record.exc_info and record.exc_info[1]
        return f"{line}\n{fault_text(shown)}" if shown else line


def log_to_stderr(kind: LogFormat = "text", level: LogLevel | None = None) -> None:
    """Send what our loggers say from `level` on to standard error, and warnings of all others.

    `level` None stands for the environment's. Replaces handlers that were set before, so that no line is written
    twice. Raises ScenarioError for an environment that names no level.
    """
    asked = level or os.environ.get(LEVEL) or "warning"
    if asked not in get_args(LogLevel):
        raise ScenarioError(f"{LEVEL} is one of {', '.join(get_args(LogLevel))}")
    handler = _Said()
    handler.setFormatter(JsonLines() if kind == "json" else PlainLines())
    # On the handler, too: a library that reads a variable of its own may lower its logger later.
    handler.addFilter(_passes)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(OURS).setLevel(asked.upper())
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Said(logging.Handler):
    """Writes to whatever standard error is by then: a handler that keeps a stream outlives it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            say(self.format(record))
        except Exception:
            self.handleError(record)


def _passes(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == OURS


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
