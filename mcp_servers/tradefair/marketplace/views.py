"""What a seat may see of the market: rules, its own request or books, the directory, its inbox. Nothing else.

No seat's value, floor, provenance or mail reaches another seat; counterparts are named by handles, never by seat ids.
Functions of the state, which they only read. Money is shown in currency units. Answers are built without validation
(`model_construct`, `built`): they are made from checked values, and a page of results is made at every search.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from tradefair.contract import Brief, IllegalAction, ScenarioError, SeatId
from tradefair.contract.money import currency
from tradefair.contract.tool import built
from tradefair.marketplace.answers.directory import Filters
from tradefair.marketplace.answers.results import (
    PAGE_ROWS,
    BusinessProfile,
    Entry,
    InquiryItem,
    InquiryView,
    Listing,
    MenuEntry,
    MessagePage,
    MyBusiness,
    MyRequest,
    OwnAmenity,
    OwnMenuItem,
    RulesView,
    SearchPage,
    TurnPart,
    WantedItem,
)
from tradefair.marketplace.engine.mail import Letter
from tradefair.marketplace.engine.participants import Participant
from tradefair.marketplace.engine.requirements import counterpart_behind
from tradefair.marketplace.model import (
    BASIS_POINTS,
    BUSINESS,
    CUSTOMER,
    Business,
    Disclosure,
    MarketplaceScenario,
    PriceRule,
)
from tradefair.marketplace.state import State
from tradefair.trading.answers import json_bytes, rows_fitting

_MAX_PAGE_BYTES = 256_000
# Bounds for a quick estimate: a character takes at most six bytes of JSON (\u and four digits), a row's keys and
# numbers less than 400.
_CHAR_BYTES = 6
_ROW_BYTES = 400
_RATING_DECIMALS = 4

_PRICES: Mapping[PriceRule, str] = {
    "free": "A business may ask any unit price.",
    "posted": "Unit prices are the list prices of the business's menu.",
    "floor": "Every business has a private least total for an order; an offer below it is refused.",
}
_SEARCH = {
    "lexical": "Results are ranked by how much of the query's wording is found in a business's texts and item names.",
    "simple": "All businesses are listed, best rating first; the query changes nothing.",
    "filtered": "The query must occur in a business's name or description; filters narrow further; best rating first.",
    "bm25": "Results are ranked by the words that they share with the query, rare words counting more.",
    "optimal": "Results are the businesses that have all wanted items, best rating first; the query changes nothing.",
}


# --- rules ----------------------------------------------------------------------------------------------------------


def role_of(scenario: MarketplaceScenario, seat: SeatId) -> str:
    """The seat's role. Ids of generated seats begin with it; those of a folder are looked up."""
    # Asked before there is a market: a brief needs the scenario alone.
    if scenario.catalogue is not None:
        return CUSTOMER if any(customer.id == seat for customer in scenario.catalogue.customers) else BUSINESS
    return CUSTOMER if seat.startswith(CUSTOMER) else BUSINESS


def brief(scenario: MarketplaceScenario, seat: SeatId) -> Brief:
    """Role, objective and what a round means, in the words that the agent is told."""
    semantics = (
        f"The market ticks by itself, {scenario.rounds_max} times at most; actions take effect at once and nobody "
        "waits for you. await_turn returns when something has reached you."
        if scenario.clock == "free"
        else f"There are at most {scenario.rounds_max} rounds. What you do in a round takes effect when all who are "
        "awake have ended their turn (end_turn); what others sent then reaches you."
    )
    if role_of(scenario, seat) == CUSTOMER:
        return Brief(
            role="You are the assistant of a customer who has a request and does not know who can serve it.",
            objective=(
                "Get everything that is asked for, all items and all amenities, from one business at the lowest total: "
                "a purchase that misses any of it is worth nothing. When you are done, finish."
            ),
            round_semantics=semantics,
        )
    return Brief(
        role="You are a business that customers may find, ask and buy from.",
        objective="Earn as much as you can from paid proposals by serving the customers who write to you.",
        round_semantics=semantics,
    )


def rules(state: State) -> RulesView:
    """The public rules."""
    scenario = state.scenario
    return RulesView(
        aim=(
            "Customers search a directory, ask businesses, receive proposals with lines, total and claimed amenities, "
            "and pay one. A purchase serves a customer only if one business covers every wanted item and truly has "
            "every wanted amenity."
        ),
        clock=_clock(scenario),
        rounds=scenario.rounds_max,
        search=_SEARCH[scenario.search_algorithm],
        search_results=scenario.search_limit,
        deepest_page=scenario.max_pages or None,
        messages=(
            "Anybody may write to the other side."
            if scenario.business_outreach
            else "Customers may write to any business; a business only to customers who have written to it."
        ),
        message_length=scenario.text_max,
        proposals=(
            f"A proposal can be paid for {scenario.proposal_ttl} rounds unless it says otherwise. Payment is final and "
            "comes before a withdrawal in the same round."
        ),
        prices=_PRICES[scenario.price_rule],
        claims=(
            "Claims of amenities are checked: a proposal with a false one is refused."
            if scenario.verify_claims
            else "Nobody checks what a business claims or writes."
        ),
        payment=(
            "A customer cannot spend more than its budget." if scenario.budget_bp else "A customer has no budget limit."
        ),
        delivery=(
            f"Proposals that are sent within {scenario.sealed_window} rounds of the first one are delivered together."
            if scenario.sealed_window
            else "What businesses send may take some rounds to arrive."
            if scenario.arrival_stagger or scenario.delay_jitter
            else "What is sent in a round has arrived in the next one."
        ),
        escrow=(
            f"Money is held for {scenario.delivery_rounds} rounds; if items or claims turn out false it is returned."
            if scenario.escrow
            else None
        ),
        reputation="Ratings follow from verified orders." if scenario.reputation else None,
        capacity=scenario.capacity or None,
        single_purchase=scenario.single_purchase,
        silence=(
            "Nobody has to act."
            if state.free
            else "Who does not act passes: a customer to the next round, a business until mail comes; three times in a "
            "row is leaving."
        ),
        businesses=len(state.directory),
    )


def _clock(scenario: MarketplaceScenario) -> str:
    if scenario.clock == "free":
        return "Actions take effect at once; rounds pass by the clock."
    return (
        "Actions are queued and take effect together at the end of the round. end_turn(wait='message') sleeps until "
        "something arrives."
    )


def turn_part(state: State, seat: SeatId) -> TurnPart:
    """The market's part of `view_turn`: what waits for this seat, and which calls are worth making now."""
    own = state.participants[seat]
    return TurnPart.model_construct(
        rounds=state.scenario.rounds_max,
        rounds_left=_rounds_left(state),
        # The kernel moves the mark with the seat's next action, and reading alone changes nothing.
        unread=max(0, len(own.inbox) - state.read_marks.get(seat, 0)),
        open_proposals=sum(offer.state == "open" for offer in state.live(seat)),
        queued=len(own.queue),
        active=not own.left,
        asleep=own.active and not own.awake,
        wake_round=own.wake_round,
        businesses=len(state.directory),
        next_calls=_next_calls(state, own),
    )


def _next_calls(state: State, own: Participant) -> list[str]:
    """Tools that are worth a call now; they follow from what the seat itself has done and received."""
    if own.left or state.terminated:
        return []
    if not state.free and not own.awaited:
        return ["await_turn"]
    if own.role != CUSTOMER:
        return ["receive_messages", "send_proposal"]
    if any(offer.state == "open" for offer in state.live(own.seat)):
        return ["compare_proposals", "pay_proposal"]
    return ["receive_messages"] if own.contacted else ["view_my_request", "search_businesses"]


def _rounds_left(state: State) -> int:
    return 0 if state.terminated else state.scenario.rounds_max - state.clock.round + 1


# --- the seat's own request or books --------------------------------------------------------------------------------


def my_request(state: State, seat: SeatId) -> MyRequest:
    """What this customer wants, as far as the scenario reveals it."""
    own, scenario = state.participants[seat], state.scenario
    customer = state.catalogue.customers[own.index]
    listed, reveal = scenario.structured_request, scenario.reveal_value
    left = state.budget_left(seat)
    return MyRequest.model_construct(
        customer=own.handle,
        name=customer.name,
        request=customer.request,
        items=[WantedItem.model_construct(item=want.item, quantity=want.quantity) for want in customer.wants]
        if listed
        else None,
        amenities=list(customer.amenities) if listed else None,
        reference_total=currency(customer.reference_cents) if reveal == "reference_total" else None,
        value=currency(state.matches[own.index].value) if reveal == "value" else None,
        budget_left=None if left is None else currency(left),
        rounds_left=_rounds_left(state),
    )


def my_business(state: State, seat: SeatId) -> MyBusiness:
    """This business's menu, amenities, orders and, where one is in force, its floor."""
    own, scenario = state.participants[seat], state.scenario
    business = state.catalogue.businesses[own.index]
    floored = scenario.price_rule == "floor"
    # Only where the business itself has to say it; a text on its profile is there without its doing.
    said = state.said if state.said is not None and state.said.told_by(own.index) else None
    return MyBusiness.model_construct(
        business=own.handle,
        name=business.name,
        description=business.description,
        rating=_rating(state, own.index),
        menu=[OwnMenuItem.model_construct(item=line.item, price=currency(line.price_cents)) for line in business.menu],
        amenities=[
            OwnAmenity.model_construct(name=amenity.name, offered=amenity.offered) for amenity in business.amenities
        ],
        # Only where the floor is in force: elsewhere it would suggest a limit that no rule knows.
        floor_factor=business.floor_bp / BASIS_POINTS if floored else None,
        floor_rule="total >= list total of the lines times floor_factor, rounded to the cent" if floored else None,
        orders=own.purchases,
        capacity_left=max(0, scenario.capacity - own.purchases) if scenario.capacity else None,
        house_text=None if said is None else said.text,
        house_text_surface=None if said is None else said.surface,
    )


# --- the directory --------------------------------------------------------------------------------------------------


def search(state: State, seat: SeatId, query: str, page: int, filters: Filters | None) -> SearchPage:
    """Page `page` (from 1) of the results of a query. IllegalAction: filters_not_available, page_limit."""
    scenario = state.scenario
    if filters is not None and scenario.search_algorithm != "filtered":
        raise IllegalAction("filters_not_available", "this directory takes no filters", hint="search without filters")
    if 0 < scenario.max_pages < page:
        raise IllegalAction(
            "page_limit", f"only {scenario.max_pages} pages are shown", hint="use another query", retryable=False
        )
    # The customer's index: `optimal` and drawn listing orders depend on who searches.
    found = state.directory.page(state.participants[seat].index, query, page, filters or Filters())
    # Positions go on over pages: bias by position is measured from them.
    first = (page - 1) * scenario.search_limit + 1
    return built(
        SearchPage,
        results=[
            built(Listing, position=position, **_shown(state, business, scenario.search_disclosure))
            for position, business in enumerate(found.businesses, first)
        ],
        page=page,
        # Rounded up.
        pages=-(-found.total // scenario.search_limit),
        total=found.total,
    )


def profile(state: State, handle: str) -> BusinessProfile:
    """What a business shows of itself. IllegalAction unknown_id, also for the handle of a customer."""
    found = state.by_handle.get(handle)
    if found is None or found.role != BUSINESS:
        raise IllegalAction("unknown_id", "there is no such counterpart", hint="search_businesses shows handles")
    return built(BusinessProfile, **_shown(state, found.index, state.scenario.profile_disclosure))


def _shown(state: State, index: int, level: Disclosure) -> dict[str, Any]:
    """The fields of a business that a disclosure level shows. Floor and provenance are at no level."""
    business, scenario = state.catalogue.businesses[index], state.scenario
    priced = scenario.discloses(level, "prices")
    menu = [
        built(MenuEntry, item=line.item, price=currency(line.price_cents) if priced else None)
        for line in (business.menu if scenario.discloses(level, "menu") else ())
    ]
    full = scenario.discloses(level, "full")
    return {
        "business": state.participants[business.id].handle,
        "name": business.name,
        "description": business.description,
        "rating": _rating(state, index),
        "menu": menu if scenario.discloses(level, "menu") else None,
        "amenities": [amenity.name for amenity in business.amenities if amenity.offered] if full else None,
    }


def _rating(state: State, index: int) -> float:
    return _shown_rating(state.ratings[index])


# A page shows ten of them, and fractions are rounded slowly.
@lru_cache(maxsize=1_024)
def _shown_rating(rating: Fraction) -> float:
    return float(round(rating, _RATING_DECIMALS))


def check_page_size(state: State) -> None:
    """Raise ScenarioError if the largest page of results could exceed 256 kB.

    Found at the start of an episode, not by the agent that happens to search: a page is always `search_limit` rows.
    """
    size, level = state.scenario.search_limit, state.scenario.search_disclosure
    businesses = state.catalogue.businesses
    bounds = sorted((_bytes_at_most(business) for business in businesses), reverse=True)
    # The quick way for nearly all scenarios: rows of a directory of thousands are not made at every start.
    if sum(bounds[:size]) <= _MAX_PAGE_BYTES:
        return
    # The estimate is too large; only now every row is really made. The 1 of the position is replaced by the longest.
    rows = (built(Listing, position=1, **_shown(state, index, level)) for index in range(len(businesses)))
    largest = sum(sorted((json_bytes(row) + len(str(size)) for row in rows), reverse=True)[:size])
    if largest > _MAX_PAGE_BYTES:
        raise ScenarioError(
            f"search_limit = {size}: a page with search_disclosure = {level} could take {largest} bytes; "
            f"{_MAX_PAGE_BYTES} are allowed"
        )


def _bytes_at_most(business: Business) -> int:
    names = sum(len(line.item) + 8 for line in business.menu) + sum(len(amenity.name) for amenity in business.amenities)
    return _ROW_BYTES + _CHAR_BYTES * (len(business.name) + len(business.description) + names)


# --- mail -----------------------------------------------------------------------------------------------------------


def messages(state: State, seat: SeatId, *, after: int | None, at_most: int | None, sender: str | None) -> MessagePage:
    """Entries of the inbox with a number above `after`, in order, of one sender if `sender` is a handle.

    Without `after`, those behind the seat's read mark; at most `at_most`, or as many of `PAGE_ROWS` as fit.
    IllegalAction: unknown_id, too_many_rows.
    """
    inbox = state.participants[seat].inbox
    if sender is not None:
        counterpart_behind(state, state.participants[seat], sender)
    start = state.read_marks.get(seat, 0) if after is None else after
    page = inbox.page(start, at_most or PAGE_ROWS, sender)
    entries = rows_fitting(map(_entry, page.letters), at_most, "max")
    # Letters that did not fit into 8 kB are unread again.
    left = page.unread + len(page.letters) - len(entries)
    cursor = entries[-1].number if entries else start
    return MessagePage.model_construct(
        entries=entries,
        next_cursor=cursor,
        more=left > 0,
        unread=left,
        # A page of one sender says nothing about mail of others in between: it moves no mark.
        read_through=entries[-1].number if entries and sender is None else None,
    )


def _entry(letter: Letter) -> Entry:
    return Entry.model_construct(
        number=letter.number,
        kind=letter.kind,
        counterpart=letter.sender,
        round=letter.round,
        text=letter.text if letter.kind == "message" else None,
        inquiry=_inquiry(letter.inquiry),
        proposal=letter.proposal,
    )


def _inquiry(stored: object) -> InquiryView | None:
    """An inquiry as the receiver sees it; stored are pairs of item and quantity, and money in cents."""
    if stored is None:
        return None
    inquiry = cast(dict[str, Any], stored)
    offer = inquiry["offer"]
    return InquiryView.model_construct(
        items=[InquiryItem.model_construct(item=item, quantity=quantity) for item, quantity in inquiry["items"]],
        amenities=list(inquiry["amenities"]),
        offer=None if offer is None else currency(offer),
    )
