"""Where a customer's welfare was lost: an exact decomposition in cents. Pure.

The optimum O is compared with what was left after each step: Q of the businesses seen, C of those contacted, A of the
offers that arrived, D of what was tried, and U, what the customer got. The differences are the terms, and they sum to
O − U always, whatever the customer did. Businesses are named by their index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Offer(NamedTuple):
    """A proposal that was delivered to a customer: its business, its total in cents, and F(i,p).

    `visible` is the number of the event that delivered it: in every later event the customer has it.
    """

    business: int
    total: int
    fits: bool
    visible: int


class Try(NamedTuple):
    """An attempt to pay a delivered proposal, carried out or refused; `seq` is the event."""

    proposal: str
    seq: int


class CustomerRecord(NamedTuple):
    """What one customer could have had, met and did. `options` is u(i,b) by business at list prices, over B_i.

    `value` is V_i in cents. `seen` are businesses that a search or a profile showed or that wrote, `contacted` those
    that the customer wrote to; those that were contacted or proposed count as seen in any case. `offers` are by
    proposal id; `paid` names proposals that were paid and not refunded.
    """

    value: int
    options: Mapping[int, int]
    seen: frozenset[int]
    contacted: frozenset[int]
    offers: Mapping[str, Offer]
    tries: tuple[Try, ...]
    paid: tuple[str, ...]

    def worth(self, proposal: str) -> int:
        """u(i,p) = V·F − total, in cents. KeyError for a proposal that was not delivered."""
        offer = self.offers[proposal]
        return self.value * offer.fits - offer.total

    @property
    def utility(self) -> int:
        """U_i = V·[some paid proposal fits] − Σ totals, in cents: a second fitting purchase adds no value."""
        bought = [self.offers[name] for name in self.paid]
        return self.value * any(offer.fits for offer in bought) - sum(offer.total for offer in bought)


class Loss(NamedTuple):
    """The best that was left after each step, in cents: in the market (O), seen (Q), contacted (C), offered (A), in
    hand at the decision (H), tried (D), and got (U).

    The terms are their differences; query, outreach, selection and execution sum to O − U, and so do they with
    selection replaced by offer, impatience and misjudgement.
    """

    optimum: int
    seen: int
    contacted: int
    offered: int
    in_hand: int
    tried: int
    utility: int

    @property
    def query(self) -> int:
        """O − Q: the best business was never shown."""
        return self.optimum - self.seen

    @property
    def outreach(self) -> int:
        """Q − C: it was shown and not asked."""
        return self.seen - self.contacted

    @property
    def selection(self) -> int:
        """C − D: it was asked and not chosen; the sum of the next three."""
        return self.contacted - self.tried

    @property
    def offer(self) -> int:
        """C − A: it asked more than its list price, or nothing; below 0 where sellers go below list."""
        return self.contacted - self.offered

    @property
    def impatience(self) -> int:
        """A − H: the best offer came after the decision."""
        return self.offered - self.in_hand

    @property
    def misjudgement(self) -> int:
        """H − D: it was in hand and not taken."""
        return self.in_hand - self.tried

    @property
    def execution(self) -> int:
        """D − U: payments that failed, or more than one."""
        return self.tried - self.utility

    @property
    def total(self) -> int:
        """O − U."""
        return self.optimum - self.utility


def loss_of(record: CustomerRecord) -> Loss:
    """The decomposition of one customer. A customer that never acted has lost everything to `query`."""
    # A business that proposed unasked counts as contacted: the step from C to A is about its offer, not about asking.
    proposers = frozenset(offer.business for offer in record.offers.values())
    contacted = record.contacted | proposers
    seen = record.seen | contacted
    options = record.options
    # Refused tries count: what the customer decided for was lost in execution, not in judgement.
    tried = [(record.worth(attempt.proposal), attempt.seq) for attempt in record.tries]
    most_tried = max((worth for worth, _ in tried), default=0)
    # The decision is the earliest try on the best of what was tried; a customer that tried nothing decides at the end.
    decided = min((seq for worth, seq in tried if worth == most_tried), default=None)
    in_hand = (
        record.worth(name) for name, offer in record.offers.items() if decided is None or offer.visible < decided
    )
    return Loss(
        optimum=_best(options.values()),
        seen=_best(worth for business, worth in options.items() if business in seen),
        contacted=_best(worth for business, worth in options.items() if business in contacted),
        offered=_best(map(record.worth, record.offers)),
        in_hand=_best(in_hand),
        # Having paid for what is worth less than nothing is a bad choice; having only tried to is worth 0.
        tried=most_tried if record.paid else max(0, most_tried),
        utility=record.utility,
    )


def _best(worths: Iterable[int]) -> int:
    """The best of these, or 0: nothing has to be bought."""
    # At least 0 at every step, so that no step can lose by a business that need not be chosen.
    return max(0, max(worths, default=0))
