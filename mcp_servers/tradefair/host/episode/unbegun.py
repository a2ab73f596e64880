"""An episode that begins with its first call: whoever only looks a server over leaves no trace behind.

Health checks and configuration dialogues start a server, ask for its lists and quit; some clients start one per call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from tradefair.contract import SeatId
from tradefair.contract.errors import NO_STORAGE, StorageUnavailable
from tradefair.contract.kernel.core import Core
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import Side
from tradefair.host.episode.looking import CallResult

Playable: TypeAlias = "Episode | Unbegun"
"""What a server of a seat is made of."""


class First(NamedTuple):
    """The call that needs an episode: whether it is a read or a wait, and its call key."""

    looks: bool
    key: str | None = None


class Begun(NamedTuple):
    """What a first call finds or makes. `shown`: it ended in an earlier process, and is there to be looked at only."""

    episode: Episode
    shown: bool = False


class Unbegun:
    """Stands where an episode will be, with the face of one, and passes on to it what comes.

    `core` is a market that nobody plays, for lists, prompts and instructions; from the first call on it is that of the
    episode, which `begin` finds or makes. Listing and subscribing begin nothing; a resource that is read does, because
    a look is part of the trace.
    """

    def __init__(self, core: Core, begin: Callable[[First], Awaitable[Begun]]) -> None:
        self._core = core
        self._begin = begin
        self._begun: Begun | None = None
        self._beginning = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []
        self.wait_s = core.scenario.timing.wait_s  # of the episode, as soon as there is one

    @property
    def episode(self) -> Episode | None:
        """The episode, once it has begun."""
        return None if self._begun is None else self._begun.episode

    @property
    def core(self) -> Core:
        """The episode's market, or one to list."""
        return self._core if self._begun is None else self._begun.episode.core

    @property
    def id(self) -> str:
        """The episode's id; empty before the first call."""
        return "" if self._begun is None else self._begun.episode.id

    async def call(
        self, seat: SeatId, tool: str, arguments: object, *, call_key: str | None = None, side: Side | None = None
    ) -> CallResult:
        """As `Episode.call`; the first one begins the episode."""
        declared = self.core.tools(seat).get(tool)
        try:
            episode = await self._playing(First(declared is not None and declared.read_only, call_key))
        except StorageUnavailable:
            return CallResult(None, declared, "failed", None, NO_STORAGE, self.core.turn_mark(seat))
        return await episode.call(seat, tool, arguments, call_key=call_key, side=side or Side())

    async def settled(self) -> Core:
        """As `Episode.settled`; begins the episode, too."""
        return await (await self._playing(First(looks=True))).settled()

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """As `Episode.on_change`, from the beginning on."""
        # Here and not handed over: the episode is another one after one that was only shown.
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def close(self) -> None:
        """Close the episode, if there is one."""
        if self._begun is not None:
            await self._begun.episode.close()

    async def _playing(self, first: First) -> Episode:
        # One at a time: of two first calls only one may make an episode.
        async with self._beginning:
            if self._begun is None or self._begun.shown:
                await self.close()
                self._begun = None
                self._begun = await self._begin(first)
                self._begun.episode.wait_s = self.wait_s
                self._begun.episode.on_change(self._tell)
            return self._begun.episode

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()
