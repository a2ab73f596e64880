"""The server's own log on standard error: lines for people, or one JSON object per line for whatever collects them."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TypeAlias

LogFormat: TypeAlias = Literal["text", "json"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

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
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, default=repr)


class PlainLines(logging.Formatter):
    """`LEVEL logger: message {extra}`.

    For people who watch a terminal; the fields of `extra` follow the message as `name=value`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback of an exception."""
        extra = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
        told = "".join(f" {name}={value}" for name, value in extra.items())
        line = f"{record.levelname} {record.name}: {record.getMessage()}{told}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def log_to_stderr(kind: LogFormat = "text", level: LogLevel = "warning") -> None:
    """Send what every logger says, from `level` on, to standard error.

    Replaces handlers that were set before, so that no line is written twice.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if kind == "json" else PlainLines())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    if level == "info":  # one line per session of a library is no news of ours
        logging.getLogger("mcp").setLevel(logging.WARNING)
