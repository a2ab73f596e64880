"""What every message, proposal and payment rested on; the refs of earlier reads say what the seat had been shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tradefair.catalog import market_type
from tradefair.contract import Need, SeatId, TradefairError
from tradefair.evaluation.markets.marketplace.modes.play import Bazaar, Buyer, Seller
from tradefair.evaluation.modes.calls import named_at
from tradefair.evaluation.modes.evidence import EvidenceIndex, Moment, need_names, needs_of
from tradefair.evaluation.modes.insight import EvidenceCase
from tradefair.evaluation.read.rounds import Did
from tradefair.marketplace.answers.evidence import EvidenceScene
from tradefair.marketplace.model import BUSINESS, CUSTOMER


def evidence_of(game: Bazaar) -> Mapping[SeatId, list[EvidenceCase]]:
    """Every accepted action with the reads that it lacked, by seat; empty where the market is not installed."""
    try:
        kind = market_type("marketplace")
    # Traces can be evaluated where the market's tools are not installed; evidence then stays unknown.
    except TradefairError:
        return {}
    found: dict[SeatId, list[EvidenceCase]] = {}
    for role, seats in ((CUSTOMER, game.customers), (BUSINESS, game.businesses)):
        needed = needs_of(kind.evidence_map, game.rules, kind.tools, role)
        for name, seat in seats.items():
            found[name] = list(_cases(seat, EvidenceIndex(kind.tools, ""), needed))
    return found


def _cases(
    seat: Buyer | Seller, index: EvidenceIndex, needed: Mapping[str, tuple[Need, ...]]
) -> Iterator[EvidenceCase]:
    for position, call in enumerate(seat.calls):
        if not call.accepted:
            continue
        needs = needed.get(call.tool or "", ())
        for about in _about(call, needs):
            missing = need_names([need for need in needs if not _met(index, need, about, call.round)])
            yield EvidenceCase(call.seq, call.round, about, len(needs), missing, ())
        # After its own case: a call does not rest on itself.
        index.look(call._replace(revision=0), position, EvidenceScene(call.refs or ()))


def _about(call: Did, needs: tuple[Need, ...]) -> list[str | None]:
    """The counterparts or proposals that an action is about, one case per object; [None] where its needs name none."""
    path = next((need.object_arg for need in needs if need.object_arg), None)
    if not needs:
        return []
    return [None] if path is None else list(dict.fromkeys(named_at(call.arguments, path)))


def _met(index: EvidenceIndex, need: Need, about: str | None, number: int) -> bool:
    return index.meets(need, about if need.object_arg else None, Moment(number, 0))
