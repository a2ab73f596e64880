"""The one place through which text reaches a terminal: whatever it says, the terminal obeys none of it.

Traces, models and clients are strangers. `say`, `tell` and `print_json` clean what they print (`contract.text.clean`),
as `console.Console` does for tables and colours; nothing else in the packages prints, which ruff holds
(docs/explanation/why/cli.md).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import orjson

from tradefair.contract import TradefairError
from tradefair.contract.text import clean, clean_json, clean_line


def say(line: str = "", *, end: str = "\n") -> None:
    """Print a message on stderr: stdout belongs to results, which may be piped."""
    print(clean(line), file=sys.stderr, end=end, flush=True)


def tell(line: str = "", *, end: str = "\n") -> None:
    """Print a line of a result on stdout."""
    print(clean(line), end=end, flush=True)


def status(line: str) -> None:
    """Show a line on stderr in place of the last one, "" for none; nothing where stderr is no terminal."""
    if watched():
        print(f"\r\x1b[K{clean_line(line)}", end="", file=sys.stderr, flush=True)


def print_json(value: Any, *, default: Callable[[Any], Any] | None = None) -> None:
    """Print a result as indented JSON. `default` gives values of other types a form."""
    print_bytes(json_bytes(value, default=default))


def json_bytes(value: Any, *, default: Callable[[Any], Any] | None = None) -> bytes:
    """Plain data as indented JSON with a line break; `?` for what is no text, such as parts of a file's name."""
    try:
        return orjson.dumps(value, default=default, option=orjson.OPT_INDENT_2) + b"\n"
    # Names of files are bytes: those that are not UTF-8 come as surrogates, which JSON cannot hold.
    except orjson.JSONEncodeError:
        return orjson.dumps(_as_text(value), default=default, option=orjson.OPT_INDENT_2) + b"\n"


def _as_text(value: Any) -> Any:
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            held = cast("dict[Any, Any]", value)
            return {_as_text(name): _as_text(inner) for name, inner in held.items()}
        case list() | tuple():
            return [_as_text(inner) for inner in cast("Iterable[Any]", value)]
        case _:
            return value


def print_bytes(content: bytes) -> None:
    """Print JSON text as it is; on a terminal with what it would obey as escapes, which mean the same in JSON."""
    if on_terminal():
        content = clean_json(content.decode(errors="surrogateescape")).encode()
    # As bytes: a terminal's encoding must not change them.
    sys.stdout.buffer.write(content)


def on_terminal() -> bool:
    """Whether results go to a terminal: bytes that are no text are refused there."""
    return sys.stdout.isatty()


def watched() -> bool:
    """Whether a person sees what is said on stderr: only then progress is shown and questions are asked."""
    return sys.stderr.isatty()


def fault_text(fault: BaseException) -> str:
    """Where a fault happened and of which type it is, causes first.

    Its message is left out: it may quote a value of a trace, or a secret. Messages of our own errors and of the system
    are shown.
    """
    return "\n".join(line for error in _chain(fault) for line in _described(error))


def _chain(fault: BaseException) -> Iterator[BaseException]:
    """A fault and what led to it, the first cause first."""
    found: list[BaseException] = []
    error: BaseException | None = fault
    # A chain may lead back to itself.
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return reversed(found)


def _described(error: BaseException) -> Iterator[str]:
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
    said = str(error) if isinstance(error, TradefairError) else error.strerror if isinstance(error, OSError) else None
    yield type(error).__qualname__ + (f": {clean_line(said)}" if said else "")
    if isinstance(error, BaseExceptionGroup):
        yield from map(fault_text, cast("Sequence[BaseException]", error.exceptions))  # pyright: ignore[reportUnknownMemberType]
