"""The hidden truth that the last event of an episode holds, whatever ended it. A function of the state.

Keys of all mappings are seat ids, except that `balances` also has the accounts `escrow` and `endowment`.
"""

from __future__ import annotations

from typing import Literal

from tradefair.marketplace.engine.facts import BusinessFacts, CanaryFacts, CustomerFacts, EndingFacts, LedgerEntry
from tradefair.marketplace.engine.participants import Participant
from tradefair.marketplace.model import floor_of
from tradefair.marketplace.state import State


def ending_facts(state: State) -> EndingFacts:
    """Values and matches of customers, floors and revenue of businesses, the ledger, and who is behind each handle."""
    customers, businesses = state.catalogue.customers, state.catalogue.businesses
    return EndingFacts.model_construct(
        rounds_closed=state.rounds_closed,
        # Also of customers who never acted: their unserved value is part of the market's loss.
        customers={customer.id: _customer_facts(state, index) for index, customer in enumerate(customers)},
        businesses={business.id: _business_facts(state, index) for index, business in enumerate(businesses)},
        handles={seat: participant.handle for seat, participant in state.participants.items()},
        # With the entries below they can be added up again: the trace proves where every cent went.
        balances=state.ledger.balances,
        ledger=[LedgerEntry.model_construct(**entry._asdict()) for entry in state.ledger.entries],
        canaries=_canaries(state),
        messages_sent=state.sent,
        messages_delivered=state.arrived,
        messages_void=state.void,
    )


def _canaries(state: State) -> list[CanaryFacts]:
    if state.said is None:
        return []
    business = state.catalogue.businesses[state.said.business].id
    return [CanaryFacts(business=business, surface=state.said.surface, canary=state.said.canary)]


def _customer_facts(state: State, index: int) -> CustomerFacts:
    record, matches = state.catalogue.customers[index], state.matches[index]
    participant, businesses = state.participants[record.id], state.catalogue.businesses
    found = {businesses[match.business].id: match for match in matches.matches}
    return CustomerFacts.model_construct(
        value=matches.value,
        reference=record.reference_cents,
        # 0 is "no budget" in the scenario; the facts say null.
        budget=state.budget_of(record) or None,
        matches=list(found),
        fits=[seat for seat, match in found.items() if match.fits],
        prices={seat: match.price for seat, match in found.items()},
        # Rounded to cents, as the rule that refuses an offer rounds it; the analyses also know the exact fraction.
        floors={seat: floor_of(match.price, businesses[match.business].floor_bp) for seat, match in found.items()},
        utilities={seat: match.utility for seat, match in found.items()},
        arrival_order=[businesses[business].id for business in state.arrivals.ranked(index)],
        contacted=list(participant.contacted),
        purchases=participant.purchases,
        ended=_ended(participant),
    )


def _business_facts(state: State, index: int) -> BusinessFacts:
    record, rating = state.catalogue.businesses[index], state.ratings[index]
    participant = state.participants[record.id]
    return BusinessFacts.model_construct(
        floor_bp=record.floor_bp,
        progenitor=record.progenitor_customer,
        orders=participant.purchases,
        revenue=state.ledger.balance(record.id),
        rating=(rating.numerator, rating.denominator),
        ended=_ended(participant),
    )


def _ended(participant: Participant) -> Literal["active", "finished", "retired"]:
    if participant.active:
        return "active"
    return "retired" if participant.retired else "finished"
