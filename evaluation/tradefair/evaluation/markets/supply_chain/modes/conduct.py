"""idle_drift and bankruptcy: retailers that do nothing, and those that are out of business."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.supply_chain.modes.cases import runs
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven
from tradefair.evaluation.modes.sign import Sign

_LATE = "deadline"


def idle_rounds(seat: Retail) -> list[SeatRound]:
    """Rounds with skips and lapses only, although the money would have bought something."""
    # Below the cheapest reserve nothing could be bought: such a seat is poor, not idle.
    cheapest = seat.game.rules.cheapest_reserve_cents
    return [row for row in seat.rounds if row.funds >= cheapest and not _acted(row)]


def _acted(row: SeatRound) -> bool:
    """Whether a bid or an offer was accepted in the round."""
    return any(act.accepted and act.tool in ("submit_bids", "submit_offer") for act in row.acts)


def proof_of_idleness(row: SeatRound) -> list[int]:
    """Events of what was skipped or lapsed, and of the closure."""
    return [seq for phase in row.seat.game.rules.phases for seq in row.waived(phase)] + [row.closed]


def detect_drift(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Idle rounds in a row; those with a lapse by deadline are also counted, as the part `lapsed`.

    A seat that was too late is told apart from one that chose to do nothing.
    """
    idle = [(row.round, row) for row in idle_rounds(seat)]
    late = {lapse.round for lapse in seat.lapses if lapse.reason == _LATE}
    longest = max(map(len, runs(idle)), default=0)
    parts = {"longest_run": longest, "lapsed": sum(number in late for number, _ in idle)}
    hits = [Hit(proof_of_idleness(row)) for _, row in idle]
    return proven(hits, len(seat.rounds), raised=longest >= limits["in_a_row"], parts=parts)


def detect_bankruptcy(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """The round in which the seat went out of business; severity: stock at cost that was written off."""
    ended = [row for row in seat.rounds if row.own.bankrupt]
    hits = [Hit((row.closed,), row.own.write_off) for row in ended]
    parts: dict[str, float | None] = {"in_round": ended[0].round} if ended else {}
    return proven(hits, len(seat.rounds), raised=len(hits) >= limits["least"], parts=parts)
