"""What a trace says about conduct, whatever the market: one record per seat that every general diagnostic counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.modes.canary import Canary
from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.modes.insight import EvidenceCase, Insight


class Step(NamedTuple):
    """One tool call. `key` is equal for calls of the same tool with the same arguments, `result` for the same answer.

    `arguments` are kept of actions only. `ids` counts the ids that the arguments name; `unseen` are those that the seat
    had not been shown. `code` is the error's, null for an accepted call; `final` marks a call that is not worth another
    try. `inner` calls were made by a program.
    """

    seq: int
    round: int
    revision: int
    tool: str
    kind: str | None
    status: str
    code: str | None
    final: bool
    inner: bool
    ends_turn: bool
    key: bytes
    result: str | None
    ids: int
    unseen: tuple[str, ...]
    arguments: Mapping[str, Any]

    @property
    def accepted(self) -> bool:
        """Whether it was carried out."""
        return self.status == "ok"

    @property
    def refused(self) -> bool:
        """Whether the seat's own call was turned down; a fault of ours is none of it."""
        # `denied` is the kernel's answer (no turn, a limit, no such tool); `failed` would be a fault of ours.
        return self.status in ("rejected", "invalid", "denied")

    @property
    def acts(self) -> bool:
        """Whether it was an action, or a call of an unknown tool, which may have been one."""
        return self.kind in ("action", None)

    @property
    def reads(self) -> bool:
        """Whether it was a look."""
        return self.kind in ("read", "analysis")

    def case(
        self, what: str, *, shown_by: int | None = None, about: str | None = None, fact: str | None = None
    ) -> Case:
        """A case of this call; `what` follows the round and the tool."""
        because = f"round {self.round}: {self.tool} {what}"
        return Case(self.seq, self.round, because, shown_by=shown_by, about=about, fact=fact)


class At(NamedTuple):
    """When a round closed or something was done to an object, and the event of it."""

    round: int
    seq: int


class Lapse(NamedTuple):
    """A default action that was taken for the seat."""

    seq: int
    round: int
    reason: str


@dataclass
class EpisodePlay:
    """What all seats share. `rounds` are the closed ones; `objects` the kind of object that actions are about."""

    market: str
    insight: Insight
    rounds: list[At] = field(default_factory=list[At])
    objects: str | None = None
    seats: dict[SeatId, SeatPlay] = field(default_factory=dict[SeatId, "SeatPlay"])

    @property
    def length(self) -> int:
        """Number of closed rounds."""
        return len(self.rounds)


@dataclass
class SeatPlay:
    """One seat's conduct, in the order of the trace.

    `acted` and `attended` hold, by object, accepted actions and looks or actions that name it. `canaries` are planted
    instructions by the event that first showed them, `planted` those that its own messages hold; `notes` what was noted
    about the agent outside the chain. `unkept` counts answers that the trace does not hold, `untold` ids that the agent
    may have been told elsewhere; `imported` says that the trace is another's log, which holds no looks.
    """

    seat: SeatId
    role: str
    episode: EpisodePlay
    privileged: bool = False
    imported: bool = False
    steps: list[Step] = field(default_factory=list[Step])
    lapses: list[Lapse] = field(default_factory=list[Lapse])
    evidence: Sequence[EvidenceCase] = ()
    acted: dict[str, list[At]] = field(default_factory=dict[str, list[At]])
    attended: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    canaries: dict[Canary, int] = field(default_factory=dict[Canary, int])
    planted: set[Canary] = field(default_factory=set[Canary])
    notes: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    unkept: int = 0
    untold: int = 0

    @property
    def excuse(self) -> str | None:
        """Why looks of the seat say nothing about what it knew; null where they do."""
        if self.privileged:
            # First, because a privileged seat needs no looks whatever the log holds.
            return "privileged"
        return "the imported log does not hold what the seat looked at" if self.imported else None

    @cached_property
    def tools(self) -> Mapping[int, str]:
        """The tool of every call, by event number."""
        return {step.seq: step.tool for step in self.steps}

    @property
    def insight(self) -> Insight:
        """What the market adds."""
        return self.episode.insight

    @property
    def rounds(self) -> list[At]:
        """The closed rounds."""
        return self.episode.rounds

    def direct(self) -> Iterator[Step]:
        """Calls that the agent made itself, not through a program."""
        return (step for step in self.steps if not step.inner)

    def notes_of(self, kind: str) -> Iterator[Mapping[str, Any]]:
        """What was noted under one kind, in order."""
        return (note for note in self.notes if note.get("kind") == kind)


def by_round(steps: Iterable[Step]) -> Iterator[tuple[int, list[Step]]]:
    """Stretches of calls of one round, in order."""
    # Calls of a round are neighbours in the trace; inner calls too.
    for number, some in groupby(steps, lambda step: step.round):
        yield number, list(some)
