"""How far one episode is, on stderr: a bar that moves on a terminal, a line now and then elsewhere.

The clock read here times what is shown and enters no trace.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from tradefair.cli.console import Console
from tradefair.cli.tables import show_text
from tradefair.cli.terminal import watched
from tradefair.host.episode.episode import Episode

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_EVERY_S = 10.0
"""Seconds between two lines where no terminal is, and of silence before one is printed although no round closed."""
_TICK_S = 0.5
_WAITS_S = 2.0
"""Seconds without an event before a terminal says what is waited for: most replies come sooner."""


class Progress:
    """Shows an episode while the context is open. `taken` says what its models have taken, in full or in short.

    `title` stands in place of the scenario's id, `awaited` says whose turns take time. `quiet` shows nothing, with or
    without a terminal. `clock` gives seconds.
    """

    def __init__(
        self,
        episode: Episode,
        title: str = "",
        *,
        awaited: str = "the model",
        taken: Callable[[bool], list[str]] = lambda _: [],
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._episode, self._title, self._awaited = episode, title, awaited
        self._quiet, self._clock = quiet, clock
        # Not every market has a fixed number of rounds; without one a bar shows no end.
        self._rounds: int | None = getattr(episode.core.scenario, "rounds", None)
        self._taken = taken
        # When something last happened, and when a line was last printed.
        self._moved = self._told = clock()
        self._seen = episode.core.seq, taken(False)
        self._shown = self._closed
        self._bar: tuple[Bar, TaskID] | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._stop: Callable[[], None] = lambda: None

    async def __aenter__(self) -> Self:
        if self._quiet:
            return self
        if watched():
            self._bar = self._opened()
        self._stop = self._episode.on_change(self.tick)
        self._ticking = asyncio.create_task(self._tick(), name="tradefair-progress")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop()
        if self._ticking is not None:
            self._ticking.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticking
        if self._bar is not None:
            self._bar[0].stop()

    def tick(self) -> None:
        """Show what there is to show now."""
        now, seen = self._clock(), (self._episode.core.seq, self._taken(False))
        if seen != self._seen:
            self._seen, self._moved = seen, now
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=self._closed, said=" · ".join(self._parts(now, short=True)))
            return
        # Once in a silence: a model that thinks for an hour is worth one line.
        silent = now - self._moved >= _EVERY_S and self._told <= self._moved
        if now - self._told >= _EVERY_S and (silent or self._closed > self._shown):
            self._told, self._shown = now, self._closed
            watch = f"watch it: tradefair view {self._episode.path.parent}"
            line = f"[{self._title or 'play'}] {', '.join(self._parts(now, short=False))}; {watch}"
            show_text(Console(stderr=True), line, hang="  ")

    @property
    def round(self) -> str:
        """The open round, of how many where that is known."""
        if self._rounds is None:
            return f"round {self._closed + 1}"
        return f"round {min(self._closed + 1, self._rounds)}/{self._rounds}"

    @property
    def _closed(self) -> int:
        """Rounds that are over."""
        return max(self._episode.core.market.clock.round - 1, 0)

    async def _tick(self) -> None:
        # Nothing calls while a model thinks: the bar has to move all the same.
        while True:
            await asyncio.sleep(_TICK_S)
            self.tick()

    def _opened(self) -> tuple[Bar, TaskID]:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[said]}"))
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task(self._title or self._episode.core.scenario.id, total=self._rounds, said="")
        bar.start()
        return bar, task

    def _parts(self, now: float, *, short: bool) -> list[str]:
        """Round, what models have taken, what is waited for."""
        parts = [self.round, *self._taken(short)]
        if now - self._moved >= _WAITS_S:
            parts.append(f"waiting for {self._awaited} {now - self._moved:.0f} s")
        return parts
