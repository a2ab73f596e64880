"""The one place through which text reaches a terminal: whatever it says, the terminal obeys none of it.

Traces, models and clients are strangers. `Console`, `say`, `tell` and `print_json` clean what they print
(`contract.text.clean`); nothing else in the packages prints, which ruff holds (docs/decisions/0039).
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import orjson
from rich import console as rich_console
from rich.segment import Segment, Segments
from rich.text import Text

from tradefair.contract import TradefairError
from tradefair.contract.text import clean, clean_json, clean_line

_PIPE_WIDTH = 80


class Console(rich_console.Console):
    """A console on stdout, or on stderr, that cleans the text of every segment that is no control code of rich's own.

    Plain strings are printed as they are: never read as markup or emoji, never coloured by what they seem to be. With
    `soft_wrap` lines are left to the terminal to break.
    """

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False)
        # Into a pipe rich would take the width of the terminal that standard input or error happens to be.
        if not (self.is_terminal or os.environ.get("COLUMNS", "").isdigit()):
            self.width = _PIPE_WIDTH

    def render_str(self, text: str, *options: Any, **named: Any) -> Text:
        """A string as text, cleaned before it is measured: what a cell shows longer would be cut."""
        return super().render_str(clean(text), *options, **named)

    # Here and not in a RenderHook: what a live display adds to a print never passes through the hooks before it.
    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of a renderable."""
        return map(_cleaned, super().render(renderable, options))

    def print_stripped(self, renderable: rich_console.RenderableType) -> None:
        """Print a renderable without the blanks that rich leaves at the ends of lines."""
        for line in Segment.split_lines(self.render(renderable)):
            while line and not line[-1].text.strip():
                line.pop()
            if line:
                line[-1] = line[-1]._replace(text=line[-1].text.rstrip())
            self.print(Segments([*line, Segment.line()]), end="")


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


def _cleaned(segment: Segment) -> Segment:
    return segment if segment.control else Segment(clean(segment.text), segment.style)


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
