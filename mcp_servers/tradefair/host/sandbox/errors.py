"""What went wrong in the sandbox, as one `ErrorInfo`: which line, what happened, what to do instead.

Only the text of the program's own exception is passed on. Faults of the worker process are described in our words,
because its messages may name files of this machine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tradefair.contract import ErrorInfo
from tradefair.contract.errors import CODE_ERRORS, MAX_TEXT_BYTES
from tradefair.contract.kernel.kernel_tools import MAX_CODE_CHARS, MAX_INNER_CALLS
from tradefair.host.sandbox.lint import CALLBACK_HINT, IMPORT_HINT

if TYPE_CHECKING:
    from pydantic_monty import MontyError, MontyRuntimeError, MontySyntaxError

# How the library names a snippet of a session; agents know no snippets.
_FEED = re.compile(r"<python-input-\d+>")
# The beginning of the library's message for what its Python has not.
_MISSING_SYNTAX = "The monty syntax parser does not yet support "
_SYNTAX_HINTS = {
    "yield": "build a list and return it",
    "inheritance": "use plain functions, dictionaries, or classes without a base",
    "decorators": "use plain functions",
    "'del'": "use pop(key), or assign None",
    "Wildcard imports": "name what you import",
}
_NAME_HINT = "modules need an import, actions cannot be taken from code; your tools here are "
_NO_FILES = "there are no files, network or processes here; your tools are plain functions in the code"


class CodeLimits(NamedTuple):
    """What one program may use. `seconds` counts its own computing, not the time that its tool calls wait.

    `inner_calls` is at most `MAX_INNER_CALLS`: Core takes no more of one program.
    """

    seconds: float = 2.0
    memory_bytes: int = 64 * 1024 * 1024
    recursion: int = 200
    inner_calls: int = MAX_INNER_CALLS
    output_bytes: int = 64 * 1024
    code_chars: int = MAX_CODE_CHARS


def cut(text: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """The text itself, or its beginning and an ellipsis, in at most `max_bytes` bytes of UTF-8."""
    raw = text.encode(errors="replace")
    if len(raw) <= max_bytes:
        return raw.decode()
    return raw[: max_bytes - 3].decode(errors="ignore") + "…"


def limit_reached(kind: str, limits: CodeLimits) -> ErrorInfo:
    """`code_limit` for one of: time, memory, recursion, calls, lookups, output, value, code."""
    reached = {
        "time": limits.seconds,
        "memory": limits.memory_bytes / 2**20,
        "recursion": limits.recursion,
        "calls": limits.inner_calls,
        "output": limits.output_bytes,
        "value": limits.output_bytes,
        "code": limits.code_chars,
    }
    return CODE_ERRORS[kind].filled(number=reached.get(kind))


class _Explained(NamedTuple):
    message: str
    hint: str


def explain_failure(error: MontyError, limits: CodeLimits, feed: int, tools: tuple[str, ...]) -> ErrorInfo:
    """The answer for an error that ended the program; `feed` is the number of its snippet in the session."""
    from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError

    # A worker that does not stop by itself when its time is up is killed by the pool: that is a timeout too.
    if isinstance(error, MontyCrashedError):
        return limit_reached("time", limits) if error.timed_out else _crashed()
    if not isinstance(error, (MontyRuntimeError, MontySyntaxError)):
        return _crashed()
    kind, _, text = error.display("type-msg").partition(": ")
    limit = _limit_kind(kind, text)
    if limit:
        return limit_reached(limit, limits)
    # Snippets count from 0, and modules run before the program, so its number is that of the modules.
    line = _line(error, f"<python-input-{feed}>")
    explained = _explained(kind, text, tools)
    where = f"line {line}: " if line else ""
    return ErrorInfo("code_error", cut(where + explained.message), cut(explained.hint), True)


def _crashed() -> ErrorInfo:
    return ErrorInfo("code_error", "the code broke the process that ran it", "write it in a simpler way", True)


def _limit_kind(kind: str, text: str) -> str:
    if kind == "TimeoutError" and "time limit exceeded" in text:
        return "time"
    if kind == "MemoryError":
        return "memory"
    if kind == "RecursionError":
        return "recursion"
    return "lookups" if kind == "RuntimeError" and text.startswith("suspension limit") else ""


def _line(error: MontyRuntimeError | MontySyntaxError, file: str) -> int:
    """The innermost line of the program itself, not of a module of ours; 0 if none is known."""
    return next((frame.line for frame in reversed(error.traceback()) if frame.filename == file), 0)


def _explained(kind: str, text: str, tools: tuple[str, ...]) -> _Explained:
    """Message and hint for an exception that the program raised or met."""
    # Cut before the pattern is searched: the text may have megabytes.
    clean = _FEED.sub("the code", text[: 2 * MAX_TEXT_BYTES])
    if kind == "NotImplementedError" and clean.startswith(_MISSING_SYNTAX):
        clean = f"this Python has no {clean.removeprefix(_MISSING_SYNTAX)}"
    message = f"{kind}: {clean}" if clean else kind
    if "cannot suspend in this synchronous context" in clean:
        name = clean.split("'")[1] if "'" in clean else "a tool"
        return _Explained(f"{name} cannot be called from inside a callback (key=, map, filter)", CALLBACK_HINT)
    if kind in ("ModuleNotFoundError", "ImportError"):
        return _Explained(message, IMPORT_HINT)
    if kind == "NotImplementedError":
        return _Explained(
            message, next((hint for word, hint in _SYNTAX_HINTS.items() if word in clean), "write it without that")
        )
    if kind == "PermissionError" or "is not supported in this environment" in clean:
        return _Explained(message, _NO_FILES)
    if kind == "NameError":
        return _Explained(message, _NAME_HINT + (", ".join(tools) or "none"))
    return _Explained(message, "mend that line and run the code again")
