"""Rich's console, which obeys nothing that a text says. Apart from `terminal`, because rich takes longest to import."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich import console as rich_console
from rich.segment import Segment, Segments
from rich.text import Text

from tradefair.contract.text import clean

_PIPE_WIDTH = 80


class Console(rich_console.Console):
    """A console on stdout, or on stderr, that cleans the text of every segment that is no control code of rich's own.

    Plain strings are printed as they are: never read as markup or emoji, never coloured by what they seem to be. With
    `soft_wrap` lines are left to the terminal to break. `width`: plain text of so many characters a line, for a string.
    """

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False, width: int | None = None) -> None:
        super().__init__(
            stderr=stderr,
            soft_wrap=soft_wrap,
            width=width,
            color_system="auto" if width is None else None,
            markup=False,
            emoji=False,
            highlight=False,
        )
        # Into a pipe rich would take the width of the terminal that standard input or error happens to be.
        if width is None and not (self.is_terminal or os.environ.get("COLUMNS", "").isdigit()):
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


def _cleaned(segment: Segment) -> Segment:
    return segment if segment.control else Segment(clean(segment.text), segment.style)
