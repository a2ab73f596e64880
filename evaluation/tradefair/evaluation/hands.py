"""Whose hands a seat is in, and where it changed them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, cast

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.kernel.following import FORKED_FROM
from tradefair.contract.kernel.players import Seating, shown_label
from tradefair.tracestore import Trace

_MAX_HANDS = 60


class Handover(NamedTuple):
    """A seat that had acted changed hands at event `seq`: another player, another policy, or other draws of it."""

    seq: int
    seat: SeatId
    before: str
    after: str


def hands_of(seating: Seating, seat: SeatId) -> str:
    """Whose hands a seat is in, as text: who decides, and the draws of a policy."""
    player = seating.players[seat]
    made = player.agent and player.agent.model
    model = f" ({made})" if made and made not in player.label else ""
    if player.policy is None:
        return player.label + model
    key = seating.agent_key if player.late else seating.policy_key
    spelled = "" if player.label == shown_label(f"policy:{player.policy}") else f" ({player.policy})"
    return f"{player.label}{spelled}, key {key}{', late' * player.late}{', privileged' * player.privileged}"


def handovers(trace: Trace) -> Sequence[Handover]:
    """Where seats changed hands, as the events say it; what a fork takes over is no such change. TraceError."""
    (_, now), *changes = trace.seatings() or [(0, Seating(players={}))]
    acted = _first_acts(trace, changes[-1][0]) if changes else {}
    found: list[Handover] = []
    for seq, change in changes:
        before, now = now, now.later(change)
        past = () if FORKED_FROM in (change.origin or {}) else [seat for seat, first in acted.items() if first < seq]
        found += changed_hands(before, now, past, seq)
    return found


def changed_hands(before: Seating, now: Seating, acted: Collection[SeatId], seq: int) -> list[Handover]:
    """The seats among those that have `acted` which are in other hands from event `seq` on, in the order of seats."""
    # A change may seat whom nobody knew before, whatever events say of them.
    said = {seat: (hands_of(before, seat), hands_of(now, seat)) for seat in before.players if seat in acted}
    return [Handover(seq, seat, *hands) for seat, hands in said.items() if hands[0] != hands[1]]


def shown_hands(changes: Sequence[Handover]) -> Mapping[SeatId, str]:
    """What the seats that changed hands are called: "A until event 150, then B"."""
    found: dict[SeatId, str] = {}
    for change in changes:
        first = found.get(change.seat, change.before[:_MAX_HANDS]).partition(", then ")[0]
        until = "" if change.seat in found else f" until event {change.seq}"
        found[change.seat] = f"{first}{until}, then {change.after[:_MAX_HANDS]}"
    return found


def _first_acts(trace: Trace, before: int) -> dict[SeatId, int]:
    """The first event of each seat, as far as events can be read."""
    found: dict[SeatId, int] = {}
    for stored in trace.events():
        if stored.seq >= before:
            break
        try:
            event: Any = orjson.loads(stored.body)
        except orjson.JSONDecodeError:
            raise TraceError(f"{trace.path}: event {stored.seq} is not JSON") from None
        if isinstance(event, dict) and isinstance(seat := cast("dict[str, Any]", event).get("seat"), str):
            found.setdefault(seat, stored.seq)
    return found
