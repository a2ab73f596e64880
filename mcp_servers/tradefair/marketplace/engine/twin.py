"""A marketplace with the same past for one seat, in which everything that is private to other seats differs.

For the conformance kit: until the next closure this seat must see the same in both, and be able to do the same. What
the seat has been shown therefore stays: handles, ratings, items that the privileged search may show, disclosed prices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tradefair.contract import SeatId
from tradefair.marketplace.engine.ledger import ENDOWMENT
from tradefair.marketplace.engine.mail import Inbox
from tradefair.marketplace.engine.participants import Participant, Post
from tradefair.marketplace.engine.proposals import Proposal
from tradefair.marketplace.model import BASIS_POINTS, CUSTOMER, MAX_CENTS, Business, Catalogue, Customer
from tradefair.marketplace.state import State

M = TypeVar("M", bound=State)


def perturbed(market: M, seat: SeatId, salt: int) -> M:
    """A copy in which the other seats have other requests, floors, undisclosed prices and amenities, money, mail and
    queued actions.

    Different values of `salt` give different copies. The copy shares nothing mutable with `market`.
    """
    own = market.participants[seat]
    twin = type(market)(
        # The index stays: results of a search, and their ranks, have been seen.
        market.scenario,
        _catalogue(market, own, salt),
        market.seed,
        indexed=market.indexed,
        said=market.said,
    )
    # Copies of all, also of this seat's own: a payment in one market must not close the offer in the other.
    twin.proposals = {name: _proposal(offer, seat) for name, offer in market.proposals.items()}
    twin.participants = {name: _participant(participant, own) for name, participant in market.participants.items()}
    twin.by_handle = {participant.handle: participant for participant in twin.participants.values()}
    twin.ledger = market.ledger.copy()
    # Through the ledger, so that the laws of conservation hold in the copy too.
    for other in twin.participants:
        # The seat's own account is what it can see: it stays to the cent.
        if other != seat:
            twin.ledger.transfer(0, ENDOWMENT, other, 100 * (1 + salt), "budget")
    # After the proposals: posts on their way refer to the copies of their offers.
    twin.take_past(market, [salt], lambda post: _post(twin, post, seat))
    return twin


def _catalogue(market: State, own: Participant, salt: int) -> Catalogue:
    """The data with the private fields of all other records changed."""
    customers = tuple(
        customer if customer.id == own.seat else _customer(customer, salt) for customer in market.catalogue.customers
    )
    businesses = tuple(
        business if business.id == own.seat else _business(market, own, business, salt)
        for business in market.catalogue.businesses
    )
    return Catalogue.model_construct(customers=customers, businesses=businesses)


def _customer(customer: Customer, salt: int) -> Customer:
    """Another request, other quantities and prices, no amenities.

    The items stay: the search `optimal` may already have shown which businesses they match.
    """
    wants = tuple(
        replace(want, mean_cents=want.mean_cents + 1 + salt, quantity=want.quantity % 1_000 + 1)
        for want in customer.wants
    )
    return Customer.model_construct(
        id=customer.id, name=f"{customer.name} {salt}", request=f"{customer.request} {salt}", wants=wants, amenities=()
    )


def _business(market: State, own: Participant, business: Business, salt: int) -> Business:
    """Another floor, and other prices and amenities where this seat is not shown them."""
    # A profile discloses at least as much as search does, so that what it hides has been seen nowhere.
    where = market.scenario.profile_disclosure
    fields = {name: getattr(business, name) for name in Business.model_fields}
    # Never 0 and never above the list price: a floor out of bounds would fail the record's own checks.
    fields["floor_bp"] = (business.floor_bp + salt) % BASIS_POINTS + 1
    if own.role != CUSTOMER or not market.scenario.discloses(where, "prices"):
        fields["menu"] = tuple(
            replace(line, price_cents=(line.price_cents + 100 + salt) % MAX_CENTS) for line in business.menu
        )
    if own.role != CUSTOMER or not market.scenario.discloses(where, "full"):
        fields["amenities"] = tuple(replace(amenity, offered=not amenity.offered) for amenity in business.amenities)
    return Business.model_construct(**fields)


def _proposal(offer: Proposal, seat: SeatId) -> Proposal:
    """A copy of an offer, with another total and note unless this seat is a party to it."""
    copy = replace(offer)
    # `replace` copies the reference: both markets would write one history.
    copy.history = list(offer.history)
    if seat not in (offer.business, offer.customer):
        copy.terms = offer.terms._replace(total=offer.terms.total + 1)
        copy.note = f"{offer.note}?"
    return copy


def _participant(participant: Participant, own: Participant) -> Participant:
    """A copy of a seat; another seat than this one has nothing queued."""
    same = participant.seat == own.seat
    # Offers that are queued are not yet among the proposals: they are copied here, or both markets would move them.
    queue = [act if act.offer is None else act._replace(offer=replace(act.offer)) for act in participant.queue]
    return replace(
        participant,
        inbox=participant.inbox.copy() if same else _inbox(participant.inbox, own.handle),
        queue=queue if same else [],
        offers=list(participant.offers),
        numbers=dict(participant.numbers),
        contacted=dict(participant.contacted),
    )


def _inbox(inbox: Inbox, known: str) -> Inbox:
    """A copy of another seat's inbox, with other texts of third parties; what this seat (`known`) sent stays."""
    copy = Inbox()
    for letter in inbox.page(0, len(inbox)).letters:
        text = letter.text if letter.sender == known or letter.kind != "message" else f"{letter.text}?"
        copy.deliver(
            letter.kind, letter.sender, letter.round, proposal=letter.proposal, text=text, inquiry=letter.inquiry
        )
    return copy


def _post(twin: State, post: Post, seat: SeatId) -> Post:
    """Mail on its way, with the twin's copy of an offer, or another text where a third party wrote it."""
    act = post.act
    if act.offer is not None:
        return post._replace(act=act._replace(offer=twin.proposals[act.proposal]))
    return post if post.sender == seat else post._replace(act=act._replace(text=f"{act.text}?"))
