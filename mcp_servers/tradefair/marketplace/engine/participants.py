"""What the rules remember of each seat: its handle, inbox, queue of the round, and whether it sleeps. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from tradefair.contract.chance import Chance
from tradefair.contract.seats import SeatId
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
        """As it enters the digest."""
        offered = None if self.offer is None else self.offer.digest().hex()
        return [*self[:7], offered, self.retired]


class Post(NamedTuple):
    """A message or an offer on its way; `held` until its sealed window is over."""

    sender: SeatId
    act: Act
    held: bool = False


@dataclass
class Participant:
    """One seat. `ended`: its turn is over; `sleeps`: it waits for mail or `wake_round`; `woken`: mail has come.

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
    contacted: dict[SeatId, None] = field(default_factory=dict[SeatId, None])

    @property
    def awaited(self) -> bool:
        """Whether the clock waits for this seat."""
        return self.active and self.awake and not self.ended

    def open_round(self, number: int) -> None:
        """Start a round: awake unless asleep with nothing that wakes."""
        due = self.wake_round is not None and self.wake_round <= number
        stayed = self.awake and not self.sleeps
        self.awake = self.woken or due or stayed
        if self.awake:
            self.wake_round = None
            self.sleeps = False
        self.woken = self.ended = False
        self.queue = []

    def state(self) -> list[Any]:
        """As it enters the digest; the inbox enters by itself."""
        flags = [self.awake, self.active, self.retired, self.leaving, self.ended, self.sleeps, self.woken]
        return [flags, self.wake_round, self.wakes, self.lapses, self.purchases, [act.plain() for act in self.queue]]


def handles(chance: Chance, role: str, count: int, *, alias: bool) -> list[str]:
    """The handle of every place: c0001 … or b0001 …, in a seeded permutation or by registration."""
    letter = "c" if role == CUSTOMER else "b"
    digits = max(_LEAST_DIGITS, len(str(count)))
    order = list(range(count))
    if alias:
        order.sort(key=lambda place: (chance.uniform(Streams.ALIAS, letter, place), place))
    names = [""] * count
    for number, place in enumerate(order, 1):
        names[place] = f"{letter}{number:0{digits}d}"
    return names
