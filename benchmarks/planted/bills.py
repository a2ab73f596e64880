"""What the ledgers say of a flawed run: against the flaw's own base, and against the best known policies."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from statistics import fmean
from typing import NamedTuple

from benchmarks.planted.flaw import Flaw, Place
from benchmarks.planted.play import Episode
from tradefair.contract import SeatId
from tradefair.evaluation.ledger import Ledger, LedgerTurn
from tradefair.runner.ledger.ledger import Ledgers
from tradefair.runner.ledger.replays import Replays

MOST = {"double_auction": 16, "bargaining": 20, "pricing": 12, "order_book": 8, "retail": 8}
"""Values of each policy where a whole ledger takes too long: the stretches that lost most are halved."""


class Bill(NamedTuple):
    """What the ledgers of one harmful run say; shares are 0 to 1.

    Against the flaw's own base: the `gap`, and whether the costliest turn is an `altered` one. Against the best known
    policies, less what the twin's ledger says: `more`, and the part of it at `altered_turns`. `named` is whether the
    turn or stretch that the verdict names holds an altered turn (None: it names none), `by_chance` how often one of
    its length does. `turns` is the share of turns that the flaw altered.
    """

    turns: float
    gap: float
    altered: bool | None
    more: float
    altered_turns: float
    named: bool | None
    by_chance: float | None


class _Asked(Replays):
    """Replays of the policies that are asked about alone: the twin's ledger says already which are the best known."""

    def known(self, seat: SeatId, most: int | None = None) -> list[str]:
        """No others."""
        return []


def bill_of(flaw: Flaw, twin: Episode, bent: Episode, known: Ledger) -> Bill:
    """What the ledgers of a flawed seat say; `known` is its twin's. Raises TradefairError where there is none."""
    ledgers, most = Ledgers(_Asked(bent.path)), MOST.get(flaw.market)
    own = ledgers.of(bent.seat, against=[flaw.base], most=most)
    ledger = ledgers.of(bent.seat, against=known.of, most=most)
    altered = {bent.course.turns[number - 1] for number in bent.course.altered}
    hits = [_holds(turn, bent, altered) for turn in ledger.turns]
    named = named_turns(ledger)
    # Behind its last turn a flawed seat can lose no more: what its twin still lost or gained there is due to the flaw.
    missed = altered | set(twin.course.turns).difference(bent.course.turns)
    parts = [turn.lost for turn, hit in zip(ledger.turns, hits, strict=True) if hit]
    parts += [-turn.lost for turn in known.turns if _holds(turn, twin, missed)]
    return Bill(
        turns=len(altered) / len(bent.course.turns),
        gap=own.gap,
        altered=_holds(own.lost[0], bent, altered) if own.lost and altered else None,
        more=ledger.gap - known.gap,
        altered_turns=math.fsum(parts),
        named=any(_holds(turn, bent, altered) for turn in named) if named and altered else None,
        by_chance=_by_chance(hits, len(named)) if named and altered else None,
    )


def _holds(turn: LedgerTurn, episode: Episode, turns: Set[Place]) -> bool:
    """Whether a turn or a stretch of the episode's ledger holds one of these turns."""
    return not turns.isdisjoint(episode.course.turns[turn.turn - 1 : turn.until])


def named_turns(ledger: Ledger) -> Sequence[LedgerTurn]:
    """The turns that the verdict's sentences name: single ones, a stretch, or the costliest one alone; maybe none."""
    if ledger.gap <= 0:
        return []
    return ledger.where.turns or list(filter(None, [ledger.costliest]))


def _by_chance(hits: Sequence[bool], size: int) -> float:
    """The share of all stretches of so many turns in a row that hold a hit."""
    starts = range(len(hits) - size + 1)
    return fmean(any(hits[start : start + size]) for start in starts)
