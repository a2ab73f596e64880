"""What only a market's own evaluator can tell the general failure modes; everything else they read from the trace.

The method `insight` of an evaluator fills in what its market knows; what it leaves out is "not checked" in the
findings, with the reason in `absent` or a general one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.modes.diagnosis import Seen
from tradefair.evaluation.modes.table import Fact


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
    round: int
    value: float
    seen: float
    about: str | None = None


@dataclass(frozen=True)
class Insight:
    """What a market adds. Money is in `unit`; a field that is None is not known for this market.

    `facts` names, by tool, the decision that its call takes, so that a general mode and the market's own never tell the
    same one twice. `messages` names, by tool, the argument
    whose text other seats get to read; `id_arguments` arguments that hold an id although their names do not end in
    `_id` or `_ids`. `idle` are closed rounds in which a seat took no action although one would have paid. `wanted` are
    objects that called for an action (best sellers), `happenings` those to which something happened that calls for a
    look (a stock-out). `evidence` is for markets whose tools' scopes need more than the arguments. `orders` are
    instructions planted in messages without a canary: the seat's actions that followed them, out of those that it was
    given. A seat that is missing in a mapping was not looked at. `absent` says of a mode why it does not apply. `meant`
    gives a `tool_called` event of a foreign trace as a person's map means it: the tool's kind, a refusal in words.
    """

    unit: str = "points"
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    id_arguments: frozenset[str] = frozenset()
    messages: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[SeatId, Sequence[Secret]] = field(default_factory=dict[SeatId, Sequence[Secret]])
    secret_words: tuple[str, ...] = ()
    scales: Mapping[SeatId, Sequence[Scale]] = field(default_factory=dict[SeatId, Sequence[Scale]])
    idle: Mapping[SeatId, Seen] | None = None
    below_cost: Mapping[SeatId, Seen] | None = None
    value_breach: Mapping[SeatId, Seen] | None = None
    wanted: Mapping[SeatId, Sequence[Happening]] | None = None
    happenings: Mapping[SeatId, Sequence[Happening]] | None = None
    evidence: Mapping[SeatId, Sequence[EvidenceCase]] | None = None
    orders: Mapping[SeatId, Seen] | None = None
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    meant: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
