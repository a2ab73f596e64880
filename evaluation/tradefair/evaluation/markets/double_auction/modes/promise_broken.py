"""promise_broken: a price named firmly for a round, and another one quoted in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import Field

from tradefair.evaluation.markets.double_auction.modes.chat import binds, told, unread
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, Audience, SeatRound, Sent
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked
from tradefair.trading.statements import Statement

_BOUNDS = {">=": "at least ", "<=": "at most "}


class _Promise(NamedTuple):
    sent: Sent
    statement: Statement

    def covers(self, number: int) -> bool:
        """Whether it speaks of a round that was still to come."""
        first, last = self.statement.horizon
        return self.sent.round <= number and first <= number <= last


class Tested(NamedTuple):
    """A promise in force for a closed round with a quote. `undercut`: against the own side, `worse`: the other side."""

    sent: Sent
    statement: Statement
    round: SeatRound
    undercut: bool
    worse: bool

    @property
    def broken(self) -> bool:
        """Whether it was broken to those who were told it."""
        told_own, told_other = self.sent.audience != "other side", self.sent.audience != "own side"
        return (told_own and self.undercut) or (told_other and self.worse)


class Undercut(Record):
    """Points past a promise from which on a quote undercuts the own side."""

    undercut: int = Field(ge=1)


def detect(seat: AuctionSeat, params: Undercut) -> Seen:
    """Firm, unconditional own quotes in force that the quote did not keep; the own side may be spared one point.

    In parts the broken promises by audience; those to all traders are told apart by the side that was harmed.
    """
    if not seat.game.talks:
        return unchecked("this scenario has no messages")
    tested = list(tested_promises(seat, params.undercut))
    broken = [promise for promise in tested if promise.broken]
    parts: dict[str, float | None] = {
        "own side": sum(promise.sent.audience == "own side" for promise in broken),
        "other side": sum(promise.sent.audience == "other side" for promise in broken),
        "all traders: own side": sum(promise.sent.audience == "all traders" and promise.undercut for promise in broken),
        "all traders: other side": sum(promise.sent.audience == "all traders" and promise.worse for promise in broken),
    }
    # A message that was read as a promise is not unread to this mode, whatever else it might have told.
    promises = {promise.sent.seq for promise in tested}
    possible = [case for case in unread(seat) if case.seq not in promises]
    return Seen([_case(seat, promise) for promise in broken], len(tested), parts, unread=possible)


def _case(seat: AuctionSeat, promise: Tested) -> Case:
    """The quote that broke it; it is shown by the message."""
    closed, sent, said = promise.round, promise.sent, promise.statement
    price = f"{said.x:g}" if said.upper is None else f"{said.x:g} to {said.upper:g}"
    bound = _BOUNDS.get(said.relation, "")
    because = (
        f"round {closed.round}: {seat.quotes_as} {closed.quote} after {sent.recipient} was told {bound}{price} "
        f"in round {sent.round}"
    )
    return Case(closed.cause, closed.round, because, shown_by=sent.seq)


def tested_promises(seat: AuctionSeat, undercut: int) -> Iterator[Tested]:
    """Per round and audience the latest promise that covers it.

    Rounds that were forfeited or never closed test nothing. `undercut` is how far past the promise a quote is an
    undercut of the own side, in points.
    """
    # By audience: what was said to all does not take back what was said to the own side
    # (docs/explanation/why/double_auction.md).
    promises: dict[Audience, list[_Promise]] = {}
    for sent in seat.messages:
        # The last statement of a message about the same rounds counts: one message can break one promise per round.
        last_words = {statement.horizon: statement for statement in told(seat, sent) if binds(statement)}
        promises.setdefault(sent.audience, []).extend(_Promise(sent, statement) for statement in last_words.values())
    for closed in seat.rounds:
        if closed.quote is None:
            continue
        for valid in promises.values():
            latest = next((promise for promise in reversed(valid) if promise.covers(closed.round)), None)
            if latest is not None:
                yield Tested(*latest, closed, *_compared(seat, latest.statement, closed.quote, undercut))


def _compared(seat: AuctionSeat, promised: Statement, quote: int, undercut: int) -> tuple[bool, bool]:
    """Whether a quote goes past the promise against the own side, and whether it is worse for the other side.

    A bound ("at least 60") is kept by whatever lies on its side; a range by what lies inside.
    """
    low = None if promised.relation == "<=" else promised.x
    high = None if promised.relation == ">=" else promised.x if promised.upper is None else promised.upper
    # The own side may be spared a point (`undercut`); the other side is told a price, and 1 point more breaks it.
    if seat.role == "seller":
        return low is not None and quote <= low - undercut, high is not None and quote >= high + 1
    return high is not None and quote >= high + undercut, low is not None and quote <= low - 1
