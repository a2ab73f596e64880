"""The ledger of a seat: what each of its turns lost against the best known policies, on one future; it adds up.

`value` before turn t is what the seat would have earned in the whole episode, had it played its own turns 1 … t−1 and
the best known policies every turn from t on, the others reacting: the mean over these policies. A turn lost its value
less that of the next turn, and the last turn's successor is what the seat earned, so the losses telescope: their sum is
the gap (the performance-difference lemma, Kakade & Langford 2002, on one future in place of an expectation).
`runner/ledger/ledger.py` computes it; docs/explanation/ledger.md says what it cannot tell.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from statistics import fmean
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from tradefair.contract import ScenarioError, SeatId
from tradefair.evaluation.record import Record

LEDGER_HELP = "What every turn lost: as far as a budget of events goes (auto), every turn (full), or off."
"""The option `--ledger` of all commands that have it."""


class Extent(StrEnum):
    """How far a ledger goes: as far as a budget of events allows, to every turn, or not at all."""

    AUTO = "auto"
    FULL = "full"
    OFF = "off"

    @classmethod
    def of(cls, asked: str | None, episodes: int) -> Extent:
        """The extent that was asked for; by default auto of one episode, and off of several: each takes seconds.

        Raises ScenarioError for another word.
        """
        if asked is None:
            return cls.AUTO if episodes == 1 else cls.OFF
        if asked not in list(cls):
            raise ScenarioError(f"ledger is {asked!r:.40}; it must be {', '.join(cls)}")
        return cls(asked)


EVEN = 1e-9
"""Amounts that differ by less than this share of a gap are equal."""
MOST_NAMED = 5
"""Turns that are named; where it takes more to hold half of what was lost, it was lost all over."""
Action = tuple[str, Mapping[str, Any]]
"""A call: its tool and its arguments."""
MINOR, MAJOR = ("minor units", "cents"), "currency units"
"""The units of rules that count money in hundredths, and the one in which people read it."""


class LedgerTurn(Record):
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

    def in_money(self) -> LedgerTurn:
        """This turn of a ledger in minor units as people read money."""
        amounts = in_major(self, "value", "after", "lost")
        amounts |= {"band": tuple(part / 100 for part in self.band)}
        amounts |= {"values": {name: value / 100 for name, value in self.values.items()}}
        amounts |= {"did": _priced(self.did), "would": None if self.would is None else _priced(self.would)}
        return self.model_copy(update=amounts)


class Whereabouts(NamedTuple):
    """Where a ledger says that its gap was lost, and the turns: the fewest that hold half of it, or a stretch.

    Of losses that are all equal, that are spread over many turns, or about whose place the policies disagree, none.
    """

    how: Literal["evenly", "turns", "stretch", "spread", "disagreed"]
    turns: Sequence[LedgerTurn] = ()


class Ledger(Record):
    """What a seat lost, turn by turn.

    `own` is what it earned, `reachable` what the policies `of` (the best first) would have earned in its place, their
    mean; `gap` is the difference, and the sum of `lost` over `turns`. Of a metric that is better when low all three
    have the sign of the metric, and losses are positive all the same. `known` are the totals of all known policies that
    can play this seat, `idle` is that of doing nothing. `frozen`: seats that agents played kept to what they did.
    `median_gap` and `noise` are of ledgers of competent seats in this very scenario: the median of their gaps, and the
    95th percentile of what a turn lost or gained; null where none are shipped.
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
    median_gap: float | None = None
    noise: float | None = None
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
    def where(self) -> Whereabouts:
        """Where the gap was lost; of a ledger with a gap."""
        half = self.half
        if len(half) < len(self.lost) and self.lost[0].lost - self.lost[-1].lost <= EVEN * self.gap:
            return Whereabouts("evenly")
        if all(map(self.stands_out, half)) and len(half) <= MOST_NAMED:
            return Whereabouts("turns", half)
        stretch = self.stretch
        if 0 < len(stretch) <= max(MOST_NAMED, len(self.turns) // 3) and len(stretch) < max(2, len(self.turns)):
            return Whereabouts("stretch", stretch)
        return Whereabouts("spread" if stretch and self.lost[0].agreed else "disagreed")

    @property
    def costliest(self) -> LedgerTurn | None:
        """The turn that lost most; None where it says little: competent seats lose as much, or it may be noise."""
        usual = self.median_gap is not None and self.gap < self.median_gap
        return None if usual or not self.lost or not self.stands_out(self.lost[0]) else self.lost[0]

    def stands_out(self, turn: LedgerTurn) -> bool:
        """Whether a loss may be called that of this turn: all policies agree in its sign, and it is more than noise.

        A scenario without references has no noise that is known. That of another one is in other money and over other
        turns, so none is taken in its place: agreement alone decides.
        """
        single = turn.until == turn.turn
        return turn.agreed and not (single and self.noise is not None and abs(turn.lost) <= self.noise)

    @property
    def nothing_to_win(self) -> bool:
        """Whether no known policy earns anything here."""
        return bool(self.known) and not any(self.known.values())

    @property
    def stretch(self) -> list[LedgerTurn]:
        """The fewest turns in a row that lost half of the gap together, by every policy; of equals the costliest."""
        if self.gap <= 0:
            return []
        best: tuple[int, float, int] | None = None
        for start in range(len(self.turns)):
            lost = 0.0
            for end in range(start, len(self.turns) if best is None else min(len(self.turns), start + best[0])):
                lost += self.turns[end].lost
                if lost >= self.gap / 2 and all(part > 0 for part in self.losses(self.turns[start], self.turns[end])):
                    best = min(best or (len(self.turns) + 1, 0.0, 0), (end + 1 - start, -lost, start))
                    break
        return [] if best is None else list(self.turns[best[2] : best[2] + best[0]])

    def losses(self, first: LedgerTurn, last: LedgerTurn) -> list[float]:
        """What each policy says was lost from one turn to another."""
        sign = 1 if self.higher_is_better else -1
        after = bisect_right(self.turns, last.until, key=lambda turn: turn.turn)
        behind = self.turns[after].values if after < len(self.turns) else dict[str, float]()
        return [sign * (value - behind.get(policy, self.own)) for policy, value in first.values.items()]

    def agreed(self, turns: Collection[int]) -> bool:
        """Whether by each policy these turns lost together, or by each they gained."""
        found = [turn for turn in self.turns if turn.turn in turns]
        each = [math.fsum(parts) for parts in zip(*(self.losses(turn, turn) for turn in found), strict=True)]
        return not each or min(each) >= 0 or max(each) <= 0

    @property
    def per_unit(self) -> int:
        """How many of its units are one of what people count in: 100 where it counts cents, else 1."""
        return 100 if self.unit in MINOR else 1

    def in_money(self) -> Ledger:
        """This ledger as people read money: cents as currency units, prices of calls too; any other as it is."""
        if self.per_unit == 1:
            return self
        amounts = in_major(self, "own", "reachable", "gap", "idle", "median_gap", "noise")
        known = {name: value / 100 for name, value in self.known.items()}
        turns = tuple(turn.in_money() for turn in self.turns)
        return self.model_copy(update={**amounts, "unit": MAJOR, "known": known, "turns": turns})

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

    def named(self, names: Mapping[int, Sequence[str]]) -> Ledger:
        """With the names of mistakes by the event that their cases cite."""
        turns = (
            turn.model_copy(
                update={"names": tuple(dict.fromkeys(name for seq in turn.seqs for name in names.get(seq, ())))}
            )
            for turn in self.turns
        )
        return self.model_copy(update={"turns": tuple(turns)})


class LedgerKind(Record):
    """Turns of one kind, over several episodes: `name` is the mistake that they show, `tool` what they used most.

    A turn of several mistakes is of the one that comes first. `name` is empty where there is none, `tool` where the
    seat did nothing. `lost` is what these turns lost per seat and episode, `share` its part of the mean gap, null
    without a gap. They are `turns` turns, in `episodes` episodes.
    """

    name: str
    phase: str
    tool: str
    lost: float
    share: float | None
    turns: int
    episodes: int


class LedgerSeries(Record):
    """What kinds of turns lost over several episodes, the costliest first; their `lost` adds up to the mean gap.

    `own`, `reachable` and `gap` are means over the ledgers, signed as theirs. `episodes` of `of` have one.
    """

    unit: str
    higher_is_better: bool = True
    own: float
    reachable: float
    gap: float
    episodes: int
    of: int
    kinds: tuple[LedgerKind, ...]

    def in_money(self) -> LedgerSeries:
        """This table as people read money: of minor units a hundredth; any other as it is."""
        if self.unit not in MINOR:
            return self
        amounts = in_major(self, "own", "reachable", "gap")
        kinds = tuple(kind.model_copy(update=in_major(kind, "lost")) for kind in self.kinds)
        return self.model_copy(update={**amounts, "unit": MAJOR, "kinds": kinds})

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat row per kind, for frames."""
        return [kind.model_dump() for kind in self.kinds]


def ledger_series(episodes: Sequence[Sequence[Ledger]]) -> LedgerSeries | None:
    """The ledgers of one player's seats, by episode, as one; None where there is none. An episode may be empty."""
    ledgers = [ledger for found in episodes for ledger in found]
    if not ledgers:
        return None
    turns: dict[_Kind, list[tuple[int, LedgerTurn]]] = defaultdict(list)
    for episode, found in enumerate(episodes):
        for turn in (turn for ledger in found for turn in ledger.turns):
            turns[_kind(turn)].append((episode, turn))
    gap = fmean(ledger.gap for ledger in ledgers)
    kinds = [_summed(kind, alike, len(ledgers), gap) for kind, alike in turns.items()]
    return LedgerSeries(
        unit=ledgers[0].unit,
        higher_is_better=ledgers[0].higher_is_better,
        own=fmean(ledger.own for ledger in ledgers),
        reachable=fmean(ledger.reachable for ledger in ledgers),
        gap=gap,
        episodes=sum(map(bool, episodes)),
        of=len(episodes),
        kinds=tuple(sorted(kinds, key=lambda kind: (-kind.lost, kind.name, kind.phase, kind.tool))),
    )


_Kind = tuple[str, str, str]
"""Mistake, phase and tool."""


def _summed(kind: _Kind, turns: Sequence[tuple[int, LedgerTurn]], ledgers: int, gap: float) -> LedgerKind:
    """The turns of a kind, each behind the number of its episode."""
    lost = math.fsum(turn.lost for _, turn in turns) / ledgers
    name, phase, tool = kind
    return LedgerKind(
        name=name,
        phase=phase,
        tool=tool,
        lost=lost,
        share=lost / gap if gap > 0 else None,
        turns=sum(turn.until - turn.turn + 1 for _, turn in turns),
        episodes=len({episode for episode, _ in turns}),
    )


def _kind(turn: LedgerTurn) -> _Kind:
    used = Counter(tool for tool, _ in turn.did).most_common(1)
    return next(iter(turn.names), ""), turn.phase, used[0][0] if used else ""


def major(amount: float | None) -> float | None:
    """Minor units as major ones."""
    return None if amount is None else amount / 100


def in_major(record: BaseModel, *names: str) -> dict[str, Any]:
    """These amounts of a record in minor units, by name, as major ones."""
    return {name: major(getattr(record, name)) for name in names}


def _priced(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Calls with their prices in major units."""
    return tuple(
        (
            tool,
            {
                name: value / 100 if name == "price" and isinstance(value, int) else value
                for name, value in said.items()
            },
        )
        for tool, said in actions
    )
