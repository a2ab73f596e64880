"""A supply-chain trace: its scenario, sound rounds, and bids above funds. Raises nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.read.rounds import Closed, Rounds, read_rounds
from tradefair.evaluation.reading import TraceReading, once_per_trace
from tradefair.supply_chain.model import BuyerFacts, PassFacts, RoundFacts, SeatFacts, SloganFacts, SupplyChainScenario
from tradefair.tracestore import Trace

ESTIMATE = "estimate_clearing_prices"


class SeatRound(NamedTuple):
    """One seat's facts of a closed round, and the round they belong to."""

    round: RoundFacts
    own: SeatFacts


class SupplyPlay(NamedTuple):
    """What a trace says of the market; `scenario` is null, and there are no rounds, where the manifest cannot be read.

    `rounds` holds what no formula can trip over; `closed` are the numbers of the events that closed them, in the same
    order. `overspends` counts vectors of bids above funds by seat, refused or forfeited. `slogans` are by number;
    `near` has by number the cosines with earlier slogans, by theirs, where these are above 0.
    """

    read: Rounds[SupplyChainScenario, RoundFacts]
    reading: TraceReading
    scenario: SupplyChainScenario | None
    seats: tuple[SeatId, ...]
    rounds: list[RoundFacts]
    closed: list[int]
    overspends: Counter[SeatId]
    slogans: dict[int, SloganFacts]
    near: dict[int, dict[int, float]]

    def of(self, seat: SeatId) -> list[SeatRound]:
        """A seat's sound rounds, in order."""
        return [SeatRound(facts, facts.seats[seat]) for facts in self.rounds]

    def cosine(self, first: int, second: int) -> float:
        """Lexical cosine of two posted slogans by number; that of a slogan with itself is 1 unless it has no word."""
        if first == second:
            return 1.0 if first in self.slogans and self.slogans[first].stems else 0.0
        # The facts list each pair once, under the later slogan, and leave out pairs without a common word.
        return self.near.get(max(first, second), {}).get(min(first, second), 0.0)


@once_per_trace
def read_supply_chain(trace: Trace) -> SupplyPlay:
    """Everything that outcomes and failure modes are made of; what cannot be used is listed in the reading."""
    read = read_rounds(trace, SupplyChainScenario, RoundFacts, (ESTIMATE,))
    scenario, seats = read.scenario, tuple(read.reading.conduct)
    sound: list[Closed[RoundFacts]] = []
    for row in read.closed if scenario is not None else ():
        # The first complaint is enough: a round that does not fit is left out as a whole.
        complaint = scenario and next(_complaints(row.facts, scenario, seats), None)
        if complaint is None:
            sound.append(row)
        else:
            read.reading.found(row.seq, f"the facts are not of this scenario: {complaint}")
    rounds = [row.facts for row in sound]
    overspends = Counter(
        seat
        for (seat, _), calls in read.did.items()
        for did in calls
        if (did.tool, did.code) == ("submit_bids", "insufficient_funds")
    )
    # Under `overspend = forfeit` a vector above funds is accepted and wins nothing: no call was refused.
    for facts in rounds:
        for settled in facts.passes:
            overspends.update(settled.forfeited.keys())
    slogans = {slogan.number: slogan for facts in rounds for slogan in facts.new_slogans}
    near = {number: dict(slogan.cosines) for number, slogan in slogans.items()}
    closed = [row.seq for row in sound]
    return SupplyPlay(read, read.reading, scenario, seats, rounds, closed, overspends, slogans, near)


def _complaints(facts: RoundFacts, scenario: SupplyChainScenario, seats: tuple[SeatId, ...]) -> Iterator[str]:
    """What would break a formula: lists of a wrong length, indices that do not exist.

    Types hold for facts of any scenario. Only with the scenario at hand can it be said how long a list must be.
    """
    items = len(scenario.items)
    if len(facts.supply) != items or not facts.passes:
        yield "supply or passes"
    if set(facts.seats) != set(seats):
        yield "seats"
    for settled in facts.passes:
        if not _sound_pass(settled, items, seats):
            yield f"pass {settled.bid_pass}"
    for seat, own in facts.seats.items():
        if not _sound_seat(own, items, len(scenario.persona_texts)):
            # Cut, because an edited trace may name anything as a seat.
            yield f"seat {seat[:40]}"
    if not _sound_buyers(facts.buyers, scenario, len(seats)):
        yield "buyers"


def _sound_pass(settled: PassFacts, items: int, seats: tuple[SeatId, ...]) -> bool:
    """Whether all columns of a pass have one entry per item, and its lines name seats and items that exist."""
    columns = (settled.marginal, settled.sold_out, settled.requested, settled.won)
    lines = [line for vector in settled.lines.values() for line in vector]
    lost = [line for vector in settled.forfeited.values() for line in vector]
    return (
        all(len(column) == items for column in columns)
        and {*settled.lines, *settled.forfeited} <= set(seats)
        and all(0 <= line[0] < items for line in (*lines, *lost))
    )


def _sound_seat(own: SeatFacts, items: int, texts: int) -> bool:
    """Whether all columns of a seat have one entry per item, and its similarities one per persona text."""
    columns = (
        own.opening, own.available, own.prices, own.attempts, own.failed, own.directed, own.sold, own.revenue,
        own.cost_of_goods, own.units, own.book,
    )  # fmt: skip
    return all(len(column) == items for column in columns) and (own.similarity is None or len(own.similarity) == texts)


def _sound_buyers(buyers: BuyerFacts, scenario: SupplyChainScenario, seats: int) -> bool:
    """Whether all columns of the buyers are of one length and name tribes, texts, items and seats that exist."""
    count = len(buyers.tribe)
    columns = (buyers.text, buyers.item, buyers.quantity, buyers.limit, buyers.arrival, buyers.noticed, buyers.visits)
    if not all(len(column) == count for column in columns):
        return False
    tribes, items = scenario.tribes, len(scenario.items)
    known = all(
        0 <= tribe < len(tribes) and 0 <= text < len(tribes[tribe].texts) and 0 <= item < items
        for tribe, text, item in zip(buyers.tribe, buyers.text, buyers.item, strict=True)
    )
    return known and all(0 <= visit[0] < seats for trail in buyers.visits for visit in trail)
