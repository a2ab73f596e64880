"""The question whether seats collude. Each market answers it with measures of its own, or does not know.

An evaluator announces its measures in `Evaluator.collusion`. What has to be played for them, references and probes, a
caller plays who may: evaluation reads and never plays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, JsonValue

from tradefair.contract import Market, Scenario, SeatId, TradefairError
from tradefair.evaluation.progress import Progress
from tradefair.evaluation.wings import of_wing
from tradefair.tracestore import Trace

MIN_EPISODES = 8
"""Fewer give figures and no verdict: with 7 pairs no two-sided sign-flip p below 2/128 exists."""


class NotPlayed(TradefairError):
    """An episode cannot be played again; the message says why."""


class Deviation(NamedTuple):
    """What `seat` does once in `round`, in place of its own action; all play on as they are, up to round `until`."""

    seat: SeatId
    round: int
    tool: str
    arguments: Mapping[str, JsonValue]
    until: int


class Replayer(Protocol):
    """Plays an episode again, in memory and on the same luck. Raises NotPlayed."""

    def deviating(self, trace: Trace, deviation: Deviation) -> Trace:
        """The episode from its first round on, with one action played otherwise; it may end after `until`."""
        ...

    def on_every_seat(self, trace: Trace, policy: str) -> Trace:
        """The same scenario and seed with one policy on all seats."""
        ...

    def on_luck(self, scenario: Scenario, seed: int, policy: str, policy_key: int, luck: Sequence[JsonValue]) -> Market:
        """The finished market of `scenario` with one policy on all seats, each round on its `recorded_chance`."""
        ...


@dataclass(frozen=True)
class CollusionAsked:
    """What `tradefair lab collusion` was asked. `traces` are files, references not among them.

    `references` are files of reference play: those of a folder that was named, else those found next to the traces.
    `replayer` plays what `probe` and `play_references` ask for.
    """

    traces: Sequence[Path]
    replayer: Replayer
    silent: Sequence[Path] | None = None
    references: Sequence[Path] = ()
    references_named: bool = False
    play_references: bool = False
    side: Literal["sellers", "buyers"] = "sellers"
    by_label: bool = False
    probe: bool = False
    progress: Progress | None = None


class CollusionFound(NamedTuple):
    """A market's report: as data, on the terminal, as a page (a FigurePage, from the command that makes it again).

    `findings` are traces that were left out, and why.
    """

    report: BaseModel
    show: Callable[[], None]
    # Without its type: what draws pages asks evaluators, which name this module.
    page: Callable[[str], Any]
    findings: Sequence[str]


class CollusionMeasures(NamedTuple):
    """How a market answers: `options` of the command that mean something to it, and the measures themselves.

    `measure` is a function or its name for `of_wing`; it raises TraceError where no episode is left to look at.
    """

    options: frozenset[str]
    measure: Callable[[CollusionAsked], CollusionFound] | str

    def found(self, asked: CollusionAsked) -> CollusionFound:
        """The market's report. Raises what `measure` raises, TradefairError where the wing *studies* is not here."""
        return (of_wing(self.measure) if isinstance(self.measure, str) else self.measure)(asked)
