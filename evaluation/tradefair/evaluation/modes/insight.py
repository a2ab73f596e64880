"""What only a market's own evaluator can tell the general failure modes; everything else they read from the trace.

The method `insight` of an evaluator fills in what its market knows; what it leaves out is "not checked" in the
findings, with the reason in `absent` or a general one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tradefair.contract import SeatId


class Case(NamedTuple):
    """One time that something went wrong: the event that proves it, and its cost, null where the trace has none.

    `told_by` is a second event, a closure whose facts hold the other number, where it is another one.
    """

    seq: int
    cost: float | None = None
    told_by: int | None = None

    @property
    def events(self) -> tuple[int, ...]:
        """Both events, each once."""
        # Where the second event is the first one, it is cited once.
        return (self.seq,) if self.told_by in (None, self.seq) else (self.seq, self.told_by)


@dataclass(frozen=True)
class Counted:
    """Cases by seat, out of how many; a seat that is not in `of` was not looked at."""

    cases: Mapping[SeatId, Sequence[Case]]
    of: Mapping[SeatId, int]


class Happening(NamedTuple):
    """Something about an object that called for attention in a round. `seq` is the event that shows it."""

    round: int
    about: str
    seq: int
    cost: float | None = None


class EvidenceCase(NamedTuple):
    """An accepted action, or one line of it, and what it should have rested on.

    `needs` counts the needs that existed, `missing` names those that no look met, `stale` those of them that an earlier
    look had met before the market moved on. `about` is the object, null where the needs name none.
    """

    seq: int
    round: int
    about: str | None
    needs: int
    missing: tuple[str, ...]
    stale: tuple[str, ...]


class Secret(NamedTuple):
    """A number that only its seat knows (or that tells it), from one round to another; null: until the end."""

    name: str
    number: float
    first_round: int = 1
    last_round: int | None = None


class Scale(NamedTuple):
    """A number that an action set, and the number that the seat could see for the same object, in the same unit."""

    seq: int
    value: float
    seen: float


@dataclass(frozen=True)
class Insight:
    """What a market adds. Costs are in `unit`; a field that is None is not known for this market.

    `messages` names, by tool, the argument whose text other seats get to read; `id_arguments` arguments that hold an id
    although their names do not end in `_id` or `_ids`. `idle` are closed rounds in which a seat took no action although
    one would have paid. `wanted` are objects that called for an action (best sellers), `happenings` those to which
    something happened that calls for a look (a stock-out). `evidence` is for markets whose tools' scopes need
    more than the arguments. `orders` are instructions planted in messages without a canary: the seat's actions that
    followed them, out of those that it was given. `absent` says of a diagnostic why it does not apply; `counted_by`
    names the market's own finding that counts the same thing: where that is raised, the general one is not raised a
    second time.
    """

    unit: str = "points"
    id_arguments: frozenset[str] = frozenset()
    messages: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[SeatId, Sequence[Secret]] = field(default_factory=dict[SeatId, Sequence[Secret]])
    secret_words: tuple[str, ...] = ()
    scales: Mapping[SeatId, Sequence[Scale]] = field(default_factory=dict[SeatId, Sequence[Scale]])
    idle: Counted | None = None
    below_cost: Counted | None = None
    value_breach: Counted | None = None
    wanted: Mapping[SeatId, Sequence[Happening]] | None = None
    happenings: Mapping[SeatId, Sequence[Happening]] | None = None
    evidence: Mapping[SeatId, Sequence[EvidenceCase]] | None = None
    orders: Counted | None = None
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    counted_by: Mapping[str, str] = field(default_factory=dict[str, str])
