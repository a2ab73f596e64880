"""The ledger of a seat: what each of its turns lost against the best known policies, on one future; it adds up.

`value` before turn t is what the seat would have earned in the whole episode, had it played its own turns 1 … t−1 and
the best known policies every turn from t on, the others reacting: the mean over these policies. A turn lost its value
less that of the next turn, and the last turn's successor is what the seat earned, so the losses telescope: their sum is
the gap (the performance-difference lemma, Kakade & Langford 2002, on one future in place of an expectation).
`runner/ledger.py` computes it; docs/explanation/ledger.md says what it cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract import SeatId


class Extent(StrEnum):
    """How far a ledger goes: as far as a budget of events allows, to every turn, or not at all."""

    AUTO = "auto"
    FULL = "full"
    OFF = "off"


Action = tuple[str, Mapping[str, Any]]
"""A call: its tool and its arguments."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LedgerTurn(_Record):
    """A turn of the seat, or a stretch of turns that was not resolved (`until` is its last one).

    `turn` counts from 1, `step` within round and phase from 1; `seqs` are the seat's events in it. `value` is that of
    the position before it, `after` that behind it, both in the ledger's unit; `lost` is their difference, below 0 where
    the turn gained. `values` are those of the single policies before it, `band` the least and the largest of their
    losses; `agreed`: all of them have the sign of `lost`. `did` are the accepted actions; `would` those of the best
    policy on what the seat could see, null for a stretch. `names` are the mistakes with a case in it.
    """

    turn: int
    until: int
    round: int
    phase: str
    step: int
    last_round: int
    seqs: tuple[int, ...]
    value: float
    after: float
    lost: float
    band: tuple[float, float]
    agreed: bool
    did: tuple[Action, ...]
    would: tuple[Action, ...] | None
    names: tuple[str, ...] = ()
    values: Mapping[str, float]


class Ledger(_Record):
    """What a seat lost, turn by turn.

    `own` is what it earned, `reachable` what the policies `of` (the best first) would have earned in its place, their
    mean; `gap` is the difference, and the sum of `lost` over `turns`. Of a metric that is better when low all three
    have the sign of the metric, and losses are positive all the same. `known` are the totals of all known policies that
    can play this seat, `idle` is that of doing nothing. `frozen`: seats that agents played kept to what they did.
    """

    seat: SeatId
    unit: str
    higher_is_better: bool = True
    own: float
    reachable: float
    of: tuple[str, ...]
    gap: float
    exact: Literal[True] = True
    control: Literal["equal"] = "equal"
    frozen: bool = False
    idle: float | None = None
    known: Mapping[str, float] = Field(default={})
    turns: tuple[LedgerTurn, ...]

    @property
    def lost(self) -> list[LedgerTurn]:
        """The turns that lost something, the costliest first."""
        return sorted((turn for turn in self.turns if turn.lost > 0), key=lambda turn: (-turn.lost, turn.turn))

    @property
    def half(self) -> list[LedgerTurn]:
        """The fewest turns that hold half of what was lost, the costliest first."""
        whole, held, least = math.fsum(turn.lost for turn in self.lost), 0.0, list[LedgerTurn]()
        for turn in self.lost:
            if held >= whole / 2:
                break
            least.append(turn)
            held += turn.lost
        return least

    @property
    def nothing_to_win(self) -> bool:
        """Whether no known policy earns anything here."""
        return bool(self.known) and not any(self.known.values())

    @property
    def stretch(self) -> list[LedgerTurn]:
        """The fewest turns in a row that lost half of the gap together, of equals the costliest; none without a gap."""
        if self.gap <= 0:
            return []
        best: tuple[int, float, int] | None = None
        for start in range(len(self.turns)):
            lost = 0.0
            for end in range(start, len(self.turns) if best is None else min(len(self.turns), start + best[0])):
                lost += self.turns[end].lost
                if lost >= self.gap / 2:
                    best = min(best or (len(self.turns) + 1, 0.0, 0), (end + 1 - start, -lost, start))
                    break
        return [] if best is None else list(self.turns[best[2] : best[2] + best[0]])

    def turns_of(self, seqs: Sequence[int]) -> list[LedgerTurn]:
        """The turns of these events, each once."""
        wanted = set(seqs)
        return [turn for turn in self.turns if not wanted.isdisjoint(turn.seqs)]

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat row per turn, for frames: its fields with `low` and `high` of its band, and a value per policy."""
        return [
            {
                "seat": self.seat,
                **turn.model_dump(mode="json", exclude={"band", "values"}),
                "low": turn.band[0],
                "high": turn.band[1],
                **{f"value_{name}": value for name, value in turn.values.items()},
            }
            for turn in self.turns
        ]

    @property
    def per_unit(self) -> int:
        """How many of its units are one of what people count in: 100 where it counts cents, else 1."""
        return 100 if self.unit in ("minor units", "cents") else 1

    def in_money(self) -> Ledger:
        """With currency units in place of cents; of another unit itself."""
        if (per := self.per_unit) == 1:
            return self
        turns = (
            turn.model_copy(
                update={
                    **{name: getattr(turn, name) / per for name in ("value", "after", "lost")},
                    "band": (turn.band[0] / per, turn.band[1] / per),
                    "values": {name: value / per for name, value in turn.values.items()},
                }
            )
            for turn in self.turns
        )
        amounts = {name: getattr(self, name) / per for name in ("own", "reachable", "gap")}
        return self.model_copy(update={**amounts, "unit": "currency units", "turns": tuple(turns)})

    def named(self, names: Mapping[int, Sequence[str]]) -> Ledger:
        """With the names of mistakes by the event that their cases cite."""
        turns = (
            turn.model_copy(
                update={"names": tuple(dict.fromkeys(name for seq in turn.seqs for name in names.get(seq, ())))}
            )
            for turn in self.turns
        )
        return self.model_copy(update={"turns": tuple(turns)})
