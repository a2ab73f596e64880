"""What a seat may see of proposals: its own with all terms, compared with its request, or checked before they are sent.

Comparisons rest on what a proposal says; hidden truth never enters them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradefair.contract import IllegalAction, SeatId
from tradefair.contract.money import currency
from tradefair.marketplace.answers.results import (
    PAGE_ROWS,
    CheckedClaim,
    CheckedLine,
    ComparedOffer,
    Comparison,
    LineView,
    Pending,
    ProposalCheck,
    ProposalPage,
    ProposalView,
    Refusal,
)
from tradefair.marketplace.engine.participants import Participant
from tradefair.marketplace.engine.proposals import Line, Proposal, ProposalState
from tradefair.marketplace.engine.requirements import counterpart_behind, known_proposal, terms_for
from tradefair.marketplace.model import CUSTOMER, Customer, floor_of, folded
from tradefair.marketplace.state import State
from tradefair.trading.answers import json_bytes, rows_fitting

_MAX_COMPARED = 20
# Without a list of proposals the caller cannot know how long the answer gets; with one it has chosen.
_DEFAULT_BYTES = 8_000


# --- lists ----------------------------------------------------------------------------------------------------------


def listed(
    state: State, seat: SeatId, *, step: ProposalState | None, counterpart: str | None, after: int, at_most: int | None
) -> ProposalPage:
    """The seat's proposals numbered above `after`, in its order, only those in state `step` or with `counterpart`.

    At most `at_most` rows, or as many of `PAGE_ROWS` as fit. IllegalAction: unknown_id, too_many_rows.
    """
    own = state.participants[seat]
    other = None if counterpart is None else counterpart_behind(state, own, counterpart)
    found: list[ProposalView] = []
    wanted = at_most or PAGE_ROWS
    for number, offer in _numbered(state, own, after):
        if (step is None or offer.state == step) and (other is None or other.seat in (offer.business, offer.customer)):
            found.append(_view(state, own, number, offer))
            # One more than wanted: it tells that there is more.
            if len(found) > wanted:
                break
    rows = rows_fitting(found[:wanted], at_most, "max")
    return ProposalPage.model_construct(
        proposals=rows, next_cursor=rows[-1].number if rows else after, more=len(rows) < len(found)
    )


def _numbered(state: State, own: Participant, after: int) -> Iterator[tuple[int, Proposal]]:
    """The seat's proposals with their numbers, from `after` + 1; those that a business has queued come last."""
    # Queued offers are not in `proposals` yet. At the close they are entered in this order and keep their numbers.
    names = own.offers
    yield from ((index + 1, state.proposals[names[index]]) for index in range(after, len(names)))
    queued = [act.offer for act in own.queue if act.offer is not None]
    for number, offer in enumerate(queued, len(names) + 1):
        if number > after:
            yield number, offer


def _view(state: State, own: Participant, number: int, offer: Proposal) -> ProposalView:
    to_customer = own.role == CUSTOMER
    other = state.participants[offer.business if to_customer else offer.customer]
    return ProposalView.model_construct(
        number=number,
        arrival_number=number if to_customer else None,
        proposal=offer.id,
        counterpart=other.handle,
        state=offer.state,
        rounds_left=_rounds_left(state, offer),
        sent_round=offer.sent,
        lines=[
            LineView.model_construct(item=line.item, quantity=line.quantity, unit_price=currency(line.unit_cents))
            for line in offer.terms.lines
        ],
        total=currency(offer.terms.total),
        claims=list(offer.terms.claims),
        note=offer.note,
        reason=offer.reason if offer.state in ("rejected", "withdrawn") else None,
        pending=_pending(own, offer),
    )


def _rounds_left(state: State, offer: Proposal) -> int | None:
    if offer.state != "open" or offer.expires is None:
        return None
    # An offer can outlive the market: the last round is the last in which it can be paid.
    return min(offer.expires, state.scenario.rounds_max) - state.clock.round + 1


def _pending(own: Participant, offer: Proposal) -> Pending | None:
    for act in own.queue:
        if act.proposal == offer.id and act.kind in ("pay", "reject", "withdraw"):
            return act.kind
    return None


# --- comparison -----------------------------------------------------------------------------------------------------


def compared(state: State, seat: SeatId, names: Sequence[str] | None) -> Comparison:
    """Named proposals, or all open ones, compared with the request, in order of delivery.

    IllegalAction: unknown_id, too_many_rows.
    """
    own = state.participants[seat]
    if names is None:
        offers = [offer for offer in state.live(seat) if offer.state == "open"]
        if len(offers) > _MAX_COMPARED:
            raise IllegalAction(
                "too_many_rows",
                f"more than {_MAX_COMPARED} proposals are open",
                hint="name at most 20 proposals; view_proposals(state='open') lists them",
            )
    else:
        offers = [known_proposal(state, own, name) for name in dict.fromkeys(names)]
    # As the customer got them: an order of its own list of names would hide the effect of arrival.
    arrived = {name: position for position, name in enumerate(own.offers)}
    offers.sort(key=lambda offer: arrived[offer.id])
    customer = state.catalogue.customers[own.index]
    rows = [_against(state, customer, offer) for offer in offers]
    open_rows = [row for row in rows if row.state == "open" and not row.missing]
    answer = Comparison.model_construct(
        offers=rows,
        cheapest_covering=_cheapest(open_rows),
        cheapest_covering_and_claimed=_cheapest([row for row in open_rows if not row.claims_missing]),
    )
    if names is None and json_bytes(answer) > _DEFAULT_BYTES:
        raise IllegalAction("too_many_rows", "the answer would exceed 8 kB", hint="name some of the proposals")
    return answer


def _against(state: State, customer: Customer, offer: Proposal) -> ComparedOffer:
    scenario, terms = state.scenario, offer.terms
    quantities = {folded(line.item): line.quantity for line in terms.lines}
    claimed = set(map(folded, terms.claims))
    missing = [want.item for want in customer.wants if quantities.get(folded(want.item), 0) < want.quantity]
    # By claim only: whether a claim is true is hidden, and a comparison must not tell it.
    unclaimed = [amenity for amenity in customer.amenities if folded(amenity) not in claimed]
    wanted = {folded(want.item) for want in customer.wants}
    over = terms.total - customer.reference_cents
    return ComparedOffer.model_construct(
        proposal=offer.id,
        counterpart=state.participants[offer.business].handle,
        state=offer.state,
        total=currency(terms.total),
        covered=len(customer.wants) - len(missing),
        missing=len(missing),
        # Lines beyond the request only cost; they make no offer fit better.
        surplus_lines=len(quantities.keys() - wanted),
        claims_met=len(customer.amenities) - len(unclaimed),
        claims_missing=len(unclaimed),
        missing_items=missing if scenario.structured_request else None,
        missing_amenities=unclaimed if scenario.structured_request else None,
        over_reference=currency(over) if scenario.reveal_value == "reference_total" else None,
        rounds_left=_rounds_left(state, offer),
    )


def _cheapest(rows: Sequence[ComparedOffer]) -> str | None:
    """The id of the cheapest, ties to the one delivered first; None without any."""
    best = min(rows, key=lambda row: row.total, default=None)
    return None if best is None else best.proposal


# --- before it is sent ----------------------------------------------------------------------------------------------


def checked(
    state: State, seat: SeatId, to: str, lines: Sequence[Line], total: int | None, claims: Sequence[str]
) -> ProposalCheck:
    """What `send_proposal` would make of these terms; never refuses, the refusal is part of the answer."""
    own = state.participants[seat]
    business = state.catalogue.businesses[own.index]
    prices = [business.prices.get(folded(line.item)) for line in lines]
    summed = sum(line.quantity * line.unit_cents for line in lines)
    list_total = sum(line.quantity * (price or 0) for line, price in zip(lines, prices, strict=True))
    stands = summed if total is None else total
    floor = floor_of(list_total, business.floor_bp) if state.scenario.price_rule == "floor" else None
    # The same check as the action's own, so that the two can never disagree.
    error: Refusal | None = None
    try:
        terms_for(state, seat, to, lines, total, claims)
    except IllegalAction as refused:
        error = Refusal(code=refused.info.code, message=refused.info.message, hint=refused.info.hint)
    other = state.by_handle.get(to)
    return ProposalCheck(
        lines=[
            CheckedLine(
                item=line.item,
                on_menu=price is not None,
                list_price=None if price is None else currency(price),
                difference=None if price is None else currency(line.unit_cents - price),
            )
            for line, price in zip(lines, prices, strict=True)
        ],
        sum=currency(summed),
        total=currency(stands),
        total_matches=stands == summed,
        list_total=currency(list_total),
        floor=None if floor is None else currency(floor),
        above_floor=None if floor is None else stands >= floor,
        claims=[CheckedClaim(claim=claim, true=folded(claim) in business.offered) for claim in claims],
        conversation=other is not None and other.role == CUSTOMER and state.in_conversation(own, to),
        acceptable=error is None,
        error=error,
    )
