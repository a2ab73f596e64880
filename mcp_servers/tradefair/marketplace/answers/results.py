"""What the market's tools answer. Money is a number in currency units with at most two decimals; handles name others.

Whatever a counterpart may have written is marked: names, descriptions, items, amenities, texts, notes and reasons.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from tradefair.contract import Result, Untrusted
from tradefair.marketplace.engine.mail import LetterKind
from tradefair.marketplace.engine.proposals import Flag, ProposalState

Theirs: TypeAlias = Annotated[str, Untrusted()]
Taken: TypeAlias = Literal["queued", "done"]
"""queued: takes effect at the close of the round; done: it has (free clock)."""
Pending: TypeAlias = Literal["pay", "reject", "withdraw"]

PAGE_ROWS = 20
"""Rows of a list when the caller gives no number."""


# --- the market's part of the kernel's tools ------------------------------------------------------------------------


class RulesView(Result):
    """The rules of this market, in words, and the switches that matter to play."""

    aim: str
    clock: str
    rounds: int
    search: str
    search_results: int
    deepest_page: int | None
    messages: str
    message_length: int
    proposals: str
    prices: str
    claims: str
    payment: str
    delivery: str
    escrow: str | None
    reputation: str | None
    capacity: int | None
    single_purchase: bool
    silence: str
    businesses: int


class TurnPart(Result):
    """The market's part of `view_turn`: open proposals can be acted upon, unread entries are after the read mark."""

    rounds: int
    rounds_left: int
    unread: int
    open_proposals: int
    queued: int
    active: bool
    asleep: bool
    wake_round: int | None
    businesses: int
    next_calls: list[str]


# --- the directory --------------------------------------------------------------------------------------------------


class MenuEntry(Result):
    """An item that a business sells; the price of one is null where prices are not disclosed."""

    item: Theirs
    price: float | None


class Listing(Result):
    """One search result; menu and amenities are null where they are not disclosed."""

    position: int
    business: str
    name: Theirs
    description: Theirs
    rating: float
    menu: list[MenuEntry] | None
    amenities: list[Theirs] | None


class SearchPage(Result):
    """Results in order; `position` counts from 1 over all pages, `total` counts all results."""

    results: list[Listing]
    page: int
    pages: int
    total: int


class BusinessProfile(Result):
    """What a business shows; menu and amenities are null where they are not disclosed."""

    business: str
    name: Theirs
    description: Theirs
    rating: float
    menu: list[MenuEntry] | None
    amenities: list[Theirs] | None


# --- what is one's own ----------------------------------------------------------------------------------------------


class WantedItem(Result):
    """One line of the order."""

    item: str
    quantity: int


class MyRequest(Result):
    """What the customer wants. Lists, totals and budget are null where the scenario does not reveal them.

    `reference_total` is the order at mean prices; `value` is what a fitting purchase is worth.
    """

    customer: str
    name: str
    request: str
    items: list[WantedItem] | None
    amenities: list[str] | None
    reference_total: float | None
    value: float | None
    budget_left: float | None
    rounds_left: int


class OwnMenuItem(Result):
    """An item of one's own and the list price of one."""

    item: str
    price: float


class OwnAmenity(Result):
    """An amenity and whether this business truly has it."""

    name: str
    offered: bool


class MyBusiness(Result):
    """The business's own books; the floor is null unless it is in force, `capacity_left` null when unlimited.

    `house_text` is what a manipulating business is to say, and `house_text_surface` where; null for the others.
    """

    business: str
    name: str
    description: str
    rating: float
    menu: list[OwnMenuItem]
    amenities: list[OwnAmenity]
    floor_factor: float | None
    floor_rule: str | None
    orders: int
    capacity_left: int | None
    house_text: str | None
    house_text_surface: str | None


# --- mail -----------------------------------------------------------------------------------------------------------


class InquiryItem(Result):
    """An item that a customer asks for."""

    item: Theirs
    quantity: int


class InquiryView(Result):
    """What a customer asks for; `offer` is a total that it would pay, not binding."""

    items: list[InquiryItem]
    amenities: list[Theirs]
    offer: float | None


class Entry(Result):
    """One inbox entry: a message with its text, or a notice about a proposal, which holds nobody's words."""

    number: int
    kind: LetterKind
    counterpart: str
    round: int
    text: Annotated[str | None, Untrusted()]
    inquiry: InquiryView | None
    proposal: str | None


class MessagePage(Result):
    """Entries in order; read on with after = next_cursor while `more`. `unread` counts the entries behind it.

    The seat's next action marks everything up to `read_through` as read; null for the mail of one sender only.
    """

    entries: list[Entry]
    next_cursor: int
    more: bool
    unread: int
    # Null with `sender`: a page of one counterpart says nothing about mail of others in between.
    read_through: int | None


# --- proposals ------------------------------------------------------------------------------------------------------


class LineView(Result):
    """One line of a proposal; `unit_price` is for one."""

    item: Theirs
    quantity: int
    unit_price: float


class ProposalView(Result):
    """A proposal with all its terms.

    `number` counts the seat's proposals: by delivery for a customer (and then `arrival_number` is the same), by sending
    for a business. `rounds_left` are the rounds in which it can still be paid, this one included; null unless it is
    open. `pending` is what this seat has queued. `reason` was given with a withdrawal or rejection.
    """

    number: int
    arrival_number: int | None
    proposal: str
    counterpart: str
    state: ProposalState
    rounds_left: int | None
    sent_round: int
    lines: list[LineView]
    total: float
    claims: list[Theirs]
    note: Theirs
    reason: Annotated[str | None, Untrusted()]
    pending: Pending | None


class ProposalPage(Result):
    """Proposals in the seat's order; read on with after = next_cursor while `more`."""

    proposals: list[ProposalView]
    next_cursor: int
    more: bool


class ComparedOffer(Result):
    """A proposal held against the request, by its own claims.

    Counts of wanted items (covered in full or not), of lines beyond the request and of wanted amenities (claimed or
    not); names of what is missing are null where the request is prose only.
    """

    proposal: str
    counterpart: str
    state: ProposalState
    total: float
    covered: int
    missing: int
    surplus_lines: int
    claims_met: int
    claims_missing: int
    # Names only where the request is given as lists: they would otherwise tell what the prose means.
    missing_items: list[str] | None
    missing_amenities: list[str] | None
    # Only where the scenario reveals the reference total; elsewhere it would give it away.
    over_reference: float | None
    rounds_left: int | None


class Comparison(Result):
    """Proposals in delivery order, and the cheapest open ones that cover all, or cover all and claim all."""

    offers: list[ComparedOffer]
    cheapest_covering: str | None
    cheapest_covering_and_claimed: str | None


class CheckedLine(Result):
    """A line beside the own menu: list price of one and what this line's price is above it."""

    item: str
    on_menu: bool
    list_price: float | None
    difference: float | None


class CheckedClaim(Result):
    """A claim and whether it is true of this business."""

    claim: str
    true: bool


class Refusal(Result):
    """A refusal as `send_proposal` would give it."""

    code: str
    message: str
    hint: str


class ProposalCheck(Result):
    """What `send_proposal` would make of the same arguments; `floor` is null unless it is in force."""

    lines: list[CheckedLine]
    sum: float
    total: float
    total_matches: bool
    list_total: float
    floor: float | None
    above_floor: bool | None
    claims: list[CheckedClaim]
    conversation: bool
    acceptable: bool
    # The first error only, as the action itself would report it.
    error: Refusal | None


# --- receipts -------------------------------------------------------------------------------------------------------


class MessageReceipt(Result):
    """Who will get the message."""

    status: Taken
    round: int
    to: list[str]
    characters: int


class ProposalReceipt(Result):
    """The proposal as it will be delivered; `flags` say what lenient rules let pass."""

    status: Taken
    round: int
    proposal: str
    to: str
    total: float
    expires_in: int
    flags: list[Flag]


class WithdrawReceipt(Result):
    """The proposal that will be withdrawn, unless it is paid in the same round."""

    status: Taken
    round: int
    proposal: str


class PaymentReceipt(Result):
    """The payment; `budget_left` counts it, null without a budget."""

    status: Taken
    round: int
    proposal: str
    total: float
    budget_left: float | None


class RejectReceipt(Result):
    """The proposal that will be rejected."""

    status: Taken
    round: int
    proposal: str


class EndTurnReceipt(Result):
    """How the seat waits; `wake_round` is when at the latest. not_needed: this clock waits for nobody."""

    status: Literal["ended", "not_needed"]
    wait: Literal["next_round", "message"]
    wake_round: int | None


class FinishReceipt(Result):
    """The seat leaves for good; what it has queued still takes effect."""

    status: Taken
    round: int
