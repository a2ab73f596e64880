"""A marketplace with the same past for one seat, in which everything that is private to others differs.

For the conformance kit: whatever this seat can see or do must be the same in both until the next closure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tradefair.contract.seats import SeatId
from tradefair.marketplace.engine.ledger import ENDOWMENT
from tradefair.marketplace.engine.mail import Inbox
from tradefair.marketplace.engine.participants import Participant, Post
from tradefair.marketplace.engine.proposals import Proposal
from tradefair.marketplace.model import BASIS_POINTS, CUSTOMER, MAX_CENTS, Business, Catalogue, Customer
from tradefair.marketplace.state import State

M = TypeVar("M", bound=State)


def perturbed(market: M, seat: SeatId, salt: int) -> M:
    """A copy with other requests, floors, undisclosed prices and amenities, money, mail and sealed actions of all
    other seats."""
    own = market.participants[seat]
    twin = type(market)(
        market.scenario, _catalogue(market, own, salt), market.seed, indexed=market.indexed, said=market.said
    )
    twin.proposals = {name: _proposal(offer, seat) for name, offer in market.proposals.items()}
    twin.participants = {name: _participant(each, own) for name, each in market.participants.items()}
    twin.by_handle = {each.handle: each for each in twin.participants.values()}
    twin.ledger = market.ledger.copy()
    for other in twin.participants:
        if other != seat:
            twin.ledger.transfer(0, ENDOWMENT, other, 100 * (1 + salt), "budget")
    twin.take_past(market, [salt], lambda post: _post(twin, post, seat))
    return twin


def _catalogue(market: State, own: Participant, salt: int) -> Catalogue:
    customers = tuple(each if each.id == own.seat else _customer(each, salt) for each in market.catalogue.customers)
    businesses = tuple(
        each if each.id == own.seat else _business(market, own, each, salt) for each in market.catalogue.businesses
    )
    return Catalogue.model_construct(customers=customers, businesses=businesses)


def _customer(customer: Customer, salt: int) -> Customer:
    """Another request; the items stay, because whom they match may be shown by the privileged search."""
    wants = tuple(
        want.model_copy(update={"mean_cents": want.mean_cents + 1 + salt, "quantity": want.quantity % 1_000 + 1})
        for want in customer.wants
    )
    return Customer.model_construct(
        id=customer.id, name=f"{customer.name} {salt}", request=f"{customer.request} {salt}", wants=wants, amenities=()
    )


def _business(market: State, own: Participant, business: Business, salt: int) -> Business:
    """Another floor, and other prices and amenities where this seat is not shown them."""
    where = market.scenario.profile_disclosure
    fields = {name: getattr(business, name) for name in Business.model_fields}
    fields["floor_bp"] = (business.floor_bp + salt) % BASIS_POINTS + 1
    if own.role != CUSTOMER or not market.scenario.discloses(where, "prices"):
        fields["menu"] = tuple(
            line.model_copy(update={"price_cents": (line.price_cents + 100 + salt) % MAX_CENTS})
            for line in business.menu
        )
    if own.role != CUSTOMER or not market.scenario.discloses(where, "full"):
        fields["amenities"] = tuple(
            each.model_copy(update={"offered": not each.offered}) for each in business.amenities
        )
    return Business.model_construct(**fields)


def _proposal(offer: Proposal, seat: SeatId) -> Proposal:
    copy = replace(offer)
    copy.history = list(offer.history)
    if seat not in (offer.business, offer.customer):
        copy.terms = offer.terms._replace(total=offer.terms.total + 1)
        copy.note = f"{offer.note}?"
    return copy


def _participant(each: Participant, own: Participant) -> Participant:
    mine = each.seat == own.seat
    queue = [act if act.offer is None else act._replace(offer=replace(act.offer)) for act in each.queue]
    return replace(
        each,
        inbox=each.inbox.copy() if mine else _inbox(each.inbox, own.handle),
        queue=queue if mine else [],
        offers=list(each.offers),
        numbers=dict(each.numbers),
        contacted=dict(each.contacted),
    )


def _inbox(inbox: Inbox, known: str) -> Inbox:
    """Other words of third parties; what came from the seat itself stays."""
    copy = Inbox()
    for letter in inbox.page(0, len(inbox)).letters:
        text = letter.text if letter.sender == known or letter.kind != "message" else f"{letter.text}?"
        copy.deliver(
            letter.kind, letter.sender, letter.round, proposal=letter.proposal, text=text, inquiry=letter.inquiry
        )
    return copy


def _post(twin: State, post: Post, seat: SeatId) -> Post:
    act = post.act
    if act.offer is not None:
        return post._replace(act=act._replace(offer=twin.proposals[act.proposal]))
    return post if post.sender == seat else post._replace(act=act._replace(text=f"{act.text}?"))
