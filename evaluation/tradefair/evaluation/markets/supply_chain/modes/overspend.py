"""overspend and unchecked_bid: bid vectors above the seat's funds.

Under `overspend = error` such a vector is refused, under `forfeit` it is accepted and wins nothing; both count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tradefair.contract.money import currency, to_minor
from tradefair.evaluation.markets.supply_chain.modes.play import Act, Retail, SeatRound, pass_phase
from tradefair.evaluation.modes.calls import listed, mapped
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.sign import Sign

# Code of the seat's own may add up a vector as well as the tool.
_CHECKS = frozenset({"check_bid_cost", "execute_code"})
_UNREADABLE = (ArithmeticError, KeyError, TypeError, ValueError)


class _Beyond(NamedTuple):
    """A vector above funds: its call, further events that prove it, and by how many cents it is above them.

    `excess` is None where the arguments cannot be read.
    """

    act: Act
    told_by: tuple[int, ...]
    excess: int | None


def detect(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Vectors above funds, refused or forfeited, out of all that were submitted."""
    # Calls of a wrong form never reached the rules: they are no bids.
    tried = [act for row in seat.rounds for act in row.acts if act.tool == "submit_bids" and _reached_rules(act)]
    beyond = [found for row in seat.rounds for found in _beyond(row)]
    excess = [found.excess for found in beyond if found.excess is not None]
    parts: dict[str, float | None] = {
        "refused": sum(not found.act.accepted for found in beyond),
        "forfeited": sum(found.act.accepted for found in beyond),
        "largest_excess": currency(max(excess)) if excess else None,
    }
    hits = [Hit((found.act.seq, *found.told_by)) for found in beyond]
    return proven(hits, len(tried), raised=len(hits) >= limits["overspends"], parts=parts)


def detect_unchecked(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Vectors above funds that nothing had added up earlier in the phase; a privileged seat needs no look."""
    if seat.privileged:
        return unchecked("privileged")
    beyond = [(row, found.act) for row in seat.rounds for found in _beyond(row)]
    blind = [act for row, act in beyond if not _checked(row, act)]
    # Out of the vectors above funds: checked vectors that fit need no finding.
    return proven([Hit((act.seq,)) for act in blind], len(beyond), raised=len(blind) >= limits["unchecked"])


def _checked(row: SeatRound, act: Act) -> bool:
    """Whether the seat had added up a vector earlier in the phase, with the tool or in code of its own."""
    return any(
        # In the same phase only, as section 10 has it.
        look.tool in _CHECKS and look.accepted and look.phase == act.phase and look.seq < act.seq
        for look in row.acts
    )


def _reached_rules(act: Act) -> bool:
    """Whether the rules judged a call; one of a wrong form never came so far."""
    return act.status in ("ok", "rejected")


def _beyond(row: SeatRound) -> Iterator[_Beyond]:
    """The vectors of a round that were above the funds, refused ones and forfeited ones."""
    for act in row.acts:
        if act.tool != "submit_bids":
            continue
        if act.code == "insufficient_funds":
            yield _Beyond(act, (), _excess(row, act))
        # An accepted call says nothing of funds; only the facts of its pass tell that it was forfeited.
        elif act.accepted and _forfeits(row, act):
            yield _Beyond(act, (row.closed,), _excess(row, act))


def _forfeits(row: SeatRound, act: Act) -> bool:
    """Whether the seat forfeited in the pass of a call: the call itself was accepted."""
    found = (closed.forfeited for closed in row.facts.passes if pass_phase(closed.bid_pass) == act.phase)
    return any(row.seat.seat in forfeited for forfeited in found)


def _excess(row: SeatRound, act: Act) -> int | None:
    """How far the vector is above funds, in cents; None where it cannot be read, or is not above them."""
    lines = [mapped(line) for line in listed(act.arguments.get("bids"))]
    try:
        cost = sum(int(line["quantity"]) * to_minor(line["price"]) for line in lines)
    except _UNREADABLE:
        return None
    return cost - row.funds if cost > row.funds else None
