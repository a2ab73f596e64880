"""Everything that outcomes, tables and charts of a marketplace trace share, computed once per opened trace."""

from __future__ import annotations

from dataclasses import dataclass

from tradefair.evaluation.markets.marketplace.audit import audit
from tradefair.evaluation.markets.marketplace.bargain import Bargains, Trade, bargains
from tradefair.evaluation.markets.marketplace.businesses import Business, businesses_of
from tradefair.evaluation.markets.marketplace.customers import Customer, customers_of
from tradefair.evaluation.markets.marketplace.play import MarketPlay, read_marketplace
from tradefair.evaluation.markets.marketplace.references import Yardsticks, yardsticks
from tradefair.evaluation.markets.marketplace.truth import Truth
from tradefair.evaluation.reading import once_per_trace
from tradefair.tracestore import Trace


@dataclass(frozen=True)
class Study:
    """A trace with known hidden truth: customers and businesses in registration order, and what they are compared with.

    `trades` are paid and not refunded proposals in the order of sending.
    """

    play: MarketPlay
    truth: Truth
    customers: list[Customer]
    businesses: list[Business]
    yardsticks: Yardsticks
    trades: list[Trade]
    bargains: Bargains

    @property
    def in_escrow(self) -> int:
        """Cents that were paid and neither reached a business nor came back."""
        scenario = self.play.scenario
        if scenario is None or not scenario.escrow:
            return 0
        proposals = self.play.proposals.values()
        return sum(offer.facts.total for offer in proposals if offer.paid and "release" not in offer.settled)


@once_per_trace
def study_of(trace: Trace) -> Study | MarketPlay:
    """The study of a trace, or what can be read of one from which customers and businesses cannot be known."""
    play = read_marketplace(trace)
    truth = play.truth
    # The bare play then: conduct and findings can still be reported.
    if truth is None:
        return play
    # Breaches become findings of the trace: figures of a forged one are shown with the reason to doubt them.
    for seq, message in audit(play, truth):
        play.reading.found(seq, message[:300])
    known = yardsticks(truth, play.scenario, play.reading.core.seed if play.reading.core is not None else 0)
    trades = [
        Trade(index, truth.matches[index].value, proposal.facts.total, proposal.facts.floor, fits=proposal.facts.fits)
        for proposal in play.proposals.values()
        # Refunded purchases are no trades: the money went back.
        if proposal.paid
        for index in (truth.indices[proposal.facts.customer],)
    ]
    return Study(
        play,
        truth,
        customers_of(play, truth),
        businesses_of(play, truth),
        known,
        trades,
        bargains(trades, known.baselines.first_best),
    )
