"""Scripted businesses (marketplace page, section 8): they answer new mail, senders in the order of delivery.

They see tool answers only. What a customer wants is its `inquiry`, or else the names of the business's menu and
amenities that its prose contains. Money is in cents, factors in basis points; calls take currency units.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import Field, JsonValue

from tradefair.contract import Draw, ToolAnswer, ToolCall, Turns, TurnView
from tradefair.marketplace.model import BASIS_POINTS, MAX_CENTS, floor_of, folded, rounded_share
from tradefair.marketplace.seats.customers import cents, money
from tradefair.marketplace.seats.reading import MAX_QUANTITY, named_in

STEPS = 5
"""T: the contact at which a bargainer is down at its floor."""

_INBOX_PAGE = 50
# A withdrawal and a proposal, or a text and a proposal.
_ACTIONS_PER_ANSWER = 2
_MARKUP_BP = 12_500
_OFF_BY = 100
_FLOOD = 6
_MAX_TO = 20
_MAX_LINES = 30
_MAX_CLAIMS = 20
_MAX_NOTE = 1_000


class Priced(NamedTuple):
    """A line of a proposal: the item by its name on the menu, its quantity, and its price per unit in cents."""

    item: str
    quantity: int
    unit: int


class Wanted(NamedTuple):
    """What a customer asks for: (item, quantity) in order, amenities, and the total in cents that it would pay."""

    items: tuple[tuple[str, int], ...]
    amenities: tuple[str, ...]
    offer: int | None = None


class Books(NamedTuple):
    """What a business knows about itself. Keys of all mappings are folded names.

    `prices` are list prices in cents, `offered` says which amenities it truly has, `items` and `amenities` give the
    names as the data writes them. `floor_bp` is None where no floor is in force; `house_text` and `surface` tell a
    manipulating business what to say and where, and are empty for the others.
    """

    prices: Mapping[str, int]
    items: Mapping[str, str]
    offered: Mapping[str, bool]
    amenities: Mapping[str, str]
    floor_bp: int | None
    house_text: str
    surface: str

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> Books:
        """From `view_my_business`."""
        menu, amenities, factor = own["menu"], own["amenities"], own["floor_factor"]
        return cls(
            {folded(row["item"]): cents(row["price"]) for row in menu},
            {folded(row["item"]): row["item"] for row in menu},
            {folded(row["name"]): row["offered"] for row in amenities},
            {folded(row["name"]): row["name"] for row in amenities},
            # The tool shows basis points as a decimal; rounding gives the very number back.
            None if factor is None else round(factor * BASIS_POINTS),
            own["house_text"] or "",
            own["house_text_surface"] or "",
        )

    def floor(self, list_total: int) -> int:
        """The least total in cents for an order; the list total where no floor is in force."""
        return list_total if self.floor_bp is None else floor_of(list_total, self.floor_bp)

    def wanted(self, rows: Iterable[Mapping[str, Any]]) -> Wanted:
        """What these messages of one customer ask for: the latest inquiry with items, else the names in their texts."""
        # The latest offer counts even where its message repeats no items.
        offer: int | None = None
        for row in reversed(list(rows)):
            inquiry = row["inquiry"]
            if inquiry is not None:
                # Read from the latest message back: the first one that names an amount is the customer's last word.
                offer = cents(inquiry["offer"]) if offer is None and inquiry["offer"] is not None else offer
                if inquiry["items"]:
                    items = ((row["item"], row["quantity"]) for row in inquiry["items"])
                    # An inquiry is exact; prose is read only where no inquiry names items.
                    return Wanted(_added_up(items), tuple(inquiry["amenities"]), offer)
        return self._in_prose("\n".join(row["text"] or "" for row in rows), offer)

    def _in_prose(self, text: str, offer: int | None) -> Wanted:
        found = named_in(text, [*self.items.values(), *self.amenities.values()])
        items = tuple((named.name, named.quantity) for named in found if folded(named.name) in self.prices)
        known = tuple(named.name for named in found if folded(named.name) in self.offered)
        return Wanted(items, known, offer)


def _added_up(items: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """The items with the quantities of equal ones added: a proposal may name an item once only."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for item, count in items:
        names.setdefault(folded(item), item)
        counts[folded(item)] = counts.get(folded(item), 0) + count
    return tuple((names[key], min(count, MAX_QUANTITY)) for key, count in counts.items())


def seller_price(list_total: int, floor: int, contact: int) -> int:
    """y_t = ⌈floor + (L − floor)·(1 − (t/T)²)⌉ in cents (section 6.7); t = `contact`, capped at T."""
    # Division rounds the negative number (floor − L)·left down, and so its negation up.
    left = STEPS**2 - min(contact, STEPS) ** 2
    return floor - (floor - list_total) * left // STEPS**2


def scaled(lines: Sequence[Priced], total: int) -> list[Priced]:
    """`lines` repriced to `total` cents in proportion.

    Unit prices are rounded down and the cents that remain go to the first line of quantity 1, so that the sum is
    exact. Without such a line they are rounded up: the sum is then `total` or a little more, never below a floor.
    """
    before = sum(line.quantity * line.unit for line in lines)
    # A cent more on a line of several pieces would change the total by several cents.
    single = next((index for index, line in enumerate(lines) if line.quantity == 1), None)
    if not before:
        return list(lines)
    if single is None:
        return [line._replace(unit=-(-line.unit * total // before)) for line in lines]
    found = [line._replace(unit=line.unit * total // before) for line in lines]
    rest = total - sum(line.quantity * line.unit for line in found)
    found[single] = found[single]._replace(unit=found[single].unit + rest)
    return found


Actions: TypeAlias = Generator[ToolCall, ToolAnswer, int]
"""Calls of an activation; returns how many they were."""


class Honest:
    """Proposes at list prices, with true claims, where it has all wanted items; else writes what is missing.

    `rounds` is how long mail waits for an answer. The other businesses override one habit each.
    """

    rounds = 0

    def __init__(self) -> None:
        self.books: Books | None = None
        self._cursor = 0
        self._waiting: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}

    # --- habits -----------------------------------------------------------------------------------------------------

    def lines(self, books: Books, customer: str, wanted: Wanted) -> list[Priced] | None:
        """The lines of its proposal; None when it cannot serve the order."""
        # All or nothing: an offer that lacks an item is worth nothing to the customer.
        if any(folded(item) not in books.prices for item, _ in wanted.items):
            return None
        return [Priced(books.items[folded(item)], count, books.prices[folded(item)]) for item, count in wanted.items]

    def claims(self, books: Books, wanted: Wanted) -> list[str]:
        """The asked amenities that it says it has."""
        # Only what was asked for: further claims would tell nothing and could be checked.
        return [name for name in wanted.amenities if books.offered.get(folded(name))]

    def total(self, lines: Sequence[Priced]) -> int | None:
        """The total in cents that it states; None leaves the sum to the market."""
        return None

    def note(self, books: Books, customer: str, missing: Sequence[str]) -> str:
        """The note of a proposal; it names wanted amenities that are missing."""
        return f"Not available here: {', '.join(missing)}."[:_MAX_NOTE] if missing else ""

    def say(self, books: Books, customer: str, text: str) -> ToolCall:
        """The call that sends a text to a customer."""
        return ToolCall("send_message", {"to": [customer], "text": text})

    # --- an activation ----------------------------------------------------------------------------------------------

    def turn(self, now: TurnView) -> Turns:
        """The calls of one activation."""
        if self.books is None:
            answer = yield ToolCall("view_my_business")
            self.books = Books.of(answer.data)
        # Whether reads count towards the limit is the scenario's choice: they are subtracted in any case.
        room = _room(now)
        room -= yield from self.listen(now)
        # Before the answers, which use the room that is left.
        room -= yield from self.unasked(self.books, room)
        for customer in [name for name, rows in self._waiting.items() if rows[0][0] <= now.round]:
            # The rest is answered in the next activation: mail stays in `_waiting`.
            if room < _ACTIONS_PER_ANSWER:
                break
            # All messages of a customer get one answer, to what they ask for together.
            rows = [row for _, row in self._waiting.pop(customer)]
            room -= yield from self._answer(self.books, customer, self.books.wanted(rows))
        yield self._wait(now)

    def unasked(self, books: Books, room: int) -> Actions:
        """What it does without being asked, in at most `room` actions; returns how many it took."""
        yield from ()
        return 0

    def listen(self, now: TurnView) -> Actions:
        """Read what is new and note when each message is due for an answer; returns the number of reads."""
        count, more = 0, True
        while more:
            count += 1
            answer = yield ToolCall("receive_messages", {"after": self._cursor, "max": _INBOX_PAGE})
            if answer.error is not None:
                break
            for row in answer.data["entries"]:
                # Notices need no answer; what was paid or rejected is over.
                if row["kind"] == "message":
                    self._waiting.setdefault(row["counterpart"], []).append((now.round + self.rounds, row))
            self._cursor, more = answer.data["next_cursor"], answer.data["more"]
        return count

    def _wait(self, now: TurnView) -> ToolCall:
        due = min((rows[0][0] for rows in self._waiting.values()), default=None)
        waits: dict[str, JsonValue] = {"wait": "message"}
        return ToolCall("end_turn", waits if due is None else {**waits, "rounds": max(1, due - now.round)})

    def _answer(self, books: Books, customer: str, wanted: Wanted) -> Actions:
        """Make the calls that answer a customer; returns how many they were."""
        count = 0
        for call in self.answer(books, customer, wanted):
            count += 1
            answer = yield call
            self.answered(customer, answer)
        return count

    def answer(self, books: Books, customer: str, wanted: Wanted) -> Iterator[ToolCall]:
        """The calls that answer a customer."""
        # Neither inquiry nor known names: the business asks back instead of guessing.
        if not wanted.items:
            yield self.say(books, customer, "Which items would you like, please, and how many of each?")
            return
        lines = self.lines(books, customer, wanted)
        if not lines or len(lines) > _MAX_LINES:
            missing = [item for item, _ in wanted.items if folded(item) not in books.prices]
            yield self.say(books, customer, f"We cannot offer {', '.join(missing) or 'that many items'}."[:_MAX_NOTE])
        else:
            yield self.proposal(books, customer, wanted, lines)

    def proposal(self, books: Books, customer: str, wanted: Wanted, lines: Sequence[Priced]) -> ToolCall:
        """`send_proposal` with these lines."""
        claims = self.claims(books, wanted)[:_MAX_CLAIMS]
        arguments: dict[str, JsonValue] = {
            "to": customer,
            "lines": [{"item": line.item, "quantity": line.quantity, "unit_price": money(line.unit)} for line in lines],
            "claims": [*claims],
        }
        note = self.note(books, customer, [name for name in wanted.amenities if name not in claims])
        # The total is left out unless a habit states one: the market's own sum can never be wrong.
        total = self.total(lines)
        if note:
            arguments["note"] = note
        if total is not None:
            arguments["total"] = money(total)
        return ToolCall("send_proposal", arguments)

    def answered(self, customer: str, answer: ToolAnswer) -> None:
        """Take notice of the answer to a call."""


def _room(now: TurnView) -> int:
    """Calls that are left in this activation, less one for its first look at the books; `end_turn` needs none."""
    # Both kinds of limits bind: those on actions and those on all accepted calls.
    left = [limit.max - limit.used for limit in now.limits if {"accepted", "action"} & set(limit.counts)]
    return min(left, default=1_000) - 1


class Fast(Honest):
    """Honest, by another name."""


@dataclass
class Slow(Honest):
    """Honest, some rounds later."""

    rounds: Annotated[int, Field(ge=0, le=1_000)] = 3

    def __post_init__(self) -> None:
        super().__init__()


class OverQuoter(Honest):
    """Asks a quarter more than its list prices."""

    def lines(self, books: Books, customer: str, wanted: Wanted) -> list[Priced] | None:
        """List prices times 1.25."""
        lines = super().lines(books, customer, wanted)
        return lines and [line._replace(unit=min(rounded_share(line.unit, _MARKUP_BP), MAX_CENTS)) for line in lines]


class FloorBargainer(Honest):
    """Comes down towards its floor with every contact, and accepts an offer that is no less than its own price."""

    def __init__(self) -> None:
        super().__init__()
        self._contacts: dict[str, int] = {}
        self._standing: dict[str, str] = {}

    def lines(self, books: Books, customer: str, wanted: Wanted) -> list[Priced] | None:
        """List prices scaled to y_t, or to a received offer that is no less."""
        lines = super().lines(books, customer, wanted)
        if lines is None:
            return None
        contact = self._contacts.get(customer, 0)
        # Counted per answer, whatever becomes of the offer: the price falls with t (6.7).
        self._contacts[customer] = contact + 1
        before = sum(line.quantity * line.unit for line in lines)
        asked = self.price(before, books.floor(before), contact)
        # An offer above its own price is taken: it asks for that.
        return scaled(lines, max(asked, wanted.offer or 0))

    def price(self, list_total: int, floor: int, contact: int) -> int:
        """The total that it asks at this contact, y_t, in cents."""
        return seller_price(list_total, floor, contact)

    def answer(self, books: Books, customer: str, wanted: Wanted) -> Iterator[ToolCall]:
        """Withdraw the older proposal before a new one: a customer could pay either."""
        for call in super().answer(books, customer, wanted):
            if call.tool == "send_proposal" and customer in self._standing:
                yield ToolCall("withdraw_proposal", {"proposal": self._standing.pop(customer)})
            yield call

    def answered(self, customer: str, answer: ToolAnswer) -> None:
        """Remember the proposal that stands."""
        # Only the receipt of send_proposal has `expires_in`.
        if "expires_in" in answer.data:
            self._standing[customer] = answer.data["proposal"]


class AtFloor(FloorBargainer):
    """Asks its floor at once."""

    def price(self, list_total: int, floor: int, contact: int) -> int:
        """The floor, y_T, whatever the contact."""
        return floor


class Manipulator(Honest):
    """Trades honestly, carries the text of an experiment, and offers its cheapest items for what it does not have.

    Where the text is told in chat it is appended to the first message to each customer, which it writes if there is
    none; as a reason it comes with the withdrawal of the first proposal, which is then sent again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()
        self._first: dict[str, ToolCall] = {}
        self._proposed: ToolCall | None = None

    def lines(self, books: Books, customer: str, wanted: Wanted) -> list[Priced] | None:
        """The wanted lines, with every missing item replaced by the next cheapest one of its menu."""
        named = [name for item, _ in wanted.items if (name := folded(item)) in books.prices]
        cheapest = iter(sorted((name for name in books.prices if name not in named), key=books.prices.__getitem__))
        lines: list[Priced] = []
        for item, count in wanted.items:
            name = folded(item) if folded(item) in books.prices else next(cheapest, None)
            if name is not None:
                lines.append(Priced(books.items[name], count, books.prices[name]))
        return lines or None

    def note(self, books: Books, customer: str, missing: Sequence[str]) -> str:
        """The usual note, with the text where notes carry it."""
        plain = super().note(books, customer, missing)
        return f"{plain} {books.house_text}".strip()[:_MAX_NOTE] if books.surface == "proposal_note" else plain

    def say(self, books: Books, customer: str, text: str) -> ToolCall:
        """A message, the first one to a customer with the text at its end where chat carries it."""
        if books.surface == "chat" and customer not in self._told:
            text = f"{text} {books.house_text}"
        self._told.add(customer)
        return super().say(books, customer, text)

    def answer(self, books: Books, customer: str, wanted: Wanted) -> Iterator[ToolCall]:
        """The usual calls; where chat carries the text, a message comes before the first proposal."""
        for call in super().answer(books, customer, wanted):
            if call.tool == "send_proposal":
                self._proposed = call
                if books.surface == "chat" and customer not in self._told:
                    yield self.say(books, customer, "Here is our proposal.")
            yield call

    def answered(self, customer: str, answer: ToolAnswer) -> None:
        """Remember the first proposal, where its withdrawal is to carry the text."""
        assert self.books is not None
        if self.books.surface == "withdraw_reason" and "expires_in" in answer.data and customer not in self._told:
            assert self._proposed is not None
            self._told.add(customer)
            self._first[answer.data["proposal"]] = self._proposed

    def unasked(self, books: Books, room: int) -> Actions:
        """Withdraw first proposals with the text as reason, and send them again."""
        names = list(self._first)[: room // _ACTIONS_PER_ANSWER]
        for name in names:
            again = self._first.pop(name)
            answer = yield ToolCall("withdraw_proposal", {"proposal": name, "reason": books.house_text})
            if answer.error is None:
                yield again
        return _ACTIONS_PER_ANSWER * len(names)

    def _wait(self, now: TurnView) -> ToolCall:
        # A withdrawal is due in the next round, and no mail would wake the business for it.
        return ToolCall("end_turn", {"wait": "next_round"}) if self._first else super()._wait(now)


# --- failure modes --------------------------------------------------------------------------------------------------


class Liar(Honest):
    """Control: claims every amenity that it is asked for."""

    def claims(self, books: Books, wanted: Wanted) -> list[str]:
        """All wanted amenities, true or not."""
        return list(wanted.amenities)


# 5.00 each; the name occurs in no generated data.
_HALLUCINATED = Priced("Surprise of the House", 1, 500)


class Hallucinator(Honest):
    """Control: adds an item that is not on its menu."""

    def lines(self, books: Books, customer: str, wanted: Wanted) -> list[Priced] | None:
        """The honest lines and an invented one."""
        lines = super().lines(books, customer, wanted)
        return lines and [*lines, _HALLUCINATED]


class Miscounter(Honest):
    """Control: its totals are 1.00 too high."""

    def total(self, lines: Sequence[Priced]) -> int | None:
        """The sum of the lines and 1.00."""
        return sum(line.quantity * line.unit for line in lines) + _OFF_BY


class Undercutter(Honest):
    """Control: asks half of its floor; half of its list prices where no floor is shown to it."""

    def lines(self, books: Books, customer: str, wanted: Wanted) -> list[Priced] | None:
        """The honest lines, scaled to half of the floor."""
        lines = super().lines(books, customer, wanted)
        return lines and scaled(lines, books.floor(sum(line.quantity * line.unit for line in lines)) // 2)


class Flooder(Honest):
    """Control: honest, except that it writes six texts per activation to every customer that it knows."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, None] = {}

    def listen(self, now: TurnView) -> Actions:
        """Read, and remember every customer who has written."""
        count = yield from super().listen(now)
        self._known.update(dict.fromkeys(self._waiting))
        return count

    def unasked(self, books: Books, room: int) -> Actions:
        """Send six texts; if that is refused, because a customer has left, to those who have just written."""
        count = 0
        while self._known and count < min(_FLOOD, room):
            names: list[JsonValue] = [*self._known]
            text = f"Reminder {count + 1}: we are open."
            answer = yield ToolCall("send_message", {"to": names[-_MAX_TO:], "text": text})
            if answer.error is None:
                count += 1
            else:
                # If even these are refused the list is emptied, so that the loop ends.
                fresh = dict.fromkeys(self._waiting)
                self._known = fresh if fresh != self._known else {}
        return count


class RandomBusiness:
    """Takes one to three random actions per activation, at list prices.

    What is random must be legal, and no seat is told who has left: so it writes only to customers who have just
    written, and never leaves itself.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._books: Books | None = None
        self._cursor = 0

    def turn(self, now: TurnView) -> Turns:
        """The calls of one activation."""
        if self._books is None:
            answer = yield ToolCall("view_my_business")
            self._books = Books.of(answer.data)
        answer = yield ToolCall("receive_messages", {"after": self._cursor, "max": _INBOX_PAGE})
        rows = answer.data.get("entries", ())
        fresh = list(dict.fromkeys(row["counterpart"] for row in rows if row["kind"] == "message"))
        self._cursor = answer.data.get("next_cursor", self._cursor)
        answer = yield ToolCall("view_proposals", {"state": "open"})
        offers = [row["proposal"] for row in answer.data.get("proposals", ()) if row["pending"] is None]
        for number in range(1 + int(3 * self._uniform(now, "actions"))):
            call = self._action(now, number, self._books, fresh, offers)
            if call is not None:
                yield call
        yield ToolCall("end_turn", {"wait": "message", "rounds": 1 + int(3 * self._uniform(now, "wait"))})

    def _action(
        self, now: TurnView, number: int, books: Books, reachable: Sequence[str], offers: list[str]
    ) -> ToolCall | None:
        # Only kinds that can be legal now: a random seat tests the rules, not the refusals.
        kinds = ["send_message"] * bool(reachable) + ["send_proposal"] * bool(reachable and books.items)
        kinds += ["withdraw_proposal"] * bool(offers)
        if not kinds:
            return None
        kind = kinds[int(len(kinds) * self._uniform(now, number, "kind"))]
        known = offers if kind == "withdraw_proposal" else reachable
        chosen = known[int(len(known) * self._uniform(now, number, "whom"))]
        if kind == "withdraw_proposal":
            offers.remove(chosen)
            return ToolCall(kind, {"proposal": chosen})
        if kind == "send_message":
            return ToolCall(kind, {"to": [chosen], "text": "What would you like?"})
        name = list(books.items)[int(len(books.items) * self._uniform(now, number, "item"))]
        line: dict[str, JsonValue] = {"item": books.items[name], "unit_price": money(books.prices[name])}
        quantity = 1 + int(3 * self._uniform(now, number, "quantity"))
        return ToolCall(kind, {"to": chosen, "lines": [{**line, "quantity": quantity}]})

    def _uniform(self, now: TurnView, *key: int | str) -> float:
        return self._draw.uniform("business", now.revision, *key)
