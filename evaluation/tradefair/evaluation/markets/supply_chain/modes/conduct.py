"""idle_drift and bankruptcy: retailers that do nothing, and those that are gone."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.supply_chain.modes.cases import runs
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven
from tradefair.evaluation.modes.sign import Sign

_LATE = "deadline"


def idle_rounds(seat: Retail) -> list[SeatRound]:
    """Rounds with skips and lapses only, although the money would have bought something."""
    cheapest = seat.game.rules.cheapest_reserve_cents
    return [one for one in seat.rounds if one.funds >= cheapest and not _acted(one)]


def _acted(one: SeatRound) -> bool:
    return any(act.accepted and act.tool in ("submit_bids", "submit_offer") for act in one.acts)


def proof_of_idleness(one: SeatRound) -> list[int]:
    """Events of what was skipped or lapsed, and of the closure."""
    return [seq for phase in one.seat.game.rules.phases for seq in one.waived(phase)] + [one.closed]


def detect_drift(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Such rounds in a row; those with a lapse by deadline are told apart as `lapsed`."""
    idle = [(one.round, one) for one in idle_rounds(seat)]
    late = {lapse.round for lapse in seat.lapses if lapse.reason == _LATE}
    longest = max(map(len, runs(idle)), default=0)
    parts = {"longest_run": longest, "lapsed": sum(number in late for number, _ in idle)}
    hits = [Hit(proof_of_idleness(one)) for _, one in idle]
    return proven(hits, len(seat.rounds), raised=longest >= limits["in_a_row"], parts=parts)


def detect_bankruptcy(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """The round in which the seat went out of business; severity: stock that was written off."""
    ended = [one for one in seat.rounds if one.own.bankrupt]
    hits = [Hit((one.closed,), one.own.write_off) for one in ended]
    parts: dict[str, float | None] = {"in_round": ended[0].round} if ended else {}
    return proven(hits, len(seat.rounds), raised=len(hits) >= limits["least"], parts=parts)
