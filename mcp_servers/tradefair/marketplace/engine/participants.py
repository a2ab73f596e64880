"""What the rules remember of a seat: its handle, inbox, queue of the round, and whether it sleeps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from tradefair.contract import Chance, SeatId
from tradefair.marketplace.engine.mail import Inbox
from tradefair.marketplace.engine.proposals import Proposal
from tradefair.marketplace.model import CUSTOMER, Streams

ActKind: TypeAlias = Literal["message", "propose", "withdraw", "pay", "reject", "finish"]

_LEAST_DIGITS = 4


class Act(NamedTuple):
    """One action, taken in round `sent`; `to` is a seat id, `proposal` a proposal's id."""

    kind: ActKind
    sent: int
    to: SeatId = ""
    proposal: str = ""
    text: str = ""
    reason: str = ""
    inquiry: JsonValue = None
    offer: Proposal | None = None
    retired: bool = False

    def plain(self) -> list[Any]:
        """The act as it enters the digest; an offer as its own digest."""
        offered = None if self.offer is None else self.offer.digest().hex()
        # The offer as a digest, since it is mutable and not plain data.
        return [*self[:7], offered, self.retired]


class Post(NamedTuple):
    """A message or an offer on its way; `held` until its sealed window is over."""

    sender: SeatId
    act: Act
    held: bool = False


@dataclass(slots=True)
class Participant:
    """One seat; `index` is its position among the records of its role.

    `ended`: its turn is over; `sleeps`: it waits for mail or `wake_round`; `woken`: mail has come; `leaving`: it has
    finished, which takes effect at the close; `lapses`: turns in a row that it let pass.
    `purchases` counts a customer's payments that were not refunded, or the orders that a business has accepted.
    `offers` are the proposals that have reached a customer, or that a business has sent, in order; `numbers` counts
    a business's proposals per customer; `contacted` are the businesses that a customer has written to. Under the free
    clock `awake` only says whether it has a reason to act, and `wakes` counts the reasons that were no mail.
    """

    seat: SeatId
    role: str
    index: int
    handle: str
    awake: bool
    active: bool = True
    retired: bool = False
    leaving: bool = False
    ended: bool = False
    # Set by the first end_turn or lapse. Before that a customer is awake and a business waits for mail (section 4.1).
    sleeps: bool = True
    woken: bool = False
    wake_round: int | None = None
    lapses: int = 0
    purchases: int = 0
    wakes: int = 0
    inbox: Inbox = field(default_factory=Inbox)
    queue: list[Act] = field(default_factory=list[Act])
    offers: list[str] = field(default_factory=list[str])
    numbers: dict[SeatId, int] = field(default_factory=dict[SeatId, int])
    # A dict as an ordered set: the facts list contacts in the order of the first message.
    contacted: dict[SeatId, None] = field(default_factory=dict[SeatId, None])

    @property
    def left(self) -> bool:
        """Whether it can act no more: it has finished, or was retired."""
        return self.leaving or not self.active

    @property
    def awaited(self) -> bool:
        """Whether the clock waits for this seat."""
        return self.active and self.awake and not self.ended

    def open_round(self, number: int) -> None:
        """Start a round: the seat is awake, unless it sleeps and neither mail nor its wake round has come."""
        due = self.wake_round is not None and self.wake_round <= number
        # Awake seats stay so without mail; only `end_turn` with a wait for messages puts one to sleep.
        stayed = self.awake and not self.sleeps
        self.awake = self.woken or due or stayed
        if self.awake:
            self.wake_round = None
            self.sleeps = False
        self.woken = self.ended = False
        self.queue = []

    def state(self) -> list[Any]:
        """The seat as it enters the digest; its inbox does so by itself, letter by letter."""
        flags = [self.awake, self.active, self.retired, self.leaving, self.ended, self.sleeps, self.woken]
        return [flags, self.wake_round, self.wakes, self.lapses, self.purchases, [act.plain() for act in self.queue]]


def places(chance: Chance, role: str, count: int) -> tuple[int, ...]:
    """The place of every index in the base order of its role, from 0: one seeded permutation per episode.

    Whatever an episode lists without a better reason is in this order: made and published data put businesses that fit
    before those that nearly do, a shortcut that an agent could find.
    """
    letter = _letter(role)
    # Drawn per index, so that one customer more moves no other seat's draw.
    order = sorted(range(count), key=lambda index: (chance.uniform(Streams.ALIAS, letter, index), index))
    found = [0] * count
    for place, index in enumerate(order):
        found[index] = place
    return tuple(found)


def handles(places: Sequence[int], role: str, *, alias: bool) -> list[str]:
    """The handles by index: c0001 … or b0001 …, numbered in base order, or in that of the data without `alias`.

    They get as many digits as the number of seats needs, four at least.
    """
    digits = max(_LEAST_DIGITS, len(str(len(places))))
    numbers = places if alias else range(len(places))
    return [f"{_letter(role)}{number + 1:0{digits}d}" for number in numbers]


def _letter(role: str) -> str:
    return "c" if role == CUSTOMER else "b"
