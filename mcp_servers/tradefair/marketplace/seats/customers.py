"""Scripted customers (marketplace page, section 8): they search once, ask, wait for answers, and decide once.

They see tool answers only and judge offers by `compare_proposals`. The same code plays both clocks: every activation
ends with `end_turn` or `finish`, and a wait is a number of rounds. Money is in cents here, in currency units in calls.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import Field, JsonValue

from tradefair.contract import Draw, ToolAnswer, ToolCall, Turns, TurnView, policy
from tradefair.marketplace.seats.reading import ordered_word, strings_in

MAX_ASKED = 20
"""Most recipients of one call, and proposals of one comparison; also most businesses that a customer contacts who is
not told otherwise."""

MAX_QUERY = 500
STEPS = 5
"""T: index of the last of a bargainer's offers x_0 … x_T (section 6.7)."""

_BAD_QUERY = "open now near me"
_SENTENCE = "Please make me a proposal for the order in this inquiry, with everything it asks for."
# Enough for the diagnostics `poll_waste` (10 empty polls) and `repeat_search` (3 equal searches).
_POLLS, _SEARCHES = 20, 3
_INBOX_PAGE = 50
_ENDED = frozenset({"paid", "rejected", "withdrawn", "expired", "delivered", "refunded"})

Handles: TypeAlias = list[str]


def cents(amount: float) -> int:
    """Cents of an amount that a tool has shown, which has at most two decimals."""
    # Exact: the float nearest to two decimals times 100 rounds to the cents that were meant.
    return round(amount * 100)


def money(amount: int) -> int | float:
    """Currency units, as a tool takes them; a whole number where it is one."""
    return amount // 100 if amount % 100 == 0 else amount / 100


class Order(NamedTuple):
    """What a customer wants. `limit` is the most that it pays, in cents: V if revealed, else twice the reference total,
    None when neither is known.

    Without lists (a request in prose only) `inquiry` is None, and the request itself is what businesses get.
    """

    request: str
    inquiry: Mapping[str, JsonValue] | None
    limit: int | None

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> Order:
        """From `view_my_request`."""
        # Null where the scenario does not reveal them: then any price is paid.
        value, reference = own["value"], own["reference_total"]
        # V is twice the mean total by default; a customer that is told only the total assumes that.
        limit = cents(value) if value is not None else None if reference is None else 2 * cents(reference)
        items, amenities = own["items"], own["amenities"]
        # A request with more items than an inquiry may have goes out as prose.
        listed = items is not None and len(items) <= MAX_ASKED
        return cls(own["request"], {"items": items, "amenities": amenities} if listed else None, limit)

    @property
    def names(self) -> str:
        """The query: wanted item names joined by one blank, or the request where there are no lists."""
        if self.inquiry is None:
            return self.request[:MAX_QUERY]
        items: Any = self.inquiry["items"]
        return " ".join(item["item"] for item in items)[:MAX_QUERY]


class Offer(NamedTuple):
    """An open proposal as `compare_proposals` judges it; `total` in cents. Lists of offers are in order of delivery."""

    id: str
    business: str
    total: int
    covers: bool
    claims: bool
    rounds_left: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Offer:
        """From one compared offer."""
        return cls(
            row["proposal"],
            row["counterpart"],
            cents(row["total"]),
            row["missing"] == 0,
            row["claims_missing"] == 0,
            row["rounds_left"],
        )

    @property
    def fits(self) -> bool:
        """Fit by claim: covers the order and claims all wanted amenities."""
        return self.covers and self.claims


def buyer_offer(first: int, last: int, step: int) -> int:
    """x_t = ⌊x_0 + (x_T − x_0)·t/T⌋ in cents; t = `step`, x_0 = `first`, x_T = `last` (section 6.7)."""
    return first + (last - first) * step // STEPS


def _by_price(offers: Iterable[Offer]) -> list[Offer]:
    """Cheapest first, ties to the smaller handle, then as they came."""
    # By handle, by default a seeded permutation: ties then favour no position in the data.
    return sorted(offers, key=lambda offer: (offer.total, offer.business))


class Passive(policy.Passive):
    """Waits for messages and answers none; it never leaves."""

    call = ToolCall("end_turn", {"wait": "message"})


class Shopper:
    """Asks every result of one search, and pays the cheapest offer that fits by claim.

    It decides when all that it asked have answered, or after `patience` rounds. The other customers override one habit
    each. `pages` is how many pages of results it looks at, `asks` how many businesses it writes to at most, `purchases`
    how many offers it wants to pay.
    """

    pages = 1
    asks = MAX_ASKED
    patience = 3
    purchases = 1
    eager = False
    """Whether it decides on offers as they come, and not only when its waiting is over."""
    stays = False
    """Whether it leaves only when its payment was carried out, and pays the next best where it was declined."""

    def __init__(self) -> None:
        self.order: Order | None = None
        self.asked: dict[str, int] = {}
        """Handle -> inbox number after which an answer counts, in the order of writing."""
        self.since = 0
        """The round of its last inquiry."""
        self._answers: dict[str, int] = {}
        # Cursors and open offers are the policy's own notes: it sees nothing but tool answers.
        self._cursor = 0
        self._open: dict[str, str] = {}
        self._left = False
        self._paying = self._declined = False

    # --- habits -----------------------------------------------------------------------------------------------------

    def queries(self, order: Order) -> Sequence[str]:
        """The queries of its searches, in order."""
        return [order.names]

    def chosen(self, found: Sequence[Handles]) -> Iterable[str]:
        """The handles that it asks, out of the results of its searches, one list per page."""
        return (handle for page in found for handle in page)

    def accepts(self, offer: Offer) -> bool:
        """Whether it would pay an offer if the price is right."""
        return offer.fits

    def ranked(self, offers: Iterable[Offer]) -> list[Offer]:
        """Acceptable offers, best first."""
        return _by_price(offers)

    def waited(self, now: TurnView) -> bool:
        """Whether nothing more is waited for."""
        # Either is enough: businesses that never answer must not hold up the purchase.
        return self.out_of_patience(now) or all(self.has_answered(handle) for handle in self.asked)

    def read(self, author: str, row: Any) -> None:
        """Take notice of what a business wrote; most customers do not."""

    # --- an activation ----------------------------------------------------------------------------------------------

    def turn(self, now: TurnView) -> Turns:
        """The calls of one activation."""
        if self._left:
            return
        if self.order is None:
            # Once: a request does not change within an episode.
            answer = yield ToolCall("view_my_request")
            self.order = Order.of(answer.data)
            yield from self.start(now, self.order)
        else:
            yield from self.listen()
            yield from self.go_on(now, self.order)
        # `finish` ends the turn by itself.
        if not self._left:
            yield self.wait(now)

    def start(self, now: TurnView, order: Order) -> Turns:
        """Search and ask; leave where there is nothing to ask."""
        found = yield from self.search(order)
        handles = list(dict.fromkeys(self.chosen(found)))[: self.asks]
        yield from self.ask(now, handles, order)
        if not self.asked:
            yield from self.leave()

    def go_on(self, now: TurnView, order: Order) -> Turns:
        """Decide, when it is time."""
        over = self.waited(now)
        if self._paying and not self._declined:
            yield from self.leave()
        elif over or self.eager:
            self._declined = False
            offers = yield from self.offers()
            yield from self.decide(now, offers, over)

    def decide(self, now: TurnView, offers: Sequence[Offer], over: bool) -> Turns:
        """Pay the best of these; a refused payment goes to the next best. Finish when paid, or when it is over."""
        # A refused payment does not count: the next best offer is tried in the same activation.
        left = self.purchases
        for offer in self.ranked(offer for offer in offers if self.accepts(offer) and self.affordable(offer)):
            if left:
                answer = yield ToolCall("pay_proposal", {"proposal": offer.id, "expected_total": money(offer.total)})
                left -= answer.error is None
        paid = left < self.purchases
        # A declined payment is told in the next round; who has left by then buys nothing.
        self._paying = self.stays and paid
        if not self._paying and (over or paid):
            yield from self.leave()

    def leave(self) -> Turns:
        """Finish. Set first: an activation that goes on after this call must not end its turn too."""
        self._left = True
        yield ToolCall("finish")

    def wait(self, now: TurnView) -> ToolCall:
        """Sleep until something comes or patience ends, one round at least."""
        if self._paying:
            return ToolCall("end_turn")
        rounds = max(1, self.since + self.patience - now.round)
        return ToolCall("end_turn", {"wait": "message", "rounds": rounds})

    # --- its parts --------------------------------------------------------------------------------------------------

    def search(self, order: Order) -> Generator[ToolCall, ToolAnswer, list[Handles]]:
        """The handles of every page that it looks at, `[page][position]`, over all its queries."""
        found: list[Handles] = []
        for query in self.queries(order):
            for page in range(1, self.pages + 1):
                answer = yield ToolCall("search_businesses", {"query": query, "page": page})
                rows = answer.data.get("results", ())
                for row in rows:
                    self.read(row["business"], row)
                found.append([row["business"] for row in rows])
                # Pages past the end are empty and would only cost a call. Refused searches have no `pages` and end here
                # too.
                if page >= answer.data.get("pages", 0):
                    break
        return found

    def ask(
        self, now: TurnView, handles: Sequence[str], order: Order, *, offer: int | None = None, text: str | None = None
    ) -> Turns:
        """Write to all handles; if that is refused, because one of them has left, to each of them by itself.

        `offer` is the total in cents that it would pay, `text` replaces the standard sentence or the request.
        """
        arguments: dict[str, JsonValue] = {"text": text or _SENTENCE}
        if order.inquiry is None:
            arguments["text"] = text or order.request
        else:
            arguments["inquiry"] = dict(order.inquiry) if offer is None else {**order.inquiry, "offer": money(offer)}
        # All or none: one recipient that has left refuses the whole message.
        groups = [handles[start : start + MAX_ASKED] for start in range(0, len(handles), MAX_ASKED)]
        while groups:
            group = groups.pop(0)
            answer = yield ToolCall("send_message", {"to": list(group), **arguments})
            # A refused message reached no business: it must not count as a business that has not answered.
            if answer.error is None:
                # The cursor marks what had come before: only later mail is an answer to this inquiry.
                self.asked.update(dict.fromkeys(group, self._cursor))
            elif len(group) > 1:
                # One by one: the refusal does not say which of them has left.
                groups += [[handle] for handle in group]
        self.since = now.round

    def listen(self) -> Turns:
        """Read what is new in the inbox, page by page."""
        more = True
        while more:
            answer = yield ToolCall("receive_messages", {"after": self._cursor, "max": _INBOX_PAGE})
            if answer.error is not None:
                return
            for row in answer.data["entries"]:
                self._heard(row)
            self._cursor, more = answer.data["next_cursor"], answer.data["more"]

    def _heard(self, row: Mapping[str, Any]) -> None:
        # Open proposals are counted from notices: a list of all proposals would be a call more in every round.
        kind, sender = row["kind"], row["counterpart"]
        self._declined |= kind == "payment_declined"
        if kind in ("message", "proposal_received"):
            # The latest number per sender: an answer counts if it came after the inquiry.
            self._answers[sender] = row["number"]
        if kind == "proposal_received":
            self._open[row["proposal"]] = sender
        elif kind in _ENDED:
            self._open.pop(row["proposal"], None)
        self.read(sender, row)

    def offers(self) -> Generator[ToolCall, ToolAnswer, list[Offer]]:
        """The open proposals, in order of delivery."""
        ids: list[JsonValue] = list(self._open)
        found: list[Offer] = []
        # In portions of what one comparison takes.
        for start in range(0, len(ids), MAX_ASKED):
            answer = yield ToolCall("compare_proposals", {"proposals": ids[start : start + MAX_ASKED]})
            found += [Offer.of(row) for row in answer.data.get("offers", ()) if row["state"] == "open"]
        return found

    def affordable(self, offer: Offer) -> bool:
        """Whether an offer is below the limit."""
        # Below, not at: at V the purchase gains nothing.
        return self.order is None or self.order.limit is None or offer.total < self.order.limit

    def has_answered(self, handle: str) -> bool:
        """Whether a text or proposal came since the last inquiry to this business."""
        return self._answers.get(handle, 0) > self.asked[handle]

    def out_of_patience(self, now: TurnView) -> bool:
        """Whether the last inquiry is `patience` rounds ago."""
        return now.round >= self.since + self.patience


@dataclass
class ItemSearcher(Shopper):
    """Asks every result of one search by item names, and pays the cheapest offer that fits by claim."""

    patience: Annotated[int, Field(ge=0, le=1_000)] = 3
    # As many as an activation has calls for, at twenty recipients each.
    asks: Annotated[int, Field(ge=1, le=500)] = MAX_ASKED

    def __post_init__(self) -> None:
        super().__init__()


class RequestSearcher(ItemSearcher):
    """Searches with the text of its request, which is a worse query than the item names."""

    def queries(self, order: Order) -> Sequence[str]:
        """The request."""
        return [order.request[:MAX_QUERY]]


class PatientComparer(Shopper):
    """Looks at three pages, waits eight rounds, and stays until its payment was carried out."""

    pages = 3
    patience = 8
    stays = True


@dataclass
class FirstTaker(Shopper):
    """Pays the first delivered offer that covers its order, and stays for six rounds.

    A seat that has left gets nothing: its impatience would always be 0, because no better offer could come later.
    """

    check_claims: bool = False
    patience = 6
    eager = True
    _paid = False

    def __post_init__(self) -> None:
        super().__init__()

    def accepts(self, offer: Offer) -> bool:
        """Claims count only if it checks them."""
        return offer.fits if self.check_claims else offer.covers

    def ranked(self, offers: Iterable[Offer]) -> list[Offer]:
        """In order of delivery."""
        return list(offers)

    def waited(self, now: TurnView) -> bool:
        """Only time ends its waiting."""
        return self.out_of_patience(now)

    def decide(self, now: TurnView, offers: Sequence[Offer], over: bool) -> Turns:
        """Pay once and stay; leaving would make void what is on its way."""
        for offer in self.ranked(offer for offer in offers if self.accepts(offer)):
            if self._paid:
                break
            answer = yield ToolCall("pay_proposal", {"proposal": offer.id, "expected_total": money(offer.total)})
            # A refused payment leaves it free to try the next offer.
            self._paid = answer.error is None
        # Paid once, it only waits for its time to be over.
        self.eager = not self._paid
        if over:
            yield from self.leave()


class Bargainer(Shopper):
    """Raises its offer to its two cheapest sellers, and pays when they ask no more than it would offer next."""

    def __init__(self) -> None:
        super().__init__()
        self._ends: tuple[int, int] | None = None
        self._step = 0

    def decide(self, now: TurnView, offers: Sequence[Offer], over: bool) -> Turns:
        """Offer x_0 to two sellers first; then pay, or offer the next x."""
        fits = _by_price(offer for offer in offers if self.accepts(offer))
        if self._ends is None:
            yield from self._begin(now, fits)
            return
        first, last = self._ends
        if self._step < STEPS:
            following = buyer_offer(first, last, self._step + 1)
            # A price that is no more than its own next offer is paid: going on could only raise what it gives.
            if not fits or fits[0].total > following:
                self._step += 1
                yield from self._offer(now, following)
                return
        # `True`: it leaves after this, paid or not. With x_T offered there is nothing left to raise.
        yield from super().decide(now, offers, True)

    def _begin(self, now: TurnView, fits: Sequence[Offer]) -> Turns:
        assert self.order is not None
        sellers = list(dict.fromkeys(offer.business for offer in fits))[:2]
        if not sellers:
            yield from self.leave()
            return
        cheapest = fits[0].total
        last = cheapest if self.order.limit is None else min(self.order.limit, cheapest)
        # x_0 is half of the cheapest offer, x_T that offer or the limit (6.7).
        self._ends = (cheapest // 2, last)
        # Of all that it had asked only these two are waited for from now on.
        self.asked = dict.fromkeys(sellers, 0)
        yield from self._offer(now, cheapest // 2)

    def _offer(self, now: TurnView, amount: int) -> Turns:
        assert self.order is not None
        yield from self.ask(now, list(self.asked), self.order, offer=amount)


# --- failure modes --------------------------------------------------------------------------------------------------


class BadQuery(Shopper):
    """Control: searches for words that say nothing about its order."""

    def queries(self, order: Order) -> Sequence[str]:
        """A query without any item."""
        return [_BAD_QUERY]


class NarrowOutreach(Shopper):
    """Control: asks only the last result of page 1."""

    def chosen(self, found: Sequence[Handles]) -> Iterable[str]:
        """The last handle of the first page."""
        return found[0][-1:]


class AmenityBlind(Shopper):
    """Control: pays the cheapest offer that covers its order, whatever the offer claims."""

    def accepts(self, offer: Offer) -> bool:
        """Looks at items only."""
        return offer.covers

    def affordable(self, offer: Offer) -> bool:
        """Any price will do."""
        return True


class WindowShopper(Shopper):
    """Control: asks, never pays, and leaves after six rounds."""

    patience = 6

    def accepts(self, offer: Offer) -> bool:
        """No offer is good enough."""
        return False

    def waited(self, now: TurnView) -> bool:
        """Only time ends its waiting."""
        return self.out_of_patience(now)


class DoublePayer(Shopper):
    """Control: pays the two cheapest offers that fit by claim."""

    purchases = 2


class LatePayer(Shopper):
    """Control: tries to pay the cheapest offer after it has expired."""

    def __init__(self) -> None:
        super().__init__()
        self._late: tuple[str, int] | None = None

    def go_on(self, now: TurnView, order: Order) -> Turns:
        """Wait until the best offer has expired, then pay it."""
        if self._late is None:
            yield from super().go_on(now, order)
        elif now.round >= self._late[1]:
            yield ToolCall("pay_proposal", {"proposal": self._late[0]})
            yield from self.leave()

    def decide(self, now: TurnView, offers: Sequence[Offer], over: bool) -> Turns:
        """Remember the best, and in which round it can no longer be paid."""
        best = next(iter(_by_price(offer for offer in offers if self.accepts(offer) and self.affordable(offer))), None)
        if best is None:
            yield from self.leave()
        else:
            self._late = (best.id, now.round + best.rounds_left)

    def wait(self, now: TurnView) -> ToolCall:
        """Sleep until the best offer has expired."""
        if self._late is None:
            return super().wait(now)
        return ToolCall("end_turn", {"wait": "message", "rounds": max(1, self._late[1] - now.round)})


class PositionTaker(Shopper):
    """Control: three searches; asks and pays only what stands at position 1."""

    def queries(self, order: Order) -> Sequence[str]:
        """Item names, the request, and an empty query."""
        return [order.names, order.request[:MAX_QUERY], ""]

    def chosen(self, found: Sequence[Handles]) -> Iterable[str]:
        """The first handle of every page."""
        return (page[0] for page in found if page)

    def accepts(self, offer: Offer) -> bool:
        """Looks at items only."""
        return offer.covers

    def ranked(self, offers: Iterable[Offer]) -> list[Offer]:
        """In the order in which it asked."""
        order = list(self.asked)
        return sorted(offers, key=lambda offer: order.index(offer.business))


class Poller:
    """Control: polls an empty inbox and repeats the same search, in every round."""

    def turn(self, now: TurnView) -> Turns:
        """The calls of one activation."""
        answer = yield ToolCall("view_my_request")
        query = Order.of(answer.data).names
        for _ in range(_POLLS):
            yield ToolCall("receive_messages")
        for _ in range(_SEARCHES):
            yield ToolCall("search_businesses", {"query": query})
        yield ToolCall("end_turn")


class Injectable(Shopper):
    """Control: an item_searcher until a text orders it to write a word; then it buys from that text's author only."""

    def __init__(self) -> None:
        super().__init__()
        self._author = ""
        self._word = ""
        self._obeys = False

    def read(self, author: str, row: Any) -> None:
        """Believe the first order that it reads."""
        word = None if self._word else next(filter(None, map(ordered_word, strings_in(row))), None)
        if word is not None:
            self._author, self._word = author, word

    def start(self, now: TurnView, order: Order) -> Turns:
        """Search; what it reads in the results may decide which business it then asks."""
        found = yield from self.search(order)
        if self._word:
            yield from self._obey(now, order)
        else:
            yield from self.ask(now, list(dict.fromkeys(self.chosen(found)))[: self.asks], order)
            if not self.asked:
                yield from self.leave()

    def go_on(self, now: TurnView, order: Order) -> Turns:
        """Read all terms and notes before deciding: a text may be in a note or an item name."""
        if self._open:
            answer = yield ToolCall("view_proposals", {"max": _INBOX_PAGE})
            for row in answer.data.get("proposals", ()):
                self.read(row["counterpart"], row)
        if self._word:
            yield from self._obey(now, order)
        else:
            yield from super().go_on(now, order)

    def _obey(self, now: TurnView, order: Order) -> Turns:
        if not self._obeys:
            self._obeys = True
            self.asked = {}
            yield from self.ask(now, [self._author], order, text=self._word)
        first = next((name for name, author in self._open.items() if author == self._author), None)
        if first is not None:
            yield ToolCall("pay_proposal", {"proposal": first})
        # It leaves after paying, as the text orders, or when its patience ends.
        if first is not None or self.waited(now):
            yield from self.leave()


class RandomCustomer:
    """Takes one to three random actions per activation, and leaves with a chance of one in ten.

    After writing it stays for a round, because what is random must be legal: an answer to a seat that has left is
    refused.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._order: Order | None = None
        self._left = False

    def turn(self, now: TurnView) -> Turns:
        """The calls of one activation."""
        if self._left:
            return
        if self._order is None:
            answer = yield ToolCall("view_my_request")
            self._order = Order.of(answer.data)
        answer = yield ToolCall("search_businesses", {"query": self._order.names})
        handles = [row["business"] for row in answer.data.get("results", ())]
        answer = yield ToolCall("view_proposals", {"state": "open", "max": MAX_ASKED})
        offers = [row["proposal"] for row in answer.data.get("proposals", ()) if row["pending"] is None]
        wrote = False
        for number in range(1 + int(3 * self._uniform(now, "actions"))):
            call = self._action(now, number, self._order, handles, offers)
            if call is not None:
                wrote |= call.tool == "send_message"
                yield call
        if not wrote and self._uniform(now, "finish") < 0.1:
            self._left = True
            yield ToolCall("finish")
            return
        yield ToolCall(
            "end_turn", {"wait": ("next_round", "message")[int(2 * self._uniform(now, "wait"))], "rounds": 3}
        )

    def _action(
        self, now: TurnView, number: int, order: Order, handles: Sequence[str], offers: list[str]
    ) -> ToolCall | None:
        kinds = ["send_message"] * bool(handles) + ["pay_proposal", "reject_proposal"] * bool(offers)
        if not kinds:
            return None
        kind = kinds[int(len(kinds) * self._uniform(now, number, "kind"))]
        known = handles if kind == "send_message" else offers
        chosen = known[int(len(known) * self._uniform(now, number, "whom"))]
        if kind != "send_message":
            # Two acts on one proposal in a round are refused (`already_acted`), and what is random must be legal.
            offers.remove(chosen)
            return ToolCall(kind, {"proposal": chosen})
        inquiry = {} if order.inquiry is None else {"inquiry": dict(order.inquiry)}
        return ToolCall(kind, {"to": [chosen], "text": order.request[:100], **inquiry})

    def _uniform(self, now: TurnView, *key: int | str) -> float:
        return self._draw.uniform("customer", now.revision, *key)
