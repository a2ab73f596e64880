"""Proposals: what a business may offer, and the only ways in which an offer's state can change (section 6.1). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tradefair.contract import IllegalAction
from tradefair.contract.chain import canonical
from tradefair.marketplace.model import Business, Customer, TermsRules, floor_of, folded

ProposalState: TypeAlias = Literal[
    "in_transit", "open", "paid", "delivered", "refunded", "rejected", "withdrawn", "expired", "void"
]
Flag: TypeAlias = Literal["off_menu", "sum_mismatch", "below_floor"]

EDGES: Mapping[ProposalState, frozenset[ProposalState]] = {
    "in_transit": frozenset({"open", "withdrawn", "void"}),
    "open": frozenset({"paid", "rejected", "withdrawn", "expired", "void"}),
    "paid": frozenset({"delivered", "refunded"}),
    "delivered": frozenset(),
    "refunded": frozenset(),
    "rejected": frozenset(),
    "withdrawn": frozenset(),
    "expired": frozenset(),
    "void": frozenset(),
}
"""State of an offer -> states that may follow; no other edge exists (section 6.1)."""

CLOSED: frozenset[ProposalState] = frozenset(state for state in EDGES if state not in ("in_transit", "open"))
"""States in which no seat can act on an offer; with escrow `paid` still becomes delivered or refunded."""


class Line(NamedTuple):
    """One line of an offer: an item by name, how many, and the price of one in cents."""

    item: str
    quantity: int
    unit_cents: int


class Terms(NamedTuple):
    """What an offer binds to: lines, total in cents and claimed amenities; flags mark what lenient rules let pass.

    `list_total` is what the lines on the menu cost at list prices. `off_list`: some unit price differs from its list
    price, or an item has none.
    """

    lines: tuple[Line, ...]
    total: int
    claims: tuple[str, ...]
    flags: tuple[Flag, ...]
    list_total: int
    off_list: bool


def checked_terms(
    business: Business, lines: Sequence[Line], total: int | None, claims: Sequence[str], rules: TermsRules
) -> Terms:
    """The terms as they would be offered; `total` None is the sum of the lines.

    IllegalAction: duplicate_item, price_not_posted, false_claim; under strict rules also item_not_on_menu,
    total_mismatch and below_floor, which lenient rules let pass with a flag. Lines are named by number: the text of a
    refusal contains nothing that a seat wrote.
    """
    # The order of the checks is the order in which check_proposal names errors: the first one only.
    _refuse_duplicates(lines)
    prices = [business.prices.get(folded(line.item)) for line in lines]
    flags: list[Flag] = []
    for number, price in enumerate(prices, 1):
        if price is None and rules.strict:
            raise IllegalAction(
                "item_not_on_menu", f"line {number} is not on your menu", hint="view_my_business shows your menu"
            )
    # Reached under lenient rules only: strict ones have refused above.
    if None in prices:
        flags.append("off_menu")
    if rules.price_rule == "posted":
        _require_list_prices(lines, prices)
    summed = sum(line.quantity * line.unit_cents for line in lines)
    if total is not None and total != summed:
        if rules.strict:
            raise IllegalAction(
                "total_mismatch", "the total is not the sum of the lines", hint="leave total out, or correct it"
            )
        flags.append("sum_mismatch")
    # Under lenient rules a total that was given stands, even against its own lines.
    stands = summed if total is None else total
    # A line off the menu has no list price and counts as 0 towards the floor.
    list_total = sum(line.quantity * (price or 0) for line, price in zip(lines, prices, strict=True))
    if rules.price_rule == "floor" and stands < floor_of(list_total, business.floor_bp):
        if rules.strict:
            raise IllegalAction(
                "below_floor", "the total is below your floor for these items", hint="check_proposal shows the floor"
            )
        flags.append("below_floor")
    if rules.verify_claims:
        _require_true_claims(business, claims)
    off_list = any(line.unit_cents != price for line, price in zip(lines, prices, strict=True))
    return Terms(tuple(lines), stands, tuple(claims), tuple(flags), list_total, off_list)


def _refuse_duplicates(lines: Sequence[Line]) -> None:
    # By folded name: "Taco" and "taco " are one item of the menu and of a request.
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        first = seen.setdefault(folded(line.item), number)
        if first != number:
            raise IllegalAction(
                "duplicate_item", f"lines {first} and {number} name the same item", hint="one line per item"
            )


def _require_list_prices(lines: Sequence[Line], prices: Sequence[int | None]) -> None:
    for number, (line, price) in enumerate(zip(lines, prices, strict=True), 1):
        if line.unit_cents != price:
            raise IllegalAction(
                "price_not_posted",
                f"line {number}: only the list price is allowed here",
                hint="view_my_business shows your list prices",
            )


def _require_true_claims(business: Business, claims: Sequence[str]) -> None:
    for number, claim in enumerate(claims, 1):
        if folded(claim) not in business.offered:
            raise IllegalAction(
                "false_claim", f"claim {number} is not true of your business", hint="claim your own amenities only"
            )


def covers(customer: Customer, terms: Terms) -> bool:
    """Whether the lines contain every wanted item in at least the wanted quantity; further lines only cost."""
    offered = {folded(line.item): line.quantity for line in terms.lines}
    # By lines only: amenities are true or false of the business, whatever an offer says.
    return all(offered.get(folded(want.item), 0) >= want.quantity for want in customer.wants)


def fits(customer: Customer, business: Business, terms: Terms) -> bool:
    """F(i,p): it covers the order, and the business truly has every wanted amenity."""
    return covers(customer, terms) and business.has_amenities_of(customer)


@dataclass
class Proposal:
    """One offer of a business to a customer, both by seat id. `move` is the only way to change its state.

    `sent` is the round of sending, `lifetime` the number of rounds in which it can be paid; `expires` is the last of
    them, None until it is delivered; `history` holds every state with the round in which it began; `reason` was given
    with its withdrawal or rejection.
    """

    id: str
    business: str
    customer: str
    terms: Terms
    note: str
    sent: int
    lifetime: int
    state: ProposalState = "in_transit"
    reason: str = ""
    expires: int | None = None
    history: list[tuple[int, ProposalState]] = field(default_factory=list[tuple[int, ProposalState]])

    def __post_init__(self) -> None:
        self.history = [(self.sent, self.state)]

    @property
    def closed(self) -> bool:
        """Whether no seat can act on it."""
        return self.state in CLOSED

    @property
    def delivered(self) -> bool:
        """Whether its customer has ever got it."""
        return self.expires is not None

    def move(self, to: ProposalState, number: int, *, visible: int | None = None) -> None:
        """Go to another state in round `number`; `visible` is the first round in which its customer sees it.

        None is the round after `number`: what is delivered at a close is seen in the next round. Under the free clock
        an offer can be seen in the round of its arrival. AssertionError for an edge that does not exist: a bug.
        """
        assert to in EDGES[self.state], f"{self.id}: {self.state} cannot become {to}"
        self.state = to
        self.history.append((number, to))
        if to == "open":
            # The round in which it is first seen counts as the first of its lifetime.
            self.expires = (number + 1 if visible is None else visible) + self.lifetime - 1

    def require_open(self) -> None:
        """IllegalAction not_open, which names the state, unless its addressee can pay or reject it."""
        if self.state != "open":
            raise IllegalAction(
                "not_open", f"the proposal is {self.state}", hint="view_proposals shows what is open", retryable=False
            )

    def digest(self) -> bytes:
        """Digest of everything about the offer, its past included; 32 bytes."""
        terms = [list(map(list, self.terms.lines)), *self.terms[1:]]
        # Note and reason too: what a counterpart reads is part of the state.
        content = [self.id, self.business, self.customer, terms, self.note, self.reason, self.lifetime, self.history]
        return hashlib.blake2b(canonical(content), digest_size=32).digest()
