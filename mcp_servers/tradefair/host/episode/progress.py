"""How far one episode is, on stderr: a bar that moves on a terminal, a line now and then elsewhere.

The clock read here times what is shown and enters no trace.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from tradefair.cli.console import Console
from tradefair.cli.tables import show_text
from tradefair.cli.terminal import watched
from tradefair.contract.money import dollars_text
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
    """Shows an episode while the context is open; `heard` takes the notes about its agents, for calls and costs.

    `title` stands in place of the scenario's id, `awaited` says whose turns take time. `quiet` shows nothing, with or
    without a terminal. `clock` gives seconds.
    """

    def __init__(
        self,
        episode: Episode,
        title: str = "",
        *,
        awaited: str = "the model",
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._episode, self._title, self._awaited = episode, title, awaited
        self._quiet, self._clock = quiet, clock
        # Not every market has a fixed number of rounds; without one a bar shows no end.
        self._rounds: int | None = getattr(episode.core.scenario, "rounds", None)
        self._calls = self._tokens = self._micro = 0
        self._priced = True
        # When something last happened, and when a line was last printed.
        self._moved = self._told = clock()
        self._seen = episode.core.seq, 0
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

    def heard(self, note: Mapping[str, Any]) -> None:
        """Count a model call: its tokens, and its dollars where its price is known."""
        if note.get("kind") != "model_call":
            return
        self._calls += 1
        self._tokens += sum(note.get(name) or 0 for name in ("input_tokens", "output_tokens"))
        cost = note.get("cost_usd_micro")
        self._micro += cost or 0
        # One call without a price makes the sum too small to be shown.
        self._priced = self._priced and cost is not None

    def tick(self) -> None:
        """Show what there is to show now."""
        now, seen = self._clock(), (self._episode.core.seq, self._calls)
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
        """Round, model calls, tokens, dollars, what is waited for; `short`: tokens in thousands."""
        parts = [f"round {self._closed + 1}"]
        if self._rounds is not None:
            parts = [f"round {min(self._closed + 1, self._rounds)}/{self._rounds}"]
        if self._calls:
            tokens = f"{self._tokens / 1_000:.1f}k" if short and self._tokens >= 1_000 else f"{self._tokens:,}"
            parts += [f"{self._calls:,} calls", f"{tokens} tokens"]
            parts += [dollars_text(self._micro)] if self._priced and self._micro else []
        if now - self._moved >= _WAITS_S:
            parts.append(f"waiting for {self._awaited} {now - self._moved:.0f} s")
        return parts
